"""The table as a service on the bus: it runs the table's process on asyncio."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

from events.commands import Refusal
from events.mqtt.bus import BusSettings
from events.mqtt.presence import PresencePublisher
from events.mqtt.process_shell import ProcessShell
from table_core.process.history_client import AskHistory, HistoryQuestion
from table_core.process.table_process import SERVICE, InspectLog, TableProcess
from table_core.service.table import Table

__all__ = ["HistoryReader", "Inspection", "TableService"]

Inspection = Callable[[], Awaitable[str | None]]
"""Verifies the whole log, however long it takes; returns the fault in one line, or None."""


class HistoryReader(Protocol):
    """Reads the past; see `table_core.service.history_child`."""

    async def ask(self, question: HistoryQuestion) -> bytes | Refusal:
        """Return the answer's bytes, or the refusal."""

    async def run(self) -> None:
        """Serve until cancelled."""


class TableService:
    """Runs one table until it is stopped.

    Args:
        table: the table on its log.
        settings: how to reach the broker.
        inspection: verifies the whole log while the table runs.
        past: reads the log's past in another process; None where the table does so itself.
        consumers: durable consumers that must acknowledge, `<user>/<consumer>`; others may.
        unsigned: no key is configured, which an alarm says.
    """

    def __init__(
        self,
        table: Table,
        settings: BusSettings,
        *,
        inspection: Inspection | None = None,
        past: HistoryReader | None = None,
        consumers: Iterable[str] = (),
        unsigned: bool = False,
    ) -> None:
        self._past = past
        clock, status = table.clock, table.writer.topics.status(SERVICE)
        process = TableProcess(
            table.writer,
            PresencePublisher(status, table.log.next_session(), clock.utc_ns()),
            checkpoints=table.checkpoints,
            consumers=consumers,
            has_reader=past is not None,
            unsigned=unsigned,
            guarded=table.access is not None,
        )
        table.perform(process.start())
        self._shell = ProcessShell(
            process,
            settings,
            clock,
            at_once=table.performers,
            waiting={
                InspectLog: lambda _: (inspection or _nothing)(),
                **({AskHistory: lambda it: past.ask(it.question)} if past else {}),
            },
            probe=table.probe,
        )

    async def run(self, stop: asyncio.Event) -> None:
        """Serve until `stop` is set. Any failure ends the service: it fails closed."""
        async with asyncio.TaskGroup() as group:
            reading = group.create_task(self._past.run()) if self._past else None
            await self._shell.run(stop)
            if reading is not None:
                reading.cancel()


async def _nothing() -> str | None:
    return None
