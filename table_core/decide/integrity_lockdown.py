"""Integrity lockdown: the commands that a table refuses while its log cannot be trusted. Pure.

People may finish or void the coup in progress, because everybody sees its cards. The table refuses
every other command that would pay, because that command relies on the doubtful record: new bets, a
later correction of a wager or a rulebook, and any change to a coup that is over. The table never
issues a settlement again from a log that somebody may have changed.
"""

from typing import Final

from events.commands import (
    Command,
    CorrectCard,
    CorrectHands,
    CorrectRulebook,
    CorrectWager,
    OpenBetting,
    PlaceWager,
    Refusal,
    VoidCoup,
)
from table_core.decide.corrections import find_coup_in_progress
from table_core.refusals import refuse
from table_core.state.table import TableState

__all__ = ["lockdown_refusal"]

_CODE: Final = "log_unsound"
_NEW_BETS: Final = (OpenBetting, PlaceWager)
_NEW_CLAIMS: Final = (CorrectWager, CorrectRulebook)
# Allowed for the coup in progress: without them nobody could finish it.
_OF_A_COUP: Final = (CorrectCard, CorrectHands, VoidCoup)


def lockdown_refusal(state: TableState, command: Command, fault: str | None) -> Refusal | None:
    """Return why a command must wait until the log is trusted again; None where it need not.

    Args:
        state: the table.
        command: the command to decide on.
        fault: the fault of the log, in one line; None where it has none.
    """
    if fault is None:
        return None
    if isinstance(command, _NEW_BETS):
        return refuse(_CODE, f"no more bets: {fault}")
    if isinstance(command, _NEW_CLAIMS):
        return refuse(_CODE, f"no wager and no rulebook is corrected: {fault}")
    named = command.coup if isinstance(command, _OF_A_COUP) else None
    if named is not None and find_coup_in_progress(state, named) is None:
        return refuse(_CODE, f"no coup that is over is corrected: {fault}")
    return None
