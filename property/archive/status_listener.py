"""Records the status of every uplink in the archive: a stopped uplink raises its table's alarm.

Every worker listens to all tables. Recording a status twice changes nothing, and a worker that
reconnects receives the newest status of each table again.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Final

from nats.aio.client import Client

from events.errors import InputError
from events.structured_log import structlog
from property.archive.store import Archive
from property.archive.stream_listener import listen
from property.archive.stream_reader import StreamMessage, StreamReader
from property.hub.subjects import FEEDS, origin_of
from property.hub.uplink_status import UplinkStatus, UplinkStatusFilter, parse_uplink_status

__all__ = ["record_uplink_statuses"]

_log: Final = structlog.get_logger()


async def record_uplink_statuses(client: Client, store: Archive, turn: asyncio.Lock) -> None:
    """Record uplink statuses until the connection is lost; retry after a fault of the hub.

    Args:
        client: logged in with the role `archive`.
        store: keeps the alarms.
        turn: the lock on the store's connection.

    Raises:
        ArchiveUnavailable: the database does not answer.
        nats.errors.Error, BusError: the connection to the hub is lost.
    """
    clock = asyncio.get_running_loop().time
    heard = UplinkStatusFilter(clock())

    async def take(messages: Sequence[StreamMessage]) -> None:
        for origin, word in _parse_statuses(messages):
            if heard.counts(origin, word, clock()):
                async with turn:
                    await store.uplink(origin, word)

    await listen(client, partial(StreamReader.newest, client, FEEDS), take, "uplinks_unheard")


def _parse_statuses(messages: Sequence[StreamMessage]) -> list[tuple[str, UplinkStatus]]:
    """Return the statuses in the messages; log one that is none, and keep the earlier one."""
    found = []
    for each in messages:
        try:
            found.append((origin_of(each.subject), parse_uplink_status(each.data)))
        except InputError as error:
            _log.warning("uplink_word_unread", subject=each.subject, reason=str(error))
    return found
