"""The asyncio shell of a process: it performs effects, and hands over messages of the bus."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any, Final, TypeAlias, TypeVar

from events.clock import Clock
from events.errors import OurBug
from events.mqtt.bus import Bus, BusSettings, Handler
from events.mqtt.messages import Message
from events.mqtt.process import (
    Begin,
    Effect,
    Instant,
    IsConnected,
    LogLine,
    Now,
    Post,
    Process,
    Publish,
    PublishAll,
    Steps,
    Wait,
    no_probe,
)
from events.structured_log import structlog

__all__ = [
    "AtOnce",
    "Performer",
    "ProcessShell",
    "Waiting",
    "clock_and_log_lines",
    "perform_at_once",
]

AtOnce: TypeAlias = Mapping[type[Effect[Any]], Callable[[Any], object]]
"""What performs an effect that does not wait, by the effect's type."""

Waiting: TypeAlias = Mapping[type[Effect[Any]], Callable[[Any], Awaitable[object]]]
"""What performs an effect that waits, by the effect's type."""

# Seconds for a service's last messages on a broker that does not answer.
_ENDING_S: Final = 1.0

_T = TypeVar("_T")
_log: Final = structlog.get_logger()


def clock_and_log_lines(clock: Clock) -> AtOnce:
    """Return what performs `Now` and `LogLine`, the effects that need no bus."""
    return {LogLine: _log_line, Now: lambda _: Instant(clock.utc_ns(), clock.mono_us())}


def perform_at_once(
    steps: Steps[_T], at_once: AtOnce, probe: Callable[[str], None] = no_probe
) -> _T:
    """Run steps of which no effect waits, and return their result.

    Raises:
        OurBug: an effect of theirs waits.
    """
    try:
        effect = next(steps)
        while True:
            perform = at_once.get(type(effect))
            if perform is None:
                raise OurBug(f"{type(effect).__name__}: these steps must not wait")
            refused: Exception | None = None
            result: object = None
            try:
                result = _probed(effect, perform, probe) if effect.step else perform(effect)
            except Exception as error:  # noqa: BLE001 - the process decides what it means
                refused = error
            effect = steps.throw(refused) if refused else steps.send(result)
    except StopIteration as ended:
        value: _T = ended.value
        return value
    finally:
        steps.close()


def _probed(
    effect: Effect[Any], perform: Callable[[Any], object], probe: Callable[[str], None]
) -> object:
    probe(f"{effect.step}.before")
    result = perform(effect)
    probe(f"{effect.step}.after")
    return result


class Performer:
    """Performs the effects of steps on asyncio.

    Args:
        bus: the service's.
        clock: the machine's.
        at_once: performs the service's own effects that do not wait.
        waiting: performs its own effects that wait.
        begin: runs the steps of a `Begin` beside all others.
        probe: called around each named step.
    """

    def __init__(
        self,
        bus: Bus,
        clock: Clock,
        *,
        at_once: AtOnce | None = None,
        waiting: Waiting | None = None,
        begin: Callable[[Steps[None]], object] | None = None,
        probe: Callable[[str], None] = no_probe,
    ) -> None:
        self._probe = probe
        self._at_once: dict[type[Effect[Any]], Callable[[Any], object]] = {
            **clock_and_log_lines(clock),
            IsConnected: lambda _: bus.connected,
            Post: lambda post: bus.post(post.topic, post.payload, retain=post.retain),
            **(at_once or {}),
        }
        if begin is not None:
            self._at_once[Begin] = lambda effect: begin(effect.steps)
        self._waiting: Waiting = {
            Publish: lambda it: bus.publish(it.topic, it.payload, retain=it.retain),
            PublishAll: lambda it: _publish_all(bus, it),
            Wait: _wait,
            **(waiting or {}),
        }

    async def perform(self, steps: Steps[_T]) -> _T:
        """Perform each effect and send its result back; raise its error where it was yielded."""
        try:
            effect = next(steps)
            while True:
                refused: Exception | None = None
                result: object = None
                try:
                    result = await self._perform(effect)
                except Exception as error:  # noqa: BLE001 - the process decides what it means
                    refused = error
                effect = steps.throw(refused) if refused else steps.send(result)
        except StopIteration as ended:
            value: _T = ended.value
            return value
        finally:
            steps.close()

    def perform_at_once(self, steps: Steps[_T]) -> _T:
        """Run steps of which no effect waits, and return their result."""
        return perform_at_once(steps, self._at_once, self._probe)

    async def _perform(self, effect: Effect[Any]) -> object:
        if effect.step:
            self._probe(f"{effect.step}.before")
        at_once = self._at_once.get(type(effect))
        result = at_once(effect) if at_once else await self._waiting[type(effect)](effect)
        if effect.step:
            self._probe(f"{effect.step}.after")
        return result


