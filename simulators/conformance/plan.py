"""Plan the delivery faults between a table and its consumer, from a seed. Pure.

The bus allows all of them: a repeated message, a lost one, an older one again, and the same in a
replay. The last event is never lost, so that a later event shows each gap.
"""

import random
from collections import Counter
from collections.abc import Sequence
from typing import Final, Literal

from msgspec import Struct

from simulators.conformance.log import SampleEvent, SampleLog

__all__ = ["Delivery", "plan_deliveries", "replay_losses"]

_TWICE: Final = 0.08
_LOST: Final = 0.04
_LOST_MONEY: Final = 0.15  # of settlements, where it matters
_AGAIN: Final = 0.08
_BACK: Final = 30  # how far back an older one may come again, positions
_LOST_IN_REPLAY: Final = 0.02


class Delivery(Struct, frozen=True, kw_only=True):
    """One message on its way.

    Args:
        topic: one of the two topics.
        position: the event's.
        fault: its fault, if any; `lost` for one that never arrives.
    """

    topic: Literal["event", "settlement"]
    position: int
    fault: Literal["", "twice", "lost", "again"] = ""


def plan_deliveries(feed: SampleLog, live_from: int, seed: int) -> tuple[Delivery, ...]:
    """Return everything that is sent live, in order.

    The first settlement comes twice, the second never, and the third is followed by the first
    again:
    however short the feed, each of the three happens.

    Args:
        feed: the log.
        live_from: the first position that is sent live.
        seed: of everything random.
    """
    rng, plan = random.Random(f"plan {seed}"), list[Delivery]()
    money: list[SampleEvent] = []
    for event in feed.events[live_from - 1 :]:
        last = event.position == len(feed.events)
        nth = len(money) + 1 if event.settlement else 0
        odds = _LOST_MONEY if nth else _LOST
        lost = not last and (nth == 2 or (nth not in {1, 3} and rng.random() < odds))  # noqa: PLR2004 - the second
        plan += _sent(event, lost=lost, twice=nth == 1 or rng.random() < _TWICE)
        if event.settlement:
            money.append(event)
        if nth == 3:  # noqa: PLR2004 - the third
            plan += _sent(money[0], lost=False, twice=False, fault="again")
        elif rng.random() < _AGAIN and event.position > live_from:
            back = rng.randint(max(live_from, event.position - _BACK), event.position - 1)
            plan += _sent(feed.events[back - 1], lost=False, twice=False, fault="again")
    return tuple(plan)


def _sent(
    event: SampleEvent, *, lost: bool, twice: bool, fault: Literal["", "again"] = ""
) -> Sequence[Delivery]:
    """Return the event's messages on each of its topics; the money first, as the table sends it."""
    sent: list[Delivery] = []
    topics: tuple[Literal["settlement", "event"], ...] = ("settlement", "event")
    for topic in topics if event.settlement else topics[1:]:
        sent.append(Delivery(topic=topic, position=event.position, fault="lost" if lost else fault))
        if twice and not lost:
            sent.append(Delivery(topic=topic, position=event.position, fault="twice"))
    return sent


def replay_losses(feed: SampleLog, seed: int) -> Counter[int]:
    """Return the positions that a replay loses, once each; a second replay brings them."""
    rng = random.Random(f"replays {seed}")
    return Counter(event.position for event in feed.events[:-1] if rng.random() < _LOST_IN_REPLAY)
