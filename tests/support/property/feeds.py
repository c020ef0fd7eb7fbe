"""Tables' logs that grow while their uplinks run, and what the hub then holds of them."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final, Self

from nats.aio.msg import Msg
from nats.js import JetStreamContext, api

from events.clock import SystemClock
from events.errors import BusError
from events.log.reader import reading
from events.log.store import EventLog
from events.proof.checkpoint import Checkpoint, signed_checkpoint
from events.proof.note import SigningKey
from events.types import AlarmRaised, TableEvent
from property.hub.connection import HubSettings, connect
from property.hub.subjects import EVENTS, split_origin, stored_subject
from property.uplink.replication import FeedStopped
from property.uplink.service import UplinkFeed, UplinkLog, feeds_of, run_uplink
from tests.support.log.logs import pending
from tests.support.machine.tasks import serving
from tests.support.machine.waiting import until
from tests.support.property.nats_hub import HUB_ERRORS, Hub, signed_in

Rows = list[tuple[int, bytes, bytes]]
_FETCH: Final = 500


class TableLogs:
    """A log for each table, open for writing. A `with` block closes them."""

    def __init__(self, folder: Path, origins: Iterable[str]) -> None:
        self.paths = {each: folder / each.replace("/", "-") / "table.sqlite" for each in origins}
        self._logs: dict[str, EventLog] = {}

    def __enter__(self) -> Self:
        for origin, path in self.paths.items():
            self._logs[origin] = EventLog.open(path, origin)
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._logs.values():
            each.close()

    def grow(
        self,
        origin: str,
        count: int = 1,
        text: str | None = None,
        event: TableEvent | None = None,
    ) -> int:
        """Append events in one commit; returns the newest position."""
        log = self._logs[origin]
        first = log.position + 1
        event = event if text is None else AlarmRaised(alarm="shoe_link", text=text)
        # The same causes at every table: their events have the same ids.
        entries = [
            pending(first + i, event, cause=f"shoe/{first}", index=i, stream=origin)
            for i in range(count)
        ]
        log.append(log.position, entries)
        return log.position

    def position(self, origin: str) -> int:
        """A log's newest."""
        return self._logs[origin].position

    def sign(self, origin: str, key: SigningKey) -> bytes:
        """Sign the log as it stands, as the table does; returns the checkpoint."""
        log = self._logs[origin]
        note = signed_checkpoint(Checkpoint(origin, log.position, log.root), [key])
        log.store_checkpoint(note)
        return note

    def reopen(
        self, origin: str, meanwhile: Callable[[Path], object], *, again: bool = True
    ) -> None:
        """Close a log, do something to its file, and open it again."""
        self._logs.pop(origin).close()
        meanwhile(self.paths[origin])
        if again:
            self._logs[origin] = EventLog.open(self.paths[origin], origin)


def log_rows(path: Path) -> Rows:
    """What a log holds."""
    with reading(path) as log:
        return list(log.bare())


@asynccontextmanager
async def keeper(hub: Hub) -> AsyncIterator[JetStreamContext]:
    """JetStream as the hub's keeper has it, at any node that answers."""
    attempts = count()
    connection = await until(
        lambda: connect(hub.settings("keeper"), next(attempts)),
        "a node lets the keeper in",
        every=0.05,
        despite=(BusError,),
    )
    try:
        yield JetStreamContext(connection, timeout=5)
    finally:
        await connection.close()


@asynccontextmanager
async def watching(hub: Hub) -> AsyncIterator[list[Msg]]:
    """All that is said in the property's account, as its keeper sees it at every node."""
    seen: list[Msg] = []

    async def note(message: Msg) -> None:
        seen.append(message)

    async with signed_in(hub) as client:
        await client.subscribe(">", cb=note)
        await client.flush()
        yield seen


async def hub_state(hub: Hub) -> dict[str, tuple[int, int]]:
    """Of each stream, how many messages it has and its last sequence."""
    async with keeper(hub) as js:
        found = {each.config.name or "": each.state for each in await js.streams_info()}
        return {name: (state.messages, state.last_seq) for name, state in found.items()}


async def held_rows(hub: Hub, origin: str) -> Rows:
    """What the hub holds of a table, in the stream's order."""
    subject = stored_subject(*split_origin(origin))
    async with keeper(hub) as js:
        config = api.ConsumerConfig(ack_policy=api.AckPolicy.NONE, inactive_threshold=10)
        taking = await js.pull_subscribe(subject, stream=EVENTS, config=config)
        left = (await taking.consumer_info()).num_pending or 0
        rows: Rows = []
        while len(rows) < left:
            for each in await taking.fetch(min(_FETCH, left - len(rows)), timeout=5):
                headers = each.headers or {}
                digest = bytes.fromhex(headers.get("Bac-Hash", ""))
                rows.append((int(headers.get("Bac-Position", "0")), each.data, digest))
        return rows


async def until_held(hub: Hub, origin: str, path: Path, upto: int | None = None) -> None:
    """Wait until the hub holds a log, byte for byte and hash by hash, and nothing else.

    Args:
        hub: the hub.
        origin: the table.
        path: its log.
        upto: a position that suffices, where the log goes on.
    """
    held: Rows = []

    async def there() -> bool:
        held[:] = await held_rows(hub, origin)
        own = log_rows(path)
        return held == own or (upto is not None and len(held) >= upto and held == own[: len(held)])

    def difference() -> str:
        own = log_rows(path)
        first = next((n for n, (a, b) in enumerate(zip(held, own, strict=False)) if a != b), None)
        return f"{origin}: the hub holds {len(held)}, the log {len(own)}; first difference {first};"

    await until(there, difference, every=0.1, despite=HUB_ERRORS)


async def fed(hub: Hub, logs: TableLogs, *origins: str) -> None:
    """The hub holds these logs, and their uplinks are gone."""
    async with feeding(logs, map(hub.settings, origins)):
        for origin in origins:
            await until_held(hub, origin, logs.paths[origin])


async def until_stopped(feed: UplinkFeed) -> FeedStopped:
    """Why the feed has stopped, once it has."""
    return await until(lambda: feed.state.stopped, "the feed stops")


@asynccontextmanager
async def feeding(
    logs: TableLogs, settings: Iterable[HubSettings], paths: Mapping[str, Path] | None = None
) -> AsyncIterator[dict[str, UplinkFeed]]:
    """Uplinks of tables in this process, by table; ended at the end.

    Args:
        logs: of the tables.
        settings: of each table that has an uplink.
        paths: of logs that go on under another origin.
    """
    where = logs.paths | dict(paths or {})
    tables = [UplinkLog(path=where[each.who], hub=each) for each in settings]
    feeds = feeds_of(tables, SystemClock())
    async with serving(partial(run_uplink, feeds)):
        yield {each.state.origin: each for each in feeds}
