"""The newest state of the table, and whether it may be shown as live. No I/O; told by the bus.

**Truth when broken.** What a screen shows is the table's state only while three things hold: the
broker is connected, the table's heartbeat came in time (`events.mqtt.presence` says how that is
told), and a state came over this connection, of this run of the table. Where two tables speak in
turn, neither is the table.

**Order.** nats-server may deliver a kept message after a live and newer one. A kept state that came
behind a live one is dropped, and so is a lower position from the same run of the table: one that
goes offline, or speaks with another session number, may come back with another log.
"""

import asyncio
from collections.abc import Callable
from typing import Final, Literal

import msgspec
from msgspec import Struct

from displays.scoreboard.public_view import PublicState, encode_public, read_public
from events.clock import Clock
from events.mqtt.presence import Presence, Status, read_status

__all__ = [
    "BEAT_SECONDS",
    "SILENCE_SECONDS",
    "Document",
    "Health",
    "Live",
    "Reason",
    "encode_health",
]

# How long the table may be silent. Its heart beats every second, so one beat may be lost; with the
# look every quarter of a second a screen is told within 3 s.
SILENCE_SECONDS: Final = 2.5
# How often a screen hears from us when nothing happens.
BEAT_SECONDS: Final = 1.0

Reason = Literal["", "bus", "table", "state"]
"""Why the state is not live: the broker, the table, or no state came yet."""

_US: Final = 1_000_000
_BETTING: Final = "betting"


class Document(Struct, frozen=True, kw_only=True):
    """One state of the table, in the two forms that screens get.

    Args:
        serial: rises with every document of this process.
        position: of the log, folded in.
        public: what anybody may see.
        full: the document as the table sent it, for people who are logged in.
    """

    serial: int
    position: int
    public: bytes
    full: bytes


class Health(Struct, frozen=True, kw_only=True):
    """What a beat says.

    Args:
        live: the newest document is the table as it is now.
        reason: why not.
        betting_ms: how long betting stays open by the house's custom; None where unknown.
    """

    live: bool
    reason: Reason
    betting_ms: int | None = None


class Live:
    """Keeps the newest document; wakes whoever waits for a change.

    Args:
        clock: for ages.
        betting_s: how long the house keeps betting open; None shows no countdown.

    Attributes:
        document: the newest; None before the first.
        closed: nothing more will come.
    """

    def __init__(self, clock: Clock, *, betting_s: int | None = None) -> None:
        self._clock = clock
        self._betting_s = betting_s
        self._presence = Presence()
        self._connected = False
        self._state_came = False  # over this connection, from this run of the table
        self._live_state_came = False
        self._betting: tuple[str, int] | None = None  # coup, and when its betting opened
        self._newest: PublicState | None = None
        self._changed: set[Callable[[], None]] = set()
        self._said: tuple[bool, Reason] | None = None
        self.document: Document | None = None
        self.closed = False

    def close(self) -> None:
        """The server ends: its screens are let go, and come back to the next."""
        self.closed = True
        self._wake()

    def connected(self) -> None:
        """The broker is there; nothing it had kept is known to be true yet."""
        self._connected = True
        self._state_came = self._live_state_came = False
        self._presence = Presence()
        self.look()

    def disconnected(self) -> None:
        """The broker is gone."""
        self._connected = False
        self.look()

    def hear_status(self, payload: bytes, *, retain: bool) -> None:
        """What the table said of itself, or its Will for it."""
        status = read_status(payload)
        if status is None:
            return
        before = self._presence.status
        self._presence = self._presence.heard(
            status, retained=retain, utc_ns=self._clock.utc_ns(), mono_us=self._clock.mono_us()
        )
        if before and _another_run(before, self._presence.status or before):
            self._state_came = False
        self.look()

    def hear_state(self, payload: bytes, *, retain: bool) -> None:
        """A `state` document: kept when it is newer."""
        state = read_public(payload)
        if state is None or (retain and self._live_state_came):
            return
        older = self._newest is not None and state.position < self._newest.position
        if older and self._state_came:
            return
        self._mind_betting(state, retain=retain)
        self._state_came = True
        self._live_state_came = self._live_state_came or not retain
        self._newest = state
        serial = self.document.serial + 1 if self.document else 1
        self.document = Document(
            serial=serial, position=state.position, public=encode_public(state), full=payload
        )
        self._wake()

    def _mind_betting(self, state: PublicState, *, retain: bool) -> None:
        """The countdown starts with what was seen to open; nothing is made up for what was not."""
        coup = state.coup
        if coup is None or coup.phase != _BETTING:
            self._betting = None
        elif self._betting is None or self._betting[0] != coup.id:
            before = self._newest.coup if self._newest else None
            opened_now = not retain and (before is None or before.id != coup.id)
            self._betting = (coup.id, self._clock.mono_us()) if opened_now else None

    def health(self) -> Health:
        """Whether the newest document is live, and how much betting is left."""
        reason = self._reason()
        left = None
        if self._betting is not None and self._betting_s is not None:
            gone = self._clock.mono_us() - self._betting[1]
            left = max(0, (self._betting_s * _US - gone) // 1_000)
        return Health(live=not reason, reason=reason, betting_ms=left)

    def _reason(self) -> Reason:
        if not self._connected:
            return "bus"
        now = self._clock.mono_us()
        if not self._presence.online(now, SILENCE_SECONDS) or self._presence.doubled(now):
            return "table"
        return "" if self._state_came else "state"

    def look(self) -> None:
        """Wake the screens when what a beat says has changed; called a few times a second."""
        health = self.health()
        said = (health.live, health.reason)
        if said != self._said:
            self._said = said
            self._wake()

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Have `wake` called at every change, until what this returns is called.

        A screen keeps no queue: it is woken, and takes the newest there is when it can.
        """
        self._changed.add(wake)
        return lambda: self._changed.discard(wake)

    @property
    def screens(self) -> int:
        """How many watch."""
        return len(self._changed)

    def _wake(self) -> None:
        for wake in tuple(self._changed):
            wake()

    async def run(self, every: float = 0.25) -> None:
        """Look for ever."""
        while True:
            self.look()
            await asyncio.sleep(every)


def _another_run(before: Status, now: Status) -> bool:
    """Whether the run of the table that a state may have come from is over."""
    return before.session != now.session or "offline" in {before.state, now.state}


def encode_health(health: Health) -> bytes:
    """The data of a beat."""
    return msgspec.json.encode(health)
