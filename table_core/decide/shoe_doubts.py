"""Doubts about a shoe: its order, its cards, its count; alarms and the next shoe's hold. Pure."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from events.cards import Card
from events.types import (
    AlarmRaised,
    ShoeAudited,
    ShoeCounted,
    ShoeHeld,
    ShuffleQuestioned,
    TableEvent,
)
from table_core.shuffle.chances import FACES
from table_core.shuffle.examination import Finding, examine
from table_core.shuffle.orders import cards_of, order_of
from table_core.state.dealt_order import dealt_cards, dealt_faces
from table_core.state.table import TableState

__all__ = ["HELD_ALARM", "count_faults", "hold", "hold_by_cards", "order_text", "question_order"]

HELD_ALARM: Final = "shoe_held"
"""Active until a person has released the shoe; nothing else clears it."""
_ALARMS: Final = {
    "factory": "order_of_new_packs",
    "earlier": "order_of_earlier_shoe",
    "itself": "order_repeats",
}
# A settlement that was computed ahead finds what its shoe shows.
_examined: Final = lru_cache(4)(examine)
# In play the order is examined each time that so many more cards have left the shoe.
_CARDS_BETWEEN: Final = 26
# A settlement waits for the examination in play: it has the newest earlier shoes only.
_EARLIER_IN_PLAY: Final = 100
_CARDS_SHOWN: Final = 12
_PACKS: Final = {
    "by_suits": "suit by suit",
    "by_ranks": "rank by rank",
    "two_suits_up_two_down": "two suits upwards and two downwards",
}


def question_order(state: TableState, *, at_end: bool) -> Iterator[TableEvent]:
    """Yield the events of what the order of the shoe on the table shows, if it shows something.

    Args:
        state: after a coup.
        at_end: of the shoe. Before it, a kind of doubt is recorded once.
    """
    shoe, coup = state.shoe, state.coup
    if shoe is None or shoe.ended:
        return
    before = shoe.cards - (len(coup.cards) if coup else 0)
    if not at_end and shoe.cards // _CARDS_BETWEEN == before // _CARDS_BETWEEN:
        return
    order = order_of(dealt_faces(state, shoe.id))
    recorded = dict(shoe.questioned)
    earlier = state.orders if at_end else state.orders[-_EARLIER_IN_PLAY:]
    for found in _examined(order, shoe.decks, earlier):
        worth = recorded.get(found.kind, -1)
        if worth < 0 or (at_end and found.exponent > worth):
            cards = tuple(dealt_cards(state, shoe.id))
            at = found.way.place(len(cards), found.start)
            event = _questioned(shoe.id, found, len(cards), cards[at][1])
            yield event
            yield AlarmRaised(alarm=_ALARMS[found.kind], text=_order_text(event))


def order_text(shoe: str, found: Finding, dealt: Sequence[tuple[Card, str]]) -> str:
    """Return a finding in words.

    Args:
        shoe: its name.
        found: in its order.
        dealt: each of its cards, with the coup's id.
    """
    at = found.way.place(len(dealt), found.start)
    return _order_text(_questioned(shoe, found, len(dealt), dealt[at][1]))


def hold_by_cards(audit: ShoeAudited) -> tuple[TableEvent, ...]:
    """Return the hold of the next shoe, if cards came that cannot be in the audited one."""
    faults = [
        f"{face} came {audit.decks - left} times, {audit.decks} decks hold {audit.decks}"
        for face, left in audit.left.items()
        if left < 0
    ]
    if audit.seen > audit.decks * FACES:
        faults.append(f"{audit.seen} cards came, {audit.decks} decks hold {audit.decks * FACES}")
    return hold(audit.shoe, "cards", faults) if faults else ()


def count_faults(counted: ShoeCounted, decks: int) -> list[str]:
    """Return each fault of a count; none where it comes out."""
    faults, due = [], decks * FACES
    if counted.cards != due:
        word = "missing" if counted.cards < due else "too many"
        faults.append(f"{counted.cards} cards, {abs(due - counted.cards)} {word}")
    if counted.faces:
        counts = {face: counted.faces.get(face, 0) for face in Card}
        faults += [f"{face} {n} times" for face, n in counts.items() if n != decks]
    return faults


def hold(shoe: str, cause: str, faults: list[str]) -> tuple[TableEvent, ...]:
    """Return the hold of the next shoe with its alarm."""
    what = "count does not come out" if cause == "count" else "cards cannot all be in it"
    text = f"shoe {shoe}: its {what}: {'; '.join(faults)}"
    held = ShoeHeld(shoe=shoe, cause="count" if cause == "count" else "cards", text=text)
    return held, AlarmRaised(alarm=HELD_ALARM, text=f"{text}. A supervisor releases the next shoe")


def _questioned(shoe: str, found: Finding, known: int, coup: str) -> ShuffleQuestioned:
    return ShuffleQuestioned(
        shoe=shoe,
        kind=found.kind,
        source="" if found.kind == "itself" else found.source,
        known=known,
        step=found.way.step,
        backwards=found.way.backwards,
        two_piles=found.two_piles,
        groups=found.groups,
        length=found.length,
        coup=coup,
        cards=cards_of(found.run[:_CARDS_SHOWN]),
        run=len(found.run),
        exponent=found.exponent,
    )


def _order_text(event: ShuffleQuestioned) -> str:
    whose = {
        "factory": f"in the order of new packs, {_PACKS.get(event.source, event.source)}",
        "earlier": f"in the order of shoe {event.source}",
        "itself": "in an order that came in this shoe before",
    }[event.kind]
    what = (
        f"{event.length} cards in a row"
        if event.groups == 1
        else f"{event.groups} groups of {event.length} cards"
    )
    ways = [
        f"every {event.step}. card" if event.step > 1 else "",
        "backwards" if event.backwards else "",
        "dealt to two piles" if event.two_piles else "",
    ]
    how = "".join(f", {way}" for way in ways if way)
    shown = " ".join(card.text for card in event.cards)
    more = " ..." if event.run > len(event.cards) else ""
    return (
        f"shoe {event.shoe}: of {event.known} cards, {what} came {whose}{how}; the longest run, "
        f"of {event.run}, in coup {event.coup}: {shown}{more}. "
        f"An honest shuffle shows that in at most 1 of 10^{event.exponent} shoes"
    )
