"""A simulated cage: books every settlement once in effect, misses none, and acknowledges them.

The topic `settlement` brings the money at once; `event` shows by its gap-free positions whether
anything was missed. After every connect, and at every gap, the cage requests the events again from
its own position. It drops repeated settlements by their id and counts them.
"""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from pathlib import Path
from typing import Final

from msgspec import Struct

from events.clock import Clock, SystemClock
from events.commands.consumers import Ack, Replay
from events.errors import BusError, MalformedJson, UnreadableEvent
from events.json_form import decode_json
from events.mqtt.bus import BusSettings, Message
from events.mqtt.topics import Topics
from events.types.envelope import PublishedEnvelope, decode_data
from events.types.table import CoupSettled, Settlement
from simulators.cage.book import Applied, BookTotals, SettlementBook
from simulators.people.console import Console, refused

__all__ = ["Anomalies", "Cage", "Receipt"]

_USER: Final = "cage"
_CONSUMER: Final = "cage"
_RECEIPTS_KEPT: Final = 4096  # the newest; a listener can collect all of them
_AHEAD_KEPT: Final = 10_000  # events that came before their turn: several shoes' worth
_EARLY_KEPT: Final = 256  # settlements read from `event` whose own message is still to come
_READER_EVERY: Final = 200  # positions between two writes of the reader's position
_STALLED_S: Final = 2.0  # seconds without an event after which a replay is requested again


class Receipt(Struct, frozen=True, kw_only=True):
    """A settlement was booked.

    Args:
        settlement: the settlement.
        position: its event's position in the log.
        booked_ns: `time.monotonic_ns()` when it was on disk.
    """

    settlement: Settlement
    position: int
    booked_ns: int


class Anomalies(Struct, kw_only=True):
    """Counts of deliveries that went wrong, and were repaired or dropped.

    Args:
        duplicates: settlement messages that were booked before.
        repeated: events whose position had been read before.
        gaps: jumps in the positions of `event`.
        conflicts: settlement ids that came again with another content.
        junk: messages that were not events.
    """

    duplicates: int = 0
    repeated: int = 0
    gaps: int = 0
    conflicts: int = 0
    junk: int = 0


