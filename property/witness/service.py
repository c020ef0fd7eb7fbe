"""The witness as a service: it hears every log on the hub, and cosigns what is consistent.

It reads the stream of events behind a cursor of its own, which is committed with what was heard:
nothing is acknowledged, so nothing that is sent again comes out of order. A hub that was wiped, or
put back from an old copy, is read from its beginning: what was heard before is looked at and passed
by, and what differs is a fork.

Checkpoints are read from the hub's newest at every start. One that comes before its events waits.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final

import structlog
from msgspec import Struct
from nats.aio.client import Client
from nats.js import JetStreamContext

from events.clock import Clock
from events.errors import InputError
from events.proof.note import SigningKey, VerifierKey
from events.tls import ClientTls
from property.archive.stream_reader import HUB_ERRORS, FeedReader, Stored, reading
from property.hub.connection import HubSettings, connect
from property.hub.replicated_event import Carried, carried_of
from property.hub.subjects import CHECKPOINTS, EVENTS, cosigned_subject, origin_of, split_origin
from property.witness.book import WitnessBook
from property.witness.cosignature import cosign
from property.witness.observed_log import Fit, Refused, Watched

__all__ = ["Witness", "WitnessSettings", "run_witness"]

_RETRY_S: Final = (0.2, 5.0)
# Checkpoints that wait for their events; of more of one log the oldest go.
_WAITING_MOST: Final = 16
_NS: Final = 1_000_000_000
# From the beginning once more, at a gap, at most so often, seconds.
_ANEW_S: Final = 60.0

_log: Final = structlog.get_logger()


class WitnessSettings(Struct, frozen=True, kw_only=True):
    """What a witness must know.

    Args:
        key: what it cosigns with.
        given: a log's origin to the public keys that may sign its checkpoints.
    """

    key: SigningKey
    given: Mapping[str, Sequence[VerifierKey]]


class Witness:
    """What is heard, judged, kept and still to be said; told by whoever reads the hub.

    Args:
        settings: keys.
        book: where it is kept.
        clock: for the time of a cosignature.
    """

    def __init__(self, settings: WitnessSettings, book: WitnessBook, clock: Clock) -> None:
        self._settings = settings
        self._book = book
        self._clock = clock
        self._logs = book.watched(settings.given)
        self._waiting: dict[str, deque[bytes]] = {}
        self._anew_after = 0.0

    def read_anew(self, now_s: float) -> bool:
        """Whether it is time to read everything from the beginning, for a gap that was met."""
        if now_s < self._anew_after:
            return False
        self._anew_after = now_s + _ANEW_S
        return True

    def hear(self, messages: Iterable[Stored], stream: str, cursor: int) -> bool:
        """Take events, in order, in one commit.

        Args:
            messages: as they came.
            stream: when the stream was made.
            cursor: the sequence of the last message.

        Returns:
            Whether there was a gap.
        """
        leaves: dict[str, list[tuple[int, bytes]]] = {}
        refused: list[tuple[str, Refused, bytes]] = []
        for message in messages:
            try:
                carried = carried_of(message.subject, message.headers, message.data)
            except InputError as error:
                refused.append(("", Refused("no_event", str(error)), message.data))
                continue
            found = self._watched(carried.origin).hear(carried)
            if isinstance(found, Refused):
                refused.append((carried.origin, found, _proof(carried)))
            elif found is not None:
                leaves.setdefault(carried.origin, []).append((carried.position, found))
        with self._book.writing():
            for origin, new in leaves.items():
                seen = self._watched(origin)
                self._book.keep(seen, new)
                if seen.shed():
                    self._book.keep(seen, ())
                self._judge_waiting(seen)
            for origin, why, data in refused:
                self._refuse(origin, why, data)
            self._book.move_cursor(stream, cursor)
        return any(why.code == "gap" for _, why, _ in refused)

    def checkpoint(self, message: Stored) -> None:
        """Judge a checkpoint; one that is ahead of its events waits for them."""
        with self._book.writing():
            try:
                seen = self._watched(origin_of(message.subject))
            except InputError as error:
                self._refuse("", Refused("no_checkpoint", str(error)), message.data)
                return
            self._judge(seen, message.data)

    def unsaid(self) -> list[tuple[str, bytes]]:
        """What was cosigned and is not on the hub yet: origin and note."""
        return self._book.unsaid()

    def said(self, origin: str, note: bytes) -> None:
        """The hub has it."""
        self._book.said(origin, note)

    def _watched(self, origin: str) -> Watched:
        seen = self._logs.get(origin)
        if seen is None:
            seen = Watched(origin, self._settings.given.get(origin, ()))
            self._logs[origin] = seen
        return seen

    def _judge_waiting(self, seen: Watched) -> None:
        for note in self._waiting.pop(seen.origin, ()):
            self._judge(seen, note)

    def _judge(self, seen: Watched, data: bytes) -> None:
        found = seen.judge(data)
        if isinstance(found, Refused):
            self._refuse(seen.origin, found, data)
        elif isinstance(found, Fit):
            now_s = self._clock.utc_ns() // _NS
            seen.keep(found)
            note = cosign(data, found.note.text, self._settings.key, now_s)
            self._book.cosigned(seen, note, found.signer, now_s)
        elif seen.ahead(data):
            waiting = self._waiting.setdefault(seen.origin, deque(maxlen=_WAITING_MOST))
            if data not in waiting:
                waiting.append(data)

    def _refuse(self, origin: str, why: Refused, data: bytes) -> None:
        if self._book.refuse(origin, why, data, self._clock.utc_ns() // _NS):
            say = _log.info if why.code == "older" else _log.error
            say("witness.refused", table=origin, code=why.code, text=why.text)


def _proof(carried: Carried) -> bytes:
    """A refused event, as evidence: the hash that was sent, a line end, the bytes."""
    return carried.hash.hex().encode() + b"\n" + carried.stored


async def run_witness(
    settings: WitnessSettings,
    book: WitnessBook,
    hub: HubSettings,
    clock: Clock,
    stop: asyncio.Event,
) -> None:
    """Witness until `stop` is set; a hub that is away is waited for.

    Args:
        settings: keys.
        book: where everything is kept; open.
        hub: how it is reached, with the witness's login.
        clock: for times.
        stop: ends it.
    """
    witness = Witness(settings, book, clock)
    stopping = asyncio.ensure_future(stop.wait())
    wait_s, attempt, tls = _RETRY_S[0], 0, hub.tls()
    try:
        while not stop.is_set():
            serving = asyncio.ensure_future(_serve(witness, book, hub, tls, attempt))
            attempt += 1
            await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
            serving.cancel()
            await asyncio.wait({serving})
            if not serving.cancelled() and (error := serving.exception()) is not None:
                wait_s = _away(error, wait_s)
                await asyncio.wait({stopping}, timeout=wait_s)
            else:
                wait_s = _RETRY_S[0]
    finally:
        stopping.cancel()


def _away(error: BaseException, wait_s: float) -> float:
    """How long to wait after an error of the hub's; any other is raised."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if not isinstance(error, HUB_ERRORS):
        raise error
    _log.warning("witness.hub_away", reason=str(error) or type(error).__name__)
    return min(wait_s * 2, _RETRY_S[1])


