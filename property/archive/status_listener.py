"""The archive hears what uplinks say of themselves: one that has stopped is an alarm of its table.

Every worker hears all tables. To record the same again changes nothing, and whoever comes back
hears the newest of each again.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Final

import structlog
from nats.aio.client import Client

from events.errors import InputError
from property.archive.store import Archive
from property.archive.stream_listener import listen
from property.archive.stream_reader import FeedReader, Stored
from property.hub.subjects import FEEDS, origin_of
from property.hub.uplink_status import Heard, UplinkWord, parse_word

__all__ = ["hear_uplinks"]

_log: Final = structlog.get_logger()


async def hear_uplinks(client: Client, store: Archive, turn: asyncio.Lock) -> None:
    """Record the uplinks' words until the connection is gone; the hub's faults are waited for.

    Args:
        client: with the role `archive`.
        store: where alarms are kept.
        turn: whose connection it is.

    Raises:
        ArchiveUnavailable: the database does not answer.
        nats.errors.Error, BusError: the connection to the hub is gone.
    """
    clock = asyncio.get_running_loop().time
    heard = Heard(clock())

    async def take(messages: Sequence[Stored]) -> None:
        for origin, word in _words(messages):
            if heard.counts(origin, word, clock()):
                async with turn:
                    await store.uplink(origin, word)

    await listen(client, partial(FeedReader.newest, client, FEEDS), take, "uplinks_unheard")


def _words(messages: Sequence[Stored]) -> list[tuple[str, UplinkWord]]:
    """The words among them; what is none is told, and the table's earlier one stays."""
    found = []
    for each in messages:
        try:
            found.append((origin_of(each.subject), parse_word(each.data)))
        except InputError as error:
            _log.warning("uplink_word_unread", subject=each.subject, reason=str(error))
    return found