class Cage:
    """The consumer.

    Args:
        settings: the broker and the login `cage`.
        topics: the table.
        path: the book's file; None keeps it in memory.
        clock: makes the transaction ids of replays differ from those of an earlier run.
        on_receipt: called with every settlement as it is booked; must not wait.
    """

    def __init__(
        self,
        settings: BusSettings,
        topics: Topics,
        *,
        path: Path | None = None,
        clock: Clock | None = None,
        on_receipt: Callable[[Receipt], None] | None = None,
    ) -> None:
        self.anomalies = Anomalies()
        self.receipts: deque[Receipt] = deque(maxlen=_RECEIPTS_KEPT)
        self.acknowledged = 0
        self._book = SettlementBook(path)
        self._on_receipt = on_receipt
        self._read = self._highest = self._book.position
        self._last_settlement = 0
        self._ahead: dict[int, PublishedEnvelope] = {}
        self._early: OrderedDict[str, None] = OrderedDict()
        self._session = (clock or SystemClock()).utc_ns()
        self._replays = 0
        self._rereading = True
        self._reread_due = asyncio.Event()
        self._ack_due = asyncio.Event()
        self._progress = asyncio.Condition()
        self._console = Console(
            settings,
            topics,
            (_USER,),
            subscriptions={
                topics.settlement: self._on_settlement,
                topics.event: self._on_event,
                topics.replayed(_USER): self._on_event,
            },
            on_connect=self._connected,
        )

    @property
    def read(self) -> int:
        """The position up to which every event has been read."""
        return self._read

    def totals(self) -> BookTotals:
        """Return the sums of the booked settlements."""
        return self._book.totals()

    async def run(self) -> None:
        """Consume until cancelled.

        Raises:
            ExceptionGroup: with a BusError in it: the broker refuses the login, the table refuses
                an acknowledgement, or a settlement cannot be read.
        """
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._console.run())
                tasks.create_task(self._reread())
                tasks.create_task(self._acknowledge())
        finally:
            self._book.close()

    async def caught_up(self, position: int) -> None:
        """Wait until everything up to `position` is read and its settlements are acknowledged."""
        async with self._progress:
            while self._read < position or self.acknowledged < self._last_settlement:
                await self._progress.wait()

    async def _connected(self) -> None:
        self._rereading = True
        self._reread_due.set()

    async def _on_settlement(self, message: Message) -> None:
        event = self._decode(message)
        settlement = self._settlement(event) if event else None
        if event is None or settlement is None:
            return
        applied = self._book.apply(settlement, position=event.position, digest=event.hash)
        self._booked(applied, settlement, event.position)
        if applied is Applied.KNOWN:
            # Booked from `event` a moment ago: this is its own message, not a repetition.
            expected = settlement.settlement_id in self._early
            self._early.pop(settlement.settlement_id, None)
            self.anomalies.duplicates += not expected

    async def _on_event(self, message: Message) -> None:
        event = self._decode(message)
        if event is None:
            return
        if event.position <= self._read:
            self.anomalies.repeated += 1
            return
        jumped = event.position > self._highest + 1
        self._highest = max(self._highest, event.position)
        if event.position > self._read + 1:
            if len(self._ahead) < _AHEAD_KEPT:
                self._ahead[event.position] = event
            if not self._rereading:
                self.anomalies.gaps += jumped
                await self._connected()
            return
        self._take(event)
        while (event := self._ahead.pop(self._read + 1, None)) is not None:
            self._take(event)
        async with self._progress:
            self._progress.notify_all()

    def _take(self, event: PublishedEnvelope) -> None:
        """Read the event whose turn it is."""
        self._read = event.position
        self._ahead.pop(event.position, None)
        if event.type != CoupSettled.TYPE:
            if self._read - self._book.position >= _READER_EVERY:
                self._book.read_to(self._read)
            return
        settlement = self._settlement(event)
        if settlement is None:
            raise BusError(f"event {event.position} is a settlement that this build cannot read")
        applied = self._book.apply(
            settlement, position=event.position, digest=event.hash, read_to=event.position
        )
        self._booked(applied, settlement, event.position)
        if applied is Applied.NEW:
            self._early[settlement.settlement_id] = None
            if len(self._early) > _EARLY_KEPT:
                self._early.popitem(last=False)
        self._last_settlement = event.position
        self._ack_due.set()

    def _booked(self, applied: Applied, settlement: Settlement, position: int) -> None:
        self.anomalies.conflicts += applied is Applied.CONFLICT
        if applied is not Applied.NEW:
            return
        receipt = Receipt(settlement=settlement, position=position, booked_ns=time.monotonic_ns())
        self.receipts.append(receipt)
        if self._on_receipt is not None:
            self._on_receipt(receipt)

    def _decode(self, message: Message) -> PublishedEnvelope | None:
        try:
            return decode_json(message.payload, PublishedEnvelope)
        except MalformedJson:
            self.anomalies.junk += 1
            return None

    def _settlement(self, event: PublishedEnvelope) -> Settlement | None:
        try:
            data = decode_data(event)
        except UnreadableEvent:
            self.anomalies.junk += 1
            return None
        return data.settlement if isinstance(data, CoupSettled) else None

    async def _reread(self) -> None:
        while True:
            await self._reread_due.wait()
            self._reread_due.clear()
            self._rereading = True
            self._replays += 1
            ask = Replay(
                transaction=f"replay-{self._session}-{self._replays}", start=self._read + 1
            )
            answer = await self._console.request(_USER, ask)
            if refused(answer):
                self._reread_due.set()
                await asyncio.sleep(_STALLED_S)
                continue
            target = answer.position or 0
            self._highest = max(self._highest, target)
            await self._read_by_replay(target)
            if self._read < self._highest:  # the replay stalled, or more was missed meanwhile
                self._reread_due.set()
                continue
            self._rereading = False
            self._book.read_to(self._read)
            self._ack_due.set()

    async def _read_by_replay(self, target: int) -> None:
        """Wait until the replay has reached `target`, or brings nothing for a while."""
        async with self._progress:
            while self._read < target:
                before = self._read
                try:
                    async with asyncio.timeout(_STALLED_S):
                        await self._progress.wait()
                except TimeoutError:
                    if self._read == before:
                        return

    async def _acknowledge(self) -> None:
        while True:
            await self._ack_due.wait()
            self._ack_due.clear()
            position = self._book.position
            if position <= self.acknowledged:
                continue
            ack = Ack(
                transaction=f"ack-{_CONSUMER}-{position}", consumer=_CONSUMER, position=position
            )
            answer = await self._console.request(_USER, ack)
            if refused(answer):
                raise BusError(f"the table refused to be acknowledged {position}: {answer.text}")
            self.acknowledged = position
            async with self._progress:
                self._progress.notify_all()
