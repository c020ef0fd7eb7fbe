"""Steps and their two shells: asyncio's, and the simulated world's."""

import asyncio
from collections.abc import Callable, Generator, Iterable, Mapping
from random import Random
from typing import Any

import pytest

from events.errors import LogUnwritable, OurBug
from events.mqtt.bus import Bus, BusSettings
from events.mqtt.messages import Message, Publication
from events.mqtt.process import Begin, Effect, Now, Publish, Signal, Steps, Wait
from events.mqtt.process_shell import Performer, perform_at_once
from simulators.world.parts.broker import FakeBroker
from simulators.world.parts.clock import WorldClock
from simulators.world.parts.fault_injector import ArmedFaults, Fuse, Killed
from simulators.world.parts.world_shell import WorldShell


class Store(Effect[int], frozen=True):
    """Store a value; the result is its number."""

    value: str


def stores(*values: str) -> Steps[list[int]]:
    numbers = []
    for value in values:
        numbers.append((yield from Store(value, step="store")))  # noqa: PERF401 - steps, not a list
    return numbers


def test_each_effect_gets_its_own_result_and_the_steps_return_theirs() -> None:
    stored: list[str] = []

    def store(effect: Store) -> int:
        stored.append(effect.value)
        return len(stored)

    assert perform_at_once(stores("a", "b"), {Store: store}) == [1, 2]
    assert stored == ["a", "b"]


def test_an_error_is_raised_where_the_effect_was_yielded() -> None:
    def refuse(_: Store) -> int:
        raise LogUnwritable("full")

    def careful() -> Steps[str]:
        try:
            yield from Store("a")
        except LogUnwritable as error:
            return f"refused: {error}"
        return "stored"

    assert perform_at_once(careful(), {Store: refuse}) == "refused: full"
    with pytest.raises(LogUnwritable, match="full"):
        perform_at_once(stores("a"), {Store: refuse})


def test_steps_that_must_not_wait_are_closed_when_they_would() -> None:
    closed = []

    def waits() -> Steps[None]:
        try:
            yield from Wait(1)
        finally:
            closed.append(True)

    with pytest.raises(OurBug, match="Wait"):
        perform_at_once(waits(), {})
    assert closed == [True]


def test_a_probe_is_called_around_named_steps_alone() -> None:
    probed: list[str] = []

    def store(_: Store) -> int:
        probed.append("stored")
        return 1

    perform_at_once(stores("a"), {Store: store}, probed.append)
    assert probed == ["store.before", "stored", "store.after"]


class Ticking:
    """A process that publishes, waits for what it is told, and counts."""

    def __init__(self) -> None:
        self.will = Publication("t/status", b"gone")
        self.heard = Signal()
        self.done: list[str] = []
        self.subscriptions: Mapping[str, Callable[[Message], Steps[None]]] = {
            "t/in/+": self.on_word
        }

    def running(self) -> Iterable[Steps[None]]:
        yield self.waiter()

    def waiter(self) -> Steps[None]:
        came = yield from Wait(60, self.heard)
        self.done.append(f"heard {came}")
        taken = yield from Publish("t/out", b"1")
        self.done.append(f"published {taken}")
        yield from Begin(self.beside())
        yield from Wait(0.01)
        self.done.append("waited")

    def beside(self) -> Steps[None]:
        now = yield from Now()
        self.done.append(f"beside {now.mono_us >= 0}")

    def on_connect(self) -> Steps[None]:
        yield from ()
        self.done.append("connected")

    def on_disconnect(self) -> Steps[None]:
        yield from ()
        self.done.append("disconnected")

    def on_word(self, message: Message) -> Steps[None]:
        yield from ()
        self.done.append(message.payload.decode())
        self.heard.set()

    def ending(self) -> Steps[None]:
        yield from ()


def world_shell(process: Ticking, seed: int = 0, **more: Any) -> tuple[WorldShell, WorldClock]:
    rng, clock = Random(seed), WorldClock()
    trouble = ArmedFaults()
    broker = FakeBroker(rng, trouble)
    parts = {"at_once": {}, "waiting": {}, "fuse": Fuse("ticking", trouble), **more}
    return WorldShell(process, broker, clock, rng, **parts), clock


def run(shell: WorldShell, clock: WorldClock, steps: int = 50) -> None:
    for _ in range(steps):
        if not shell.work():
            clock.until(min(shell.wakes_us, clock.now_us + 1_000_000))


@pytest.mark.parametrize("seed", range(20))
def test_the_world_plays_the_same_steps_in_an_order_by_the_seed(seed: int) -> None:
    process = Ticking()
    shell, clock = world_shell(process, seed)
    shell.connect()
    shell.client.inbox.append(Message("t/in/word", b"go", retain=False))
    run(shell, clock)
    assert sorted(process.done) == [
        "beside True",
        "connected",
        "go",
        "heard True",
        "published True",
        "waited",
    ]
    assert process.done.index("connected") == 0
    assert process.done.index("go") < process.done.index("heard True")


