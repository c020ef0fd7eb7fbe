"""Who may ask for what. The broker ties a topic to a login; this table ties a login to commands."""

from typing import Final

from events.commands.chips import (
    CloseFloat,
    CorrectChips,
    CountChips,
    CountDrop,
    Credit,
    Fill,
    OpenFloat,
)
from events.commands.play import (
    Ack,
    AcknowledgeAlarm,
    AssignDealer,
    Burn,
    ClearShoeError,
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
    ShowRequest,
    VoidCoup,
    WithdrawWager,
)
from events.commands.queries import FindCoups, ProveCoup, ShowTable, TellCoup, WhatIfCard

__all__ = ["DELEGATE", "MAY", "ROLES", "authorise"]

# A program that speaks for people: each of its commands names its person as `actor`.
DELEGATE: Final = "console"
ROLES: Final = frozenset(
    {"dealer", "supervisor", "technician", "wagers", "cage", "display", DELEGATE}
)

_PIT: Final = frozenset({"dealer", "supervisor"})
_SUPERVISOR: Final = frozenset({"supervisor"})
# Who answers a dispute, and who looks after the shoe and its raw bytes.
_PAST: Final = frozenset({"supervisor", "technician"})

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
    ClearShoeError: _SUPERVISOR | {"technician"},
    ConfirmResult: _SUPERVISOR,
    VoidCoup: _SUPERVISOR,
    CollectCommission: _PIT,
    MarkUncollected: _SUPERVISOR,
    RecoverCommission: _SUPERVISOR,
    OpenFloat: _SUPERVISOR,
    Fill: _SUPERVISOR,
    Credit: _SUPERVISOR,
    CountChips: _SUPERVISOR,
    CloseFloat: _SUPERVISOR,
    CorrectChips: _SUPERVISOR,
    CountDrop: frozenset({"cage"}),
    Replay: ROLES,
    Ack: frozenset({"cage"}),
    ShowCoup: _PIT,
    ShowRequest: ROLES,
    Preview: _SUPERVISOR,
    FindCoups: _PAST,
    TellCoup: _PAST,
    ShowTable: _PAST,
    WhatIfCard: _PAST,
    ProveCoup: _PAST,
}


def authorise(
    roles: frozenset[str], command: Command, of_actor: frozenset[str] = frozenset()
) -> Refusal | None:
    """None when the command may be given; else the refusal.

    Args:
        roles: of the user whose login brought it.
        command: what is asked for.
        of_actor: the roles of the person whom `command.actor` names. Only a delegate may name one,
            and then it is that person's roles alone that count.
    """
    if command.actor is not None:
        if DELEGATE not in roles:
            text = "this user may not ask on behalf of an actor"
            return Refusal(code="not_a_delegate", text=text)
        roles = of_actor - {DELEGATE}
    allowed = MAY[type(command)]
    if roles & allowed:
        return None
    return Refusal(code="not_allowed", text=f"this needs the role {' or '.join(sorted(allowed))}")
