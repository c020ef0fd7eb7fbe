"""Commands to events: `decide(state, command, context)` returns events, or a refusal with a code.

Pure. An empty tuple means that the table is already in the wanted state (`exists`). Each subject's
module ends with its `HANDLERS`, and a command's row in `events.commands.registry` names the module.
`table_core.decide.shoe_reports` decides on the shoe's reports.
"""

from typing import Final

from events.commands import Command, Correction
from events.commands.text_lengths import MOST_IN_TRANSACTION
from events.errors import OurBug
from events.types import AlarmRaised, RulebookAdopted, TableEvent
from table_core.decide import (
    cards,
    chips,
    commission,
    corrections,
    coup,
    shoe,
    staff,
    wagers,
)
from table_core.decide.decision import DecisionContext, Handlers
from table_core.decide.integrity_lockdown import lockdown_refusal
from table_core.refusals import Decision, refuse, refuse_another_coup
from table_core.rules.rulebook import Rulebook
from table_core.state.coup import Phase
from table_core.state.table import TableState

__all__ = ["HANDLERS", "SUBJECTS", "adopt_rulebook", "decide", "result_overdue"]

SUBJECTS: Final = (
    shoe,
    coup,
    wagers,
    cards,
    corrections,
    staff,
    commission,
    chips,
)
"""The modules that decide commands; each has `HANDLERS` and `OFFERS`."""

HANDLERS: Final[Handlers] = {
    kind: handler for subject in SUBJECTS for kind, handler in subject.HANDLERS.items()
}
"""Every command that changes the table, with the function that decides it."""


def decide(state: TableState, command: Command, context: DecisionContext) -> Decision:
    """What `command` does to a table in `state`.

    Returns:
        The events to append (none when it holds already), or a refusal that changes nothing.
    """
    if not 1 <= len(command.transaction) <= MOST_IN_TRANSACTION:
        return refuse(
            "invalid_transaction", f"a transaction id has 1 to {MOST_IN_TRANSACTION} characters"
        )
    handler = HANDLERS.get(type(command))
    if handler is None:
        raise OurBug(f"no handler for {type(command).__name__} in table_core.decide")
    if command.during is not None:
        newest = "" if state.coup is None else state.coup.id
        if command.during != newest:
            return refuse_another_coup(command.during, newest)
    decision = lockdown_refusal(state, command, context.fault) or handler(state, command, context)
    if isinstance(command, Correction):
        return corrections.sign_correction(state, command, context, decision)
    return decision


def adopt_rulebook(state: TableState, rulebook: Rulebook) -> tuple[TableEvent, ...]:
    """What must be appended before play so that the log pins the rulebook in force.

    Where the log is of old, or names another currency, its rulebook is adopted once more between
    coups, with its currency.

    Raises:
        OurBug: a coup is in progress under another rulebook; the shell must not start.
    """
    same = (state.rulebook, state.rulebook_hash) == (rulebook.id, rulebook.hash)
    if same and (state.currency == rulebook.currency or state.in_progress):
        return ()
    if state.in_progress:
        raise OurBug("the rulebook changed in mid-coup")
    return (
        RulebookAdopted(
            rulebook=rulebook.id, rulebook_hash=rulebook.hash, currency=rulebook.currency
        ),
    )


def result_overdue(state: TableState, waited_s: int) -> tuple[TableEvent, ...]:
    """The alarm for a coup whose device result has not come within `waited_s` seconds."""
    waiting = state.coup
    if waiting is None or waiting.phase is not Phase.COMPLETE:
        return ()
    if any(alarm.name == "result_overdue" for alarm in state.alarms):
        return ()
    text = (
        f"coup {waiting.id}: no result from the shoe within {waited_s} s; "
        "a supervisor may confirm the table's own result"
    )
    return (AlarmRaised(alarm="result_overdue", text=text, coup=waiting.id),)
