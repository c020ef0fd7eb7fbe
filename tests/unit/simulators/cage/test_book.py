"""The cage's book: once in effect, reversals in either order, and a memory that does not grow."""

import itertools
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.mqtt.bus import BusSettings
from events.mqtt.messages import Message
from simulators.cage.book import Applied, BookTotals, SettlementBook
from simulators.cage.service import Cage
from tests.support.service.small_table import TOPICS
from tests.support.table.settlements import publish_log, settlement


def _money(book: SettlementBook) -> tuple[int, int, int]:
    totals = book.totals()
    return totals.staked, totals.paid, totals.commission


def test_an_empty_book() -> None:
    assert SettlementBook().totals() == BookTotals(
        settlements=0, staked=0, paid=0, commission=0, position=0
    )


def test_the_same_again_is_known_and_another_content_is_a_conflict() -> None:
    book = SettlementBook()
    assert book.apply(settlement(1), position=4, digest="aa") is Applied.NEW
    assert book.apply(settlement(1), position=4, digest="aa") is Applied.KNOWN
    assert book.apply(settlement(1, paid=9), position=4, digest="bb") is Applied.CONFLICT
    assert book.apply(settlement(1), position=5, digest="aa") is Applied.CONFLICT
    assert _money(book) == (1000, 700, 1)


@pytest.mark.parametrize("order", list(itertools.permutations((1, 2, 3))))
def test_only_the_newest_revision_counts_in_whatever_order_they_came(
    order: tuple[int, ...],
) -> None:
    book = SettlementBook()
    for revision in order:
        made = settlement(1, revision=revision, paid=100 * revision)
        assert book.apply(made, position=revision, digest="aa") is Applied.NEW
    assert _money(book) == (1000, 300, 1)
    assert book.totals().settlements == 1


def test_the_readers_place_never_falls() -> None:
    book = SettlementBook()
    book.read_to(10)
    book.read_to(7)
    book.apply(settlement(1), position=4, digest="aa", read_to=4)
    assert book.position == 10


def test_a_book_is_the_same_after_it_was_closed(tmp_path: Path) -> None:
    path = tmp_path / "cage.sqlite"
    book = SettlementBook(path)
    book.apply(settlement(3), position=12, digest="aa", read_to=12)
    before = book.totals()
    book.close()
    again = SettlementBook(path)
    assert again.totals() == before
    assert again.apply(settlement(3), position=12, digest="aa") is Applied.KNOWN
    again.close()


@given(st.lists(st.integers(1, 8), max_size=40))
def test_any_sequence_of_deliveries_sums_the_distinct_ones(delivered: list[int]) -> None:
    book = SettlementBook()
    for coup in delivered:
        book.apply(settlement(coup), position=4 * coup, digest="aa")
    distinct = sum(set(delivered))
    assert _money(book) == (1000 * distinct, 700 * distinct, distinct)
    book.close()


async def test_a_long_night_does_not_fill_the_memory() -> None:
    """Fed by hand, past its bounds: 20,000 events, a quarter of them settlements."""
    cage = Cage(BusSettings("127.0.0.1", 1, "cage"), TOPICS)
    log = publish_log(5_000)

    async def feed(start: int, end: int) -> None:
        for position in range(start, end):
            await cage._on_event(Message(TOPICS.event, log[position], retain=False))

    await feed(1, 18_001)
    tracemalloc.start()
    await feed(18_001, 20_001)
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert cage.totals().settlements == 5_000
    assert cage.read == 20_000
    # 500 receipts take the place of 500 others that this trace did not see made: 3 KB each.
    assert grown < 500 * 6_000
    assert len(cage.receipts) == 4_096
