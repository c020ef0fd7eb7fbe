"""Who is there: retained birth, heartbeat and Will of a service, and how a reader understands them.

A retained "online" outlives a service that dies together with its broker, so a reader believes it
only while its heartbeat is fresh. A Will may come late, after the service has started again, so the
session number decides between the two. And a service that reads of itself that it is offline while
it is connected says again that it is not.
"""

import asyncio
import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, Struct

from events.clock import Clock, rfc3339
from events.mqtt.bus import Bus, Publication

__all__ = [
    "HEARTBEAT_SECONDS",
    "STALE_SECONDS",
    "Herald",
    "Presence",
    "Status",
    "encode_status",
    "read_status",
]

# A screen that has lost the table says so within 3 s, and one beat may be lost on the way.
HEARTBEAT_SECONDS: Final = 1.0
# For readers that compare the stamp with their own clock: what two machines' clocks may differ by.
STALE_SECONDS: Final = 10.0

_MICROSECOND: Final = timedelta(microseconds=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_RFC3339: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z\Z")


class Status(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a service says of itself, or its Will for it.

    Args:
        state: whether it is there.
        session: rises at every start of the service; below 2^53.
        ts: when this was written, RFC 3339 in UTC with nine decimals.
    """

    state: Literal["online", "offline"]
    session: Annotated[int, Meta(ge=1, lt=2**53)]
    ts: str


_encoder: Final = msgspec.json.Encoder()
_statuses: Final = msgspec.json.Decoder(Status)


def encode_status(status: Status) -> bytes:
    """The payload of a status message."""
    return _encoder.encode(status)


def read_status(payload: bytes) -> Status | None:
    """The status in a message's payload, or None when it holds none (cleared, or junk)."""
    try:
        status = _statuses.decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return status if _written_us(status.ts) is not None else None


def _written_us(ts: str) -> int | None:
    """Microseconds since 1970, of a stamp with nine decimals; None when it is none."""
    if not _RFC3339.match(ts):
        return None
    try:
        return (datetime.fromisoformat(ts) - _EPOCH) // _MICROSECOND
    except ValueError:
        return None


class Presence(Struct, frozen=True):
    """What a reader knows of one service: the fold of its status messages.

    Args:
        status: the newest that counts, or None before the first.
    """

    status: Status | None = None

    def heard(self, status: Status) -> "Presence":
        """With one more message. What an older session says is ignored: it is a late Will."""
        if self.status is not None and status.session < self.status.session:
            return self
        return Presence(status)

    def online(self, utc_ns: int, stale_after: float = STALE_SECONDS) -> bool:
        """Whether the service is there.

        Args:
            utc_ns: now, nanoseconds since 1970 UTC.
            stale_after: the age in seconds at which a heartbeat no longer counts. One from the
                future is as bad: a clock was set, and its heartbeat would stay fresh for as long.
        """
        if self.status is None or self.status.state == "offline":
            return False
        written = _written_us(self.status.ts)
        return written is not None and abs(utc_ns // 1_000 - written) < stale_after * 1e6


class Herald:
    """Says that a service is there. `announce` belongs into the bus's `on_connect`.

    Args:
        topic: the service's status topic.
        session: its session number, larger than at its last start.
        clock: for the stamps.
    """

    def __init__(self, topic: str, session: int, clock: Clock) -> None:
        self.topic = topic
        self._session = session
        self._clock = clock
        self._leaving = False

    @property
    def will(self) -> Publication:
        """What the bus is to leave with the broker: retained, like the birth that it takes back."""
        return Publication(self.topic, self._payload("offline"), retain=True)

    def announce(self, bus: Bus) -> bool:
        """Birth and heartbeat: online, now, retained. False when it did not go out."""
        return not self._leaving and bus.post(self.topic, self._payload("online"), retain=True)

    async def beat(self, bus: Bus, every: float = HEARTBEAT_SECONDS) -> None:
        """Announce every so many seconds while connected, for ever."""
        while True:
            await asyncio.sleep(every)
            self.announce(bus)

    async def farewell(self, bus: Bus) -> bool:
        """The last word: offline, now, retained; nothing is announced after it.

        The Will says the same when the bus hangs up. This is for who wants it said, and taken by
        the broker (True), before something else ends.
        """
        self._leaving = True
        return await bus.publish(self.topic, self._payload("offline"), retain=True)

    def contradicted_by(self, payload: bytes) -> bool:
        """Whether a message on our own topic says that we are gone: then announce again."""
        status = read_status(payload)
        return status is not None and status.state == "offline" and status.session <= self._session

    def _payload(self, state: Literal["online", "offline"]) -> bytes:
        ts = rfc3339(self._clock.utc_ns())
        return encode_status(Status(state=state, session=self._session, ts=ts))
