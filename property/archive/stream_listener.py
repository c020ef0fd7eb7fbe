"""Reads one of the hub's streams for ever, and waits for the hub's faults to pass.

Records the status of every uplink in the archive: a stopped uplink raises its table's alarm. Every
worker listens to all tables. Recording a status twice changes nothing, and a worker that reconnects
receives the newest status of each table again.

Stores the editions that uplinks publish in the archive, after it has verified each by its hash.
Every worker reads the editions of all tables. Storing one twice changes nothing, and a worker that
reconnects reads all of them again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import Final

from nats.aio.client import Client

from events.errors import InputError
from events.structured_log import structlog
from property.archive.readings import ReadingStore, SaidReading
from property.archive.store import Archive, Edition
from property.archive.stream_reader import (
    HUB_ERRORS,
    STAMP,
    StreamMessage,
    StreamReader,
    creation_time,
)
from property.health.readings import Reading
from property.hub.subjects import EDITIONS, FEEDS, EditionKind, named_edition, origin_of
from property.hub.uplink_status import (
    WITNESS,
    UplinkStatus,
    UplinkStatusFilter,
    parse_uplink_status,
)

__all__ = ["ReadEdition", "hear_editions", "listen", "record_uplink_statuses", "verified_editions"]

_AGAIN_S: Final = 2.0
# Seconds between two requests: uplinks repeat their words every four seconds.
_PAUSE_S: Final = 1.0
_log: Final = structlog.get_logger()


async def listen(
    client: Client,
    begin: Callable[[], Awaitable[StreamReader]],
    take: Callable[[Sequence[StreamMessage]], Awaitable[None]],
    unheard: str,
) -> None:
    """Take a stream's messages until the connection is lost; wait after each fault of the hub.

    Args:
        client: the connection, with a reader's login.
        begin: makes a reader at the stream's beginning; called again after each fault.
        take: called with the messages in order, some of them again after a fault.
        unheard: the name under which a fault is logged, once for each reason.

    Raises:
        nats.errors.Error, BusError: the connection to the hub is lost.
        Exception: `take` raised it, and it is no fault of the hub.
    """
    said = ""
    while True:
        try:
            async with await begin() as reader:
                while True:
                    await take(await reader.next())
                    said = ""
        except HUB_ERRORS as error:
            if client.is_closed:
                raise
            if (reason := str(error) or type(error).__name__) != said:
                _log.warning(unheard, reason=reason)
                said = reason
            await asyncio.sleep(_AGAIN_S)


async def record_uplink_statuses(
    client: Client,
    store: Archive,
    turn: asyncio.Lock,
    pulses: ReadingStore,
    owned: Callable[[str], bool],
) -> None:
    """Record uplink statuses until the connection is lost; retry after a fault of the hub.

    Args:
        client: logged in with the role `archive`.
        store: keeps the alarms.
        turn: the lock on the store's connection.
        pulses: keeps each word as its table's reading.
        owned: whether this worker stores a table's events: it alone keeps the table's words.

    Raises:
        ArchiveUnavailable: the database does not answer.
        nats.errors.Error, BusError: the connection to the hub is lost.
    """
    clock = asyncio.get_running_loop().time
    heard = UplinkStatusFilter(clock())

    async def take(messages: Sequence[StreamMessage]) -> None:
        words = _parse_statuses(messages)
        for origin, word, _ in words:
            if origin != WITNESS and heard.counts(origin, word, clock()):
                async with turn:
                    await store.uplink(origin, word)
        async with turn:
            await pulses.keep(
                [
                    SaidReading(_pulse(origin, word), at)
                    for origin, word, at in words
                    if owned(origin)
                ]
            )

    await listen(
        client, partial(StreamReader.newest, client, FEEDS, _PAUSE_S), take, "uplinks_unheard"
    )


def _pulse(origin: str, word: UplinkStatus) -> Reading:
    try:
        at_s = datetime.fromisoformat(word.event_at).timestamp()
    except ValueError:
        at_s = None
    return Reading(
        kind="witness" if origin == WITNESS else "table",
        name=origin,
        state=word.state,
        error=f"{word.code}: {word.reason}" if word.state == "stopped" else "",
        position=max(word.head, word.position) if word.state == "running" else 0,
        at_s=at_s,
        ends_s=word.certificate_ends_s or None,
    )


def _parse_statuses(messages: Sequence[StreamMessage]) -> list[tuple[str, UplinkStatus, str]]:
    """Return origin, status and time of each; log one that is none, and keep the earlier one."""
    found = []
    for each in messages:
        try:
            word = parse_uplink_status(each.data)
            found.append((origin_of(each.subject), word, each.headers[STAMP]))
        except InputError as error:
            _log.warning("uplink_word_unread", subject=each.subject, reason=str(error))
    return found


ReadEdition = Callable[[EditionKind, bytes], Edition]
"""Reads an edition's bytes as one of that kind; raises InputError where they are none."""
_REASON_MOST: Final = 300


async def hear_editions(
    client: Client, store: Archive, turn: asyncio.Lock, read: ReadEdition
) -> None:
    """Store the editions that uplinks publish, until the connection is lost.

    Args:
        client: logged in with the role `archive`.
        store: keeps the editions.
        turn: the lock on the store's connection.
        read: parses an edition, or refuses it.

    Raises:
        ArchiveUnavailable: the database does not answer.
        nats.errors.Error, BusError: the connection to the hub is lost.
    """

    async def take(messages: Sequence[StreamMessage]) -> None:
        found = await asyncio.to_thread(verified_editions, messages, read)
        if found:
            async with turn:
                await store.editions(found)

    await listen(client, partial(_all, client), take, "editions_unheard")


async def _all(client: Client) -> StreamReader:
    made = await creation_time(client, EDITIONS)
    return StreamReader(client, EDITIONS, made, pause_s=_PAUSE_S)


def verified_editions(messages: Sequence[StreamMessage], read: ReadEdition) -> list[Edition]:
    """Return the editions in the messages, each once; log and leave out whatever is none."""
    found: dict[tuple[EditionKind, str], Edition] = {}
    for each in messages:
        try:
            kind, digest = _named(each)
            if (kind, digest) not in found:
                found[kind, digest] = read(kind, each.data)
        except InputError as error:
            reason = str(error)[:_REASON_MOST]
            _log.warning("edition_refused", subject=each.subject, reason=reason)
    return list(found.values())


def _named(message: StreamMessage) -> tuple[EditionKind, str]:
    """Return the kind and the hash that a message's subject names, if its bytes have that hash."""
    named = named_edition(message.subject)
    if sha256(message.data).hexdigest() != named.digest:
        raise InputError("its bytes have another hash than its subject names")
    return named.kind, named.digest
