"""The hub's streams, subjects and partitions, and each table's place among them. Pure.

A table publishes to `property.v1.<site>.<table>.event`, `.checkpoint` and `.feed`, and each edition
next to its log to `.edition.<kind>.<SHA-256>`. The hub stores its events under
`property.v1.part.<n>.<site>.<table>.event`. JetStream's partition mapping inserts the number,
always the same for a table. Workers therefore share the partitions, and a table's events keep
their order.
"""

import re
from typing import Final, Literal, NamedTuple

from events.errors import InputError
from events.mqtt.topics import SEGMENT

__all__ = [
    "API",
    "CHECKPOINTS",
    "COSIGNED",
    "EDITIONS",
    "EVENTS",
    "FEEDS",
    "NOTICES",
    "PARTITIONS",
    "PUBLISHED_EVENTS",
    "STORED_EVENTS",
    "EditionKind",
    "NamedEdition",
    "checkpoint_subject",
    "continued_origin",
    "cosigned_subject",
    "edition_subject",
    "event_subject",
    "feed_subject",
    "held_checkpoint_subject",
    "held_event_subject",
    "named_edition",
    "notice_filter",
    "origin_of",
    "partition_filter",
    "partition_of",
    "split_origin",
    "stored_subject",
]

# The number of partitions. Another number would move tables away from their stored events: never
# change it on a hub that holds any.
PARTITIONS: Final = 16

# The streams.
EVENTS: Final = "EVENTS"
CHECKPOINTS: Final = "CHECKPOINTS"
COSIGNED: Final = "COSIGNED"
FEEDS: Final = "FEEDS"
EDITIONS: Final = "EDITIONS"

# A reader's prefix for requests to the streams: its account has this instead of `$JS.API`.
API: Final = "property.hub"

# The mapping from published to stored subjects, in the server's syntax.
PUBLISHED_EVENTS: Final = "property.v1.*.*.event"
STORED_EVENTS: Final = (
    f"property.v1.part.{{{{partition({PARTITIONS},1,2)}}}}"
    ".{{wildcard(1)}}.{{wildcard(2)}}.event"
)

# The hub says for each event that it has stored it: under the stored subject, with this instead of
# `property.v1`, without the event itself.
NOTICES: Final = "property.stored"

_SUBJECT: Final = re.compile(
    r"property\.v1\.(?:part\.[0-9]+\.)?([a-z0-9_-]+)\.([a-z0-9_-]+)"
    r"\.(?:event|checkpoint|cosigned|feed)\Z"
)
_SUCCESSOR: Final = re.compile(r"([a-z0-9_-]+/[a-z0-9_-]+)-r[1-9][0-9]?\Z")
_EDITION: Final = re.compile(
    r"property\.v1\.([a-z0-9_-]+)\.([a-z0-9_-]+)\.edition\.(rulebook|profile)\.([0-9a-f]{64})\Z"
)
# 32-bit FNV-1a, by which nats-server computes `partition` over the named tokens.
_FNV_START: Final = 0x811C9DC5
_FNV_PRIME: Final = 0x01000193
_FNV_MASK: Final = 0xFFFFFFFF


EditionKind = Literal["rulebook", "profile"]


class NamedEdition(NamedTuple):
    """What an edition's subject says of it.

    Args:
        origin: `<site>/<table>` that has it beside its log.
        kind: what it is.
        digest: SHA-256 of its bytes, hex.
    """

    origin: str
    kind: EditionKind
    digest: str


def event_subject(site: str, table: str) -> str:
    """Return the subject to which a table publishes its events."""
    return f"property.v1.{site}.{table}.event"


def checkpoint_subject(site: str, table: str) -> str:
    """Return the subject to which a table publishes its checkpoints."""
    return f"property.v1.{site}.{table}.checkpoint"


def feed_subject(site: str, table: str) -> str:
    """Return the subject to which a table's uplink publishes its status."""
    return f"property.v1.{site}.{table}.feed"


def edition_subject(site: str, table: str, kind: str = "*", digest: str = "*") -> str:
    """Where a table's uplink publishes an edition that is kept beside the log; all, by default."""
    return f"property.v1.{site}.{table}.edition.{kind}.{digest}"


def cosigned_subject(site: str, table: str) -> str:
    """Return the subject to which the witness publishes a table's cosigned checkpoints."""
    return f"property.v1.{site}.{table}.cosigned"


def held_event_subject(site: str, table: str) -> str:
    """Return the subject to which a table sends requests for its newest event on the hub."""
    return f"property.v1.{site}.{table}.held.event"


def held_checkpoint_subject(site: str, table: str) -> str:
    """Return the subject to which a table sends requests for its newest checkpoint on the hub."""
    return f"property.v1.{site}.{table}.held.checkpoint"


def stored_subject(site: str, table: str) -> str:
    """Return the subject under which the hub stores a table's events."""
    return f"property.v1.part.{partition_of(site, table)}.{site}.{table}.event"


def partition_of(site: str, table: str) -> int:
    """Return a table's partition, 0 to `PARTITIONS` - 1, as the hub computes it."""
    digest = _FNV_START
    for byte in f"{site}{table}".encode():
        digest = ((digest ^ byte) * _FNV_PRIME) & _FNV_MASK
    return digest % PARTITIONS


def partition_filter(partition: int) -> str:
    """Return the subject filter of a partition."""
    return f"property.v1.part.{partition}.>"


def notice_filter(partition: int) -> str:
    """Return the subject filter of the notices that a partition's events are stored."""
    return f"{NOTICES}.part.{partition}.>"


def origin_of(subject: str) -> str:
    """Return the `<site>/<table>` of a subject, as published or as stored.

    Raises:
        InputError: it is no subject of a table.
    """
    found = _SUBJECT.match(subject)
    if found is None:
        raise InputError(f"subject {subject[:80]!r}: none of a table's")
    return f"{found[1]}/{found[2]}"


def named_edition(subject: str) -> NamedEdition:
    """Read an edition's subject.

    Raises:
        InputError: it is none.
    """
    found = _EDITION.match(subject)
    if found is None:
        raise InputError(f"subject {subject[:160]!r}: none of an edition")
    kind: EditionKind = "rulebook" if found[3] == "rulebook" else "profile"
    return NamedEdition(f"{found[1]}/{found[2]}", kind, found[4])


def continued_origin(origin: str) -> str:
    """Return the origin whose log goes on under this one: of `harbour/b7-r1`, `harbour/b7`.

    A log that was restored behind what was cosigned goes on so; of any other, the origin itself.
    """
    found = _SUCCESSOR.match(origin)
    return found[1] if found else origin


def split_origin(origin: str) -> tuple[str, str]:
    """Split `<site>/<table>` into (site, table).

    Raises:
        InputError: it is no origin.
    """
    site, slash, table = origin.partition("/")
    if not slash or not SEGMENT.match(site) or not SEGMENT.match(table):
        raise InputError(f"origin {origin[:80]!r}: write <site>/<table>")
    return site, table
