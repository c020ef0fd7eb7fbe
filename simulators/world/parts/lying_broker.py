"""A broker that lies: it alters, drops, repeats, reorders and invents what it should only carry.

It knows the form of every message and holds no key. What it tells the people's own screen is left
alone, since they look at the table and not at a broker; and a display, which believes what it is
shown, is told nothing invented.
"""

import re
from collections import Counter, deque
from random import Random
from typing import Final

import msgspec

from events.mqtt.messages import Message
from events.mqtt.topics import Topics
from simulators.world.parts.broker import FakeBroker, FakeClient
from simulators.world.parts.fault_injector import ArmedFaults

__all__ = ["GUARDED", "LIES", "LyingBroker"]

LIES: Final = ("alter", "drop", "invent", "reorder", "repeat")
GUARDED: Final = frozenset({"link/shoe", "request", "shoe/event"})
"""Kinds of messages that change a table, and that it must not believe from a broker."""

_CARD: Final = re.compile(rb'"([2-9TJQKA])([CDHS])"')
_DIGIT: Final = re.compile(rb"[0-9]")
_RANKS: Final = b"23456789TJQKA"
_ALARM: Final = re.compile(rb'"name":"message_forged","text":"([a-z/]+)')
_OFTEN: Final = 5  # times as many lies about what changes a table
_KEPT: Final = 200  # messages that it can say again much later
_HELD_MOST: Final = 6  # deliveries to the same client before a held message comes
_INVENTED: Final[tuple[tuple[str, str, dict[str, object]], ...]] = (
    ("supervisor", "void_coup", {"reason": "invented"}),
    ("supervisor", "confirm_result", {"reason": "invented"}),
    ("dealer", "open_betting", {}),
    ("dealer", "close_betting", {}),
    ("wagers", "place_wager", {"wagers": [{"seat": "1", "bet": "banker", "stake": 100_000}]}),
)
"""Requests that it would like to have carried out: user, command and body."""


class LyingBroker(FakeBroker):
    """See the module.

    Args:
        rng, trouble: as `FakeBroker`.
        lying: decides about lies.
        share: of the deliveries that are lies.
        topics: the table's.

    Attributes:
        told: lies by kind of message and by what was done.
        named: kinds of messages that the alarm `message_forged` has named.
        spared: a client whose `state` is left alone.
    """

    def __init__(
        self, rng: Random, trouble: ArmedFaults, lying: Random, share: float, topics: Topics
    ) -> None:
        super().__init__(rng, trouble)
        self.told: Counter[tuple[str, str]] = Counter()
        self.named: set[str] = set()
        self.spared: FakeClient | None = None
        self._lying, self._share, self._topics = lying, share, topics
        self._kept_back: dict[FakeClient, deque[tuple[int, Message]]] = {}
        self._said: dict[str, deque[Message]] = {}

    def calm(self) -> None:
        """Lie no more."""
        self._share = 0.0

    def publish(self, topic: str, payload: bytes, retain: bool) -> None:
        """See `FakeBroker.publish`."""
        if topic == self._topics.state:
            below = (found[1].decode() for found in _ALARM.finditer(payload))
            self.named |= {"request" if each.startswith("request") else each for each in below}
        super().publish(topic, payload, retain)

    @property
    def forged(self) -> int:
        """How many messages it has altered or invented that a table must refuse."""
        return sum(
            count
            for (kind, lie), count in self.told.items()
            if kind in GUARDED and lie in {"alter", "invent"}
        )

    def _deliver(self, client: FakeClient, message: Message) -> None:
        kind = self._kind(message.topic)
        said = self._said.setdefault(message.topic, deque(maxlen=_KEPT))
        said.append(message)
        often = _OFTEN if kind in GUARDED or kind == "shoe/ack" else 1
        if self._lying.random() < self._share * often and self._may_lie(client, kind):
            self._lie(client, message, kind)
        else:
            super()._deliver(client, message)
        self._release(client)

    def _kind(self, topic: str) -> str:
        below = topic.removeprefix(f"{self._topics.root}/")
        first = below.partition("/")[0]
        return first if first in {"request", "response", "status"} else below

    def _may_lie(self, client: FakeClient, kind: str) -> bool:
        return client is not self.spared or kind == "response"

    def _lie(self, client: FakeClient, message: Message, kind: str) -> None:
        lie = self._lying.choice(LIES)
        if lie in {"alter", "invent"} and kind in {"display", "state"}:
            lie = "repeat"
        self.told[kind, lie] += 1
        if lie == "alter":
            super()._deliver(client, message._replace(payload=self._altered(message.payload)))
        elif lie == "repeat":
            super()._deliver(client, message)
            super()._deliver(client, self._lying.choice(self._said[message.topic]))
        elif lie == "reorder":
            after = self._lying.randint(1, _HELD_MOST)
            self._kept_back.setdefault(client, deque()).append((after, message))
        elif lie == "invent":
            super()._deliver(client, message)
            super()._deliver(client, self._invented(message, kind))

    def _release(self, client: FakeClient) -> None:
        waiting = self._kept_back.pop(client, None)
        for after, message in waiting or ():
            if after <= 1 or not self._share:
                super()._deliver(client, message)
            else:
                self._kept_back.setdefault(client, deque()).append((after - 1, message))

    def _altered(self, payload: bytes) -> bytes:
        """Return a message with another card in it, or else with another digit."""
        cards = list(_CARD.finditer(payload))
        if cards:
            found = self._lying.choice(cards)
            rank = self._lying.choice([each for each in _RANKS if each != found[1][0]])
            return payload[: found.start(1)] + bytes([rank]) + payload[found.end(1) :]
        digits = list(_DIGIT.finditer(payload))
        if not digits:
            return payload[:-1] + b" }"
        found = self._lying.choice(digits)
        digit = self._lying.choice([each for each in b"0123456789" if each != found[0][0]])
        return payload[: found.start()] + bytes([digit]) + payload[found.end() :]

    def _invented(self, message: Message, kind: str) -> Message:
        """Return a message that nobody sent, with an honest one's code or with none."""
        number = self._lying.randrange(10**9)
        if kind == "request":
            user, command, body = self._lying.choice(_INVENTED)
            topic = self._topics.request(user, command)
            made = msgspec.json.encode({"transaction": f"invented-{number}", **body})
        else:
            topic, made = message.topic, self._next(message.payload)
        if self._lying.random() < 0.5 and b',"mac":"' in message.payload:  # noqa: PLR2004 - a coin
            made = made[:-1] + message.payload[message.payload.rindex(b',"mac":"') :]
        return Message(topic, made, message.retain)

    def _next(self, payload: bytes) -> bytes:
        """Return a message as the next of its kind would look, without a code."""
        found = re.search(rb'"(?:seq|head|position|session)":([0-9]+)', payload)
        body = re.sub(rb',"mac":"[^"]*"\}\Z', b"}", payload)
        if found is None:
            return self._altered(body)
        number = str(int(found[1]) + 1).encode()
        return self._altered(body[: found.start(1)] + number + body[found.end(1) :])
