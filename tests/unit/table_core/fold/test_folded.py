"""What a decision has folded on the way is what folding its events comes to, and nothing else."""

from benchmarks.table.core import inputs_of
from events.commands import Command, Refusal
from events.types import AlarmRaised, ShoeEvent, TableEvent
from table_core.decide.decision import DecisionContext
from table_core.decide.dispatch import decide
from table_core.decide.shoe_reports import decide_on_report
from table_core.fold.dispatch import FoldedEvents, fold, fold_all
from table_core.rulebooks.shipped import load_rulebook
from table_core.state.table import TableState

CONTEXT = DecisionContext(table="t1", rulebook=load_rulebook("au-commission"), user="dealer")


def decided(state: TableState, said: Command | ShoeEvent) -> tuple[TableEvent, ...]:
    made = (
        decide_on_report(state, said, CONTEXT)
        if isinstance(said, ShoeEvent)
        else decide(state, said, CONTEXT)
    )
    assert not isinstance(made, Refusal)
    return made


def test_a_decision_knows_what_the_table_becomes_by_it() -> None:
    state, known = TableState(), 0
    for said in inputs_of(130):  # three shoes, two of them to their end and audit
        events = decided(state, said)
        expected = state
        for event in events:
            expected = fold(expected, event)
        if isinstance(events, FoldedEvents):
            known += 1
            assert (events.before, events.after) == (state, expected)
        state = fold_all(state, events)
        assert state == expected
    assert known > 1_000


def test_in_another_state_its_events_are_folded_as_any() -> None:
    state = TableState()
    for said in inputs_of(1):
        events = decided(state, said)
        before = TableState(**{name: getattr(state, name) for name in state.__struct_fields__})
        assert before is not state
        state = fold_all(state, events)
        assert fold_all(before, events) == state
        assert fold_all(before, events) is not state or not events


def test_only_the_state_that_was_decided_in_takes_what_is_known_for_its_own() -> None:
    events = (AlarmRaised(alarm="link", text="is down"),)
    before = TableState()
    known = FoldedEvents(events)
    known.before, known.after = before, fold_all(before, events)
    assert fold_all(before, known) is known.after  # nothing is folded twice
    other = TableState(dealer="d-7", position=3)
    after = fold_all(other, known)
    assert (after.dealer, after.position) == ("d-7", 4)
    assert after == fold_all(other, events)
