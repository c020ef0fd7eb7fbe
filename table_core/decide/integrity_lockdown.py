"""What a table refuses while its log cannot be trusted. Pure.

The coup on the table goes on to its end by the cards that everybody sees: it is finished, or void.
What else would pay stands on the record that is in doubt, and waits: new bets, a wager or another
rulebook put in afterwards, and whatever changes a coup that is over. A settlement is never issued
again out of a log that somebody may have changed.
"""

from typing import Final

from events.commands.base import Command, Refusal
from events.commands.cards import CorrectCard
from events.commands.corrections import CorrectHands, CorrectRulebook, CorrectWager
from events.commands.coup import OpenBetting, VoidCoup
from events.commands.wagers import PlaceWager
from table_core.decide.settled_coups import in_progress
from table_core.refusals import refuse
from table_core.state.table import TableState

__all__ = ["refusal_in_doubt"]

_CODE: Final = "log_unsound"
_NEW_BETS: Final = (OpenBetting, PlaceWager)
_NEW_CLAIMS: Final = (CorrectWager, CorrectRulebook)
# Of the coup in progress they are allowed: without them it could not be finished.
_OF_A_COUP: Final = (CorrectCard, CorrectHands, VoidCoup)


def refusal_in_doubt(state: TableState, command: Command, fault: str | None) -> Refusal | None:
    """Why a command must wait until the log is trusted again; None where it need not.

    Args:
        state: the table.
        command: what is asked.
        fault: what is wrong with the log, in one line; None where nothing is.
    """
    if fault is None:
        return None
    if isinstance(command, _NEW_BETS):
        return refuse(_CODE, f"no more bets: {fault}")
    if isinstance(command, _NEW_CLAIMS):
        return refuse(_CODE, f"no wager and no rulebook is corrected: {fault}")
    named = command.coup if isinstance(command, _OF_A_COUP) else None
    if named is not None and in_progress(state, named) is None:
        return refuse(_CODE, f"no coup that is over is corrected: {fault}")
    return None
