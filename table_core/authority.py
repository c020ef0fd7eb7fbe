"""Who may ask for what. The broker ties a topic to a login; this table ties a login to commands."""

from typing import Final

from events.commands import (
    Ack,
    AcknowledgeAlarm,
    AssignDealer,
    Burn,
    CloseBetting,
    CollectCommission,
    Command,
    ConfirmResult,
    CorrectCard,
    CorrectHands,
    CorrectRulebook,
    CorrectWager,
    CutCard,
    EndShoe,
    EnterCard,
    FreeHand,
    LoadShoe,
    MarkUncollected,
    MarkUnreadable,
    OpenBetting,
    PlaceWager,
    Preview,
    Realign,
    RecoverCommission,
    Refusal,
    ReplaceShoe,
    Replay,
    ResolveIrregularity,
    SetLimits,
    ShowCoup,
    VoidCoup,
    WithdrawWager,
)

__all__ = ["MAY", "ROLES", "authorise"]

ROLES: Final = frozenset({"dealer", "supervisor", "technician", "wagers", "cage", "display"})

_PIT: Final = frozenset({"dealer", "supervisor"})
_SUPERVISOR: Final = frozenset({"supervisor"})

MAY: Final[dict[type[Command], frozenset[str]]] = {
    LoadShoe: _PIT,
    Burn: _PIT,
    CutCard: _PIT,
    EndShoe: _PIT,
    OpenBetting: _PIT,
    CloseBetting: _PIT,
    PlaceWager: frozenset({"wagers", "dealer"}),
    WithdrawWager: frozenset({"wagers", "dealer"}),
    FreeHand: _PIT,
    MarkUnreadable: _PIT,
    ResolveIrregularity: _PIT,
    EnterCard: _SUPERVISOR,
    CorrectCard: _SUPERVISOR,
    CorrectHands: _SUPERVISOR,
    CorrectWager: _SUPERVISOR,
    CorrectRulebook: _SUPERVISOR,
    Realign: _SUPERVISOR,
    ReplaceShoe: _SUPERVISOR,
    AssignDealer: _SUPERVISOR,
    SetLimits: _SUPERVISOR,
    AcknowledgeAlarm: _PIT | {"technician"},
    ConfirmResult: _SUPERVISOR,
    VoidCoup: _SUPERVISOR,
    CollectCommission: _PIT,
    MarkUncollected: _SUPERVISOR,
    RecoverCommission: _SUPERVISOR,
    Replay: ROLES,
    Ack: frozenset({"cage"}),
    ShowCoup: _PIT,
    Preview: _SUPERVISOR,
}


def authorise(roles: frozenset[str], command: Command) -> Refusal | None:
    """None when one of `roles` may give `command`; else the refusal.

    An `actor` is refused here: no user of this table is a delegate that may speak for others.
    """
    if command.actor is not None:
        return Refusal(code="not_a_delegate", text="this user may not ask on behalf of an actor")
    allowed = MAY[type(command)]
    if roles & allowed:
        return None
    return Refusal(code="not_allowed", text=f"this needs the role {' or '.join(sorted(allowed))}")
