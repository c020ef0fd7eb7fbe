"""Commands about people: name the dealer, call a supervisor, acknowledge an alarm, note logins.

Pure.
"""

import re
from typing import Final

from events.commands import (
    AcknowledgeAlarm,
    AssignDealer,
    CallSupervisor,
    NoteLogins,
    TakeTable,
)
from events.types import AlarmCleared, AlarmRaised, DealerAssigned, LoginsNoted
from table_core.decide.decision import ANY, DecisionContext, Handlers, Offers
from table_core.decide.shoe_doubts import HELD_ALARM
from table_core.refusals import Decision, refuse
from table_core.state.shoe import BURN_ALARM
from table_core.state.table import Alarm, TableState

__all__ = [
    "CALLED_ALARM",
    "HANDLERS",
    "OFFERS",
    "acknowledge_alarm",
    "assign_dealer",
    "call_supervisor",
    "can_acknowledge",
    "note_logins",
    "take_table",
]

CALLED_ALARM: Final = "supervisor_called"
_HASH: Final = re.compile(r"[0-9a-f]{64}")


def assign_dealer(_: TableState, command: AssignDealer, context: DecisionContext) -> Decision:
    """Who answers for the coups from here on."""
    if not command.dealer.strip():
        return refuse("invalid_dealer", "name the dealer by the house's reference")
    if context.dealers is not None and command.dealer not in context.dealers:
        return refuse("not_a_dealer", f"{command.dealer!r} is no account with the role dealer")
    return (DealerAssigned(dealer=command.dealer, supervisor=command.supervisor),)


def take_table(state: TableState, command: TakeTable, context: DecisionContext) -> Decision:
    """Whoever asks deals from here on; the supervisor stays."""
    who = command.actor or context.user
    if context.dealers is None:
        return refuse("dealers_are_named", "a supervisor names the dealer here: assign_dealer")
    if who not in context.dealers:
        return refuse("not_a_dealer", f"{who!r} is no account with the role dealer")
    if who == state.dealer:
        return ()
    return (DealerAssigned(dealer=who, supervisor=state.supervisor),)


def call_supervisor(state: TableState, command: CallSupervisor, _: DecisionContext) -> Decision:
    """The dealer wants a supervisor at the table."""
    if any(each.name == CALLED_ALARM for each in state.alarms):
        return refuse("already_called", "a supervisor has been called, and has not yet come")
    wanted = command.reason or "the dealer gives no reason"
    return (AlarmRaised(alarm=CALLED_ALARM, text=f"the dealer asks for a supervisor: {wanted}"),)


def can_acknowledge(alarm: Alarm) -> bool:
    """Return whether a person ends an alarm on record by having seen it; else only its cause."""
    return alarm.coup is None and alarm.name not in {BURN_ALARM, HELD_ALARM}


def acknowledge_alarm(state: TableState, command: AcknowledgeAlarm, _: DecisionContext) -> Decision:
    """A person has seen an alarm that nothing else clears."""
    alarm = next((each for each in state.alarms if each.name == command.alarm), None)
    if alarm is None:
        return refuse("no_such_alarm", f"no alarm {command.alarm!r} waits to be acknowledged")
    if not can_acknowledge(alarm):
        return refuse("stands_until_resolved", f"{alarm.text}; only that clears it")
    return (AlarmCleared(alarm=alarm.name),)


def note_logins(_: TableState, command: NoteLogins, __: DecisionContext) -> Decision:
    """How far the record of logins reaches, so that a cut of it shows."""
    if command.entries < 1 or not _HASH.fullmatch(command.chain):
        return refuse("invalid_logins", "a record of logins has entries and a hash of 64 digits")
    return (LoginsNoted(entries=command.entries, chain=command.chain),)


HANDLERS: Final[Handlers] = {
    AssignDealer: assign_dealer,
    TakeTable: take_table,
    CallSupervisor: call_supervisor,
    AcknowledgeAlarm: acknowledge_alarm,
    NoteLogins: note_logins,
}
OFFERS: Final = Offers(
    bare=(CallSupervisor(transaction=ANY), TakeTable(transaction=ANY)),
    details=frozenset({"not_a_dealer"}),
)
