"""A driver on a real pseudo-terminal and a real broker, with a core that is easy to read."""

import os
import random
import re
import tty
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from baccarat.local_brokers.nats import LOOPBACK
from events.clock import SystemClock, rfc3339
from events.mqtt.bus import BusSettings
from events.mqtt.messages import Message
from events.mqtt.process import no_probe
from events.mqtt.topics import Topics
from events.types import LinkStatus, ShoeAck, ShoeEvent
from shoe_driver.decode import Decoder
from shoe_driver.journal.files import read_records
from shoe_driver.service.service import DriverConfig, DriverService
from tests.support.brokers.peers import Peer, at_work
from tests.support.machine.tasks import serving
from tests.support.machine.waiting import until
from tests.support.shoe.shoe_bytes import PROFILE

TOPICS = Topics("sydney", "t1")
SEED = 20261127


class ShoePort:
    """The shoe's end of a pseudo-terminal, offered under a link that stays the same."""

    def __init__(self, link: Path) -> None:
        self.link = link
        self.master = -1
        self.plug_in()

    @property
    def url(self) -> str:
        return f"pty:{self.link}"

    def plug_in(self) -> None:
        self.master, slave = os.openpty()
        tty.setraw(slave)
        self.link.unlink(missing_ok=True)
        self.link.symlink_to(os.ttyname(slave))
        os.close(slave)

    def unplug(self) -> None:
        # First the name: the system gives the number to the next pseudo-terminal that is opened.
        self.link.unlink(missing_ok=True)
        with suppress(OSError):
            os.close(self.master)
        self.master = -1

    def say(self, data: bytes) -> None:
        os.write(self.master, data)


class Core:
    """Appends what comes next, acknowledges after it, and notes everything that it sees.

    `seen` is the order of things: `head 3` for a live link/shoe, `event 3` for an event.
    """

    def __init__(self, port: int, *, acknowledges: bool = True) -> None:
        self.acknowledges = acknowledges
        self.journal = ""
        self.log: list[ShoeEvent] = []
        self.seen: list[str] = []
        self.statuses: list[LinkStatus] = []
        self.peer = Peer(
            port,
            "core",
            TOPICS.shoe_event,
            TOPICS.link_shoe,
            handler=self._handle,
            on_connect=lambda _: self._hello(),
        )

    @property
    def said(self) -> list[str]:
        """The kinds of what was appended, in order."""
        return [str(msgspec.to_builtins(event.report)["kind"]) for event in self.log]

    @property
    def faces(self) -> list[str]:
        """The faces that were appended, in order."""
        reports = (msgspec.to_builtins(event.report) for event in self.log)
        return [report["face"] for report in reports if "face" in report]

    @property
    def link(self) -> LinkStatus | None:
        """The newest link/shoe."""
        return self.statuses[-1] if self.statuses else None

    def state(self) -> str:
        return self.link.state if self.link else "unknown"

    def ack(self, seq: int, journal: str | None = None, *, hello: bool = False) -> None:
        message = ShoeAck(
            journal=self.journal if journal is None else journal, seq=seq, hello=hello
        )
        self.peer.bus.post(TOPICS.shoe_ack, msgspec.json.encode(message))

    async def _hello(self) -> None:
        self.ack(len(self.log), hello=True)

    async def _handle(self, message: Message) -> None:
        if message.topic == TOPICS.link_shoe:
            status = msgspec.json.decode(message.payload, type=LinkStatus)
            self.statuses.append(status)
            if not message.retain:
                self.seen.append(f"head {status.head}")
            return
        event = msgspec.json.decode(message.payload, type=ShoeEvent)
        self.seen.append(f"event {event.seq}")
        if event.journal != self.journal and event.seq == 1:
            self.journal, self.log = event.journal, []
        if event.journal == self.journal and event.seq == len(self.log) + 1:
            self.log.append(event)
        if self.acknowledges:
            self.ack(len(self.log))


def driver(
    port: int,
    url: str,
    journal_dir: Path,
    *,
    profile: str = "enq-bcc",
    probe: Callable[[str], None] = no_probe,
    **more: Any,
) -> DriverService:
    config: dict[str, Any] = {"topics": TOPICS, "url": url, "profile": profile}
    return DriverService(
        DriverConfig(**(config | more), journal_dir=journal_dir),
        BusSettings(LOOPBACK, port, "driver"),
        SystemClock(),
        random.Random(SEED),
        probe,
    )


@asynccontextmanager
async def running(service: DriverService) -> AsyncIterator[None]:
    """The driver runs, and is stopped at the end."""
    async with serving(service.run):
        yield


@asynccontextmanager
async def table(
    port: int, shoe: ShoePort, journal_dir: Path, *, profile: str = "enq-bcc"
) -> AsyncIterator[Core]:
    """A core and a driver whose port is open."""
    core = Core(port)
    async with at_work(core.peer), running(driver(port, shoe.url, journal_dir, profile=profile)):
        await until(lambda: core.state() == "open", "the port is open")
        yield core


def only_journal(journals: Path) -> Path:
    """The file of the only journal."""
    [path] = journals.glob("*.journal")
    return path


def size_of_journal(journals: Path) -> int:
    """How large the only journal is now."""
    return only_journal(journals).stat().st_size


def stored(journals: Path) -> list[ShoeEvent]:
    """Every event of the only journal, decoded anew."""
    path = only_journal(journals)
    decoder = Decoder(PROFILE, path.stem)
    return [event for record in read_records(path) for event in decoder.feed(record)]


def written(journals: Path) -> str:
    """The one journal of a folder."""
    return only_journal(journals).stem


async def until_another_second(journal: str) -> None:
    """A journal is named by its second: the first one of another folder is to have another name."""
    clock = SystemClock()
    begun = journal[1:16]
    await until(
        lambda: re.sub(r"[-:]", "", rfc3339(clock.utc_ns())[:19]).lower() != begun, "a second later"
    )
