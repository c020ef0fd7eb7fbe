"""What the shoe says where a card in excess is in question: each standing times every report.

The phases alone do not tell these apart: in `dealing` the faces may be withheld, with a card
outside the game that nobody can judge yet; behind a decision the shoe may do something else.
"""

from collections.abc import Callable

import pytest

from events.commands.cards import ResolveIrregularity
from events.types.irregularities import IrregularityRecorded
from events.types.shoe_reports import AnyReport, CardOutOfGame, CardUnreadable, DeviceResult
from events.types.table import CardDisclosed, ShoeReported, TableEvent
from table_core.state.coup import Phase
from tests.support.table.coups import ORDER, World, drawn, world_in
from tests.unit.table_core.decide.test_shoe_reports import LETTERS, QUIET, REPORTS, B, letters

OUTSIDE = CardOutOfGame(reason="drawn_outside_game")


def squeeze() -> World:
    """Four cards lie there, every face withheld."""
    world = world_in(Phase.CLOSED)
    world.say(*(drawn(hand, number) for hand, number in ORDER))
    return world


def told(world: World, *reports: AnyReport) -> World:
    world.say(*reports)
    return world


def unread() -> World:
    """Faces open, but for Banker's second, which a person must enter."""
    world = world_in(Phase.CLOSED)
    world.deal("9S", "2D", "KH")
    return told(world, CardUnreadable(hand=B, number=2))


def carried() -> World:
    """A person has said that the excess card is hidden; the result has not come."""
    world = world_in(Phase.HELD)
    world.must(ResolveIrregularity(transaction="r", kind="excess_card", seen=False, reason="r"))
    return world


def awaited() -> World:
    """... and the coup is settled."""
    return told(carried(), DeviceResult(winner="player"))


def betting() -> World:
    """... and betting is open for the coup that waits for it."""
    world = awaited()
    world.open()
    return world


STANDINGS: dict[str, Callable[[], World]] = {
    "squeeze": squeeze,
    "excess": lambda: told(squeeze(), OUTSIDE),
    "taken_out": lambda: told(squeeze(), OUTSIDE, REPORTS["out_of_game"]),
    "unread": unread,
    "carried": carried,
    "awaited": awaited,
    "betting": betting,
}

# As in `test_hear`; besides, `i` is an irregularity on record and `f` a face disclosed.
TABLE = """
               squeeze             excess                taken_out             unread                   carried                  awaited                   betting
first_card_P1  m:position_contradicts_draw_table m:excess_card_was_due m:excess_card_was_due m:position_contradicts_draw_table m:excess_card            w!cm:carried_card_missing cm:carried_card_missing
second_card_B1 m:position_contradicts_draw_table m:excess_card_was_due m:excess_card_was_due m:position_contradicts_draw_table m:excess_card            w!cm:carried_card_missing cm:carried_card_missing
excess_B3      d                   m:excess_card_was_due m:excess_card_was_due d                        e!                       w!cm:carried_card_missing cm:carried_card_missing
revealed_P1    f                   f                     f                     m:disclosure_contradicts m:disclosure_contradicts w!cm:first_card_missing   cm:first_card_missing
result_player  m:result_too_early  m:result_too_early    m:result_too_early    -                        s                        -                         -
result_tie     m:result_too_early  m:result_too_early    m:result_too_early    -                        x                        -                         -
link_down      m:link_lost         m:link_lost           m:link_lost           m:link_lost              m:link_lost              -                         !
link_open      m:link_reopened     m:link_reopened       m:link_reopened       m:link_reopened          m:link_reopened          -                         !
booted         m:shoe_booted       m:shoe_booted         m:shoe_booted         m:shoe_booted            m:shoe_booted            -                         !
report_lost    m:report_lost       m:report_lost         m:report_lost         m:report_lost            m:report_lost            -                         !
copy_conflict  m:copy_conflict     m:copy_conflict       m:copy_conflict       m:copy_conflict          m:copy_conflict          -                         !
unreadable     m:unreadable_card   m:unreadable_card     m:unreadable_card     m:unreadable_card        m:unreadable_card        w!cm:carried_card_missing cm:carried_card_missing
unreadable_P1  m:unreadable_card   m:unreadable_card     m:unreadable_card     m:unreadable_card        m:unreadable_card        w!cm:carried_card_missing cm:carried_card_missing
drawn_outside  !                   m:card_out_of_game    m:card_out_of_game    !                        e!                       -                         !
out_of_game    m:card_out_of_game  !                     !                     m:card_out_of_game       i!                       i!                        i!!
carried_over   m:card_carried_over m:card_carried_over   m:card_carried_over   m:card_carried_over      m:card_carried_over      w!cd                      cd
reversed       m:card_reversed     m:card_reversed       m:card_reversed       m:card_reversed          m:card_reversed          -                         !
error_reversed m:card_reversed     m:card_reversed       m:card_reversed       m:card_reversed          m:card_reversed          -                         !
forced_end     m:round_forced_end  m:round_forced_end    m:round_forced_end    m:round_forced_end       m:round_forced_end       -                         !
cut_card       u                   u                     u                     u                        u                        u                         u
"""  # noqa: E501 - a row a report


def outcomes(events: list[TableEvent]) -> str:
    return letters(events, {**LETTERS, IrregularityRecorded: "i", CardDisclosed: "f"})


def _cases() -> list[tuple[str, str, str]]:
    header, *rows = TABLE.strip().splitlines()
    return [
        (standing, name, outcome)
        for name, *cells in (row.split() for row in rows)
        for standing, outcome in zip(header.split(), cells, strict=True)
    ]


@pytest.mark.parametrize(("standing", "name", "outcome"), _cases())
def test_every_standing_times_every_report(standing: str, name: str, outcome: str) -> None:
    recorded, *events = STANDINGS[standing]().say(REPORTS[name])
    assert isinstance(recorded, ShoeReported)
    assert outcomes(events) == outcome


def test_every_report_is_in_the_table_in_every_standing() -> None:
    cases = _cases()
    assert {(standing, name) for standing, name, _ in cases} == {
        (standing, name) for standing in STANDINGS for name in REPORTS
    }


@pytest.mark.parametrize("standing", STANDINGS)
@pytest.mark.parametrize("name", QUIET)
def test_what_does_not_touch_a_coup_is_recorded_and_nothing_else(standing: str, name: str) -> None:
    world = STANDINGS[standing]()
    before = world.state.coup
    (recorded,) = world.say(QUIET[name])
    assert isinstance(recorded, ShoeReported)
    assert world.state.coup == before