async def _serve(
    witness: Witness, book: WitnessBook, hub: HubSettings, tls: ClientTls, attempt: int
) -> None:
    """Until the hub is another than the one that was read; raises where it is away."""
    client = await connect(hub, attempt, tls)
    try:
        kick = asyncio.Event()
        kick.set()
        async with asyncio.TaskGroup() as group:
            reading = group.create_task(_events(witness, book, client, kick))
            others = [
                group.create_task(_checkpoints(witness, client, kick)),
                group.create_task(_say(witness, client.jetstream(), kick)),
            ]
            await reading
            for task in others:
                task.cancel()
    finally:
        with suppress(*HUB_ERRORS):
            await client.close()


async def _events(witness: Witness, book: WitnessBook, client: Client, kick: asyncio.Event) -> None:
    """Read until it has to be read anew."""
    loop = asyncio.get_running_loop()
    made, cursor = await _where(reading(client), book)
    async with FeedReader.all(client, EVENTS, cursor + 1, made) as reader:
        while True:
            messages = await reader.next()
            if messages:
                gapped = witness.hear(messages, made, messages[-1].sequence)
                kick.set()
                if gapped and witness.read_anew(loop.time()):
                    # What is missing may lie before the cursor: on a hub that was put back.
                    book.move_cursor(made, 0)
                    return


async def _where(js: JetStreamContext, book: WitnessBook) -> tuple[str, int]:
    """When the stream was made, and the cursor in it: 0 in another than the one that was read."""
    info = await js.stream_info(EVENTS)
    made = str(info.created)
    stream, cursor = book.cursor()
    return made, cursor if stream == made and info.state.last_seq >= cursor else 0


async def _checkpoints(witness: Witness, client: Client, kick: asyncio.Event) -> None:
    async with await FeedReader.newest(client, CHECKPOINTS) as reader:
        while True:
            for message in await reader.next():
                witness.checkpoint(message)
            kick.set()


async def _say(witness: Witness, js: JetStreamContext, kick: asyncio.Event) -> None:
    while True:
        await kick.wait()
        kick.clear()
        for origin, note in witness.unsaid():
            await js.publish(cosigned_subject(*split_origin(origin)), note)
            witness.said(origin, note)
