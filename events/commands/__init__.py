"""The commands and queries that a table answers: a module for each subject, and their registry.

Every room may import it, by the name of the package; it imports the event types.
"""

from events.commands.base import (
    ANSWER_ACCEPTED,
    ANSWER_EXISTS,
    ANSWER_REFUSED,
    Answer,
    Command,
    Correction,
    Previewed,
    Refusal,
    transaction_of,
)
from events.commands.cards import (
    CorrectCard,
    EnterCard,
    MarkUnreadable,
    Realign,
    ResolveIrregularity,
)
from events.commands.chips import (
    ChipCommand,
    CloseFloat,
    CorrectChips,
    CountChips,
    CountDrop,
    Credit,
    Fill,
    OpenFloat,
)
from events.commands.commission import CollectCommission, MarkUncollected, RecoverCommission
from events.commands.consumers import Ack, Replay
from events.commands.corrections import (
    AcknowledgeCorrection,
    CorrectHands,
    CorrectRulebook,
    CorrectWager,
)
from events.commands.coup import CloseBetting, ConfirmResult, FreeHand, OpenBetting, VoidCoup
from events.commands.previews import Preview, ShowCoup, ShowRequest
from events.commands.queries import (
    CardInstead,
    FindCoups,
    ProveCoup,
    Query,
    ShowTable,
    TellCoup,
    WhatIfCard,
)
from events.commands.shoe import (
    Burn,
    ClearShoeError,
    CountShoe,
    CutCard,
    EndShoe,
    LoadShoe,
    ReleaseShoe,
    ReplaceShoe,
)
from events.commands.staff import (
    AcknowledgeAlarm,
    AssignDealer,
    CallSupervisor,
    NoteLogins,
    TakeTable,
)
from events.commands.wagers import PlaceWager, SetLimits, WagerRequest, WithdrawWager

__all__ = [
    "ANSWER_ACCEPTED",
    "ANSWER_EXISTS",
    "ANSWER_REFUSED",
    "Ack",
    "AcknowledgeAlarm",
    "AcknowledgeCorrection",
    "Answer",
    "AssignDealer",
    "Burn",
    "CallSupervisor",
    "CardInstead",
    "ChipCommand",
    "ClearShoeError",
    "CloseBetting",
    "CloseFloat",
    "CollectCommission",
    "Command",
    "ConfirmResult",
    "CorrectCard",
    "CorrectChips",
    "CorrectHands",
    "CorrectRulebook",
    "CorrectWager",
    "Correction",
    "CountChips",
    "CountDrop",
    "CountShoe",
    "Credit",
    "CutCard",
    "EndShoe",
    "EnterCard",
    "Fill",
    "FindCoups",
    "FreeHand",
    "LoadShoe",
    "MarkUncollected",
    "MarkUnreadable",
    "NoteLogins",
    "OpenBetting",
    "OpenFloat",
    "PlaceWager",
    "Preview",
    "Previewed",
    "ProveCoup",
    "Query",
    "Realign",
    "RecoverCommission",
    "Refusal",
    "ReleaseShoe",
    "ReplaceShoe",
    "Replay",
    "ResolveIrregularity",
    "SetLimits",
    "ShowCoup",
    "ShowRequest",
    "ShowTable",
    "TakeTable",
    "TellCoup",
    "VoidCoup",
    "WagerRequest",
    "WhatIfCard",
    "WithdrawWager",
    "transaction_of",
]