def test_in_the_world_a_wait_ends_at_its_time_and_a_lost_broker_accepts_nothing() -> None:
    process = Ticking()
    shell, clock = world_shell(process)
    run(shell, clock, 1)
    clock.until(60_000_000)
    run(shell, clock)
    assert process.done[:2] == ["heard False", "published False"]


def test_in_the_world_a_message_on_its_way_when_the_broker_goes_is_not_known_to_have_come() -> None:
    process = Ticking()
    shell, _ = world_shell(process)
    shell.connect()
    shell.client.inbox.append(Message("t/in/word", b"go", retain=False))
    while "heard True" not in process.done:
        shell.work()
    shell.client.lost()
    shell.disconnected()
    while "published False" not in process.done:
        shell.work()
    assert "published True" not in process.done


@pytest.mark.parametrize("nth", range(7))
def test_in_the_world_a_process_may_die_before_and_after_each_effect(nth: int) -> None:
    process, fuse = Ticking(), Fuse("ticking", ArmedFaults())
    shell, clock = world_shell(process, fuse=fuse)
    fuse.left = nth
    shell.connect()
    shell.client.inbox.append(Message("t/in/word", b"go", retain=False))
    with pytest.raises(Killed):
        run(shell, clock)
    assert "waited" not in process.done


async def test_on_asyncio_a_wait_ends_by_its_signal_or_its_time() -> None:
    performer = Performer(Bus(BusSettings("127.0.0.1", 1, "x"), subscriptions={}), WorldClock())
    signal = Signal()

    def wait(seconds: float | None) -> Generator[Effect[Any], Any, bool]:
        return (yield from Wait(seconds, signal))

    assert await performer.perform(wait(0.001)) is False
    waiting = asyncio.create_task(performer.perform(wait(None)))
    await asyncio.sleep(0)
    signal.set()
    assert await waiting is True
    assert await performer.perform(wait(None)) is True  # it is set, until it is cleared
    signal.clear()
    assert await performer.perform(wait(0.001)) is False


async def test_on_asyncio_what_steps_wake_goes_on_right_after_them_and_in_order() -> None:
    performer = Performer(Bus(BusSettings("127.0.0.1", 1, "x"), subscriptions={}), WorldClock())
    first, second, gathered, done = Signal(), Signal(), Signal(), list[str]()

    def waits(signal: Signal, name: str, gather_s: float = 0) -> Steps[None]:
        yield from Wait(None, signal, gather_s)
        done.append(name)

    def wakes() -> Steps[None]:
        for signal in (gathered, second, first, first):
            signal.set()
        yield from Now()
        done.append("wakes")

    waiting = [
        performer.begin(waits(first, "first")),
        performer.begin(waits(second, "second")),
        performer.begin(waits(gathered, "gathered", 0.001)),
    ]
    assert performer.begin(wakes()) is None
    assert done == ["wakes", "second", "first"]
    await asyncio.gather(*filter(None, waiting))
    assert done[-1] == "gathered"


async def test_on_asyncio_a_signal_that_is_set_again_and_again_ends_one_wait() -> None:
    performer = Performer(Bus(BusSettings("127.0.0.1", 1, "x"), subscriptions={}), WorldClock())
    signal, ends = Signal(), list[bool]()

    def waits() -> Steps[None]:
        for seconds in (5, 0.001):
            ends.append((yield from Wait(seconds, signal)))
            signal.clear()

    def wakes() -> Steps[None]:
        for _ in range(3):
            signal.set()
        yield from Now()
        ends.append(True)

    waiting = performer.begin(waits())
    assert performer.begin(wakes()) is None
    assert ends == [True, True]  # who wakes, and the first wait
    assert waiting is not None
    await waiting
    assert ends == [True, True, False]


async def test_on_asyncio_a_cancellation_closes_steps_where_they_wait() -> None:
    performer = Performer(Bus(BusSettings("127.0.0.1", 1, "x"), subscriptions={}), WorldClock())
    signal, ends = Signal(), list[str]()

    async def forever(_: Store) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ends.append("effect")

    def waits(effect: Effect[Any]) -> Steps[None]:
        try:
            yield from effect
        finally:
            ends.append("steps")

    performer.waiting = {**performer.waiting, Store: forever}
    for effect in (Wait(None, signal), Store("x")):
        task = asyncio.create_task(performer.perform(waits(effect)))
        await asyncio.sleep(0.001)
        task.cancel()
        signal.set()  # too late
        with pytest.raises(asyncio.CancelledError):
            await task
    assert ends == ["steps", "effect", "steps"]


async def test_on_asyncio_an_error_of_steps_is_raised_to_whoever_awaits_them() -> None:
    performer = Performer(Bus(BusSettings("127.0.0.1", 1, "x"), subscriptions={}), WorldClock())

    def fails(*before: Effect[Any]) -> Steps[None]:
        for effect in before:
            yield from effect
        raise LogUnwritable("full")

    with pytest.raises(LogUnwritable):
        performer.begin(fails(Now()))
    with pytest.raises(LogUnwritable):
        await performer.perform(fails(Wait(0.001)))
