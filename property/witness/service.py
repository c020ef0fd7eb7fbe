"""The witness service: reads every log on the hub, and cosigns the consistent checkpoints.

The witness reads the stream of events after its own cursor, which its book commits with the events.
It acknowledges nothing, so redelivery cannot break the order. It reads a hub from the beginning if
the hub was wiped or restored from an old copy. It then compares each event with those observed
before, and refuses one that differs as a fork.

At every start the witness reads the newest checkpoints. A checkpoint that arrives before its events
waits.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec
import nats.errors
import nats.js.errors
from msgspec import Struct
from nats.aio.client import Client
from nats.js import JetStreamContext

from events.clock import Clock
from events.errors import InputError
from events.proof.note import SigningKey, VerifierKey
from events.structured_log import structlog
from events.tls import ClientTls
from property.archive.stream_reader import HUB_ERRORS, StreamMessage, StreamReader, reader_jetstream
from property.background_tasks import TaskBackoff
from property.hub.connection import HubSettings, connect, hang_up
from property.hub.replicated_event import ReplicatedEvent, parse_replicated_event
from property.hub.subjects import (
    CHECKPOINTS,
    EVENTS,
    FEEDS,
    cosigned_subject,
    feed_subject,
    origin_of,
    split_origin,
)
from property.hub.uplink_status import REPEATED_S, WITNESS, UplinkStatus
from property.witness.cosignature import cosign
from property.witness.observed_log import AcceptedCheckpoint, ObservedLog, WitnessRefusal
from property.witness.store import WitnessBook

__all__ = ["Witness", "WitnessSettings", "run_witness"]

# Most waiting checkpoints of a log; the oldest are dropped.
_WAITING_MOST: Final = 16
_NS: Final = 1_000_000_000
# Seconds between two requests: nobody waits for a cosignature, and a commit for each event is dear.
_PAUSE_S: Final = 0.25
# Shortest time between two reads from the beginning because of a gap, seconds.
_REREAD_S: Final = 60.0

_log: Final = structlog.get_logger()


class WitnessSettings(Struct, frozen=True, kw_only=True):
    """A witness's keys.

    Args:
        key: the witness's private key.
        given: a log's origin to the public keys that may sign its checkpoints.
    """

    key: SigningKey
    given: Mapping[str, Sequence[VerifierKey]]


class Witness:
    """Processes events and checkpoints from the hub, and keeps the results in the book.

    Args:
        settings: the keys.
        book: keeps the state; open.
        clock: for the time of a cosignature.
    """

    def __init__(self, settings: WitnessSettings, book: WitnessBook, clock: Clock) -> None:
        self._settings = settings
        self._book = book
        self._clock = clock
        self._logs = book.watched(settings.given)
        self._waiting: dict[str, deque[bytes]] = {}
        self._reread_after = 0.0
        self._contradicted: dict[str, bytes] = {}
        self._next_way: dict[str, float] = {}

    def may_reread(self, now_s: float) -> bool:
        """Return whether to read from the beginning because of a gap, at most once a minute."""
        if now_s < self._reread_after:
            return False
        self._reread_after = now_s + _REREAD_S
        return True

    def give_way(self, now_s: float) -> bool:
        """Give up what a table's own checkpoint contradicts and a person wants settled.

        Returns:
            Whether the stream is to be read from the beginning; for each log once a minute.
        """
        if not self._contradicted:
            return False
        due = {each for each in self._contradicted if now_s >= self._next_way.get(each, now_s)}
        wanted = due & self._book.to_settle()
        if not wanted:
            return False
        self._next_way |= dict.fromkeys(wanted, now_s + _REREAD_S)
        with self._book.writing():
            for origin in sorted(wanted):
                note = self._contradicted.pop(origin)
                seen = self._observed(origin)
                last, given_up = seen.position, seen.give_way()
                said = f"events {seen.position + 1} to {last} give way to a signed checkpoint"
                self._refuse(origin, WitnessRefusal("given_way", said, last), given_up)
                self._book.give_way(seen)
                self._wait(seen, note)
        return True

    def hear(self, messages: Iterable[StreamMessage], stream: str, cursor: int) -> bool:
        """Process events in order, and store the result in one commit.

        Args:
            messages: in stream order.
            stream: the stream's creation time.
            cursor: the sequence of the last message.

        Returns:
            Whether there was a gap.
        """
        leaves: dict[str, list[tuple[int, bytes]]] = {}
        refused: list[tuple[str, WitnessRefusal, bytes]] = []
        for message in messages:
            try:
                carried = parse_replicated_event(message.subject, message.headers, message.data)
            except InputError as error:
                refused.append(("", WitnessRefusal("no_event", str(error)), message.data))
                continue
            found = self._observed(carried.origin).hear(carried)
            if isinstance(found, WitnessRefusal):
                refused.append((carried.origin, found, _proof(carried)))
            elif found is not None:
                leaves.setdefault(carried.origin, []).append((carried.position, found))
        with self._book.writing():
            for origin, new in leaves.items():
                seen = self._observed(origin)
                self._book.keep(seen, new)
                if seen.merge_oldest_leaves():
                    self._book.keep(seen, ())
                self._judge_waiting(seen)
            for origin, why, data in refused:
                self._refuse(origin, why, data)
            for origin in sorted({origin for origin, _, _ in refused if origin in self._waiting}):
                self._judge_waiting(self._observed(origin))  # one may contradict what was seen
            self._book.move_cursor(stream, cursor)
        return any(why.code == "gap" for _, why, _ in refused)

    def checkpoint(self, message: StreamMessage) -> None:
        """Judge a checkpoint; one that is ahead of its events waits for them."""
        with self._book.writing():
            try:
                seen = self._observed(origin_of(message.subject))
            except InputError as error:
                self._refuse("", WitnessRefusal("no_checkpoint", str(error)), message.data)
                return
            self._judge(seen, message.data)

    def unsaid(self) -> list[tuple[str, bytes]]:
        """Return (origin, note) of each cosigned checkpoint that is not on the hub yet."""
        return self._book.unsaid()

    def said(self, origin: str, note: bytes) -> None:
        """Record that the hub has this checkpoint."""
        self._book.said(origin, note)

    def _observed(self, origin: str) -> ObservedLog:
        seen = self._logs.get(origin)
        if seen is None:
            seen = ObservedLog(origin, self._settings.given.get(origin, ()))
            self._logs[origin] = seen
        return seen

    def _judge_waiting(self, seen: ObservedLog) -> None:
        for note in self._waiting.pop(seen.origin, ()):
            self._judge(seen, note)

    def _judge(self, seen: ObservedLog, data: bytes) -> None:
        found = seen.judge(data)
        if seen.contradicted_by(data):
            self._contradicted[seen.origin] = data
        if isinstance(found, WitnessRefusal):
            self._refuse(seen.origin, found, data)
        elif isinstance(found, AcceptedCheckpoint):
            now_s = self._clock.utc_ns() // _NS
            seen.keep(found)
            note = cosign(data, found.note.text, self._settings.key, now_s)
            self._book.cosigned(seen, note, found.signer, now_s)
            self._contradicted.pop(seen.origin, None)
        elif seen.ahead(data):
            self._wait(seen, data)

    def _wait(self, seen: ObservedLog, data: bytes) -> None:
        waiting = self._waiting.setdefault(seen.origin, deque(maxlen=_WAITING_MOST))
        if data not in waiting:
            waiting.append(data)

    def _refuse(self, origin: str, why: WitnessRefusal, data: bytes) -> None:
        if self._book.refuse(origin, why, data, self._clock.utc_ns() // _NS):
            say = _log.info if why.code == "older" else _log.error
            say("witness.refused", table=origin, code=why.code, text=why.text)


def _proof(carried: ReplicatedEvent) -> bytes:
    """Return a refused event as evidence: the hash that was sent, a line end, the bytes."""
    return carried.hash.hex().encode() + b"\n" + carried.stored


async def run_witness(
    settings: WitnessSettings,
    book: WitnessBook,
    hub: HubSettings,
    clock: Clock,
    stop: asyncio.Event,
) -> None:
    """Run the witness until `stop` is set; retry while the hub is unavailable.

    Args:
        settings: the keys.
        book: keeps the state; open.
        hub: the hub, with the witness's login.
        clock: for the times of cosignatures.
        stop: ends the witness.
    """
    witness = Witness(settings, book, clock)
    stopping = asyncio.ensure_future(stop.wait())
    pause, attempt, tls = TaskBackoff(), 0, hub.tls()
    try:
        while not stop.is_set():
            serving = asyncio.ensure_future(_serve(witness, book, hub, tls, attempt))
            attempt += 1
            await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
            serving.cancel()
            await asyncio.wait({serving})
            if not serving.cancelled() and (error := serving.exception()) is not None:
                _require_hub_error(error)
                await pause.wait(stop)
            else:
                pause.reset()
    finally:
        stopping.cancel()


def _require_hub_error(error: BaseException) -> None:
    """Log an error of the hub; raise any other error."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if not isinstance(error, HUB_ERRORS):
        raise error
    _log.warning("witness.hub_away", reason=str(error) or type(error).__name__)


