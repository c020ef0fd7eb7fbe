"""What the driver tells, and in which order: heads before the events they count."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from events.types.shoe_reports import LinkStatus, ShoeEvent
from shoe_driver.journal.records import RecordKind
from shoe_driver.service.event_sender import EventSender, PortStatus
from shoe_driver.service.recorder import Recorder
from tests.support.shoe.recorder_life import CLOCK, data, life
from tests.support.shoe.shoe_bytes import stream
from tests.support.shoe.shoe_line import TOPICS


class Line:
    """A bus that notes what it is given, and takes it while it has room."""

    def __init__(self) -> None:
        self.room = 1_000
        self.told: list[str] = []

    def post(self, topic: str, payload: bytes, retain: bool) -> bool:
        if not self.room:
            return False
        self.room -= 1
        if topic == TOPICS.link_shoe:
            assert retain
            self.told.append(f"head {msgspec.json.decode(payload, type=LinkStatus).head}")
        else:
            self.told.append(f"event {msgspec.json.decode(payload, type=ShoeEvent).seq}")
        return True

    def taken(self) -> list[str]:
        """What was told since the last look."""
        told, self.told = self.told, []
        return told


class Shoe:
    """Reports of a shoe, stored and told; `wait` and `tick` are the driver's own."""

    def __init__(self, recorder: Recorder, line: Line) -> None:
        self._recorder = recorder
        view = PortStatus(True, "", "pty:/x")
        self.event_sender = EventSender(
            TOPICS, recorder, lambda: view, line.post, CLOCK, lambda _: None
        )
        recorder.on_events = self.event_sender.on_events
        self._seq = 0

    async def says(self, reports: str) -> None:
        """Comma-separated reports, which arrive in one read."""
        content = stream(reports, first_seq=self._seq + 1)
        self._seq += reports.count(",") + 1
        await self._recorder.arrived(data(content))


@asynccontextmanager
async def speaking(folder: Path, line: Line) -> AsyncIterator[Shoe]:
    """A connected driver whose link is up: two events, acknowledged by nobody."""
    async with life(folder) as recorder:
        shoe = Shoe(recorder, line)
        await recorder.happened(RecordKind.OPEN, "pty:/x")
        await shoe.says("D P1 9H")
        assert line.taken() == []
        shoe.event_sender.connected()
        assert line.taken() == ["head 3", "event 1", "event 2", "event 3"]
        yield shoe


@pytest.fixture
def line() -> Line:
    return Line()


async def test_events_that_come_together_are_counted_before_the_first_of_them(
    tmp_path: Path, line: Line
) -> None:
    async with speaking(tmp_path, line) as shoe:
        await shoe.says("D B1 2D, D P2 8S")
        assert line.taken() == ["head 5", "event 4", "event 5"]


async def test_one_event_alone_waits_for_no_other_message_and_its_head_follows_at_a_tick(
    tmp_path: Path, line: Line
) -> None:
    async with speaking(tmp_path, line) as shoe:
        await shoe.says("D B1 2D")
        await shoe.says("D P2 8S")
        assert line.taken() == ["event 4", "event 5"]
        shoe.event_sender.tick()
        assert line.taken() == ["head 5"]
        shoe.event_sender.tick()
        assert line.taken() == []


async def test_an_event_that_found_no_room_is_counted_before_it_goes_out_with_the_next(
    tmp_path: Path, line: Line
) -> None:
    async with speaking(tmp_path, line) as shoe:
        line.room = 0
        await shoe.says("D B1 2D")
        line.room = 1_000
        await shoe.says("D P2 8S")
        assert line.taken() == ["head 5", "event 4", "event 5"]


async def test_a_head_that_the_window_keeps_back_is_told_before_it(
    tmp_path: Path, line: Line
) -> None:
    async with speaking(tmp_path, line) as shoe:
        burns = ", ".join(["D other 9H"] * 70)
        await shoe.says(burns)
        told = line.taken()
        assert told[0] == "head 73"
        assert told[-1] == "event 64"
        await shoe.says("D other 9H")
        assert line.taken() == ["head 74"]
