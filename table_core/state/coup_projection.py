"""The projection of one coup: the coup after each of its own events, by those events alone. Pure.

Whatever tells a coup uses it: replay, list, narrative, evidence, and the fold of coups that are
over. The running table folds the coup in progress together with its shoe and comes to the same.
"""

from collections.abc import Callable, Iterable, Sequence
from types import MappingProxyType
from typing import Any, Final

from msgspec.structs import replace

from events.cards import Card, Hand
from events.errors import OurBug
from events.types import (
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
    HandsCorrected,
    ResultDisputed,
    RulebookCorrected,
    TableEvent,
    WagerCorrected,
    WagersPlaced,
    WagersVoided,
    WagersWithdrawn,
)
from table_core.rules.rulebook import INITIAL_PHASE, LAST_PHASE
from table_core.state.coup import COUP_EVENTS, OVER, Phase, advance
from table_core.state.dealing import due_places
from table_core.state.table import Coup, DealtCard, by_id

__all__ = ["begun_coup", "changed_coup", "corrects", "coup_after", "may_follow"]


def begun_coup(event: BettingOpened) -> Coup:
    """Return a coup that has just begun."""
    return Coup(
        id=event.coup,
        phase=Phase.BETTING,
        rulebook=event.rulebook,
        rulebook_hash=event.rulebook_hash,
        wagerless=event.wagerless,
    )


def coup_after(coup: Coup | None, event: TableEvent) -> Coup:
    """Return a coup after one of its own events; None stands for the coup before it began.

    Raises:
        OurBug: the event comes before the coup began.
    """
    if isinstance(event, BettingOpened):
        return begun_coup(event)
    if coup is None:
        raise OurBug(f"{event.TYPE} before its coup began")
    after, phase = changed_coup(coup, event), advance(coup.phase, event)
    return after if phase is None or phase is after.phase else replace(after, phase=phase)


def may_follow(coup: Coup, event: TableEvent) -> bool:
    """Return whether one of a coup's own events may be its next.

    The table of transitions says so, and of a coup that is over, `corrects`.
    """
    if coup.phase in OVER:
        return corrects(coup, event) or event.TYPE not in COUP_EVENTS
    return advance(coup.phase, event) is not None or event.TYPE not in COUP_EVENTS


def corrects(coup: Coup, event: TableEvent) -> bool:
    """Return whether an event may be a correction of a coup that is over."""
    if isinstance(event, CoupSettled):
        before = coup.settlement(event.settlement.phase)
        revision = before.revision if before else 0
        first_of_last = event.settlement.phase == LAST_PHASE and not before
        return event.settlement.revision == revision + 1 and not first_of_last
    if isinstance(event, CoupVoided):
        return coup.phase is Phase.SETTLED
    if isinstance(event, WagerCorrected | RulebookCorrected):
        return coup.phase is Phase.SETTLED or coup.settlement(INITIAL_PHASE) is not None
    if isinstance(event, DealCompleted):
        return coup.settlement(LAST_PHASE) is not None
    return isinstance(event, HandsCorrected) and bool(coup.settlements)


def changed_coup(coup: Coup, event: TableEvent) -> Coup:
    """Return what an event changes of its coup, but for the phase that `advance` finds."""
    change = _CHANGES.get(type(event))
    return change(coup, event) if change else coup


# ---- cards ----


def _with_face(
    coup: Coup, event: CardDisclosed | CardMarkedUnreadable | CardEntered | CardCorrected
) -> Coup:
    """Return the coup with another face, or none, at a place where a card lies.

    The outcome that was derived from the cards is forgotten.
    """
    changes: dict[str, Any] = {"card": None, "rule": None, "source": "unread"}
    if not isinstance(event, CardMarkedUnreadable):
        changes = {"card": event.card}
    if isinstance(event, CardEntered | CardCorrected):
        changes["source"] = "manual"
    cards = tuple(
        replace(dealt, **changes)
        if (dealt.hand, dealt.number) == (event.hand, event.number)
        else dealt
        for dealt in coup.cards
    )
    return replace(coup, cards=cards, completed=None)


