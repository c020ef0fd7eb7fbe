"""Sentences for a shoe's reports, one for every kind of report. Pure."""

from collections.abc import Callable
from typing import Any, Final

from events.cards import Card, Hand
from events.types import (
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
from table_core.narrative.formatting import Phrase, face, place_name

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
    if isinstance(words, str):
        return Phrase(words)
    return words(report) if words else f"The shoe says {type(report).__name__}."


def _where(hand: Hand | None, number: int | None) -> str:
    if hand and number:
        return place_name(hand, number)
    return Phrase("a place that it does not name")


def _drawn(report: CardDrawn) -> str:
    what = face(report.face) if report.face else Phrase("a card, face down,")
    where = _where(report.hand, report.number)
    return Phrase("The shoe drew {card} for {place}.", card=what, place=where)


def _known(card: Card | None) -> str:
    return face(card) if card else Phrase("a card without a face")


def _lost(report: ReportLost) -> str:
    if report.expected.isdecimal():
        never = "A report of the shoe never arrived: number {expected} was due, and {got} came."
        return Phrase(never, expected=report.expected, got=report.got)
    return Phrase(
        "A {what} of the shoe could not be taken ({why}). It may have been a card.",
        what=report.expected,
        why=report.got.replace("_", " "),
    )


def _burned(report: BurnCard) -> str:
    if report.left is None:
        return Phrase("The shoe burned {card}.", card=_known(report.face))
    return Phrase(
        "The shoe burned {card}; {left} to go.", card=_known(report.face), left=report.left
    )


def _result(report: DeviceResult) -> str:
    said = tuple(
        Phrase(text)
        for text, told in (
            ("Player Pair", report.player_pair),
            ("Banker Pair", report.banker_pair),
            ("Banker with six", report.banker_six),
        )
        if told
    )
    says = (
        "The shoe's own result: {winner}, with {pairs}."
        if said
        else "The shoe's own result: {winner}."
    )
    return Phrase(says, winner=Phrase(report.winner.capitalize()), pairs=said)


REPORT_WORDS: Final[dict[type[Report], str | Callable[[Any], str]]] = {
    ShoeBooted: "The shoe powered up and begins to count anew.",
    ShoeReady: "The shoe stands by.",
    LinkOpen: lambda r: Phrase("The line to the shoe was opened ({how}).", how=r.transport),
    LinkUp: "The shoe is heard again.",
    LinkDown: lambda r: Phrase("The line to the shoe was lost: {reason}.", reason=r.reason),
    LinkStalled: lambda r: Phrase(
        "The shoe has been silent for {seconds} s.", seconds=f"{r.silent_ms / 1000:g}"
    ),
    CardDrawn: _drawn,
    CardRevealed: lambda r: Phrase(
        "{place} was disclosed: {card}.", place=place_name(r.hand, r.number), card=face(r.face)
    ),
    CardUnreadable: lambda r: Phrase(
        "A card came for {place} and the shoe could not read it.", place=_where(r.hand, r.number)
    ),
    FirstCard: lambda r: Phrase("The first card of the shoe: {card}.", card=_known(r.face)),
    BurnCard: _burned,
    CutCardReported: "The cut card came out.",
    ReportLost: _lost,
    CardOutOfGame: lambda r: Phrase(
        "A card left the shoe for no hand ({why}): {card}.",
        why=r.reason.replace("_", " "),
        card=_known(r.face),
    ),
    CardCarriedOver: lambda r: Phrase(
        "The shoe carried an overdrawn card over to {place}: {card}.",
        place=place_name(r.hand, r.number),
        card=_known(r.face),
    ),
    CardReversed: lambda r: Phrase("A card moved backwards at the shoe's {place}.", place=r.place),
    ErrorRaised: lambda r: Phrase(
        "The shoe reports an error: {code}.", code=r.code.replace("_", " ")
    ),
    ErrorCleared: lambda r: Phrase(
        "The shoe's error is gone: {code}.", code=r.code.replace("_", " ")
    ),
    LockChanged: lambda r: Phrase(
        "The shoe was locked with its key." if r.locked else "The shoe was unlocked with its key."
    ),
    DeviceResult: _result,
    RoundForcedEnd: "Somebody ended the round at the shoe.",
    ModeChanged: lambda r: Phrase("The shoe works in another mode now: {mode}.", mode=r.mode),
    UnknownReport: lambda r: Phrase(
        "The shoe sent a message that nobody has explained: {bytes}.", bytes=r.raw
    ),
    FrameRejected: lambda r: Phrase(
        "{n} bytes on the line were no message: {reason}.", n=r.length, reason=r.reason
    ),
    CopyConflict: lambda r: Phrase(
        "Copies of the shoe's message {n} differ, so that none can be trusted: {bodies}.",
        n=r.device_seq,
        bodies=" against ".join(r.bodies),
    ),
}
"""Kind of report to its sentence."""
