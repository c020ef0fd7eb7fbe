"""The states and transitions of a coup, as one table. Pure.

A transition that is not in the table is refused and changes nothing.

Theory
------
A coup begins when betting opens, or, where nobody opened it, with its first card (*wagerless*).
From then on the coup is in exactly one of these phases:

``betting``     wagers come and go. No card has come; or, where the house closes betting before the
                reveal only, cards lie face down.
``closed``      no more wagers, no card yet. From here on cards are expected, so from here on a
                break in the shoe's continuity can hide one: the coup then becomes *misaligned*.
``dealing``     at least one card has come to its place. Faces may be withheld until disclosure.
``complete``    every card due by our draw table has come and is known. The outcome is ours; the
                money waits for the shoe's own result, where the wire profile gives one.
``disputed``    the shoe's result is another than ours. Held for a named person.
``confirmed``   the result may be paid. The settlement leaves it in the same transaction.
``held``        a card came when none was due, and a person must say whether the table saw it.
``misaligned``  we cannot vouch for the cards. Nothing settles; a device result never heals it.
``settled``     paid. Over.
``voided``      did not count; unsettled stakes went back. Over.

Inputs are the types of table events. The first settlement phase is a different input from the
last, because the first keeps the coup going and the last ends it. `decide` checks `allows` before
it emits an event, and the fold moves by the same table, so the two cannot drift apart.

Two kinds of events are not in the table. `shoe_reported` is recorded in every phase (a shoe may
report at any time) and moves nothing by itself. The events of shoe and table life belong to no
coup. A fault while betting is open raises an alarm and does not misalign: no card can have been
counted yet, and the position of the next card reveals a lost first card.

A face that a person enters, corrects or distrusts sends the coup back to ``dealing``, where it is
judged again with the faces known then. A first phase that was paid on other faces is reversed and
settled again. A misaligned coup accepts entered cards without being judged; only a person's
realignment brings it back. A corrected wager or rulebook moves no phase.

A coup that is over stays over. A correction after its settlement is no transition, and is folded
outside this table (`table_core.fold.corrections`), independently of the coup in progress.
"""

from enum import Enum
from typing import Final

from events.types import (
    BettingClosed,
    BettingOpened,
    CardCorrected,
    CardDealt,
    CardDisclosed,
    CardEntered,
    CardMarkedUnreadable,
    CardUnread,
    CoupMisaligned,
    CoupRealigned,
    CoupSettled,
    CoupVoided,
    DealCompleted,
    ExcessCardDrawn,
    ExcessCardResolved,
    HandsCorrected,
    ResultConfirmed,
    ResultDisputed,
    RulebookCorrected,
    TableEvent,
    WagerCorrected,
    WagersPlaced,
    WagersVoided,
    WagersWithdrawn,
)

__all__ = ["COUP_EVENTS", "OVER", "TRANSITIONS", "Phase", "advance", "allows", "input_of"]


class Phase(Enum):
    """Where a coup stands; `NONE` before a table's first coup."""

    NONE = "none"
    BETTING = "betting"
    CLOSED = "closed"
    DEALING = "dealing"
    COMPLETE = "complete"
    DISPUTED = "disputed"
    CONFIRMED = "confirmed"
    HELD = "held"
    MISALIGNED = "misaligned"
    SETTLED = "settled"
    VOIDED = "voided"

    # Faster than Enum's own, which is written in Python: each event of a log looks up its phase
    # twice.
    __hash__ = object.__hash__


OVER: Final = frozenset({Phase.NONE, Phase.SETTLED, Phase.VOIDED})
"""The phases in which no coup is in progress."""

_FIRST_PHASE_SETTLED: Final = "coup_settled/1"
_FIRST_PHASE_REVISED: Final = "coup_settled_again/1"
_LAST_PHASE_SETTLED: Final = "coup_settled/2"

_OPENED, _PLACED, _WITHDRAWN = BettingOpened.TYPE, WagersPlaced.TYPE, WagersWithdrawn.TYPE
_CLOSED, _DEALT, _DISCLOSED = BettingClosed.TYPE, CardDealt.TYPE, CardDisclosed.TYPE
_UNREAD, _MARKED, _ENTERED = CardUnread.TYPE, CardMarkedUnreadable.TYPE, CardEntered.TYPE
_CORRECTED, _REALIGNED = CardCorrected.TYPE, CoupRealigned.TYPE
_HANDS, _WAGER = HandsCorrected.TYPE, WagerCorrected.TYPE
_RULEBOOK: Final = RulebookCorrected.TYPE
_EXCESS, _RESOLVED = ExcessCardDrawn.TYPE, ExcessCardResolved.TYPE
_UNSUPPORTED: Final = WagersVoided.TYPE
_COMPLETED, _CONFIRMED = DealCompleted.TYPE, ResultConfirmed.TYPE
_DISPUTED, _MISALIGNED, _VOIDED = ResultDisputed.TYPE, CoupMisaligned.TYPE, CoupVoided.TYPE

