"""The commands that the table would refuse now, and why, for consoles' buttons. Pure.

Each command is decided without its details. A refusal because a detail is missing means that the
command is possible; a console shows any other refusal next to its button. `OFFERS` of each subject
names the commands, next to its handlers.
"""

from collections.abc import Iterator
from typing import Final

from events.commands import (
    ANSWER_EXISTS,
    CollectCommission,
    Command,
    CutCard,
    EndShoe,
    MarkUncollected,
    Refusal,
)
from events.commands.registry import COMMAND_NAMES
from table_core.decide.decision import ANY, DecisionContext
from table_core.decide.dispatch import SUBJECTS, decide
from table_core.state.table import TableState

__all__ = ["current_refusals"]

_BARE: Final[tuple[Command, ...]] = tuple(
    command for subject in SUBJECTS for command in subject.OFFERS.bare
)
_DETAILS: Final[frozenset[str]] = frozenset(
    code for subject in SUBJECTS for code in subject.OFFERS.details
)
"""Codes of refusals that a complete command would not meet."""
_END: Final = EndShoe(transaction=ANY)
_HOLDS: Final = Refusal(code=ANSWER_EXISTS, text="this holds already")


def current_refusals(state: TableState, context: DecisionContext) -> dict[str, Refusal]:
    """Return, by command name, why the table would refuse the command now from any user.

    Commands about a coup that is over or about a seat, and commands that are always possible, are
    left out: only the complete command can be decided on.
    """
    refused: dict[str, Refusal] = {}
    for command in _asked(state):
        refusal = decide(state, command, context) or _HOLDS
        if isinstance(refusal, Refusal) and refusal.code not in _DETAILS:
            refused[COMMAND_NAMES[type(command)]] = refusal
    owes = refused.get(COMMAND_NAMES[CollectCommission])
    if owes is not None:
        refused[COMMAND_NAMES[MarkUncollected]] = owes
    return refused


def _asked(state: TableState) -> Iterator[Command]:
    yield from _BARE
    yield CutCard(transaction=ANY, place="mid_coup" if state.in_progress else "between")
    # Its audit searches the orders of earlier shoes: only where the command is refused anyway.
    if state.shoe is None or state.in_progress or state.shoe.ended:
        yield _END
