"""A publisher's cursor never stands past what the broker has taken, however the service ends."""

import asyncio
from pathlib import Path

from events.log.store import EventLog
from events.types.envelope import encode_envelope
from events.types.stored import Pending
from events.types.table import AlarmCleared
from table_core.service.publishers import CursorPublisher
from table_core.service.table_writer import no_probe

AT = "2026-11-27T00:00:00.000000000Z"


async def test_what_was_on_its_way_when_the_service_ended_is_published_by_the_next(
    tmp_path: Path,
) -> None:
    with EventLog.open(tmp_path / "table.sqlite", "s/t") as log:
        event = AlarmCleared(alarm="a")
        for position in (1, 2):
            stored = encode_envelope(
                event,
                index=0,
                stream="s/t",
                position=position,
                at=AT,
                actor="core",
                cause=f"core/{position}",
                correlation="",
            )
            log.append(position - 1, [Pending(event.TYPE, event.VERSION, AT, stored)])
        offered: list[bytes] = []
        second_is_offered = asyncio.Event()

        async def publish(message: bytes) -> bool:
            offered.append(message)
            if len(offered) == 2:
                second_is_offered.set()
                await asyncio.Event().wait()  # the broker never acknowledges
            return True

        publisher = CursorPublisher("event", log, publish, probe=no_probe)
        task = asyncio.create_task(publisher.run())
        async with asyncio.timeout(10):
            await second_is_offered.wait()
        assert publisher.position == 1
        task.cancel()
        await asyncio.wait({task})
        assert CursorPublisher("event", log, publish, probe=no_probe).position == 1