class ProcessShell:
    """Runs a process on asyncio, connected to a broker.

    Args:
        process: the service's.
        settings: how to reach the broker.
        clock: the machine's.
        at_once: performs the service's own effects that do not wait.
        waiting: performs its own effects that wait.
        probe: called around each named step.
        rng: the random part of reconnect pauses.
        ending_s: seconds for the process's last steps.
    """

    def __init__(
        self,
        process: Process,
        settings: BusSettings,
        clock: Clock,
        *,
        at_once: AtOnce | None = None,
        waiting: Waiting | None = None,
        probe: Callable[[str], None] = no_probe,
        rng: random.Random | None = None,
        ending_s: float = _ENDING_S,
    ) -> None:
        self._process = process
        self._ending_s = ending_s
        self._tasks = asyncio.TaskGroup()
        self._running: set[asyncio.Task[None]] = set()
        self.bus = Bus(
            settings,
            will=process.will,
            subscriptions={
                name: self._handler(handle) for name, handle in process.subscriptions.items()
            },
            on_connect=lambda: self.performer.perform(process.on_connect()),
            on_disconnect=lambda: self.performer.perform_at_once(process.on_disconnect()),
            rng=rng,
        )
        self.performer = Performer(
            self.bus,
            clock,
            at_once=at_once,
            waiting=waiting,
            begin=lambda steps: self._begin(self.performer.perform(steps)),
            probe=probe,
        )

    async def run(self, stop: asyncio.Event) -> None:
        """Serve until `stop` is set. A failure of any steps ends the service: it fails closed."""
        perform = self.performer.perform
        async with self._tasks:
            self._begin(self.bus.run())
            for steps in self._process.running():
                self._begin(perform(steps))
            await stop.wait()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._ending_s):
                    await perform(self._process.ending())
            for task in tuple(self._running):
                task.cancel()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._tasks.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def _handler(self, handle: Callable[[Message], Steps[None]]) -> Handler:
        async def handler(message: Message) -> None:
            await self.performer.perform(handle(message))

        return handler


def _log_line(line: LogLine) -> None:
    getattr(_log, line.level)(line.event, **line.fields)


async def _publish_all(bus: Bus, effect: PublishAll) -> bool:
    # Each is written to the socket in turn, so they arrive in order.
    sent = await asyncio.gather(*(bus.publish(effect.topic, each) for each in effect.payloads))
    return all(sent)


async def _wait(effect: Wait) -> bool:
    signal = effect.signal
    if signal is None:
        await asyncio.sleep(effect.seconds or 0)
        return False
    if not signal.is_set:
        loop = asyncio.get_running_loop()
        woken: asyncio.Future[None] = loop.create_future()

        def wake() -> None:
            if not woken.done():
                woken.set_result(None)

        signal.on_set = wake
        late = None if effect.seconds is None else loop.call_later(effect.seconds, wake)
        try:
            await woken
        finally:
            signal.on_set = None
            if late is not None:
                late.cancel()
    if signal.is_set and effect.gather_s:
        await asyncio.sleep(effect.gather_s)
    return signal.is_set
