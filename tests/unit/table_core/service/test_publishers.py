"""Publishers behind cursors: in order, at least once, never past what the broker took."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from events.cards import Card, Hand
from events.log.store import EventLog
from events.types.envelope import Envelope, decode_envelope, encode_envelope
from events.types.shoe_reports import CardCarriedOver, LinkUp
from events.types.stored import Pending
from events.types.table import AlarmCleared, ShoeReported, TableEvent
from table_core.service.event_replays import MAX_REPLAYS, Replays
from table_core.service.publishers import CursorPublisher, LatestPublisher, public_bytes
from table_core.service.table_writer import no_probe
from tests.support.table.coups import shoe_event

AT = "2026-11-27T00:00:00.000000000Z"


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    with EventLog.open(tmp_path / "table.sqlite", "s/t") as opened:
        yield opened


def append(log: EventLog, *events: TableEvent) -> None:
    pending = [
        Pending(
            event.TYPE,
            event.VERSION,
            AT,
            encode_envelope(
                event,
                index=index,
                stream="s/t",
                position=log.position + 1 + index,
                at=AT,
                actor="core",
                cause=f"core/{log.position}",
                correlation="",
            ),
        )
        for index, event in enumerate(events)
    ]
    log.append(log.position, pending)


def envelope_of(public: bytes) -> Envelope:
    return decode_envelope(public[: public.rindex(b',"hash"')] + b"}")


class Line:
    """A broker that takes what it likes to take."""

    def __init__(self, takes: Callable[[], bool] = lambda: True) -> None:
        self.taken: list[int] = []
        self.offered = 0
        self._takes = takes
        self._changed = asyncio.Condition()

    async def __call__(self, message: bytes) -> bool:
        self.offered += 1
        await asyncio.sleep(0)
        if not self._takes():
            return False
        async with self._changed:
            self.taken.append(envelope_of(message).position)
            self._changed.notify_all()
        return True

    async def reaches(self, position: int) -> None:
        async with asyncio.timeout(10), self._changed:
            while not self.taken or self.taken[-1] < position:
                await self._changed.wait()


async def running(publisher: CursorPublisher, until: Awaitable[None]) -> None:
    task = asyncio.create_task(publisher.run())
    await until
    task.cancel()
    await asyncio.wait({task})


def test_a_sealed_event_travels_without_its_contents_and_with_its_hash(log: EventLog) -> None:
    secret = CardCarriedOver(hand=Hand.PLAYER, number=1, face=Card.D4)
    append(log, ShoeReported(source=shoe_event(1, secret)), AlarmCleared(alarm="link"))
    sealed, plain = log.read()
    assert b"4D" in sealed.stored
    assert b"4D" not in public_bytes(sealed)
    assert public_bytes(sealed).endswith(f'"data":null,"hash":"{sealed.hash.hex()}"}}'.encode())
    assert envelope_of(public_bytes(sealed)).position == 1
    assert public_bytes(plain) == plain.stored[:-1] + f',"hash":"{plain.hash.hex()}"}}'.encode()


async def test_everything_is_published_once_and_in_order(log: EventLog) -> None:
    append(log, *[AlarmCleared(alarm="a")] * 600)
    line = Line()
    publisher = CursorPublisher("event", log, line, probe=no_probe)
    await running(publisher, line.reaches(600))
    assert line.taken == list(range(1, 601))


@pytest.mark.parametrize("seed", range(5))
async def test_what_the_broker_does_not_take_is_offered_again_and_nothing_overtakes_it(
    seed: int, log: EventLog
) -> None:
    moods = random.Random(seed)
    append(log, *[AlarmCleared(alarm="a")] * 20)
    line = Line(lambda: moods.random() < 0.7)
    publisher = CursorPublisher("event", log, line, probe=no_probe)
    await running(publisher, line.reaches(20))
    assert line.taken == list(range(1, 21))
    assert line.offered >= 20


async def test_a_publisher_goes_on_behind_its_cursor_after_a_restart(log: EventLog) -> None:
    append(log, *[AlarmCleared(alarm="a")] * 5)
    line = Line()
    publisher = CursorPublisher("event", log, line, probe=no_probe)
    task = asyncio.create_task(publisher.run())
    await line.reaches(5)
    append(log, AlarmCleared(alarm="b"))
    publisher.kick()
    await line.reaches(6)
    task.cancel()
    await asyncio.wait({task})
    again = Line()
    append(log, AlarmCleared(alarm="c"))
    await running(CursorPublisher("event", log, again, probe=no_probe), again.reaches(7))
    # The cursor is written when the backlog is empty: the newest may come twice, none is missed.
    assert again.taken in ([7], [6, 7])


async def test_only_what_is_wanted_is_published_and_the_cursor_passes_over_the_rest(
    log: EventLog,
) -> None:
    append(log, ShoeReported(source=shoe_event(1, LinkUp())), AlarmCleared(alarm="a"))
    append(log, ShoeReported(source=shoe_event(2, LinkUp())), AlarmCleared(alarm="b"))
    line = Line()
    publisher = CursorPublisher(
        "alarms", log, line, wanted=lambda stored: stored.type == "alarm_cleared", probe=no_probe
    )
    await running(publisher, line.reaches(4))
    assert line.taken == [2, 4]
    assert publisher.position == 4


async def test_the_latest_is_rendered_when_it_is_sent_and_the_overtaken_never() -> None:
    sent: list[bytes] = []
    value = 0
    done = asyncio.Event()

    async def publish(message: bytes) -> bool:
        sent.append(message)
        await asyncio.sleep(0)
        if message == b"3":
            done.set()
        return True

    publisher = LatestPublisher(lambda: str(value).encode(), publish)
    task = asyncio.create_task(publisher.run())
    for newer in (1, 2, 3):
        value = newer
        publisher.kick()
    async with asyncio.timeout(10):
        await done.wait()
    task.cancel()
    await asyncio.wait({task})
    assert sent == [b"3"]


async def test_a_newer_replay_of_a_user_ends_the_older_and_their_number_is_bounded(
    log: EventLog,
) -> None:
    append(log, *[AlarmCleared(alarm="a")] * 3)
    sent: list[tuple[str, int]] = []
    gate = asyncio.Event()

    async def publish(user: str, message: bytes) -> bool:
        await gate.wait()
        sent.append((user, envelope_of(message).position))
        return True

    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        replays = Replays(log.read, publish)
        assert replays.start("cage", 1, 3, group.create_task)
        assert replays.start("cage", 2, 3, group.create_task)
        for number in range(MAX_REPLAYS - 1):
            assert replays.start(f"display-{number}", 4, 3, group.create_task)
        assert not replays.start("one-more", 4, 3, group.create_task)
        await asyncio.sleep(0)
        gate.set()
    assert sent == [("cage", 2), ("cage", 3)]


async def test_the_latest_is_sent_again_though_nothing_has_changed() -> None:
    sent: asyncio.Queue[bytes] = asyncio.Queue()

    async def publish(message: bytes) -> bool:
        sent.put_nowait(message)
        return True

    running = asyncio.create_task(LatestPublisher(lambda: b"state", publish, again_s=0.01).run())
    async with asyncio.timeout(10):
        assert [await sent.get() for _ in range(3)] == [b"state"] * 3
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
