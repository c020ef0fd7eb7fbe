"""An hour of a whole table whose processes are killed at random, and nothing is lost or paid twice.

`KILL_SECONDS` plays for less or longer, `KILL_SEED` draws cards, victims and moments again; what
the machine does in between it does not.
"""

import json
import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from baccarat.demo.counters import audit
from baccarat.history.log_judging import verify_and_judge
from cage.ledger.database import parse_ledger_url
from cage.ledger.reading import open_ledger as reading_ledger
from cage.reports.reconcile import reconcile
from events.log.reader import reading as reading_log
from events.proof.note import parse_verifier_key
from events.types import (
    BettingOpened,
    CoupMisaligned,
    CoupSettled,
    ShoeEvent,
    ShoeReported,
    TableEvent,
    decode_data,
    decode_envelope,
)
from shoe_driver.decode import Decoder
from shoe_driver.journal.files import read_records
from shoe_driver.journal.folder import JournalFolder
from shoe_driver.journal.records import parse_header
from shoe_driver.profiles.catalogue import load_profile
from simulators.device.reports import Disclosure
from simulators.people.dealer_and_patrons import PlayedCoup
from simulators.world.auditor.auditor import Auditor
from simulators.world.auditor.rules import RULEBOOKS, Hands
from table_core.service.snapshots import inspect_log
from tests.support.service.killed_table import KilledTable, play_and_kill

SECONDS = float(os.environ.get("KILL_SECONDS", "3600"))
A_WHILE = 300
KINDS: tuple[tuple[str, Disclosure], ...] = (
    ("enq-bcc", "immediate"),
    ("enq-bcc", "deferred"),
    ("ref-crc", "immediate"),
)


@pytest.mark.soak(first=True)
@pytest.mark.timeout(SECONDS + 1_200)
async def test_a_table_whose_processes_are_killed_for_an_hour(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    seed = int(os.environ.get("KILL_SEED") or random.randrange(2**32))
    rng = random.Random(seed)
    rulebook, (profile, disclosure) = rng.choice(tuple(RULEBOOKS)), rng.choice(KINDS)
    print(f"KILL_SEED={seed}: {rulebook}, {profile}, {disclosure}, {tmp_path}")  # noqa: T201 - shown when the test fails
    game = await play_and_kill(
        tmp_path,
        seed=seed,
        seconds=SECONDS,
        rulebook=rulebook,
        profile=profile,
        disclosure=disclosure,
    )
    with reading_log(game.log) as log:
        events = [decode_data(decode_envelope(stored.stored)) for stored in log.read()]
        closed = len(log.closed)
    _the_log_is_whole_and_signed(game)
    _the_ledger_is_the_log(game)
    _every_card_is_accounted_for(game, events)
    _an_auditor_who_sees_the_events_alone_finds_nothing(game, events)
    _each_report_came_of_the_journals_bytes(game, events, profile)
    settled = [event for event in events if isinstance(event, CoupSettled)]
    phases = Counter(coup.phase for coup in game.played)
    told = {
        "seed": seed,
        "seconds": game.seconds,
        "killed": game.killed,
        "coups": phases,
        "by hand": sum(coup.by_hand for coup in game.played),
        "cards": sum(len(coup.dealt.cards) for coup in game.played),
        "events": len(events),
        "settlements": len(settled),
        "closed files": closed,
        "refused": game.refused,
    }
    record_property("figures", json.dumps(told))
    assert phases["settled"] > len(game.played) // 2
    if SECONDS >= A_WHILE:  # each has had its turn by then
        assert set(game.killed) == {"shoe", "table", "cage", "displays", "broker", "broker wiped"}


def _the_log_is_whole_and_signed(game: KilledTable) -> None:
    keys = (parse_verifier_key(game.public),)
    verdict, judged = verify_and_judge(game.log, None, jobs=1, held=(), keys=keys)
    assert verdict.ok, verdict
    assert (judged.not_judged, judged.not_decoded) == (0, 0)
    assert inspect_log(game.log) is None


def _the_ledger_is_the_log(game: KilledTable) -> None:
    with (
        reading_ledger(parse_ledger_url(str(game.ledger))) as ledger,
        reading_log(game.log) as log,
    ):
        found = reconcile(log, ledger)
    assert found.agrees, found.difference


def _every_card_is_accounted_for(game: KilledTable, events: list[TableEvent]) -> None:
    """Cards at their places, in every coup; each told once, in those that nothing broke.

    A driver that stands still between two copies of a report may take the rest of them for one of
    its own: it says that a number is missing, and people put the cards right.
    """
    broken = {event.coup for event in events if isinstance(event, CoupMisaligned)}
    coup, heard = "", []
    for event in events:
        coup = event.coup if isinstance(event, BettingOpened) else coup
        if not isinstance(event, ShoeReported) or coup not in broken:
            heard.append(event)
    found = audit(heard, game.played)
    assert (found.lost, found.duplicates) == (0, 0)


def _an_auditor_who_sees_the_events_alone_finds_nothing(
    game: KilledTable, events: list[TableEvent]
) -> None:
    auditor = Auditor("t1", game.rulebook)
    played = {coup.coup: coup for coup in game.played}
    before: str | None = None
    for position, event in enumerate([*events, None], start=1):
        if before is not None and (event is None or isinstance(event, BettingOpened)):
            _hold(auditor, before, played[before])
        if event is not None:
            auditor.hear(position, event)
            before = event.coup if isinstance(event, BettingOpened) else before
    assert len(played) == len(game.played)


def _hold(auditor: Auditor, coup: str, played: PlayedCoup) -> None:
    """A coup is over for the people: what settled, if anything, are the cards that fell."""
    called = played.dealt.outcome
    hands = Hands(called.player, called.banker) if called else Hands((), ())
    auditor.at_the_end(coup, hands, broken_off=called is None)


def _each_report_came_of_the_journals_bytes(
    game: KilledTable, events: list[TableEvent], profile: str
) -> None:
    logged: dict[str, list[ShoeEvent]] = {}
    for event in events:
        if isinstance(event, ShoeReported):
            logged.setdefault(event.source.journal, []).append(event.source)
    read: dict[str, list[ShoeEvent]] = {}
    decoders: dict[str, Decoder] = {}
    with JournalFolder(game.folder / "journal") as folder:
        for path in folder.files():
            records = list(read_records(path))
            journal = parse_header(records[0]).journal
            decoder = decoders.setdefault(journal, Decoder(load_profile(profile), journal))
            for record in records:
                read.setdefault(journal, []).extend(decoder.feed(record))
    assert logged == {journal: told for journal, told in read.items() if told}
