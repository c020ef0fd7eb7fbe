"""Drops stored events that a site need not keep, and nothing that a feed or a question needs.

Rows of coups, settlements and totals stay. What stood at a table before the first event that is
kept stays as its *anchor*, from which its rows can be made again.
"""

from datetime import datetime
from typing import Any, Final, NamedTuple

import msgspec
from psycopg import AsyncConnection, AsyncCursor

from events.errors import ArchiveError
from property.archive.batch import row_of
from property.archive.blocks import Block, unpack_block
from property.archive.database import translate_archive_errors
from property.archive.folding import ArchivedState, WagerRow, fold_events
from property.archive.rebuild import ArchivedTable, archived_tables, lock_table
from property.archive.rows import ALLOW_MOVES, visible_json, written_json

__all__ = ["KEEP_DAYS_LEAST", "Dropped", "drop_events"]

KEEP_DAYS_LEAST: Final = 31
"""The hub may bring events of the last 14 days again, and the archive compares them."""

_OLD: Final = """
SELECT table_id, first, last, first_at, last_at, before, hash, content FROM property.block b
WHERE table_id = %s AND last_at < %s AND first > %s
    AND first < (SELECT max(first) FROM property.block WHERE table_id = b.table_id)
ORDER BY first LIMIT 1
"""
_ANCHOR: Final = "UPDATE property.state SET anchor = %s::jsonb WHERE table_id = %s"


class Dropped(NamedTuple):
    """What became of a table.

    Args:
        origin: `<site>/<table>`.
        first: position of the first event that was dropped; 0 if there was none.
        last: of the last one.
        kept_for: why everything was kept; empty if it was not.
    """

    origin: str
    first: int
    last: int
    kept_for: str = ""


async def drop_events(url: str, connection: AsyncConnection, before: datetime) -> list[Dropped]:
    """Drop every block whose events are all older; return what became of each table.

    Each table keeps its newest block, and all of its events while its feed has a gap, is stopped or
    was just released.

    Args:
        url: for error messages.
        connection: to the archive.
        before: the time; at least `KEEP_DAYS_LEAST` days ago.

    Raises:
        ArchiveUnavailable: the database does not answer.
        ArchiveError: the time is too late, or a block is damaged.
    """
    found: list[Dropped] = []
    with translate_archive_errors(url):
        async with connection.cursor() as cursor:
            await cursor.execute(
                "SELECT %s < now() - make_interval(days => %s)", (before, KEEP_DAYS_LEAST)
            )
            row = await cursor.fetchone()
            if row is None or not row[0]:
                raise ArchiveError(
                    f"{before:%Y-%m-%d} is in use: name a day at least {KEEP_DAYS_LEAST} days ago"
                )
        for table in await archived_tables(url, connection):
            async with connection.transaction(), connection.cursor() as cursor:
                found.append(await _drop(cursor, table, before))
        await connection.execute("VACUUM (ANALYZE) property.block")
    return found


async def _drop(cursor: AsyncCursor[Any], table: ArchivedTable, before: datetime) -> Dropped:
    await lock_table(cursor, table.origin)
    await cursor.execute("SELECT state FROM property.head WHERE id = %s", (table.id,))
    row = await cursor.fetchone()
    if row is None or row[0] != "running":
        return Dropped(table.origin, 0, 0, f"its feed is {row[0] if row else 'gone'}")
    await cursor.execute("SELECT anchor::text FROM property.state WHERE table_id = %s", (table.id,))
    row = await cursor.fetchone()
    document = written_json(row[0]) if row and row[0] else "{}"
    state = msgspec.json.decode(document, type=ArchivedState)
    placed: list[WagerRow] = []
    first = last = 0
    while True:
        await cursor.execute(_OLD, (table.id, before, last))
        row = await cursor.fetchone()
        if row is None:
            break
        block = Block(*row)
        first, last = first or block.first, block.last
        rows = [row_of(each) for each in unpack_block(table.origin, block)]
        placed = list(fold_events(table.id, state, rows, placed).placed.values())
        state.tail_bytes = 0
    if last:
        state.unread = 0
        anchor = visible_json(msgspec.json.encode(state).decode())
        await cursor.execute(_ANCHOR, (anchor, table.id))
        await cursor.execute(ALLOW_MOVES)
        gone = "DELETE FROM property.block WHERE table_id = %s AND last <= %s"
        await cursor.execute(gone, (table.id, last))
    return Dropped(table.origin, first, last)