TRANSITIONS: Final[dict[tuple[Phase, str], Phase]] = {
    (Phase.NONE, _OPENED): Phase.BETTING,
    (Phase.SETTLED, _OPENED): Phase.BETTING,
    (Phase.VOIDED, _OPENED): Phase.BETTING,
    (Phase.BETTING, _PLACED): Phase.BETTING,
    (Phase.BETTING, _WITHDRAWN): Phase.BETTING,
    (Phase.BETTING, _UNSUPPORTED): Phase.BETTING,
    (Phase.BETTING, _DEALT): Phase.BETTING,
    (Phase.BETTING, _CLOSED): Phase.CLOSED,
    (Phase.BETTING, _VOIDED): Phase.VOIDED,
    (Phase.CLOSED, _DEALT): Phase.DEALING,
    (Phase.CLOSED, _DISCLOSED): Phase.DEALING,
    (Phase.CLOSED, _MISALIGNED): Phase.MISALIGNED,
    (Phase.CLOSED, _VOIDED): Phase.VOIDED,
    (Phase.DEALING, _DEALT): Phase.DEALING,
    (Phase.CLOSED, _UNREAD): Phase.DEALING,
    (Phase.DEALING, _UNREAD): Phase.DEALING,
    (Phase.DEALING, _DISCLOSED): Phase.DEALING,
    (Phase.DEALING, _ENTERED): Phase.DEALING,
    (Phase.DEALING, _CORRECTED): Phase.DEALING,
    (Phase.DEALING, _MARKED): Phase.DEALING,
    (Phase.DEALING, _FIRST_PHASE_SETTLED): Phase.DEALING,
    **{
        (phase, _FIRST_PHASE_REVISED): phase
        for phase in (
            Phase.DEALING,
            Phase.COMPLETE,
            Phase.DISPUTED,
            Phase.HELD,
            Phase.MISALIGNED,
        )
    },
    **{
        (phase, _FIRST_PHASE_SETTLED): phase
        for phase in (Phase.COMPLETE, Phase.DISPUTED, Phase.HELD)
    },
    **{
        (phase, _HANDS): Phase.DEALING
        for phase in (Phase.DEALING, Phase.COMPLETE, Phase.DISPUTED, Phase.HELD)
    },
    **{
        (phase, what): phase
        for what in (_WAGER, _RULEBOOK)
        for phase in (
            Phase.CLOSED,
            Phase.DEALING,
            Phase.COMPLETE,
            Phase.DISPUTED,
            Phase.HELD,
        )
    },
    (Phase.DEALING, _COMPLETED): Phase.COMPLETE,
    (Phase.DEALING, _MISALIGNED): Phase.MISALIGNED,
    (Phase.DEALING, _VOIDED): Phase.VOIDED,
    (Phase.COMPLETE, _CONFIRMED): Phase.CONFIRMED,
    (Phase.COMPLETE, _DISPUTED): Phase.DISPUTED,
    (Phase.COMPLETE, _CORRECTED): Phase.DEALING,
    (Phase.COMPLETE, _MARKED): Phase.DEALING,
    (Phase.COMPLETE, _EXCESS): Phase.HELD,
    (Phase.COMPLETE, _MISALIGNED): Phase.MISALIGNED,
    (Phase.COMPLETE, _VOIDED): Phase.VOIDED,
    (Phase.DISPUTED, _CONFIRMED): Phase.CONFIRMED,
    (Phase.DISPUTED, _CORRECTED): Phase.DEALING,
    (Phase.DISPUTED, _MARKED): Phase.DEALING,
    (Phase.DISPUTED, _MISALIGNED): Phase.MISALIGNED,
    (Phase.DISPUTED, _VOIDED): Phase.VOIDED,
    (Phase.CONFIRMED, _LAST_PHASE_SETTLED): Phase.SETTLED,
    (Phase.HELD, _RESOLVED): Phase.COMPLETE,
    (Phase.HELD, _MISALIGNED): Phase.MISALIGNED,
    (Phase.HELD, _VOIDED): Phase.VOIDED,
    (Phase.MISALIGNED, _ENTERED): Phase.MISALIGNED,
    (Phase.MISALIGNED, _CORRECTED): Phase.MISALIGNED,
    (Phase.MISALIGNED, _HANDS): Phase.MISALIGNED,
    (Phase.MISALIGNED, _REALIGNED): Phase.DEALING,
    (Phase.MISALIGNED, _VOIDED): Phase.VOIDED,
}

COUP_EVENTS: Final = frozenset(name.partition("/")[0] for _, name in TRANSITIONS)
"""The event types that belong to a coup; every other type leaves the phase alone."""


def input_of(event: TableEvent) -> str:
    """Return the table's input for an event: its type, and for a settlement its phase as well."""
    if type(event) is CoupSettled:
        again = "_again" if event.settlement.revision > 1 else ""
        return f"{event.TYPE}{again}/{event.settlement.phase}"
    return event.TYPE


def allows(phase: Phase, what: str) -> bool:
    """Return whether the table has a transition from `phase` by this input."""
    return (phase, what) in TRANSITIONS


def advance(phase: Phase, event: TableEvent) -> Phase | None:
    """Return the phase after `event`; None where the table has no such transition."""
    what = input_of(event) if type(event) is CoupSettled else event.TYPE
    return TRANSITIONS.get((phase, what))
