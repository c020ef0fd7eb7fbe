"""Sentences for a shoe's reports, one for every kind of report. Pure."""

from collections.abc import Callable
from typing import Any, Final

from events.cards import Card, Hand
from events.types.shoe_reports import (
    BurnCard,
    CardCarriedOver,
    CardDrawn,
    CardOutOfGame,
    CardRevealed,
    CardReversed,
    CardUnreadable,
    CopyConflict,
    CutCardReported,
    DeviceResult,
    ErrorCleared,
    ErrorRaised,
    FirstCard,
    FrameRejected,
    LinkDown,
    LinkOpen,
    LinkStalled,
    LinkUp,
    LockChanged,
    ModeChanged,
    Report,
    ReportLost,
    RoundForcedEnd,
    ShoeBooted,
    ShoeReady,
    UnknownReport,
)
from table_core.narrative.formatting import face, place_name

__all__ = ["REPORT_WORDS", "TROUBLE", "report_words"]

TROUBLE: Final = frozenset(
    {
        CardOutOfGame,
        CardReversed,
        CardUnreadable,
        CopyConflict,
        ErrorRaised,
        FrameRejected,
        LinkDown,
        LinkStalled,
        ReportLost,
        RoundForcedEnd,
        ShoeBooted,
        UnknownReport,
    }
)
"""Reports of something wrong, or of something that a person should look at."""


def report_words(report: Report) -> str:
    """Return the report as a sentence for a reader who knows no protocol."""
    words = REPORT_WORDS.get(type(report))
    return words(report) if words else f"The shoe says {type(report).__name__}."


def _where(hand: Hand | None, number: int | None) -> str:
    return place_name(hand, number) if hand and number else "a place that it does not name"


def _drawn(report: CardDrawn) -> str:
    what = face(report.face) if report.face else "a card, face down,"
    return f"The shoe drew {what} for {_where(report.hand, report.number)}."


def _known(card: Card | None) -> str:
    return face(card) if card else "a card without a face"


def _lost(report: ReportLost) -> str:
    if report.expected.isdecimal():
        return (
            f"A report of the shoe never arrived: number {report.expected} was due, and "
            f"{report.got} came."
        )
    got = report.got.replace("_", " ")
    return f"A {report.expected} of the shoe could not be taken ({got}). It may have been a card."


def _burned(report: BurnCard) -> str:
    left = "" if report.left is None else f"; {report.left} to go"
    return f"The shoe burned {_known(report.face)}{left}."


def _result(report: DeviceResult) -> str:
    said = [
        text
        for text, told in (
            ("Player Pair", report.player_pair),
            ("Banker Pair", report.banker_pair),
            ("Banker with six", report.banker_six),
        )
        if told
    ]
    pairs = f", with {', '.join(said)}" if said else ""
    return f"The shoe's own result: {report.winner.capitalize()}{pairs}."


REPORT_WORDS: Final[dict[type[Report], Callable[[Any], str]]] = {
    ShoeBooted: lambda _: "The shoe powered up and begins to count anew.",
    ShoeReady: lambda _: "The shoe stands by.",
    LinkOpen: lambda r: f"The line to the shoe was opened ({r.transport}).",
    LinkUp: lambda _: "The shoe is heard again.",
    LinkDown: lambda r: f"The line to the shoe was lost: {r.reason}.",
    LinkStalled: lambda r: f"The shoe has been silent for {r.silent_ms / 1000:g} s.",
    CardDrawn: _drawn,
    CardRevealed: lambda r: f"{place_name(r.hand, r.number)} was disclosed: {face(r.face)}.",
    CardUnreadable: lambda r: (
        f"A card came for {_where(r.hand, r.number)} and the shoe could not read it."
    ),
    FirstCard: lambda r: f"The first card of the shoe: {_known(r.face)}.",
    BurnCard: _burned,
    CutCardReported: lambda _: "The cut card came out.",
    ReportLost: _lost,
    CardOutOfGame: lambda r: (
        f"A card left the shoe for no hand ({r.reason.replace('_', ' ')}): {_known(r.face)}."
    ),
    CardCarriedOver: lambda r: (
        f"The shoe carried an overdrawn card over to {place_name(r.hand, r.number)}: "
        f"{_known(r.face)}."
    ),
    CardReversed: lambda r: f"A card moved backwards at the shoe's {r.place}.",
    ErrorRaised: lambda r: f"The shoe reports an error: {r.code.replace('_', ' ')}.",
    ErrorCleared: lambda r: f"The shoe's error is gone: {r.code.replace('_', ' ')}.",
    LockChanged: lambda r: f"The shoe was {'locked' if r.locked else 'unlocked'} with its key.",
    DeviceResult: _result,
    RoundForcedEnd: lambda _: "Somebody ended the round at the shoe.",
    ModeChanged: lambda r: f"The shoe works in another mode now: {r.mode}.",
    UnknownReport: lambda r: f"The shoe sent a message that nobody has explained: {r.raw}.",
    FrameRejected: lambda r: f"{r.length} bytes on the line were no message: {r.reason}.",
    CopyConflict: lambda r: (
        f"Copies of the shoe's message {r.device_seq} differ, so that none can be trusted: "
        f"{' against '.join(r.bodies)}."
    ),
}
"""Kind of report to its sentence."""