def _with_hands(coup: Coup, player: Sequence[Card], banker: Sequence[Card]) -> Coup:
    """Return the coup with these cards; a card at its old place keeps its source.

    The cards lie in the order in which the draw table deals them. Those that were not due, which
    only a void coup has, come last.
    """
    was = {(dealt.hand, dealt.number): dealt for dealt in coup.cards}
    left = {Hand.PLAYER: list(player), Hand.BANKER: list(banker)}
    made, as_due = replace(coup, cards=(), completed=None), True
    while any(left.values()):
        due = next((each for each in due_places(made) if left[each.hand]), None) if as_due else None
        as_due = due is not None
        hand = due.hand if due else next(hand for hand in Hand if left[hand])
        card, number = left[hand].pop(0), len(made.hand(hand)) + 1
        before = was.get((hand, number))
        source = before.source if before is not None and before.card is card else "manual"
        dealt = DealtCard(hand, number, card, due.rule if due else None, source)
        made = replace(made, cards=(*made.cards, dealt))
    return made


def _dealt(coup: Coup, dealt: DealtCard) -> Coup:
    return replace(coup, cards=(*coup.cards, dealt))


def _card_dealt(coup: Coup, event: CardDealt) -> Coup:
    return _dealt(coup, DealtCard(event.hand, event.number, event.card, event.rule, event.source))


def _by_hand(coup: Coup, event: CardEntered | CardCorrected) -> Coup:
    place = (event.hand, event.number)
    if any((dealt.hand, dealt.number) == place for dealt in coup.cards):
        return _with_face(coup, event)
    return _dealt(coup, DealtCard(*place, event.card, None, "manual"))


def _hands_corrected(coup: Coup, event: HandsCorrected) -> Coup:
    corrected = _with_hands(coup, event.player, event.banker)
    if coup.phase not in OVER or (coup.phase is Phase.VOIDED and not event.counts_again):
        return corrected
    return replace(corrected, phase=Phase.SETTLED, reason="")


# ---- wagers and settlements ----


def _without(coup: Coup, names: Iterable[str]) -> Coup:
    wagers = coup.wagers.copy()
    for name in names:
        wagers.pop(name, None)
    return replace(coup, wagers=MappingProxyType(wagers))


def _wager_corrected(coup: Coup, event: WagerCorrected) -> Coup:
    """Return the coup with a wager replaced at its place, added at the end, or taken out."""
    was = event.was
    wagers = [event.wager if was and each.id == was.id else each for each in coup.wagers.values()]
    if was is None:
        wagers.append(event.wager)
    return replace(coup, wagers=by_id(filter(None, wagers)))


def _settled(coup: Coup, event: CoupSettled) -> Coup:
    settlement = event.settlement
    before = coup.settlement(settlement.phase)
    others = [each for each in coup.settlements if each is not before]
    paid_by = coup.paid_by
    if before is not None and before.revision == 1:
        paid_by = (*paid_by, before)
    return replace(coup, settlements=(*others, settlement), paid_by=paid_by)


_CHANGES: Final[dict[type[TableEvent], Callable[[Coup, Any], Coup]]] = {
    WagersPlaced: lambda coup, event: replace(
        coup, wagers=MappingProxyType(coup.wagers | by_id(event.wagers))
    ),
    WagersWithdrawn: lambda coup, event: _without(coup, event.wagers),
    WagersVoided: lambda coup, event: _without(coup, (each.wager for each in event.refunds)),
    WagerCorrected: _wager_corrected,
    RulebookCorrected: lambda coup, event: replace(
        coup, rulebook=event.rulebook, rulebook_hash=event.rulebook_hash
    ),
    CardDealt: _card_dealt,
    CardUnread: lambda coup, event: _dealt(
        coup, DealtCard(event.hand, event.number, None, None, "unread")
    ),
    CardDisclosed: _with_face,
    CardMarkedUnreadable: _with_face,
    CardEntered: _by_hand,
    CardCorrected: _by_hand,
    HandsCorrected: _hands_corrected,
    CoupRealigned: lambda coup, _: replace(coup, reason="", completed=None),
    DealCompleted: lambda coup, event: replace(coup, completed=event),
    ResultDisputed: lambda coup, event: replace(coup, reason=event.detail),
    CoupMisaligned: lambda coup, event: replace(coup, reason=f"{event.reason}: {event.detail}"),
    CoupSettled: _settled,
    CoupVoided: lambda coup, event: replace(coup, phase=Phase.VOIDED, reason=event.reason),
}
