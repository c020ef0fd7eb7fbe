"""Presence: a service's retained birth, heartbeat and Will, and how a reader interprets them.

A retained "online" outlives a service that dies together with its broker, so a reader believes it
only while its heartbeat is fresh. A Will may arrive late, after the service has restarted, so it
counts only against the session it names. A session number identifies one run of a service, never
which run is newer: it is kept on a disk that may be lost, restored or copied. A connected service
that reads its own "offline" publishes "online" again.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from events.clock import rfc3339
from events.errors import MalformedJson
from events.json_form import decode_json
from events.mqtt.messages import Message, Publication
from events.mqtt.process import Now, Post, Publish, Steps, Wait

__all__ = [
    "CLOCK_DIFFERENCE_SECONDS",
    "HEARTBEAT_SECONDS",
    "STALE_SECONDS",
    "Presence",
    "PresencePublisher",
    "Status",
    "encode_status",
    "read_status",
]

# A screen that has lost the table shows that within 3 s, and one beat may be lost on the way.
HEARTBEAT_SECONDS: Final = 1.0
# A heartbeat older than this is not believed. The age of a retained heartbeat comes from its
# timestamp, so two machines' clocks may also differ by this much.
STALE_SECONDS: Final = 10.0
# Two clocks set by a time server differ by milliseconds; by this much, one of them is not set.
CLOCK_DIFFERENCE_SECONDS: Final = 2.0
# The heartbeats that say how two clocks differ: the one that was least long on its way counts.
_CLOCK_BEATS: Final = 5

_MICROSECOND: Final = timedelta(microseconds=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_RFC3339: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z\Z", re.ASCII)


class Status(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a service says of itself, or its Will for it.

    Args:
        state: whether it is there.
        session: rises at every start of the service, as long as its disk lives; below 2^53.
        ts: when this was written, RFC 3339 in UTC with nine decimals.
    """

    state: Literal["online", "offline"]
    session: Annotated[int, Meta(ge=1, lt=2**53)]
    ts: str


def encode_status(status: Status) -> bytes:
    """Encode a status as the payload of a message."""
    return msgspec.json.encode(status)


def read_status(payload: bytes) -> Status | None:
    """Decode a message's payload; None if it holds no status (cleared, or junk)."""
    try:
        status = decode_json(payload, Status)
    except MalformedJson:
        return None
    return status if _written_us(status.ts) is not None else None


def _written_us(ts: str) -> int | None:
    """Parse a timestamp with nine decimals into microseconds since 1970; None if it is not one."""
    if not _RFC3339.match(ts):
        return None
    try:
        return (datetime.fromisoformat(ts) - _EPOCH) // _MICROSECOND
    except ValueError:
        return None


