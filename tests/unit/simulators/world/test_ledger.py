"""The world's ledger keeps what the cage's real one keeps: one suite, run against both."""

from collections import Counter
from contextlib import closing
from pathlib import Path
from random import Random
from typing import TypeAlias

import pytest
from msgspec.structs import replace

from cage.ledger.database import parse_ledger_url
from cage.ledger.received_event import LedgerEvent, decode_stored_event
from cage.ledger.store import LedgerStore
from events.errors import LedgerError
from simulators.world.parts.fault_injector import ArmedFaults
from simulators.world.parts.ledger import WorldLedger
from simulators.world.world import World
from tests.support.cage.ledgers import accounts_of

STREAM = "world/t1"
SEED = 7


class RealBook:
    """A ledger on its disk, booked by a cage that was just started."""

    def __init__(self, folder: Path) -> None:
        self._url = str(folder / "ledger.sqlite")

    def book(self, facts: list[LedgerEvent]) -> int:
        with closing(LedgerStore.open(parse_ledger_url(self._url), STREAM)) as store:
            return store.book(facts).entries

    def position(self) -> int:
        with closing(LedgerStore.open(parse_ledger_url(self._url), STREAM)) as store:
            return store.position

    def accounts(self) -> dict[str, int]:
        return accounts_of(self._url)


class WorldBook:
    def __init__(self) -> None:
        self._ledger = WorldLedger(STREAM, Random(), ArmedFaults())

    def book(self, facts: list[LedgerEvent]) -> int:
        return len(self._ledger.book(facts))

    def position(self) -> int:
        return self._ledger.position

    def accounts(self) -> dict[str, int]:
        sums: Counter[str] = Counter()
        for entry in self._ledger.entries.values():
            for posting in entry.postings:
                sums[posting.account] += posting.amount
        return {name: amount for name, amount in sums.items() if amount}


Book: TypeAlias = RealBook | WorldBook


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> list[LedgerEvent]:
    """A table's log, with all that goes wrong at it."""
    world = World(
        SEED, ("misread_face", "power_up", "overdraw_burned"), tmp_path_factory.mktemp("w")
    )
    assert world.run(15).violations == ()
    stored = world._log_disk.stored(0)
    world.close()
    return [decode_stored_event(each.stored, each.hash) for each in stored]


@pytest.fixture(params=["real", "world"])
def book(request: pytest.FixtureRequest, tmp_path: Path) -> Book:
    return RealBook(tmp_path) if request.param == "real" else WorldBook()


def test_however_it_is_cut_and_repeated_each_event_is_booked_once(
    book: Book, facts: list[LedgerEvent]
) -> None:
    rng, entries = Random(SEED), 0
    while (at := book.position()) < len(facts):
        first = max(0, at - rng.randrange(40))
        entries += book.book(facts[first : at + rng.randint(1, 60)])
    other = WorldBook()
    assert entries == other.book(facts) > 30
    assert book.accounts() == other.accounts()
    assert sum(book.accounts().values()) == 0


@pytest.mark.parametrize("wrong", ["gap", "stream", "chain"])
def test_what_does_not_follow_is_refused_and_nothing_of_it_is_booked(
    wrong: str, book: Book, facts: list[LedgerEvent]
) -> None:
    book.book(facts[:10])
    bad = {
        "gap": [*facts[10:15], facts[16]],
        "stream": [*facts[10:15], replace(facts[15], stream="world/t2")],
        "chain": [*facts[10:15], replace(facts[15], hash=facts[14].hash)],
    }[wrong]
    with pytest.raises(LedgerError):
        book.book(bad)
    assert book.position() == 10
    book.book(facts[10:])
    assert book.position() == len(facts)
