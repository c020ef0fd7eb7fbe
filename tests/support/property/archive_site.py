"""An archive as a site has it: a hub, a PostgreSQL, tables' logs, and workers as processes."""

import asyncio
import json
import sys
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from itertools import chain
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import psycopg
from nats.aio.client import Client
from nats.errors import Error as NatsError
from psycopg.rows import dict_row

from baccarat.processes.children import Child
from events.errors import BusError
from property.hub.connection import connect
from property.hub.replicated_event import ReplicatedEvent, replication_headers
from property.hub.subjects import PARTITIONS, event_subject, split_origin
from tests.support.machine.processes import ROOT, environment
from tests.support.machine.waiting import until
from tests.support.property.logs import carried_in, differences
from tests.support.property.nats_hub import Hub

_OFTEN_S: Final = 0.05  # which costs a database little
_T = TypeVar("_T")
_AHEAD: Final = 500  # publications that are not yet answered
_HELD: Final = """
SELECT pid, array_agg(objid::int - 1 ORDER BY objid) AS held FROM pg_locks
JOIN pg_database d ON d.oid = database
WHERE locktype = 'advisory' AND classid = x'62616370'::int AND objid > 0 AND granted
    AND datname = current_database()
GROUP BY pid
"""


class ArchiveSite:
    """Everything but the tables.

    Args:
        hub: with streams.
        url: of an empty database.
        folder: for what the workers say.
    """

    def __init__(self, hub: Hub, url: str, folder: Path) -> None:
        self.hub = hub
        self.url = url
        self._folder = folder
        self._children: list[Child] = []
        self._keeper: Client | None = None
        self._db: psycopg.Connection[dict[str, Any]] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        async with AsyncExitStack() as stack:
            stack.callback(self._hang_up)
            for child in self._children:
                stack.callback(child.stop)
            if self._keeper is not None:
                stack.push_async_callback(self._keeper.close)

    # ---- workers ----

    def worker(self, **plan: object) -> Child:
        """Start one; `step`, `nth` and `how` as of `tests.kill.child`."""
        settings = self.hub.settings("archive")
        given = {
            "archive": self.url,
            "servers": settings.servers,
            "who": settings.who,
            "password": settings.password,
            "ca": str(settings.ca),
            "cert": str(settings.cert),
            "key": str(settings.key),
        }
        child = Child.start(
            [sys.executable, "-m", "tests.kill.archive_child", json.dumps(given), json.dumps(plan)],
            name=f"worker {len(self._children)}",
            output=self.said_by(len(self._children)),
            env=environment(),
            cwd=ROOT,
        )
        self._children.append(child)
        return child

    def said_by(self, number: int) -> Path:
        """The file of what a worker said."""
        return self._folder / f"worker-{number}.log"

    def said(self) -> str:
        """What all workers said."""
        files = (self.said_by(number) for number in range(len(self._children)))
        return "\n".join(file.read_text("utf-8") for file in files if file.exists())

    # ---- the hub ----

    async def say(self, *logs: Sequence[ReplicatedEvent]) -> None:
        """Publish as uplinks do, in order, without their checks: the keeper may do anything."""
        waiting: list[asyncio.Future[Any]] = []
        for each in chain.from_iterable(logs):
            message = (event_subject(*split_origin(each.origin)), each.stored)
            waiting.append(await self._published(*message, replication_headers(each)))
            if len(waiting) >= _AHEAD:
                await asyncio.gather(*waiting)
                waiting.clear()
        await asyncio.gather(*waiting)

    async def say_raw(self, subject: str, body: bytes, headers: dict[str, str]) -> None:
        """Publish anything."""
        await (await self._published(subject, body, headers))

    async def _published(
        self, subject: str, body: bytes, headers: dict[str, str]
    ) -> "asyncio.Future[Any]":
        js = (await self.keeper()).jetstream()
        # Without the id: a hub must not help by dropping what it has seen.
        headers = {key: value for key, value in headers.items() if key != "Nats-Msg-Id"}
        return await js.publish_async(subject, body, headers=headers)

    async def keeper(self) -> Client:
        """A connection that may do anything; another where the last one is gone."""
        attempt = 0
        while self._keeper is None or self._keeper.is_closed:
            with suppress(BusError, NatsError):
                self._keeper = await connect(self.hub.settings("keeper"), attempt)
            attempt += 1
            assert attempt < 100, "the hub lets nobody in"
        return self._keeper

    # ---- the archive ----

    def ask(self, query: str, *given: object) -> list[dict[str, Any]]:
        """Rows, or none as long as there is no archive yet or no server."""
        try:
            if self._db is None or self._db.closed:
                self._db = psycopg.connect(self.url, row_factory=dict_row, autocommit=True)
            return self._db.execute(query, given).fetchall()
        except psycopg.errors.UndefinedTable:
            return []
        except psycopg.OperationalError:
            self._hang_up()
            return []

    def held(self) -> list[list[int]]:
        """The partitions of each worker."""
        return sorted(row["held"] for row in self.ask(_HELD))

    def _hang_up(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def shares(self) -> list[int]:
        """How many each worker has; they come to all of them once every partition is taken."""
        return sorted(len(each) for each in self.held())

    async def until_shared(self, *shares: int) -> None:
        """Wait until the workers have so many each."""
        assert sum(shares) == PARTITIONS
        await self.until(lambda: self.shares() == sorted(shares), f"shares of {shares}")

    async def until_archived(self, *logs: Path) -> None:
        """Wait until every log's head is archived, and hold all of it against the logs."""
        wanted = {each[-1].origin: each[-1].position for each in map(carried_in, logs)}

        def there() -> bool:
            asked = "SELECT site || '/' || \"table\" AS origin, position FROM property.head"
            found = {row["origin"]: row["position"] for row in self.ask(asked)}
            return all(found.get(origin) == position for origin, position in wanted.items())

        await self.until(there, "all of the logs is archived")
        assert differences(self.url, logs) == []

    async def until_alarm(self, origin: str, kind: str) -> dict[str, Any]:
        """Wait for an alarm of a table's feed that stands."""
        site, table = split_origin(origin)
        asked = (
            'SELECT * FROM property.feed_alarm WHERE site = %s AND "table" = %s AND kind = %s '
            "AND cleared_at IS NULL"
        )
        rows = await self.until(lambda: self.ask(asked, site, table, kind), f"{origin}: {kind}")
        return rows[0]

    async def until(
        self, condition: Callable[[], _T], what: str, within: float | None = None
    ) -> _T:
        """Wait for something; on failure, the archive's heads and the workers' words are told."""

        def told() -> str:
            heads = self.ask("SELECT * FROM property.head ORDER BY 1, 2")
            return f"{what}\n{heads}\n{self.said()[-6000:]}"

        return await until(condition, told, within, every=_OFTEN_S)

    async def until_over(self, worker: Child, what: str) -> None:
        """Wait until a worker has ended."""
        await self.until(lambda: worker.code is not None, what)

    def count(self) -> int:
        """How many events are archived."""
        return sum(row["n"] for row in self.ask("SELECT position AS n FROM property.head"))
