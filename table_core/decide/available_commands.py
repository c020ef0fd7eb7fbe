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
from table_core.decide.staff import CALLED_ALARM
from table_core.kept_results import keep_newest
from table_core.rules.rulebook import Rulebook
from table_core.state.table import TableState

__all__ = ["current_refusals", "decided_refusals"]

_MOST_KEPT: Final = 256  # a shoe's coups repeat some twenty

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
    left out: only the complete command can be decided on. Nobody changes the result: it is kept.
    """
    kept, facts = _kept(context.rulebook), _facts(state, context)
    refused = kept.get(facts)
    if refused is None:
        if len(kept) >= _MOST_KEPT:
            kept.clear()
        refused = kept[facts] = decided_refusals(state, context)
    return refused


def decided_refusals(state: TableState, context: DecisionContext) -> dict[str, Refusal]:
    """Return `current_refusals`, each decided anew."""
    refused: dict[str, Refusal] = {}
    for command in _asked(state):
        refusal = decide(state, command, context) or _HOLDS
        if isinstance(refusal, Refusal) and refusal.code not in _DETAILS:
            refused[COMMAND_NAMES[type(command)]] = refusal
    owes = refused.get(COMMAND_NAMES[CollectCommission])
    if owes is not None:
        refused[COMMAND_NAMES[MarkUncollected]] = owes
    return refused


@keep_newest
def _kept(_: Rulebook) -> dict[tuple[object, ...], dict[str, Refusal]]:
    """Return what was decided under a rulebook, by the facts."""
    return {}


def _facts(state: TableState, context: DecisionContext) -> tuple[object, ...]:
    """Return all that a bare command's refusal depends on, besides the rulebook.

    Each card changes the state, and none of this: no bare command names a card or a wager.
    """
    shoe, link = state.shoe, state.link
    newest = state.floats[-1] if state.floats else None
    return (
        state.phase,
        shoe and (shoe.id, shoe.decks, shoe.ended, shoe.burn_recorded, shoe.last_coup),
        shoe and shoe.last_coup and shoe.coups,
        (link.state, link.dummy, link.errors, link.locked),
        state.held,
        bool(state.orders),
        bool(state.commission.outstanding),
        newest and (newest.id, newest.open),
        state.dealer,
        any(alarm.name == CALLED_ALARM for alarm in state.alarms),
        context.caught_up,
        context.fault,
        context.dealers,
    )


def _asked(state: TableState) -> Iterator[Command]:
    yield from _BARE
    yield CutCard(transaction=ANY, place="mid_coup" if state.in_progress else "between")
    # Its audit searches the orders of earlier shoes: only where the command is refused anyway.
    if state.shoe is None or state.in_progress or state.shoe.ended:
        yield _END
