"""The commands that the table would refuse now, and why, for consoles' buttons. Pure.

Each command is decided without its details. A refusal because a detail is missing means that the
command is possible; a console shows any other refusal next to its button.
"""

from collections.abc import Iterator
from typing import Final

from events.cards import Card, Hand
from events.commands.chips import CloseFloat, CountChips, Credit, Fill, OpenFloat
from events.commands.play import (
    ANSWER_EXISTS,
    Burn,
    CloseBetting,
    CollectCommission,
    Command,
    ConfirmResult,
    CorrectCard,
    CutCard,
    EndShoe,
    EnterCard,
    FreeHand,
    LoadShoe,
    MarkUncollected,
    MarkUnreadable,
    OpenBetting,
    PlaceWager,
    Realign,
    Refusal,
    ReplaceShoe,
    ResolveIrregularity,
    SetLimits,
    VoidCoup,
    WithdrawWager,
)
from events.commands.registry import COMMAND_NAMES
from table_core.decide.decision import Context
from table_core.decide.dispatch import decide
from table_core.state.table import TableState

__all__ = ["refusals_now"]

_ANY: Final = "?"
_OPEN, _FREE = OpenBetting(transaction=_ANY), FreeHand(transaction=_ANY)
_END: Final = EndShoe(transaction=_ANY)

# None of these is complete, so deciding on them folds and judges nothing.
_BARE: Final[tuple[Command, ...]] = (
    LoadShoe(transaction=_ANY, shoe=""),
    Burn(transaction=_ANY, cards=-1, reason=""),
    ReplaceShoe(transaction=_ANY, shoe="", reason=""),
    CloseBetting(transaction=_ANY),
    PlaceWager(transaction=_ANY, wagers=()),
    WithdrawWager(transaction=_ANY, wagers=()),
    MarkUnreadable(transaction=_ANY, reason="", hand=Hand.PLAYER, number=0),
    EnterCard(transaction=_ANY, face=Card.SA, reason="", hand=Hand.PLAYER, number=0),
    CorrectCard(transaction=_ANY, face=Card.SA, reason="", hand=Hand.PLAYER, number=0),
    Realign(transaction=_ANY, reason=""),
    ResolveIrregularity(transaction=_ANY, kind="excess_card", reason=_ANY),
    ConfirmResult(transaction=_ANY, reason=""),
    VoidCoup(transaction=_ANY, reason=""),
    CollectCommission(transaction=_ANY),
    SetLimits(transaction=_ANY, table_maximum=0),
    OpenFloat(transaction=_ANY, float_id="", currency="", chips=()),
    Fill(transaction=_ANY, slip="", chips=()),
    Credit(transaction=_ANY, slip="", chips=()),
    CountChips(transaction=_ANY, chips=()),
    CloseFloat(transaction=_ANY, chips=()),
)
_DETAILS: Final = frozenset(
    {
        "card_known",
        "invalid_burn",
        "invalid_float",
        "invalid_limits",
        "invalid_shoe",
        "invalid_slip",
        "no_chips",
        "no_such_card",
        "no_wagers",
        "not_due",
        "reason_required",
        "seen_required",
        "unknown_wager",
    }
)
"""Codes of refusals that a complete command would not meet."""
_HOLDS: Final = Refusal(code=ANSWER_EXISTS, text="this holds already")


def refusals_now(state: TableState, context: Context) -> dict[str, Refusal]:
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
    yield from (_OPEN, _FREE)
    yield CutCard(transaction=_ANY, place="mid_coup" if state.in_progress else "between")
    # Its audit searches the orders of earlier shoes: only where the command is refused anyway.
    if state.shoe is None or state.in_progress or state.shoe.ended:
        yield _END
