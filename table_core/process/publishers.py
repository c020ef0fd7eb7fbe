"""Publishers with cursors over the log: stored events are published in order, at least once.

A publisher reads stored events after its own cursor, and moves the cursor when the broker has
accepted them. The broker only delivers: a consumer asks again for a message that the broker lost. A
replayed log has no publishers, and so has no effects. Pure.
"""

from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from typing import Final

from events.errors import LogUnwritable
from events.mqtt.process import FOREVER_S, Instant, Now, Publish, Signal, Steps, Wait
from events.mqtt.topics import Topics
from events.types import BooksClosed, ShoeAudited, ShoeReported, Stored, sealed_bytes, with_hash
from table_core.process.log_effects import MoveCursor, ReadCursor, ReadLog
from table_core.projections.wager_pages import WagerPage, encode_page

__all__ = [
    "AGAIN_S",
    "BATCH",
    "SEALED",
    "CursorPublisher",
    "LatestPublisher",
    "PagesPublisher",
    "public_bytes",
]

# Seconds until a message that the broker did not accept is sent again.
_OFFER_AGAIN_S: Final = 0.2
AGAIN_S: Final = 5.0
"""Seconds between two sends of the same retained message."""
# Seconds that the latest state waits for further changes: one message goes out for all of them,
# after the settlement and the events. Nobody sees the difference on a display.
_GATHER_S: Final = 0.005
# Events read at a time, so that a long backlog never fills the memory.
BATCH: Final = 256
# Microseconds between two writes of the cursor. After a restart, events after the stored cursor are
# published twice. Each write is forced to the disk, and in a process of many tables all of them
# wait for it: at one second they were two in five of all such waits.
_CURSOR_EVERY_US: Final = 5_000_000
# ... and, in a long backlog, the number of events between two writes.
_CURSOR_EVERY: Final = 256
_MICROSECONDS: Final = 1_000_000
# These contain, or allow someone to guess, faces that the table has not seen.
SEALED: Final = frozenset({ShoeReported.TYPE, ShoeAudited.TYPE, BooksClosed.TYPE})
"""Event types whose contents the table publishes to nobody."""


def public_bytes(stored: Stored) -> bytes:
    """Return an event as published: with its hash, and sealed where its contents are secret."""
    sealed = stored.type in SEALED
    return with_hash(sealed_bytes(stored.stored) if sealed else stored.stored, stored.hash)


class CursorPublisher:
    """Publishes every stored event, or those of some types, in order.

    Args:
        name: the cursor's name, and the name of the step that publishes.
        topic: of the messages.
        types: of the events to publish; the cursor passes over the others.
        on_offer: called with each event that is about to be published.

    Attributes:
        position: every event up to here was published or passed over.
    """

    def __init__(
        self,
        name: str,
        topic: str,
        *,
        types: Collection[str] | None = None,
        on_offer: Callable[[Stored, Instant], None] | None = None,
    ) -> None:
        self._name, self._topic = name, topic
        self._types, self._on_offer = types, on_offer
        self._kick = Signal()
        self.position = self._noted = 0
        self._due_us: int | None = None

    def kick(self) -> None:
        """Look soon: the log has new events, or the broker is back."""
        self._kick.set()

    def start(self) -> Steps[None]:
        """Continue after the stored cursor."""
        self.position = self._noted = yield from ReadCursor(self._name)

    def run(self) -> Steps[None]:
        """Publish for ever."""
        while True:
            yield from self._drain()
            yield from self._rest()

    def note(self) -> Steps[None]:
        """Store the cursor. If the disk refuses, events are published again, but never lost."""
        if self._noted != self.position:
            with suppress(LogUnwritable):
                yield from MoveCursor(self._name, self.position)
        self._noted, self._due_us = self.position, None

    def _drain(self) -> Steps[None]:
        while True:
            self._kick.clear()
            batch = yield from ReadLog(self.position + 1, BATCH)
            if not batch:
                return
            for stored in batch:
                if self._types is None or stored.type in self._types:
                    yield from self._offer(stored)
                self.position = stored.position
                if self.position % _CURSOR_EVERY == 0:
                    yield from self.note()

    def _rest(self) -> Steps[None]:
        """Wait for new events, and store the cursor while idle.

        The commit is forced to the disk, and must not come between a card and its settlement.
        """
        if self._noted != self.position:
            now_us = (yield from Now()).mono_us
            self._due_us = self._due_us or now_us + _CURSOR_EVERY_US
            left_s = max(0, self._due_us - now_us) / _MICROSECONDS
            if (yield from Wait(left_s, self._kick)):
                return
            yield from self.note()
        yield from Wait(FOREVER_S, self._kick)

    def _offer(self, stored: Stored) -> Steps[None]:
        if self._on_offer is not None:
            self._on_offer(stored, (yield from Now()))
        message = public_bytes(stored)
        while not (yield from Publish(self._topic, message, step=self._name)):
            # The broker is away, or busy: its return kicks, and the time-out covers all else.
            self._kick.clear()
            yield from Wait(_OFFER_AGAIN_S, self._kick)


class LatestPublisher:
    """Publishes the newest version of a document; overtaken versions are never sent.

    It sends the newest version again from time to time: a broker that restarted may not deliver a
    retained message to those who subscribe at that moment (seen with nats-server).

    Args:
        topic: of the messages.
        render: makes the message just before it is sent.
        retain: whether the broker keeps it.
        step: name of the step that publishes.
    """

    def __init__(
        self, topic: str, render: Callable[[], Steps[bytes]], *, retain: bool, step: str = ""
    ) -> None:
        self._topic, self._render = topic, render
        self._retain, self._step = retain, step
        self._kick = Signal(is_set=True)

    def kick(self) -> None:
        """Note that the document has changed."""
        self._kick.set()

    def run(self) -> Steps[None]:
        """Publish for ever."""
        while True:
            yield from Wait(AGAIN_S, self._kick, _GATHER_S)
            self._kick.clear()
            document = yield from self._render()
            sent = yield from Publish(self._topic, document, self._retain, step=self._step)
            if not sent:
                self._kick.set()
                yield from Wait(_OFFER_AGAIN_S)


class PagesPublisher:
    """Publishes the pages of a large coup's wagers, retained; only pages that have changed.

    Like `LatestPublisher` it sends all of them again from time to time.

    Args:
        topics: the table's.
        pages: returns the pages as they are now.
    """

    def __init__(self, topics: Topics, pages: Callable[[], Iterable[WagerPage]]) -> None:
        self._topics, self._pages = topics, pages
        self._kick = Signal()
        self._sent: dict[int, WagerPage] = {}

    def kick(self, *, again: bool = False) -> None:
        """Note that wagers may have changed; `again` where the broker may have lost the pages."""
        if again:
            self._sent.clear()
        self._kick.set()

    def run(self) -> Steps[None]:
        """Publish for ever."""
        while True:
            if not (yield from Wait(AGAIN_S, self._kick, _GATHER_S)):
                self._sent.clear()
            self._kick.clear()
            for page in self._pages():
                if self._sent.get(page.page) == page:
                    continue
                topic = self._topics.wagers(page.page)
                if not (yield from Publish(topic, encode_page(page), retain=True)):
                    self._kick.set()
                    yield from Wait(_OFFER_AGAIN_S)
                    break
                self._sent[page.page] = page
