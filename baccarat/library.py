"""What a program may import: rules, logs, captures, and a table on the bus.

These names, their arguments and their results follow semantic versioning, as
docs/integrate/library.md says. Everything else in the packages may change with any version.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from baccarat.history.log_judging import Judging
from events.cards import Card, parse_card
from events.log.reader import reading
from events.log.verify import VerificationResult, verify
from events.mqtt.bus import Bus, BusSettings
from events.mqtt.messages import Message
from events.mqtt.topics import Topics
from events.proof.keys import read_verifier_key
from events.types import Entry, PublishedEnvelope, ShoeEvent, Wager, decode_entry
from shoe_driver.decode import Decoder
from shoe_driver.profiles.catalogue import load_profile
from table_core.batch import judge_case
from table_core.odds.house_edge import house_edges
from table_core.roads.columns import project_roads, read_results
from table_core.rulebooks.shipped import load_rulebook
from table_core.rules.rulebook import Rulebook
from table_core.rules.rulebook_file import parse_rulebook

__all__ = [
    "BusSettings",
    "Card",
    "Entry",
    "PublishedEnvelope",
    "Rulebook",
    "ShoeEvent",
    "VerificationResult",
    "Wager",
    "decode_capture",
    "house_edges",
    "judge_case",
    "listen",
    "load_rulebook",
    "parse_card",
    "parse_rulebook",
    "project_roads",
    "read_log",
    "read_results",
    "verify_log",
]


def read_log(path: Path) -> Iterator[Entry]:
    """Yield the events of a log, each at its type's newest version.

    The log may be in use. The closed files that it goes on from are read too.

    Raises:
        LogRefused: there is no such log, or an event does not follow from those before it.
    """
    with reading(path) as log:
        for stored in log.read():
            yield decode_entry(stored.stored)


def verify_log(path: Path, *keys: str) -> VerificationResult:
    """Verify a log's chain and checkpoints, and judge its settlements again.

    Args:
        path: of the log, which may be in use.
        keys: public keys that are believed, or their files; without one, those in the log.

    Raises:
        InputError: there is no such log, or a key is none.
    """
    believed = frozenset(map(read_verifier_key, keys))
    return verify(path, keys=believed, judging=lambda origin: Judging(path, origin))


def decode_capture(data: bytes, profile: str) -> list[ShoeEvent]:
    """Return what the bytes of a shoe's line say.

    Args:
        data: as they came.
        profile: the id of a shipped wire profile, or the path of a file.

    Raises:
        InputError: there is no such profile.
    """
    decoder = Decoder(load_profile(profile))
    return [*decoder.feed_bare(data), *decoder.finish()]


async def listen(
    broker: BusSettings, site: str, table: str
) -> AsyncGenerator[PublishedEnvelope, None]:
    """Yield the events of a table as they are published, until the caller leaves.

    An event can be missed while the broker is away, and can come twice. A program that must have
    each one asks for a replay, as docs/integrate/cage.md shows.

    Raises:
        BusError: the broker refuses the login.
    """
    topics = Topics(site, table)
    topics.validate()
    heard: asyncio.Queue[Message] = asyncio.Queue()
    bus = Bus(broker, subscriptions={topics.event: heard.put})
    running = asyncio.create_task(bus.run())
    try:
        while True:
            message = asyncio.create_task(heard.get())
            await asyncio.wait((running, message), return_when=asyncio.FIRST_COMPLETED)
            if not message.done():
                message.cancel()
                running.result()
            yield msgspec.json.decode((await message).payload, type=PublishedEnvelope)
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
