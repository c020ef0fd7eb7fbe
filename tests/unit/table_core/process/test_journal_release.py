"""What the table tells the driver of its journal, and how it notices that some of it was lost."""

import pytest
from msgspec.structs import replace

from table_core.process.journal_release import DriverJournal
from table_core.state.coup import Phase
from table_core.state.table import Coup, ShoeLink, TableState
from tests.support.shoe.link_words import link_up

HAS = ShoeLink(journal="j1", seq=9)
SECOND = 1_000_000


def table(seq: int, phase: Phase, journal: str = "j1") -> TableState:
    coup = Coup(id="s/1", phase=phase, rulebook="r", rulebook_hash="h")
    return TableState(link=ShoeLink(journal=journal, seq=seq), coup=coup)


def test_nothing_that_a_coup_in_progress_may_need_is_settled() -> None:
    journal = DriverJournal()
    told = [
        journal.settled(table(seq, phase))
        for seq, phase in (
            (4, Phase.SETTLED),
            (5, Phase.DEALING),
            (11, Phase.MISALIGNED),
            (12, Phase.SETTLED),
            (13, Phase.VOIDED),
        )
    ]
    assert told == [4, 4, 4, 12, 13]


@pytest.mark.parametrize("phase", [Phase.BETTING, Phase.HELD, Phase.MISALIGNED])
def test_of_a_coup_that_was_there_at_the_start_nobody_knows_where_it_began(phase: Phase) -> None:
    journal = DriverJournal()
    assert journal.settled(table(40, phase)) is None
    assert journal.settled(table(44, Phase.SETTLED)) == 44


def test_a_coup_that_goes_on_in_another_journal_keeps_both() -> None:
    journal = DriverJournal()
    assert journal.settled(table(7, Phase.SETTLED)) == 7
    assert journal.settled(table(1, Phase.DEALING, journal="j2")) is None
    assert journal.settled(table(6, Phase.SETTLED, journal="j2")) == 6


def test_a_driver_that_has_less_than_the_table_is_told_and_people_are() -> None:
    journal = DriverJournal()
    assert journal.told(link_up(6), HAS, 0)
    assert (journal.lost, journal.told(link_up(6), HAS, SECOND // 2)) == ("", False)
    assert journal.told(link_up(7), HAS, SECOND)
    assert "lost events of journal j1 that the table has (up to 9)" in journal.lost


def test_one_that_begins_another_journal_when_told_leaves_no_doubt() -> None:
    journal = DriverJournal()
    assert journal.told(link_up(6), HAS, 0)
    assert not journal.told(link_up(0, "j2"), HAS, 1)
    assert "journal j1" in journal.lost
    assert not journal.told(link_up(3, "j2"), replace(HAS, journal="j2", seq=3), 600 * SECOND)
    assert journal.lost
    assert not journal.told(link_up(3, "j2"), replace(HAS, journal="j2", seq=3), 601 * SECOND)
    assert journal.lost == ""


def test_an_older_status_after_newer_events_is_no_loss() -> None:
    journal = DriverJournal()
    assert journal.told(link_up(6), HAS, 0)
    assert not journal.told(link_up(9), replace(HAS, seq=14), SECOND // 2)  # ... and late again
    assert not journal.told(link_up(14), replace(HAS, seq=14), 2 * SECOND)
    assert journal.lost == ""


def test_a_driver_that_is_level_or_ahead_is_left_alone() -> None:
    journal = DriverJournal()
    assert not any(journal.told(link_up(n), HAS, n * SECOND) for n in (9, 10, 99))
    assert not journal.told(link_up(0, "j0"), HAS, 0)
    assert journal.lost == ""


def test_a_journal_that_another_has_followed_is_told_while_it_speaks() -> None:
    journal, has = DriverJournal(), replace(HAS, journal="j2", past=frozenset({"j1"}))
    assert not journal.told(link_up(6), has, 0)
    assert journal.old(0) == "", "its last word may have been late"
    assert not journal.told(link_up(9, "j2"), has, SECOND)
    assert not journal.told(link_up(6), has, 2 * SECOND)
    assert "journal j1, which j2 had followed" in journal.old(2 * SECOND)
    assert not journal.told(link_up(9, "j2"), has, 3 * SECOND)
    assert journal.old(12 * SECOND), "one word of the other does not end it"
    assert journal.old(12 * SECOND + 1) == ""
    assert journal.lost == ""
