"""The coup's transition table: every phase times every input, against a table written by hand."""

from pathlib import Path

import pytest

from events.cards import Winner
from events.types import CoupSettled, Settlement, TableEvent
from events.types.registry import KINDS
from table_core.fold.dispatch import _COUP_FOLDS
from table_core.state.coup import COUP_EVENTS, OVER, TRANSITIONS, Phase, allows, input_of
from table_core.state.coup_mermaid import mermaid

# In the words of docs/reference/coup-states.md: input -> next. What is not named is refused.
EXPECTED = """
none        betting_opened>betting
betting     wagers_placed>betting wagers_withdrawn>betting betting_closed>closed
betting     coup_voided>voided wagers_voided>betting card_dealt>betting
closed      card_disclosed>dealing
closed      card_dealt>dealing card_unread>dealing coup_misaligned>misaligned coup_voided>voided
dealing     card_dealt>dealing card_unread>dealing card_disclosed>dealing card_entered>dealing
dealing     card_corrected>dealing card_marked_unreadable>dealing coup_settled/1>dealing
dealing     coup_settled_again/1>dealing hands_corrected>dealing wager_corrected>dealing
dealing     rulebook_corrected>dealing
closed      wager_corrected>closed rulebook_corrected>closed
complete    hands_corrected>dealing wager_corrected>complete
complete    rulebook_corrected>complete coup_settled/1>complete
disputed    hands_corrected>dealing wager_corrected>disputed
disputed    rulebook_corrected>disputed coup_settled/1>disputed
held        hands_corrected>dealing wager_corrected>held rulebook_corrected>held coup_settled/1>held
misaligned  hands_corrected>misaligned
complete    coup_settled_again/1>complete
disputed    coup_settled_again/1>disputed
held        coup_settled_again/1>held
misaligned  coup_settled_again/1>misaligned
dealing     deal_completed>complete coup_misaligned>misaligned coup_voided>voided
complete    result_confirmed>confirmed result_disputed>disputed
complete    card_corrected>dealing card_marked_unreadable>dealing excess_card_drawn>held
complete    coup_misaligned>misaligned coup_voided>voided
disputed    result_confirmed>confirmed coup_misaligned>misaligned coup_voided>voided
disputed    card_corrected>dealing card_marked_unreadable>dealing
held        excess_card_resolved>complete coup_misaligned>misaligned coup_voided>voided
confirmed   coup_settled/2>settled
misaligned  coup_voided>voided card_entered>misaligned card_corrected>misaligned
misaligned  coup_realigned>dealing
settled     betting_opened>betting
voided      betting_opened>betting
"""

INPUTS = [
    "betting_opened",
    "wagers_placed",
    "wagers_withdrawn",
    "betting_closed",
    "card_dealt",
    "card_disclosed",
    "coup_settled/1",
    "coup_settled/2",
    "coup_settled_again/1",
    "coup_settled_again/2",
    "deal_completed",
    "result_confirmed",
    "result_disputed",
    "coup_misaligned",
    "coup_voided",
    "shoe_reported",
    "shoe_loaded",
    "shoe_ended",
    "books_closed",
    "rulebook_adopted",
    "alarm_raised",
    "alarm_cleared",
    "wagers_voided",
    "limits_set",
    "aggregate_capped",
    "card_unread",
    "card_entered",
    "card_corrected",
    "card_marked_unreadable",
    "coup_realigned",
    "excess_card_drawn",
    "excess_card_resolved",
    "hands_corrected",
    "wager_corrected",
    "rulebook_corrected",
]


def _expected() -> dict[tuple[str, str], str]:
    table = {}
    for line in EXPECTED.strip().splitlines():
        phase, *moves = line.split()
        for move in moves:
            name, _, after = move.partition(">")
            table[phase, name] = after
    return table


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("name", INPUTS)
def test_every_phase_times_every_input_has_exactly_the_lawful_outcome(
    phase: Phase, name: str
) -> None:
    after = _expected().get((phase.value, name))
    assert allows(phase, name) is (after is not None)
    if after is not None:
        assert TRANSITIONS[phase, name].value == after


def test_the_table_knows_no_input_that_the_test_does_not() -> None:
    assert {name for _, name in TRANSITIONS} <= set(INPUTS)


def test_only_a_coup_that_is_over_lets_the_next_begin() -> None:
    assert {p for p in Phase if allows(p, "betting_opened")} == OVER


def test_nothing_settles_while_misaligned_or_disputed() -> None:
    for phase in (Phase.MISALIGNED, Phase.DISPUTED, Phase.HELD):
        assert not allows(phase, "coup_settled/2")
    # Only a pair wager that was added late, on cards that nobody disputes, is paid meanwhile.
    assert not allows(Phase.MISALIGNED, "coup_settled/1")
    assert not allows(Phase.MISALIGNED, "result_confirmed")


@pytest.mark.parametrize(
    ("phase", "revision", "name"),
    [
        (1, 1, "coup_settled/1"),
        (1, 2, "coup_settled_again/1"),
        (1, 3, "coup_settled_again/1"),
        (2, 1, "coup_settled/2"),
        (2, 2, "coup_settled_again/2"),
    ],
)
def test_settlement_phases_and_what_is_settled_again_are_told_apart(
    phase: int, revision: int, name: str
) -> None:
    settlement = Settlement(
        settlement_id=f"t/s/1/{phase}/{revision}",
        coup="s/1",
        phase=phase,
        revision=revision,
        rulebook="r",
        rulebook_hash="h",
        player=(),
        banker=(),
        player_total=0,
        banker_total=0,
        winner=Winner.TIE,
        lines=(),
        staked=0,
        paid=0,
        commission=0,
    )
    assert input_of(CoupSettled(coup="s/1", settlement=settlement)) == name


def test_the_documents_diagram_is_drawn_from_the_table() -> None:
    page = (Path(__file__).parents[4] / "docs/reference/coup-states.md").read_text("utf-8")
    assert f"```mermaid\n{mermaid()}```" in page


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.TYPE)
def test_the_fold_asks_the_table_for_what_is_in_it_and_nothing_else(kind: type[TableEvent]) -> None:
    assert (kind in _COUP_FOLDS) is (kind.TYPE in COUP_EVENTS)
