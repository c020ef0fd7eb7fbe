"""Stores the editions that uplinks publish in the archive, after it has verified each by its hash.

Every worker reads the editions of all tables. Storing one twice changes nothing, and a worker that
reconnects reads all of them again.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from typing import Final

from nats.aio.client import Client

from events.errors import InputError
from events.structured_log import structlog
from property.archive.editions import Edition
from property.archive.store import Archive
from property.archive.stream_listener import listen
from property.archive.stream_reader import StreamMessage, StreamReader, creation_time
from property.hub.subjects import EDITIONS, EditionKind, named_edition

__all__ = ["ReadEdition", "hear_editions", "verified_editions"]

ReadEdition = Callable[[EditionKind, bytes], Edition]
"""Reads an edition's bytes as one of that kind; raises InputError where they are none."""

_REASON_MOST: Final = 300

_log: Final = structlog.get_logger()


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
    return StreamReader.all(client, EDITIONS, 1, await creation_time(client, EDITIONS))


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
