"""The world's shell of a process: it performs effects on fake parts, in an order by the seed.

Whatever may happen on a real machine between two effects happens here: other steps of the process
go on, a message comes, the broker is lost, or the process dies.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from random import Random
from typing import Any, Final, TypeAlias

from events.mqtt.bus import matches
from events.mqtt.process import (
    Begin,
    Effect,
    IsConnected,
    LogLine,
    Now,
    Post,
    Process,
    Publish,
    PublishAll,
    Signal,
    Steps,
    Wait,
)
from events.mqtt.process_shell import AtOnce, perform_at_once
from simulators.world.parts.broker import FakeBroker, FakeClient
from simulators.world.parts.clock import MICROSECONDS, WorldClock
from simulators.world.parts.fault_injector import Fuse
from simulators.world.parts.waiting import FOREVER_US

__all__ = ["WorldShell", "clock_and_silence"]


def clock_and_silence(clock: WorldClock) -> AtOnce:
    """Return what performs `Now` and `LogLine`; nobody reads the lines."""
    return {Now: clock.now, LogLine: lambda _: None}


# How often others act between two messages that came together.
_RESTS: Final = 0.2


_PUBLISHES: Final = frozenset({Publish, PublishAll})
_NO_WAIT: Final = (-1, False, None, False)

_Paused: TypeAlias = tuple[Steps[None], bool, object, Exception | None]
"""Steps that wait, whether they handle a message, and the result or error that they go on with."""


class WorldShell:
    """One life of a service's process.

    Args:
        process: the shipped one.
        courier: the broker.
        clock: the world's.
        rng: decides what goes on next.
        at_once: performs the service's own effects that do not wait.
        waiting: performs its own effects that wait; other steps may go on before the result comes.
        fuse: called before and after each effect; it may kill the process there.

    Attributes:
        client: the process's place on the bus.
        live: topics of which a message came on this connection that the broker had not retained.
        wakes_us: the moment of its next action by itself, microseconds.
    """

    def __init__(
        self,
        process: Process,
        courier: FakeBroker,
        clock: WorldClock,
        rng: Random,
        *,
        at_once: AtOnce,
        waiting: AtOnce,
        fuse: Fuse,
    ) -> None:
        self.process = process
        self.client = FakeClient(courier, tuple(process.subscriptions), process.will)
        self._inbox = self.client.inbox
        self._clock, self._rng, self._fuse = clock, rng, fuse
        self._ready: list[_Paused] = []
        self._published: list[_Paused] = []  # the broker's acknowledgement is on its way
        self._waits: dict[Steps[None], tuple[int, bool, Signal | None, bool]] = {}
        self._alarms: list[tuple[int, int, Steps[None]]] = []  # a heap; some have ended already
        self._alarm = 0
        self.live: set[str] = set()
        self._handling = False
        self._handlers = dict(process.subscriptions)  # by topic
        self.wakes_us = FOREVER_US
        self._at_once: dict[type[Effect[Any]], Callable[[Any], object]] = {
            Begin: lambda effect: self._begin(effect.steps),
            **clock_and_silence(clock),
            IsConnected: lambda _: self.client.connected,
            Post: lambda post: self.client.post(post.topic, post.payload, post.retain),
            **at_once,
        }
        self._waiting: AtOnce = {
            **waiting,
            Publish: lambda it: self.client.post(it.topic, it.payload, it.retain),
            PublishAll: lambda it: all(self.client.post(it.topic, each) for each in it.payloads),
        }
        for steps in process.running():
            self._begin(steps)

    def work(self) -> bool:
        """Let some steps go on to their next wait, or hand over a message, if there is any."""
        woken = self._clock.now_us >= self.wakes_us
        if woken:
            self._wake()
        hears = self._inbox and not self._handling
        if not (self._ready or self._published or hears):
            return woken
        ready = len(self._ready)
        paused = ready + len(self._published)
        choice = int(self._rng.random() * (paused + bool(hears)))
        if choice < ready:
            self._go_on(*self._ready.pop(choice))
        elif choice < paused:
            self._go_on(*self._published.pop(choice - ready))
        else:
            self._hear()
        return True

    def connect(self) -> None:
        """Connect to the broker; the process does what a new connection needs."""
        self.client.connect()
        self.live.clear()
        self._handling = True
        self._go_on(self.process.on_connect(), True, None, None)

    def disconnected(self) -> None:
        """Note that the broker is gone: nobody knows whether it had the last messages."""
        lost, self._published = self._published, []
        self._ready += [(steps, handles, False, None) for steps, handles, _, _ in lost]
        self.perform_at_once(self.process.on_disconnect())

    def die(self) -> None:
        """End the process where it stands."""
        self.client.hang_up()

    def perform_at_once(self, steps: Steps[Any]) -> Any:
        """Run steps of which no effect waits, and return their result."""
        return perform_at_once(steps, self._at_once)

    def _begin(self, steps: Steps[None]) -> None:
        self._ready.append((steps, False, None, None))

    def _hear(self) -> None:
        """Hand over a message, and mostly the next ones too, up to one whose handling waits."""
        inbox = self._inbox
        while True:
            message = inbox.popleft()
            if not message.retain:
                self.live.add(message.topic)
            handle = self._handlers.get(message.topic)
            if handle is None:
                handle = self._handlers[message.topic] = next(
                    handle
                    for name, handle in self.process.subscriptions.items()
                    if matches(name, message.topic)
                )
            self._handling = True
            self._go_on(handle(message), True, None, None)
            if self._handling or not inbox or self._rng.random() < _RESTS:
                return

    def _go_on(
        self, steps: Steps[None], handles: bool, result: object, error: Exception | None
    ) -> None:
        """Resume steps, and perform their effects up to one that waits."""
        send, at_once, fuse = steps.send, self._at_once, self._fuse
        try:
            while True:
                effect = send(result) if error is None else steps.throw(error)
                error = result = None
                if fuse.left is not None:
                    fuse()
                perform = at_once.get(type(effect))
                if perform is None:
                    if not isinstance(effect, Wait):
                        self._pause(steps, handles, effect)
                    elif effect.signal is None or not effect.signal.is_set:
                        self._wait(steps, handles, effect)
                    elif effect.gather_s:
                        self._gather(steps, handles, effect.gather_s)
                    else:
                        result = True
                        continue
                    return
                try:
                    result = perform(effect)
                except Exception as refused:  # noqa: BLE001 - the process decides what it means
                    error = refused
                if fuse.left is not None:
                    fuse()
        except StopIteration:
            self._handling = self._handling and not handles

    def _pause(self, steps: Steps[None], handles: bool, effect: Effect[Any]) -> None:
        result, error, paused = None, None, self._ready
        try:
            result = self._waiting[type(effect)](effect)
        except Exception as refused:  # noqa: BLE001 - the process decides what it means
            error = refused
        if result and type(effect) in _PUBLISHES:
            paused = self._published
        paused.append((steps, handles, result, error))

    # ---- waits ----

    def _wait(self, steps: Steps[None], handles: bool, effect: Wait) -> None:
        signal, limit_us = effect.signal, FOREVER_US
        if effect.seconds is not None:
            limit_us = self._set_alarm(steps, effect.seconds)
        self._waits[steps] = limit_us, handles, signal, False
        if signal is not None and effect.gather_s:
            signal.on_set = lambda: self._gather(steps, handles, effect.gather_s)
        elif signal is not None:
            signal.on_set = lambda: self._end_wait(steps, came=True)

    def _gather(self, steps: Steps[None], handles: bool, seconds: float) -> None:
        """Let steps whose signal has come wait on for a time."""
        *_, signal, _ = self._waits.get(steps, _NO_WAIT)
        if signal is not None:
            signal.on_set = None
        self._waits[steps] = self._set_alarm(steps, seconds), handles, None, True
        self._drop_ended_alarms()

    def _end_wait(self, steps: Steps[None], *, came: bool) -> None:
        _, handles, signal, came_before = self._waits.pop(steps)
        if signal is not None:
            signal.on_set = None
        self._ready.append((steps, handles, came or came_before, None))
        if self._alarms and self._alarms[0][2] is steps:
            self._drop_ended_alarms()

    def _set_alarm(self, steps: Steps[None], seconds: float) -> int:
        limit_us = self._clock.now_us + int(seconds * MICROSECONDS)
        self._alarm += 1
        heappush(self._alarms, (limit_us, self._alarm, steps))
        self.wakes_us = self._alarms[0][0]
        return limit_us

    def _drop_ended_alarms(self) -> None:
        alarms, waits = self._alarms, self._waits
        while alarms and waits.get(alarms[0][2], _NO_WAIT)[0] != alarms[0][0]:
            heappop(alarms)
        self.wakes_us = alarms[0][0] if alarms else FOREVER_US

    def _wake(self) -> None:
        while self._alarms and self.wakes_us <= self._clock.now_us:
            self._end_wait(self._alarms[0][2], came=False)
