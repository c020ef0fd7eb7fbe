"""The registry of commands: one row each, from which everything that lists commands is derived.

Who wants to know of a command its body opens its type, who may give it reads its roles, and what
it does opens the module that decides it.
"""

from enum import Enum
from typing import Final

from msgspec import Struct

from events.commands import (
    cards,
    chips,
    commission,
    consumers,
    corrections,
    coup,
    previews,
    queries,
    shoe,
    staff,
    wagers,
)
from events.commands.base import Command

__all__ = ["COMMANDS", "COMMAND_NAMES", "DELEGATE", "ROLES", "ROWS", "ROW_OF", "Decider", "Row"]

# A program that speaks for people: each of its commands names its person as `actor`.
DELEGATE: Final = "console"
ROLES: Final = frozenset(
    {"dealer", "supervisor", "technician", "wagers", "cage", "display", DELEGATE}
)
"""The roles that a user of the bus can have."""

_PIT: Final = frozenset({"dealer", "supervisor"})
_SUPERVISOR: Final = frozenset({"supervisor"})
_DEALER: Final = frozenset({"dealer"})
_WAGERS: Final = frozenset({"wagers", "dealer"})
_CAGE: Final = frozenset({"cage"})
_SCREENS: Final = frozenset({DELEGATE})
# Who answers a dispute, and who looks after the shoe and its raw bytes.
_PAST: Final = frozenset({"supervisor", "technician"})


class Decider(Enum):
    """The module that decides a command: this room imports none of them.

    A module of `table_core.decide` decides by the table's state, and its events are appended. The
    last three answer what appends nothing.
    """

    SHOE = "table_core.decide.shoe"
    COUP = "table_core.decide.coup"
    WAGERS = "table_core.decide.wagers"
    CARDS = "table_core.decide.cards"
    CORRECTIONS = "table_core.decide.corrections"
    STAFF = "table_core.decide.staff"
    COMMISSION = "table_core.decide.commission"
    CHIPS = "table_core.decide.chips"
    CONSUMERS = "table_core.process.consumer_requests"
    PREVIEWS = "table_core.process.previews"
    HISTORY = "baccarat.history.process"


class Row(Struct, frozen=True):
    """What is known of a command.

    Args:
        name: the last segment of its topic, `request/<user>/<command>`.
        type: its body.
        roles: who may ask for it, one of them.
        decider: the module that decides it.
    """

    name: str
    type: type[Command]
    roles: frozenset[str]
    decider: Decider


ROWS: Final[tuple[Row, ...]] = (
    Row("load_shoe", shoe.LoadShoe, _PIT, Decider.SHOE),
    Row("burn", shoe.Burn, _PIT, Decider.SHOE),
    Row("cut_card", shoe.CutCard, _PIT, Decider.SHOE),
    Row("end_shoe", shoe.EndShoe, _PIT, Decider.SHOE),
    Row("count_shoe", shoe.CountShoe, _PIT | {"technician"}, Decider.SHOE),
    Row("release_shoe", shoe.ReleaseShoe, _SUPERVISOR, Decider.SHOE),
    Row("open_betting", coup.OpenBetting, _PIT, Decider.COUP),
    Row("place_wager", wagers.PlaceWager, _WAGERS, Decider.WAGERS),
    Row("withdraw_wager", wagers.WithdrawWager, _WAGERS, Decider.WAGERS),
    Row("set_limits", wagers.SetLimits, _SUPERVISOR, Decider.WAGERS),
    Row("close_betting", coup.CloseBetting, _PIT, Decider.COUP),
    Row("free_hand", coup.FreeHand, _PIT, Decider.COUP),
    Row("mark_unreadable", cards.MarkUnreadable, _PIT, Decider.CARDS),
    Row("enter_card", cards.EnterCard, _SUPERVISOR, Decider.CARDS),
    Row("correct_card", cards.CorrectCard, _SUPERVISOR, Decider.CARDS),
    Row("correct_hands", corrections.CorrectHands, _SUPERVISOR, Decider.CORRECTIONS),
    Row("correct_wager", corrections.CorrectWager, _SUPERVISOR, Decider.CORRECTIONS),
    Row("correct_rulebook", corrections.CorrectRulebook, _SUPERVISOR, Decider.CORRECTIONS),
    Row(
        "acknowledge_correction",
        corrections.AcknowledgeCorrection,
        _PIT,
        Decider.CORRECTIONS,
    ),
    Row("realign", cards.Realign, _SUPERVISOR, Decider.CARDS),
    Row("resolve_irregularity", cards.ResolveIrregularity, _PIT, Decider.CARDS),
    Row("replace_shoe", shoe.ReplaceShoe, _SUPERVISOR, Decider.SHOE),
    Row("call_supervisor", staff.CallSupervisor, _PIT, Decider.STAFF),
    Row("acknowledge_alarm", staff.AcknowledgeAlarm, _PIT | {"technician"}, Decider.STAFF),
    Row("clear_shoe_error", shoe.ClearShoeError, _SUPERVISOR | {"technician"}, Decider.SHOE),
    Row("assign_dealer", staff.AssignDealer, _SUPERVISOR, Decider.STAFF),
    Row("take_table", staff.TakeTable, _DEALER, Decider.STAFF),
    Row("note_logins", staff.NoteLogins, _SCREENS, Decider.STAFF),
    Row("confirm_result", coup.ConfirmResult, _SUPERVISOR, Decider.COUP),
    Row("void_coup", coup.VoidCoup, _SUPERVISOR, Decider.COUP),
    Row("collect_commission", commission.CollectCommission, _PIT, Decider.COMMISSION),
    Row("mark_uncollected", commission.MarkUncollected, _SUPERVISOR, Decider.COMMISSION),
    Row("recover_commission", commission.RecoverCommission, _SUPERVISOR, Decider.COMMISSION),
    Row("open_float", chips.OpenFloat, _SUPERVISOR, Decider.CHIPS),
    Row("fill", chips.Fill, _SUPERVISOR, Decider.CHIPS),
    Row("credit", chips.Credit, _SUPERVISOR, Decider.CHIPS),
    Row("count_chips", chips.CountChips, _SUPERVISOR, Decider.CHIPS),
    Row("close_float", chips.CloseFloat, _SUPERVISOR, Decider.CHIPS),
    Row("count_drop", chips.CountDrop, _CAGE, Decider.CHIPS),
    Row("correct_chips", chips.CorrectChips, _SUPERVISOR, Decider.CHIPS),
    Row("replay", consumers.Replay, ROLES, Decider.CONSUMERS),
    Row("ack", consumers.Ack, _CAGE, Decider.CONSUMERS),
    Row("show_coup", previews.ShowCoup, _PIT, Decider.PREVIEWS),
    Row("show_request", previews.ShowRequest, ROLES, Decider.PREVIEWS),
    Row("preview", previews.Preview, _SUPERVISOR, Decider.PREVIEWS),
    Row("find_coups", queries.FindCoups, _PAST, Decider.HISTORY),
    Row("tell_coup", queries.TellCoup, _PAST, Decider.HISTORY),
    Row("show_table", queries.ShowTable, _PAST, Decider.HISTORY),
    Row("what_if", queries.WhatIfCard, _PAST, Decider.HISTORY),
    Row("prove_coup", queries.ProveCoup, _PAST, Decider.HISTORY),
)

COMMANDS: Final = {row.name: row.type for row in ROWS}
"""Every command's type by its name."""

COMMAND_NAMES: Final = {row.type: row.name for row in ROWS}

ROW_OF: Final = {row.type: row for row in ROWS}
"""Every command's row by its type."""