async def _serve(
    witness: Witness, book: WitnessBook, hub: HubSettings, tls: ClientTls, attempt: int
) -> None:
    """Read and publish until the stream must be read again; raise if the hub is unavailable."""
    client = await connect(hub, attempt, tls)
    try:
        kick = asyncio.Event()
        kick.set()
        async with asyncio.TaskGroup() as group:
            reading = group.create_task(_events(witness, book, client, kick))
            others = [
                group.create_task(_checkpoints(witness, client, kick)),
                group.create_task(_publish_cosigned(witness, client.jetstream(), kick)),
                group.create_task(_tell(book, client.jetstream(), tls.ends_s)),
            ]
            await reading
            for task in others:
                task.cancel()
    finally:
        await hang_up(client)


async def _events(witness: Witness, book: WitnessBook, client: Client, kick: asyncio.Event) -> None:
    """Read events until the stream must be read from the beginning."""
    loop = asyncio.get_running_loop()
    made, cursor = await _read_cursor(reader_jetstream(client), book)
    async with StreamReader(client, EVENTS, made, cursor + 1, pause_s=_PAUSE_S) as reader:
        while True:
            messages = await reader.next()
            if witness.give_way(loop.time()):
                book.move_cursor(made, 0)
                return
            if messages:
                gapped = witness.hear(messages, made, messages[-1].sequence)
                kick.set()
                if gapped and witness.may_reread(loop.time()):
                    # The missing events may be before the cursor, on a restored hub.
                    book.move_cursor(made, 0)
                    return


