"""Connects to the hub or to a leaf: one attempt at one server, with a login.

A connection never reconnects by itself: its user must first ask the hub again what it holds, and
therefore opens a new connection.

The hub's streams: their limits, and functions that create, update and purge them. Only the login
`keeper` may do this. A full stream of events refuses new ones, and the uplinks wait: it does not
drop events that no archive has read.
"""

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from nats.aio.client import Client
from nats.errors import Error
from nats.js import JetStreamContext, api
from nats.js.errors import NotFoundError

from events.errors import BusError, ConfigError
from events.tls import ClientTls
from property.hub.server_conf import inbox_of, login_of
from property.hub.subjects import (
    CHECKPOINTS,
    COSIGNED,
    EDITIONS,
    EVENTS,
    FEEDS,
    NOTICES,
    PUBLISHED_EVENTS,
    STORED_EVENTS,
    edition_subject,
    feed_subject,
    split_origin,
    stored_subject,
)
from property.hub.uplink_status import UplinkStatus

__all__ = [
    "HubConnection",
    "HubSettings",
    "StreamLimits",
    "connect",
    "ensure_streams",
    "hang_up",
    "publish_uplink_ended",
    "purge_table",
]

_CONNECT_S: Final = 2
# A node that hangs is left after three pings, and within ten seconds the next one has the uplink.
_PING_S: Final = 2
_PINGS_MOST: Final = 2
_CLOSE_S: Final = 1.0
# asyncio logs this at the end of each TLS connection of the library; it means nothing.
_EOF_SAID: Final = "returning true from eof_received() has no effect when using ssl"


# Headers of the messages that the hub carries: what an uplink says, and what the server adds.
_HEADERS: Final = {
    name.encode(): name
    for name in (
        "Bac-Hash",
        "Bac-Position",
        "Nats-Batch-Commit",
        "Nats-Batch-Id",
        "Nats-Batch-Sequence",
        "Nats-Expected-Last-Subject-Sequence",
        "Nats-Last-Sequence",
        "Nats-Msg-Id",
        "Nats-Num-Pending",
        "Nats-Sequence",
        "Nats-Stream",
        "Nats-Subject",
        "Nats-Time-Stamp",
    )
}


logging.getLogger("asyncio").addFilter(lambda record: record.getMessage() != _EOF_SAID)


class HubSettings(Struct, frozen=True, kw_only=True):
    """The settings of a connection to the hub.

    Args:
        servers: URLs, tried in turn: `tls://hub1.example:4222`, or a leaf's `nats://127.0.0.1:4222`.
        who: the login's role, or a table's `<site>/<table>`.
        password: the login's.
        ca: PEM file of the property's CA; None for a leaf on this machine.
        cert: PEM file of the client's certificate.
        key: PEM file of its key.
    """

    servers: tuple[str, ...]
    who: str
    password: str
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None

    def tls(self) -> ClientTls:
        """Return the TLS settings, to be shared by successive connections."""
        return ClientTls(self.ca, self.cert, self.key)


class HubConnection(Client):
    """The library's connection; it reads headers in a fifth of the time.

    The library looks at each character of each name, which took a third of a worker's time.
    """

    @staticmethod
    def _parse_header_lines(raw: bytes) -> dict[str, str]:
        """Return what the library returns: it reads the lines of unknown names."""
        found: dict[str, str] = {}
        for line in raw.split(b"\r\n"):
            name, colon, value = line.partition(b":")
            known = _HEADERS.get(name)
            if known and colon:
                found[known] = value.strip().decode("utf-8", "replace")
            elif line:
                found |= Client._parse_header_lines(line)  # noqa: SLF001 - of its own class
        return found


async def connect(settings: HubSettings, attempt: int, tls: ClientTls | None = None) -> Client:
    """Make one attempt to connect to one of the servers.

    Args:
        settings: the servers and the login.
        attempt: the attempt's number; the servers take turns by it.
        tls: the result of `settings.tls()`, if the caller connects repeatedly. It keeps the last
            good certificate while a renewed one and its key do not match.

    Raises:
        BusError: no server answers, the server refuses, or a file of the settings is unusable.
    """
    server = settings.servers[attempt % len(settings.servers)]
    try:
        context = (tls or settings.tls()).context()
    except ConfigError as error:
        raise BusError(f"TLS to the hub: {error}") from error
    heard: list[Exception] = []

    async def hear(error: Exception) -> None:
        # A later error also ends the call that it concerns, which reports it.
        heard[:] = [error]

    client = HubConnection()
    try:
        await client.connect(
            server,
            name=login_of(settings.who),
            user=login_of(settings.who),
            password=settings.password,
            tls=context,
            inbox_prefix=inbox_of(settings.who),
            allow_reconnect=False,
            # The library's default tries for two minutes before it reports a missing server.
            max_reconnect_attempts=1,
            reconnect_time_wait=0,
            connect_timeout=_CONNECT_S,
            ping_interval=_PING_S,
            max_outstanding_pings=_PINGS_MOST,
            error_cb=hear,
        )
    except (Error, OSError, TimeoutError) as error:
        cause = heard[-1] if heard else error
        # The library leaves the sockets of a failed attempt to the garbage collector.
        await hang_up(client)
        raise BusError(f"{server}: {str(cause) or type(cause).__name__}") from error
    return client


