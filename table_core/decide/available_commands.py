"""What the table would refuse as it stands, and why: for consoles, which judge nothing themselves.

Each command is asked of `decide` without its details. A refusal for want of these means that the
command is possible; any other is what a button shows as the reason why it cannot be pressed. What
is asked stands in the `OFFERS` of each subject, beside its handlers.
"""

from collections.abc import Iterator
from typing import Final

from events.commands.base import ANSWER_EXISTS, Command, Refusal
from events.commands.commission import CollectCommission, MarkUncollected
from events.commands.registry import COMMAND_NAMES
from events.commands.shoe import CutCard, EndShoe
from table_core.decide.decision import ANY, Context
from table_core.decide.dispatch import SUBJECTS, decide
from table_core.state.table import TableState

__all__ = ["refusals_now"]

_BARE: Final[tuple[Command, ...]] = tuple(
    command for subject in SUBJECTS for command in subject.OFFERS.bare
)
_DETAILS: Final[frozenset[str]] = frozenset(
    code for subject in SUBJECTS for code in subject.OFFERS.details
)
_END: Final = EndShoe(transaction=ANY)
_HOLDS: Final = Refusal(code=ANSWER_EXISTS, text="this holds already")


def refusals_now(state: TableState, context: Context) -> dict[str, Refusal]:
    """By command name, why it would be refused now, whoever asks; nothing for one that would not.

    Commands that may be about a coup that is over, about any seat, or that hold at any time are
    not among them: only the whole command tells.
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
    # Its audit searches the orders of earlier shoes: only where it is refused anyhow.
    if state.shoe is None or state.in_progress or state.shoe.ended:
        yield _END