async def _read_cursor(js: JetStreamContext, book: WitnessBook) -> tuple[str, int]:
    """Return the stream's creation time, and the cursor: 0 if the stream was replaced."""
    info = await js.stream_info(EVENTS)
    made = str(info.created)
    stream, cursor = book.cursor()
    return made, cursor if stream == made and info.state.last_seq >= cursor else 0


async def _checkpoints(witness: Witness, client: Client, kick: asyncio.Event) -> None:
    async with await StreamReader.newest(client, CHECKPOINTS, _PAUSE_S) as reader:
        while True:
            for message in await reader.next():
                witness.checkpoint(message)
            kick.set()


async def _tell(book: WitnessBook, js: JetStreamContext, ends_s: int) -> None:
    """Say again and again that the witness runs, and how far it has read."""
    subject, said = feed_subject(*split_origin(WITNESS)), ""
    while True:
        word = UplinkStatus(state="running", position=book.cursor()[1], certificate_ends_s=ends_s)
        try:
            await js.publish(subject, msgspec.json.encode(word), stream=FEEDS)
        except (nats.js.errors.Error, nats.errors.Error) as error:
            if (reason := str(error) or type(error).__name__) != said:
                _log.warning("witness.untold", reason=reason)
                said = reason
        await asyncio.sleep(REPEATED_S)


async def _publish_cosigned(witness: Witness, js: JetStreamContext, kick: asyncio.Event) -> None:
    while True:
        await kick.wait()
        kick.clear()
        for origin, note in witness.unsaid():
            await js.publish(cosigned_subject(*split_origin(origin)), note)
            witness.said(origin, note)
