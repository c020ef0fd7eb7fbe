"""The newest state of the table, and whether screens may show it as live. Pure.

**Liveness.** A state is live only while three conditions hold. The broker is connected. The table's
heartbeat arrived in time (see `events.mqtt.presence`). A state of the table's present run arrived
over this connection. If two tables publish in turn, neither is live.

**Order.** nats-server may deliver a retained message after a newer live one. A retained state that
arrives after a live one is dropped. So is a lower position from the same run of the table. A table
that goes offline, or that publishes with another session number, may return with another log.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Final, Literal

import msgspec
from msgspec import Struct

from displays.scoreboard.public_view import PublicState, read_public
from displays.wager_pages import WagerPages
from events.clock import Clock
from events.mqtt.presence import Presence, Status, read_status

__all__ = [
    "BEAT_SECONDS",
    "SILENCE_SECONDS",
    "LiveHealth",
    "LiveState",
    "StaleReason",
    "StateDocument",
]

# Longest silence of the table. It sends a heartbeat every second, so one may be lost, and a screen
# learns of a loss within 3 s.
SILENCE_SECONDS: Final = 2.5
# Seconds between two beats to a screen when nothing happens.
BEAT_SECONDS: Final = 1.0

StaleReason = Literal["", "bus", "table", "state"]
"""Why the state is not live: the broker, the table, or no state has arrived yet."""

_US: Final = 1_000_000
_BETTING: Final = "betting"


class StateDocument(Struct, frozen=True, kw_only=True, dict=True):
    """One state of the table, in its two forms for screens.

    Args:
        serial: the document's number in this process; rises.
        state: its public part.
        full: the table's document, for people who are logged in.
    """

    serial: int
    state: PublicState
    full: bytes

    @property
    def position(self) -> int:
        """The log's position that the state includes."""
        return self.state.position

    @cached_property
    def public(self) -> bytes:
        """The public projection, encoded once the first screen asks."""
        return msgspec.json.encode(self.state)


class LiveHealth(Struct, frozen=True, kw_only=True):
    """The content of a beat.

    Args:
        live: whether the newest document is the table's present state.
        reason: why it is not; empty if it is.
        betting_ms: milliseconds until betting closes by the house's custom; None if unknown.
        clock_ms: this server's clock, from which a page tells when a command was given.
    """

    live: bool
    reason: StaleReason
    betting_ms: int | None = None
    clock_ms: int = 0


class LiveState:
    """Keeps the newest document, and wakes its subscribers after a change.

    Args:
        clock: for ages.
        betting_s: seconds for which the house keeps betting open; None shows no countdown.

    Attributes:
        document: the newest; None before the first.
        closed: whether the server has ended.
    """

    def __init__(self, clock: Clock, *, betting_s: int | None = None) -> None:
        self._clock = clock
        self._betting_s = betting_s
        self._presence = Presence()
        self._connected = False
        self._state_came = False  # over this connection, from the table's present run
        self._live_state_came = False
        self._betting: tuple[str, int] | None = None  # the coup, and when its betting opened
        self._newest: PublicState | None = None
        self._full = b""  # the newest state as the table sent it
        self._pages = WagerPages()
        self._changed: set[Callable[[], None]] = set()
        self._said: tuple[bool, StaleReason] | None = None
        self.document: StateDocument | None = None
        self.closed = False

    def close(self) -> None:
        """End the screens' streams; the screens reconnect to the next server."""
        self.closed = True
        self._wake()

    def connected(self) -> None:
        """Record the broker's connection; its retained messages may be out of date."""
        self._connected = True
        self._state_came = self._live_state_came = False
        self._presence = Presence()
        self.look()

    def disconnected(self) -> None:
        """Record the loss of the broker."""
        self._connected = False
        self.look()

    def on_status(self, payload: bytes, *, retain: bool) -> None:
        """Process the table's status, published by itself or by its Will."""
        status = read_status(payload)
        if status is None:
            return
        before = self._presence.status
        self._presence = self._presence.with_message(
            status, retained=retain, utc_ns=self._clock.utc_ns(), mono_us=self._clock.mono_us()
        )
        if before and _another_run(before, self._presence.status or before):
            self._state_came = False
        self.look()

    def on_state(self, payload: bytes, *, retain: bool) -> None:
        """Process a `state` document, and keep it if it is newer."""
        state = read_public(payload)
        if state is None or (retain and self._live_state_came):
            return
        older = self._newest is not None and state.position < self._newest.position
        if older and self._state_came:
            return
        self._track_betting(state, retain=retain)
        self._state_came = True
        self._live_state_came = self._live_state_came or not retain
        self._newest = state
        self._full = payload
        self._show(state)

    def on_wagers(self, payload: bytes) -> None:
        """Process a page of a large coup's wagers, and show them once all pages are there."""
        if self._pages.take(payload) and self._newest is not None:
            self._show(self._newest)

    def _show(self, state: PublicState) -> None:
        """Make the next document of the newest state."""
        serial = self.document.serial + 1 if self.document else 1
        self.document = StateDocument(
            serial=serial, state=state, full=self._pages.filled(self._full)
        )
        self._wake()

    def _track_betting(self, state: PublicState, *, retain: bool) -> None:
        """Start the countdown when betting is seen to open; without that there is no countdown."""
        coup = state.coup
        if coup is None or coup.phase != _BETTING:
            self._betting = None
        elif self._betting is None or self._betting[0] != coup.id:
            before = self._newest.coup if self._newest else None
            opened_now = not retain and (before is None or before.id != coup.id)
            self._betting = (coup.id, self._clock.mono_us()) if opened_now else None

    def health(self) -> LiveHealth:
        """Return whether the newest document is live, and the betting time left."""
        reason = self._reason()
        left = None
        if self._betting is not None and self._betting_s is not None:
            gone = self._clock.mono_us() - self._betting[1]
            left = max(0, (self._betting_s * _US - gone) // 1_000)
        return LiveHealth(
            live=not reason,
            reason=reason,
            betting_ms=left,
            clock_ms=self._clock.mono_us() // 1_000,
        )

    def _reason(self) -> StaleReason:
        if not self._connected:
            return "bus"
        now = self._clock.mono_us()
        if not self._presence.online(now, SILENCE_SECONDS) or self._presence.doubled(now):
            return "table"
        return "" if self._state_came else "state"

    def look(self) -> None:
        """Wake the screens if liveness has changed; call this again when `stays_s` have passed."""
        health = self.health()
        said = (health.live, health.reason)
        if said != self._said:
            self._said = said
            self._wake()

    def stays_s(self) -> float:
        """Return for how many seconds liveness stays as it is unless a message comes.

        At most the longest silence: a message that comes meanwhile lasts for longer than that.
        """
        now = self._clock.mono_us()
        ends_us = self._presence.beat_us + SILENCE_SECONDS * _US
        if not now < ends_us or self._presence.doubled_us is not None:
            return 0.0
        return (ends_us - now) / _US

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake` at every change, until the caller calls the returned function.

        A screen has no queue: once awake, it takes the newest document when it can.
        """
        self._changed.add(wake)
        return lambda: self._changed.discard(wake)

    @property
    def public(self) -> PublicState | None:
        """The public part of the newest document; None before the first."""
        return self._newest

    @property
    def screens(self) -> int:
        """The number of connected screens."""
        return len(self._changed)

    def _wake(self) -> None:
        for wake in tuple(self._changed):
            wake()


def _another_run(before: Status, now: Status) -> bool:
    """Return whether the table's run has ended between two statuses."""
    return before.session != now.session or "offline" in {before.state, now.state}
