"""Shoes of two tables in one order: the archive's worker raises an alarm at both, once."""

import asyncio
from pathlib import Path
from typing import Any

from psycopg.rows import tuple_row

from baccarat.property.shuffles import order_alarm
from benchmarks.instruments.postgres import Postgres
from property.archive.database import connect_archive
from property.archive.questions import ARCHIVE_QUERIES, parse_parameters
from property.archive.shuffles import ShuffleWatch
from property.health.verdict import ORDER_ALARM
from tests.support.alarm_pages import release_by_page
from tests.support.machine.commands import here
from tests.support.property.logs import archive_config, dealt, into_archive, write_log

# The seed of the cards of each table.
TABLES = {"harbour/t1": 15, "river/t3": 15, "river/t4": 16}


async def test_one_order_at_two_tables_is_an_alarm_at_both(
    postgres: Postgres, tmp_path: Path
) -> None:
    url, paths = postgres.database(), []
    for number, (origin, seed) in enumerate(TABLES.items()):
        paths.append(tmp_path / f"{number}.sqlite")
        await asyncio.to_thread(write_log, paths[-1], origin, dealt(seed, 30), every_s=5)
    await asyncio.to_thread(into_archive, url, *paths)
    connection = await connect_archive(url)

    async def asked(question: str) -> list[tuple[Any, ...]]:
        query = ARCHIVE_QUERIES[question]
        async with connection.cursor(row_factory=tuple_row) as cursor:
            await cursor.execute(query.sql, parse_parameters(query, {}))
            return await cursor.fetchall()

    async def standing() -> dict[str, str]:
        watch = ShuffleWatch(url, connection, order_alarm)
        while await watch.look():
            pass
        alarms = await asked("alarms")
        return {f"{row[0]}/{row[1]}": row[4] for row in alarms if row[3] == ORDER_ALARM}

    try:
        told = await standing()
        assert told.keys() == {"harbour/t1", "river/t3"}
        assert "came in the order of shoe river/t3 " in told["harbour/t1"]
        assert "An honest shuffle shows that in at most 1 of 10^" in told["harbour/t1"]
        assert {row[1] for row in await asked("shuffles")} == {"t1", "t3"}
        # Who takes over compares again and says nothing twice, nor once a person has looked.
        assert await standing() == told
        config = archive_config(tmp_path, url)
        page = release_by_page("order_of_another_table", config, "harbour/t1")
        assert (await asyncio.to_thread(here, *page)).code == 0
        assert (await standing()).keys() == {"river/t3"}
        assert len(await asked("shuffles")) == 2
    finally:
        await connection.close()