class Presence(Struct, frozen=True, kw_only=True):
    """A reader's knowledge of one service: the fold of its status messages. Pure.

    **A live message is newest.** A broker keeps the order within a topic. So a live "online" is
    believed whatever its session number: a service that lost its disk counts from 1 again. The age
    of a live message counts from its arrival, so no clock but ours matters.

    **An "offline" belongs to one session.** If that is not the believed session, it is a late Will.

    **A retained message is history**, and nats-server may deliver it after live ones. It counts
    only before a connection's first live message, only if its session is not below the known one,
    and its age comes from its timestamp.

    **Two services at once**, such as a copy of a controller, are believed in turn, and `doubled`
    reports it.

    Args:
        status: the newest status that counts, or None before the first.
        beat_us: the last heartbeat of the believed session, in microseconds of this machine's
            monotonic clock.
        before: the session that was believed before, or 0.
        before_us: its last heartbeat.
        doubled_us: when a replaced session last sent again; None if none has.
        live: this connection has delivered a live message.
        ahead_us: by how much the clock of each of the newest live heartbeats was ahead of ours when
            it arrived, microseconds; negative where it was behind, or long on its way.
    """

    status: Status | None = None
    beat_us: int = 0
    before: int = 0
    before_us: int = 0
    doubled_us: int | None = None
    live: bool = False
    ahead_us: tuple[int, ...] = ()

    def with_message(
        self, status: Status, *, retained: bool, utc_ns: int, mono_us: int
    ) -> "Presence":
        """Return the presence after one more message.

        Args:
            status: the message's content.
            retained: whether the broker had stored it.
            utc_ns: now, nanoseconds since 1970 UTC.
            mono_us: now, monotonic.
        """
        if retained:
            return self._with_kept(status, utc_ns, mono_us)
        heard = self._with_live(status, mono_us)
        if status.state == "offline":
            return heard  # a Will was written when its service connected
        ahead = (_written_us(status.ts) or 0) - utc_ns // 1_000
        return replace(heard, ahead_us=(*heard.ahead_us, ahead)[-_CLOCK_BEATS:])

    def _with_live(self, status: Status, mono_us: int) -> "Presence":
        known = self.status
        if known is not None and status.session != known.session:
            return self._with_another(status, known.session, mono_us)
        ended = known is not None and status.state == "offline"
        beat_us = self.beat_us if ended else mono_us
        return replace(self, status=status, beat_us=beat_us, live=True)

    def _with_kept(self, status: Status, utc_ns: int, mono_us: int) -> "Presence":
        known = self.status
        if self.live or (known is not None and status.session < known.session):
            return self
        # A timestamp from the future is as bad as an old one: a clock was set, or two clocks
        # differ.
        age_us = abs(utc_ns // 1_000 - (_written_us(status.ts) or 0))
        beat_us = mono_us - age_us
        if known is not None and status.session == known.session:
            beat_us = max(beat_us, self.beat_us)
        return replace(self, status=status, beat_us=beat_us)

    def _with_another(self, status: Status, known: int, mono_us: int) -> "Presence":
        if status.state == "offline":
            return replace(self, live=True)
        again = status.session == self.before and _within(STALE_SECONDS, mono_us - self.before_us)
        return Presence(
            status=status,
            beat_us=mono_us,
            before=known,
            before_us=self.beat_us,
            doubled_us=mono_us if again else self.doubled_us,
            live=True,
        )

    def disconnected(self) -> "Presence":
        """Return the presence after a broker was lost: retained messages may then be newer."""
        return replace(self, live=False)

    def online(self, mono_us: int, stale_after: float = STALE_SECONDS) -> bool:
        """Report whether the service is online.

        Args:
            mono_us: now, monotonic.
            stale_after: the age in seconds beyond which a heartbeat no longer counts.
        """
        online = self.status is not None and self.status.state == "online"
        return online and _within(stale_after, mono_us - self.beat_us)

    def doubled(self, mono_us: int) -> bool:
        """Report whether two of the service are online at once, or were within `STALE_SECONDS`."""
        return self.doubled_us is not None and _within(STALE_SECONDS, mono_us - self.doubled_us)

    def clock_ahead_s(self) -> float | None:
        """Return by how many seconds the service's clock is ahead of ours; None if unknown."""
        return max(self.ahead_us) / 1e6 if self.ahead_us else None

    def clock_fault(self) -> str:
        """Return how the service's clock differs from ours, for a person; empty if it does not."""
        ahead = self.clock_ahead_s()
        if ahead is None or abs(ahead) <= CLOCK_DIFFERENCE_SECONDS:
            return ""
        way = "ahead of" if ahead > 0 else "behind"
        return f"its clock is {abs(ahead):.0f} s {way} this machine's"


def _within(seconds: float, age_us: int) -> bool:
    return age_us <= seconds * 1e6


class PresencePublisher:
    """Publishes a service's presence.

    Args:
        topic: the service's status topic.
        session: its session number, larger than at its last start.
        utc_ns: now, nanoseconds since 1970 UTC, for the Will's timestamp.

    Attributes:
        will: the Will to leave with the broker: retained, like the birth that it replaces.
    """

    def __init__(self, topic: str, session: int, utc_ns: int) -> None:
        self.topic = topic
        self._session = session
        self._leaving = False
        self.will = Publication(topic, self._payload("offline", utc_ns), retain=True)

    def announce(self) -> Steps[bool]:
        """Post birth or heartbeat: online, now, retained. Return False if it was not sent."""
        if self._leaving:
            return False
        now = yield from Now()
        return (yield from Post(self.topic, self._payload("online", now.utc_ns), retain=True))

    def beat(self, every_s: float = HEARTBEAT_SECONDS) -> Steps[None]:
        """Announce every `every_s` seconds, for ever."""
        while True:
            yield from Wait(every_s)
            yield from self.announce()

    def publish_offline(self) -> Steps[bool]:
        """Publish "offline", retained, as the last message; nothing is announced after it.

        The Will has the same effect when the bus hangs up. Perform this to have the broker
        acknowledge it (True) before something else ends.
        """
        self._leaving = True
        now = yield from Now()
        return (yield from Publish(self.topic, self._payload("offline", now.utc_ns), retain=True))

    def on_own_status(self, message: Message) -> Steps[None]:
        """Announce again, if a message on our own topic marks us offline.

        Its session does not matter: readers look there for us, and we are online.
        """
        status = read_status(message.payload)
        if not self._leaving and status is not None and status.state == "offline":
            yield from self.announce()

    def _payload(self, state: Literal["online", "offline"], utc_ns: int) -> bytes:
        ts = rfc3339(utc_ns)
        return encode_status(Status(state=state, session=self._session, ts=ts))