async def hang_up(client: Client) -> None:
    """Close a connection, within a second whatever has become of its server.

    A server that dies in the TLS handshake is never reported to the library's writer, whose end
    asyncio would then wait for without limit.
    """
    with suppress(Error, OSError, TimeoutError):
        await asyncio.wait_for(client.close(), _CLOSE_S)


_DAY_S: Final = 86_400
_SMALL_BYTES: Final = 256 * 1024 * 1024
# A checkpoint is a note of a few hundred bytes, with room for signatures; an edition is a file of
# two thousand. A stranger could make a longer one slow to read.
_NOTE_MOST: Final = 64 * 1024
# Notes of each table, enough for a witness that is slow.
_NOTES_KEPT: Final = 16
# Short, to save memory: the expected sequence finds duplicates without this window.
_DUPLICATES_S: Final = 10


class StreamLimits(Struct, frozen=True, kw_only=True):
    """The limits of the hub's streams.

    Args:
        replicas: copies of each stream, each on a node of its own.
        event_bytes: bytes of events that the hub holds before it refuses more.
        event_days: days that an event stays. After that an archive can get it only from the table's
            log: see the runbook.
    """

    replicas: int = 3
    event_bytes: int = 64 * 1024**3
    event_days: int = 14


async def ensure_streams(js: JetStreamContext, limits: StreamLimits) -> None:
    """Create each stream, or update it to these limits and keep its messages.

    Raises:
        nats.js.errors.APIError: the hub refuses, or has too few nodes.
    """
    for config in _streams(limits):
        name = str(config.name)
        try:
            found = (await js.stream_info(name)).config
        except NotFoundError:
            await js.add_stream(config)
            continue
        wanted = {key: value for key, value in config.as_dict().items() if value is not None}
        if {key: found.as_dict().get(key) for key in wanted} != wanted:
            await js.update_stream(config)


def _streams(limits: StreamLimits) -> tuple[api.StreamConfig, ...]:
    events = replace(
        _stream(EVENTS, PUBLISHED_EVENTS, limits),
        max_bytes=limits.event_bytes,
        max_age=float(limits.event_days * _DAY_S),
        discard=api.DiscardPolicy.NEW,
        subject_transform=api.SubjectTransform(src=PUBLISHED_EVENTS, dest=STORED_EVENTS),
        allow_atomic=True,
        republish=api.RePublish(
            src="property.v1.part.>", dest=f"{NOTICES}.part.>", headers_only=True
        ),
    )
    notes = (
        replace(
            _stream(name, f"property.v1.*.*.{word}", limits),
            max_bytes=_SMALL_BYTES,
            max_msgs_per_subject=kept,
            max_msg_size=_NOTE_MOST,
            discard=api.DiscardPolicy.OLD,
        )
        for name, word, kept in (
            (CHECKPOINTS, "checkpoint", _NOTES_KEPT),
            (COSIGNED, "cosigned", _NOTES_KEPT),
            (FEEDS, "feed", 1),
            (EDITIONS, "edition.*.*", 1),
        )
    )
    return events, *notes


def _stream(name: str, subject: str, limits: StreamLimits) -> api.StreamConfig:
    return api.StreamConfig(
        name=name,
        subjects=[subject],
        retention=api.RetentionPolicy.LIMITS,
        storage=api.StorageType.FILE,
        num_replicas=limits.replicas,
        duplicate_window=_DUPLICATES_S,
        deny_delete=True,
        allow_direct=True,
    )


async def publish_uplink_ended(js: JetStreamContext, origin: str, by: str) -> None:
    """Publish, for a table that is retired, that its uplink has ended.

    Args:
        js: with the keeper's login.
        origin: `<site>/<table>`.
        by: the person, for the record.

    Raises:
        InputError: it is no origin.
        nats.js.errors.APIError: the hub refuses.
    """
    word = UplinkStatus(state="ended", by=by)
    await js.publish(feed_subject(*split_origin(origin)), msgspec.json.encode(word), stream=FEEDS)


async def purge_table(js: JetStreamContext, origin: str) -> bool:
    """Purge a table's events and editions from the hub; return whether there were events.

    Use this after a person has inspected a feed that held messages that are not the log's. The
    table's uplink fills the hub again from its log.

    Raises:
        InputError: it is no origin.
        nats.js.errors.APIError: the hub refuses.
    """
    names = split_origin(origin)
    with suppress(NotFoundError):  # a hub whose streams an earlier build has made
        await js.purge_stream(EDITIONS, subject=edition_subject(*names))
    subject = stored_subject(*names)
    held = (await js.stream_info(EVENTS, subjects_filter=subject)).state.subjects
    await js.purge_stream(EVENTS, subject=subject)
    return bool(held)
