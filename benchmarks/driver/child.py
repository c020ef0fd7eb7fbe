"""The processes of the driver's figures, each on a pseudo-terminal of its own.

`python -m benchmarks.driver.child ROLE BROKER REPORT LINE FOLDER`: `driver` is the product's, which
reports each event after decoding and before publishing it. `floor` reads, appends and forces to
disk, and reports that. `core` acknowledges the driver's events, and does no more.
"""

import asyncio
import gc
import os
import random
import sys
from pathlib import Path
from typing import Final

import msgspec

from baccarat.local_brokers.nats import LOOPBACK
from benchmarks.instruments import bare_mqtt as bare
from benchmarks.instruments.watcher import Reporter
from events.clock import SystemClock
from events.mqtt.bus import BusSettings
from events.mqtt.topics import Topics
from events.types import ShoeAck, ShoeEvent
from shoe_driver.service.service import DriverConfig, DriverService

__all__ = ["EVENT", "FORCED", "PROFILE"]

EVENT: Final = "event"
FORCED: Final = "forced"
PROFILE: Final = "enq-bcc"
_TOPICS: Final = Topics("bench", "t1")
_READ_SIZE: Final = 4096


def _driver(broker: int, reporter: Reporter, line: str, folder: Path) -> None:
    def probe(step: str) -> None:
        if step == "event.before":
            reporter.seen(EVENT, b"")

    config = DriverConfig(
        topics=_TOPICS, url=f"pty:{line}", profile=PROFILE, journal_dir=folder / "journal"
    )
    service = DriverService(
        config,
        BusSettings(LOOPBACK, broker, "bench-driver"),
        SystemClock(),
        random.Random(1),  # noqa: S311 - spreads attempts in time, guards nothing
        probe,
    )
    reporter.ready("driver")
    gc.freeze()  # as `baccarat.services.registry` does
    asyncio.run(service.run(asyncio.Event()))


def _floor(reporter: Reporter, line: str, folder: Path) -> None:
    port = os.open(line, os.O_RDONLY | os.O_NOCTTY)
    file = os.open(folder / "floor.journal", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    reporter.ready("floor")
    while data := os.read(port, _READ_SIZE):
        os.write(file, data)
        os.fdatasync(file)
        reporter.seen(FORCED, data)


def _core(broker: int, reporter: Reporter) -> None:
    def received(_: str, payload: bytes) -> None:
        event = msgspec.json.decode(payload, type=ShoeEvent)
        ack = ShoeAck(journal=event.journal, seq=event.seq)
        bare.send(client, _TOPICS.shoe_ack, msgspec.json.encode(ack))

    client = bare.connect(broker, "bench-core", _TOPICS.shoe_event, received=received)
    reporter.ready("core")
    bare.serve(client)


def _main(role: str, broker: str, report: str, line: str, folder: str) -> None:
    reporter = Reporter(int(report))
    if role == "driver":
        _driver(int(broker), reporter, line, Path(folder))
    elif role == "floor":
        _floor(reporter, line, Path(folder))
    else:
        _core(int(broker), reporter)


if __name__ == "__main__":
    _main(*sys.argv[1:])
