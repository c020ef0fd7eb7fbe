"""What a console may offer: held against the table of every phase times every command."""

from itertools import product

import pytest
from msgspec.structs import replace

from events.commands import EndShoe
from events.types import Pieces
from table_core.decide.available_commands import current_refusals, decided_refusals
from table_core.decide.decision import DecisionContext
from table_core.decide.staff import CALLED_ALARM
from table_core.projections.table_document import project_table
from table_core.rulebooks.shipped import load_rulebook
from table_core.rules.commission_owed import CommissionBook, Debt
from table_core.state.coup import Phase
from table_core.state.table import Alarm, HeldShoe, TableFloat, TableState
from tests.support.table.coups import CONTEXT, World, world_in
from tests.unit.table_core.decide.test_dispatch import TABLE

# Of these only the whole command tells.
WHOLE = {
    "acknowledge_alarm",
    "assign_dealer",
    "call_supervisor",
    "correct_hands",
    "correct_rulebook",
} | {
    "acknowledge_correction",
    "clear_shoe_error",
    "correct_wager",
    "set_limits",
}


def _rows() -> list[tuple[str, str, str]]:
    header, *rows = TABLE.strip().splitlines()
    return [
        (phase, row.split()[0], outcome)
        for row in rows
        for phase, outcome in zip(header.split(), row.split()[1:], strict=True)
        if row.split()[0] not in WHOLE
    ]


@pytest.mark.parametrize(("phase", "command", "outcome"), _rows())
def test_what_is_offered_is_what_the_command_would_get(
    phase: str, command: str, outcome: str
) -> None:
    refused = current_refusals(world_in(Phase(phase)).state, CONTEXT).get(command)
    if command == "cut_card":
        assert refused is None  # it is asked for the place that the phase allows
    elif outcome == "+":
        assert refused is None
    else:
        assert refused is not None
        assert refused.code == {"=": "exists"}.get(outcome, outcome)
        assert refused.text


def test_at_a_table_without_anything_only_a_shoe_can_be_loaded() -> None:
    refused = current_refusals(World().state, CONTEXT)
    assert "load_shoe" not in refused
    codes = {name: refused[name].code for name in ("open_betting", "end_shoe", "replace_shoe")}
    assert codes == dict.fromkeys(codes, "no_shoe")


def test_a_table_that_catches_up_says_so() -> None:
    refused = current_refusals(world_in(Phase.NONE).state, replace(CONTEXT, caught_up=False))
    assert refused["open_betting"].code == "catching_up"


def test_an_ended_shoe_is_not_ended_again() -> None:
    world = world_in(Phase.SETTLED)
    world.must(EndShoe(transaction="e"))
    refused = current_refusals(world.state, CONTEXT)
    assert refused["end_shoe"].code == "exists"
    assert "load_shoe" not in refused


def test_what_a_log_that_is_not_trusted_refuses_is_not_offered() -> None:
    world = world_in(Phase.NONE)
    assert "open_betting" not in current_refusals(world.state, CONTEXT)
    doubted = replace(CONTEXT, fault="position 3: it was changed")
    assert current_refusals(world.state, doubted)["open_betting"].code == "log_unsound"


def test_commission_is_not_offered_where_none_is_owed() -> None:
    world = world_in(Phase.SETTLED)
    code = "nothing_outstanding"
    assert current_refusals(world.state, CONTEXT)["collect_commission"].code == code
    assert current_refusals(world.state, CONTEXT)["mark_uncollected"].code == code


@pytest.mark.parametrize(
    ("phase", "due"),
    [
        (Phase.NONE, []),
        (Phase.BETTING, []),
        (Phase.CLOSED, [("player", 1, "two cards to each hand")]),
        (Phase.COMPLETE, []),
    ],
)
def test_the_state_says_which_card_comes_next_and_why(
    phase: Phase, due: list[tuple[str, int, str]]
) -> None:
    shown = project_table(
        world_in(phase).state, table="t1", rulebook=CONTEXT.rulebook, catching_up=False
    ).coup
    found = shown.due if shown else ()
    assert [(each.hand.value, each.number, each.words) for each in found] == due


def _changes(state: TableState) -> dict[str, TableState]:
    """The state with one thing changed that some bare command is refused for."""
    shoe, link = state.shoe, state.link
    assert shoe is not None
    opened = TableFloat(id="20261127-01", currency="AUD", opening=(Pieces(500, 1),))
    held = HeldShoe(shoe="20261126-01", cause="count", text="one too many")
    debt = Debt(coup="c", seat=1, patron=None, currency="AUD", outstanding=5, uncollected=0)
    return {
        "nothing": state,
        "no shoe": replace(state, shoe=None),
        "another shoe": replace(state, shoe=replace(shoe, id="20261127-09")),
        "another size": replace(state, shoe=replace(shoe, decks=6)),
        "an ended shoe": replace(state, shoe=replace(shoe, ended=True)),
        "no burn": replace(state, shoe=replace(shoe, burn_recorded=not shoe.burn_recorded)),
        "the cut card": replace(state, shoe=replace(shoe, last_coup=shoe.coups + 1)),
        "the last coup": replace(state, shoe=replace(shoe, last_coup=shoe.coups + 1, coups=9)),
        "a later last coup": replace(state, shoe=replace(shoe, last_coup=10, coups=9)),
        "no link": replace(state, link=replace(link, state="down")),
        "a dummy": replace(state, link=replace(link, dummy=True)),
        "an error": replace(state, link=replace(link, errors=frozenset({"7"}))),
        "a lock": replace(state, link=replace(link, locked=True)),
        "a held shoe": replace(state, held=(held,)),
        "an order": replace(state, orders=(("20261126-01", "AS"),)),
        "a debt": replace(state, commission=CommissionBook(debts=(debt,))),
        "a float": replace(state, floats=(opened,)),
        "another float": replace(state, floats=(replace(opened, id="20261127-02"),)),
        "a closed float": replace(state, floats=(replace(opened, closing=()),)),
        "a call": replace(state, alarms=(Alarm(name=CALLED_ALARM, text="now"),)),
        "a dealer": replace(state, dealer="d-1"),
    }


_CONTEXTS: dict[str, DecisionContext] = {
    "usual": CONTEXT,
    "behind": replace(CONTEXT, caught_up=False),
    "doubted": replace(CONTEXT, fault="position 3"),
    "accounts": replace(CONTEXT, dealers=frozenset({"d-1"})),
}
_OF_ANOTHER_RULEBOOK: dict[str, DecisionContext] = {
    name: replace(context, rulebook=load_rulebook("nz-scale-one"))
    for name, context in _CONTEXTS.items()
}


def test_what_is_kept_of_an_earlier_state_is_what_would_be_decided_now() -> None:
    states = {
        (phase, change): state
        for phase in sorted({phase for phase, _, _ in _rows()})
        for change, state in _changes(world_in(Phase(phase)).state).items()
    }
    for contexts in (_CONTEXTS, _OF_ANOTHER_RULEBOOK):
        for (which, state), (name, context) in product(states.items(), contexts.items()):
            now = current_refusals(state, context)
            decided = decided_refusals(state, context)
            assert list(now.items()) == list(decided.items()), (which, name)
