"""The hub's streams: their limits, and functions that create, update and purge them.

Only the login `keeper` may do this. A full stream of events refuses new ones, and the uplinks wait:
it does not drop events that no archive has read.
"""

from contextlib import suppress
from dataclasses import replace
from typing import Final

from msgspec import Struct
from nats.js import JetStreamContext, api
from nats.js.errors import NotFoundError

from property.hub.subjects import (
    CHECKPOINTS,
    COSIGNED,
    EDITIONS,
    EVENTS,
    FEEDS,
    PUBLISHED_EVENTS,
    STORED_EVENTS,
    edition_subject,
    feed_subject,
    split_origin,
    stored_subject,
)
from property.hub.uplink_status import UplinkStatus, encode_uplink_status

__all__ = ["StreamLimits", "ensure_streams", "publish_uplink_ended", "purge_table"]

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
    await js.publish(feed_subject(*split_origin(origin)), encode_uplink_status(word), stream=FEEDS)


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
