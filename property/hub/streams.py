"""The hub's streams: what each keeps, and how they are made and brought up to date.

Made by `keeper`, who alone may. Limits are said in full: a stream that is full refuses what comes
(and the uplinks wait) before it drops what nobody has taken yet.
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
    SAID_EVENTS,
    STORED_EVENTS,
    edition_subject,
    feed_subject,
    split_origin,
    stored_subject,
)
from property.hub.uplink_status import UplinkWord, encode_word

__all__ = ["StreamLimits", "clear_feed", "ensure_streams", "give_up"]

_DAY_S: Final = 86_400
_SMALL_BYTES: Final = 256 * 1024 * 1024
# A checkpoint is a note of a few hundred bytes, with room for signatures; an edition, a file of two
# thousand. A longer one a stranger could make slow to read.
_NOTE_MOST: Final = 64 * 1024
# Of each table: enough to look back over a slow witness's shoulder.
_NOTES_KEPT: Final = 16
# Repeats are told by the expected sequence, whatever this is; it costs memory.
_DUPLICATES_S: Final = 10


class StreamLimits(Struct, frozen=True, kw_only=True):
    """How much the hub keeps.

    Args:
        replicas: copies of each stream; the number of nodes that it stands on.
        event_bytes: how much of events it holds before it refuses more.
        event_days: how long an event stays. What an archive has not taken by then it can only
            have of the table's log: see the runbook.
    """

    replicas: int = 3
    event_bytes: int = 64 * 1024**3
    event_days: int = 14


async def ensure_streams(js: JetStreamContext, limits: StreamLimits) -> None:
    """Make each stream, or bring it to these limits; what it holds stays.

    Raises:
        nats.js.errors.APIError: the hub refuses, or has not as many nodes.
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
        _stream(EVENTS, SAID_EVENTS, limits),
        max_bytes=limits.event_bytes,
        max_age=float(limits.event_days * _DAY_S),
        discard=api.DiscardPolicy.NEW,
        subject_transform=api.SubjectTransform(src=SAID_EVENTS, dest=STORED_EVENTS),
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


async def give_up(js: JetStreamContext, origin: str, by: str) -> None:
    """Say in a table's stead that its uplink has ended, for a table that is given up.

    Args:
        js: the keeper's.
        origin: `<site>/<table>`.
        by: who says so, for the record.

    Raises:
        InputError: it is no origin.
        nats.js.errors.APIError: the hub refuses.
    """
    word = UplinkWord(state="ended", by=by)
    await js.publish(feed_subject(*split_origin(origin)), encode_word(word), stream=FEEDS)


async def clear_feed(js: JetStreamContext, origin: str) -> bool:
    """Take a table's events off the hub, if it has any, and its editions: its uplink fills them in.

    For a feed into which something came that is not of the log, once it has been looked at.

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
