"""Who is there: retained birth, heartbeat and Will of a service, and how a reader understands them.

A retained "online" outlives a service that dies together with its broker, so a reader believes it
only while its heartbeat is fresh. A Will may come late, after the service has started again, so it
counts against the session that it names, and no other. A session number says which run of a service
speaks, never which is newer: it is kept on a disk that may be lost, restored or copied. And a
service that reads of itself that it is offline while it is connected says again that it is not.
"""

import asyncio
import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

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
# Of a heartbeat: so old, it is not believed. Where the broker had kept it its age is told by its
# stamp, so this is also what two machines' clocks may differ by.
STALE_SECONDS: Final = 10.0

_MICROSECOND: Final = timedelta(microseconds=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_RFC3339: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z\Z")


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


class Presence(Struct, frozen=True, kw_only=True):
    """What a reader knows of one service: the fold of its status messages. Pure.

    **What is live is newest.** A broker keeps the order within a topic. So a live "online" is
    believed whatever its session number: who has lost the disk on which it counts begins at 1.
    Its age is counted from its arrival, so that nobody's clock matters.

    **An "offline" is of one session.** Of another than the one that is believed it is a late Will.

    **What the broker had kept is history**, and nats-server may hand it over after what is live.
    It counts before the first live message of a connection alone, not where its session is below
    the one known, and as of its stamp.

    **Two at once** (a copy of a controller, say) are believed in turn, and it shows: `doubled`.

    Args:
        status: the newest that counts, or None before the first.
        beat_us: of the session believed, the last heartbeat, in microseconds of this machine's
            monotonic clock.
        before: the session that was believed before, or 0.
        before_us: its last heartbeat.
        doubled_us: when one last spoke that another had followed; None where none did.
        live: something live was heard over this connection.
    """

    status: Status | None = None
    beat_us: int = 0
    before: int = 0
    before_us: int = 0
    doubled_us: int | None = None
    live: bool = False

    def heard(self, status: Status, *, retained: bool, utc_ns: int, mono_us: int) -> "Presence":
        """With one more message.

        Args:
            status: what it says.
            retained: whether the broker had kept it.
            utc_ns: now, nanoseconds since 1970 UTC.
            mono_us: now, monotonic.
        """
        if retained:
            return self._with_kept(status, utc_ns, mono_us)
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
        # A stamp from the future is as bad as an old one: a clock was set, or two differ.
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
        """With the broker gone: what the next connection finds kept may be newer."""
        return replace(self, live=False)

    def online(self, mono_us: int, stale_after: float = STALE_SECONDS) -> bool:
        """Whether the service is there.

        Args:
            mono_us: now, monotonic.
            stale_after: the age in seconds beyond which a heartbeat no longer counts.
        """
        online = self.status is not None and self.status.state == "online"
        return online and _within(stale_after, mono_us - self.beat_us)

    def doubled(self, mono_us: int) -> bool:
        """Whether two of the service are there at once, or were until `STALE_SECONDS` ago."""
        return self.doubled_us is not None and _within(STALE_SECONDS, mono_us - self.doubled_us)


def _within(seconds: float, age_us: int) -> bool:
    return age_us <= seconds * 1e6


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
        """Whether a message on our own topic says that we are gone: then announce again.

        Of whatever session: it stands where readers look for us, and we are there.
        """
        status = read_status(payload)
        return status is not None and status.state == "offline"

    def _payload(self, state: Literal["online", "offline"]) -> bytes:
        ts = rfc3339(self._clock.utc_ns())
        return encode_status(Status(state=state, session=self._session, ts=ts))
