"""The asyncio shell of a process: it performs effects, and hands over messages of the bus."""

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final, Generic, TypeAlias, TypeVar

from events.clock import Clock
from events.errors import OurBug
from events.mqtt.bus import Bus, BusSettings, Handler, Unfinished
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
    Signal,
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
# How many steps take one another on before the loop looks at its timers and sockets again.
_IN_ONE_TURN: Final = 16

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


class _Run(Generic[_T]):
    """Steps that have begun. What ends their wait takes them on, without a turn of the loop.

    Args:
        steps: they begin at once.
        performer: performs their effects.

    Attributes:
        done: their result, or the error that ended them.
    """

    def __init__(self, steps: Steps[_T], performer: "Performer") -> None:
        self._steps, self._performer = steps, performer
        self._loop = asyncio.get_running_loop()
        self._effect: Effect[Any] | None = None
        self._awaited: asyncio.Future[object] | None = None
        self._signal: Signal | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.done: asyncio.Future[_T] = self._loop.create_future()
        performer.alone(partial(self._go_on, _nothing))

    async def end(self) -> _T:
        """Return their result; a cancellation closes them where they wait."""
        try:
            return await self.done
        finally:
            if self.done.cancelled():
                awaited = self._awaited
                try:
                    if isinstance(awaited, asyncio.Task) and awaited.cancel():
                        await asyncio.wait({awaited})
                finally:
                    self.close()

    def __await__(self) -> Generator[Any, Any, _T]:
        return self.end().__await__()

    def close(self) -> None:
        """Close them where they wait."""
        self.done.cancel()
        self._stop_waiting()
        if self._awaited is not None:
            self._awaited.cancel()
        self._steps.close()

    def _go_on(self, outcome: Callable[[], object]) -> None:
        """Perform effects until one waits; `outcome` returns what the last one brought."""
        if self.done.done():  # cancelled
            return
        steps = self._steps
        try:
            while True:
                try:
                    result = outcome()
                    if self._effect is not None and self._effect.step:
                        self._performer.probe(f"{self._effect.step}.after")
                except Exception as error:  # noqa: BLE001 - the process decides what it means
                    effect = steps.throw(error)
                else:
                    effect = steps.send(result)
                self._effect = effect
                begun = self._begun(effect)
                if begun is None:
                    return
                outcome = begun
        except StopIteration as ended:
            self.done.set_result(ended.value)
        except asyncio.CancelledError:
            self.done.cancel()
        except BaseException as error:  # noqa: BLE001 - it is raised to whoever awaits the end
            self.done.set_exception(error)

    def _begun(self, effect: Effect[Any]) -> Callable[[], object] | None:
        """Begin an effect; return what returns its result, or None where it waits."""
        performer = self._performer
        try:
            if effect.step:
                performer.probe(f"{effect.step}.before")
            at_once = performer.at_once.get(type(effect))
            if at_once is not None:
                return partial(at_once, effect)
            if isinstance(effect, Wait):
                return self._wait(effect)
            awaited = asyncio.ensure_future(performer.waiting[type(effect)](effect))
        except Exception as error:  # noqa: BLE001 - the same
            return partial(_refuse, error)
        if awaited.done():
            return awaited.result
        self._awaited = awaited
        awaited.add_done_callback(lambda it: self._take_on(it.result))
        return None

    def _wait(self, effect: Wait) -> Callable[[], bool] | None:
        signal = effect.signal
        if signal is None:
            self._timer = self._loop.call_later(effect.seconds or 0, self._take_on, _no)
        elif not signal.is_set:
            woken = partial(self._wake, effect, signal)
            self._signal, signal.on_set = signal, woken
            if effect.seconds is not None:
                self._timer = self._loop.call_later(effect.seconds, woken)
        elif effect.gather_s:
            self._gather(effect, signal)
        else:
            return _yes
        return None

    def _wake(self, effect: Wait, signal: Signal) -> None:
        """End the wait, once, however often the signal is set until the steps go on."""
        self._stop_waiting()
        self._performer.alone(partial(self._woken, effect, signal))

    def _woken(self, effect: Wait, signal: Signal) -> None:
        """Go on now, or once what follows the signal soon has been gathered."""
        if effect.gather_s and signal.is_set:
            self._gather(effect, signal)
        else:
            self._go_on(lambda: signal.is_set)

    def _gather(self, effect: Wait, signal: Signal) -> None:
        end = self._loop.call_later(effect.gather_s, self._take_on, lambda: signal.is_set)
        self._timer = end

    def _take_on(self, outcome: Callable[[], object]) -> None:
        self._performer.alone(partial(self._go_on, outcome))

    def _stop_waiting(self) -> None:
        if self._signal is not None:
            self._signal.on_set = None
            self._signal = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


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
        self.probe = probe
        self.at_once: dict[type[Effect[Any]], Callable[[Any], object]] = {
            **clock_and_log_lines(clock),
            IsConnected: lambda _: bus.connected,
            Post: lambda post: bus.post(post.topic, post.payload, retain=post.retain),
            **(at_once or {}),
        }
        if begin is not None:
            self.at_once[Begin] = lambda effect: begin(effect.steps)
        self.waiting: Waiting = {
            Publish: lambda it: bus.offer(it.topic, it.payload, retain=it.retain),
            PublishAll: lambda it: _publish_all(bus, it),
            **(waiting or {}),
        }
        self._due: deque[Callable[[], None]] = deque()
        self._busy = False

    async def perform(self, steps: Steps[_T]) -> _T:
        """Perform each effect and send its result back; raise its error where it was yielded."""
        return await _Run(steps, self).end()

    def begin(self, steps: Steps[None]) -> Unfinished | None:
        """Perform steps until they wait; return what waits for their end, None if they ended."""
        run = _Run(steps, self)
        if not run.done.done():
            return run
        run.done.result()  # raises what ended them
        return None

    def perform_at_once(self, steps: Steps[_T]) -> _T:
        """Run steps of which no effect waits, and return their result."""
        busy, self._busy = self._busy, True
        try:
            return perform_at_once(steps, self.at_once, self.probe)
        finally:
            self._busy = busy
            if self._due:
                asyncio.get_running_loop().call_soon(self._work)

    def alone(self, act: Callable[[], None]) -> None:
        """Do something while no other steps go on; those that it wakes go on right after it."""
        self._due.append(act)
        if not self._busy:
            self._work()

    def _work(self) -> None:
        if self._busy:
            return
        self._busy = True
        try:
            for _ in range(_IN_ONE_TURN):
                if not self._due:
                    return
                self._due.popleft()()
        finally:
            self._busy = False
        asyncio.get_running_loop().call_soon(self._work)


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
        return lambda message: self.performer.begin(handle(message))


def _nothing() -> None:
    """Return what the first step is sent."""


def _yes() -> bool:
    return True


def _no() -> bool:
    return False


def _refuse(error: Exception) -> None:
    raise error


def _log_line(line: LogLine) -> None:
    getattr(_log, line.level)(line.event, **line.fields)


async def _publish_all(bus: Bus, effect: PublishAll) -> bool:
    # Each is written to the socket in turn, so they arrive in order.
    sent = await asyncio.gather(*(bus.publish(effect.topic, each) for each in effect.payloads))
    return all(sent)
