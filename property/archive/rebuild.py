"""Makes an archive's rows again from its stored events, takes events back, reads older archives.

Each table is done in a transaction of its own. Its feed waits meanwhile, and goes on afterwards.
"""

from collections.abc import AsyncIterator
from typing import Any, Final, NamedTuple

from psycopg import AsyncConnection, AsyncCursor, sql

from events.errors import ArchiveError
from property.archive.batch import row_of
from property.archive.database import translate_archive_errors
from property.archive.rows import (
    ALLOW_MOVES,
    TableEvents,
    fold_again,
    read_events,
    write_events,
)
from property.hub.replicated_event import Head, ReplicatedEvent
from property.hub.subjects import split_origin

__all__ = [
    "ArchivedTable",
    "archived_events",
    "archived_tables",
    "lock_table",
    "read_earlier",
    "rebuild",
    "take_back",
]

# Rows that follow from the events, and how their rows are told apart by position.
_DERIVED: Final = ("coup_row", "settlement_row", "wager", "total", "stay", "state")
# The lock by which one worker alone reads an archive of before. "bacpread" in ASCII.
_READING_EARLIER: Final = 0x6261637072656164
_EARLIER: Final = "SELECT to_regclass('property.event_before') IS NOT NULL"
_MONTHS: Final = """
SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = to_regclass('property.event_before') ORDER BY 1
"""
_EARLIER_EVENTS: Final = """
SELECT position, bytes, hash FROM property.event_before
WHERE site = %s AND "table" = %s AND position > %s ORDER BY position LIMIT 2000
"""
_LOCK: Final = (
    'SELECT id, position, hash FROM property.head WHERE site = %s AND "table" = %s FOR UPDATE'
)


class ArchivedTable(NamedTuple):
    """A table of the archive.

    Args:
        id: its number in the archive.
        origin: `<site>/<table>`.
        head: its newest event's.
    """

    id: int
    origin: str
    head: Head


async def archived_tables(url: str, connection: AsyncConnection) -> list[ArchivedTable]:
    """Return every table, by name.

    Raises:
        ArchiveUnavailable: the database does not answer.
    """
    asked = 'SELECT id, site, "table", position, hash FROM property.head ORDER BY site, "table"'
    with translate_archive_errors(url):
        async with connection.cursor() as cursor:
            await cursor.execute(asked)
            return [
                ArchivedTable(number, f"{site}/{table}", Head(position, bytes(digest)))
                for number, site, table, position, digest in await cursor.fetchall()
            ]


async def archived_events(
    url: str, connection: AsyncConnection, origin: str, first: int, upto: int
) -> AsyncIterator[list[ReplicatedEvent]]:
    """Yield a table's events between two positions, of one moment.

    Raises:
        ArchiveUnavailable: the database does not answer.
        ArchiveError: an event is damaged, or the archive has no such table.
    """
    with translate_archive_errors(url):
        async with connection.transaction(), connection.cursor() as cursor:
            await cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            asked = 'SELECT id FROM property.head WHERE site = %s AND "table" = %s'
            await cursor.execute(asked, split_origin(origin))
            row = await cursor.fetchone()
            if row is None:
                raise ArchiveError(f"{origin}: the archive has no such table")
            async for part in read_events(cursor, row[0], origin, first):
                yield [each for each in part if each.position <= upto]
                if part[-1].position >= upto:
                    return


async def rebuild(
    url: str, connection: AsyncConnection, origin: str, *, keep: bool
) -> tuple[int, list[str]]:
    """Make a table's rows again from its events, and return how many those are and what differed.

    Args:
        url: for error messages.
        connection: to the archive.
        origin: `<site>/<table>`.
        keep: store the rows; else they are compared only.

    Raises:
        ArchiveUnavailable: the database does not answer.
        ArchiveError: an event is damaged, or the archive has no such table.
    """
    with translate_archive_errors(url):
        async with connection.transaction(force_rollback=not keep), connection.cursor() as cursor:
            table = await lock_table(cursor, origin)
            before = await _digests(cursor, table.id)
            count = await _refold(cursor, table)
            after = await _digests(cursor, table.id)
    return count, [name for name in _DERIVED if before[name] != after[name]]


async def take_back(
    url: str, connection: AsyncConnection, origin: str, position: int
) -> list[ReplicatedEvent]:
    """Remove a table's events after a position, with all that follows from them; return them.

    The head is at that position afterwards. The caller keeps what is returned.

    Raises:
        ArchiveUnavailable: the database does not answer.
        ArchiveError: an event is damaged, or the events from there on are not kept any more.
    """
    with translate_archive_errors(url):
        async with connection.transaction(), connection.cursor() as cursor:
            table = await lock_table(cursor, origin)
            parts = [part async for part in read_events(cursor, table.id, origin, position)]
            events = [each for part in parts for each in part]
            kept = [each for each in events if each.position <= position]
            if position and not kept:
                raise ArchiveError(f"{origin}: {position} is not in the archive")
            await cursor.execute(ALLOW_MOVES)
            await _cut_off(cursor, table, position)
            head = kept[-1].head if kept else Head.beginning(origin)
            at = row_of(kept[-1]).at if kept else None
            moved = "UPDATE property.head SET position = %s, hash = %s, at = %s WHERE id = %s"
            await cursor.execute(moved, (head.position, head.hash, at, table.id))
            await _refold(cursor, table._replace(head=head))
    return [each for each in events if each.position > position]


async def _cut_off(cursor: AsyncCursor[Any], table: ArchivedTable, position: int) -> None:
    """Remove what is after the position; a block that goes beyond it becomes the tail again."""
    whole = "SELECT max(last) FROM property.block WHERE table_id = %s AND last <= %s"
    await cursor.execute(whole, (table.id, position))
    row = await cursor.fetchone()
    last = (row and row[0]) or 0
    parts = [part async for part in read_events(cursor, table.id, table.origin, last + 1)]
    await cursor.execute(
        "DELETE FROM property.block WHERE table_id = %s AND first > %s", (table.id, last)
    )
    await cursor.execute("DELETE FROM property.tail WHERE table_id = %s", (table.id,))
    async with cursor.copy(
        "COPY property.tail (table_id, position, hash, bytes) FROM STDIN"
    ) as copy:
        for each in (each for part in parts for each in part if each.position <= position):
            await copy.write_row((table.id, each.position, each.hash, each.stored))


async def _refold(cursor: AsyncCursor[Any], table: ArchivedTable) -> int:
    """Make a table's rows again; those of events that are not kept any more stay."""
    asked = """
        SELECT least((SELECT min(first) FROM property.block WHERE table_id = %(id)s),
            (SELECT min(position) FROM property.tail WHERE table_id = %(id)s)),
            (SELECT max(last) FROM property.block WHERE table_id = %(id)s)
    """
    await cursor.execute(asked, {"id": table.id})
    row = await cursor.fetchone()
    first, packed = (row[0] or 1, row[1] or 0) if row else (1, 0)
    for name in ("coup_row", "settlement_row"):
        gone = sql.SQL("DELETE FROM property.{} WHERE table_id = %s AND position >= %s")
        await cursor.execute(gone.format(sql.Identifier(name)), (table.id, first))
    await cursor.execute("DELETE FROM property.wager WHERE table_id = %s", (table.id,))
    await cursor.execute(
        "UPDATE property.state SET document = coalesce(anchor, '{}') WHERE table_id = %s",
        (table.id,),
    )
    count = 0
    head = Head(first - 1, b"")
    async for part in read_events(cursor, table.id, table.origin):
        rows = [row_of(each) for each in part]
        batch = TableEvents(table.id, head, rows)
        await fold_again(cursor, batch, packed=part[-1].position <= packed)
        count, head = count + len(part), part[-1].head
    await _recount(cursor, table.id)
    return count


async def _recount(cursor: AsyncCursor[Any], table_id: int) -> None:
    for name, view in (("total", "counted"), ("stay", "stays")):
        gone = sql.SQL("DELETE FROM property.{} WHERE table_id = %s")
        await cursor.execute(gone.format(sql.Identifier(name)), (table_id,))
        made = sql.SQL("INSERT INTO property.{} SELECT * FROM property.{} WHERE table_id = %s")
        names = map(sql.Identifier, (name, view))
        await cursor.execute(made.format(*names), (table_id,))


async def lock_table(cursor: AsyncCursor[Any], origin: str) -> ArchivedTable:
    """Let nobody write a table's events until the caller's transaction ends; return the table.

    Raises:
        ArchiveError: the archive has no such table.
    """
    await cursor.execute(_LOCK, split_origin(origin))
    row = await cursor.fetchone()
    if row is None:
        raise ArchiveError(f"{origin}: the archive has no such table")
    return ArchivedTable(row[0], origin, Head(row[1], bytes(row[2])))


async def _digests(cursor: AsyncCursor[Any], table_id: int) -> dict[str, object]:
    found: dict[str, object] = {}
    for name in _DERIVED:
        asked = sql.SQL(
            "SELECT count(*), sum(hashtextextended((to_jsonb(r) - 'anchor')::text, 0)) "
            "FROM property.{} r WHERE table_id = %s"
        )
        await cursor.execute(asked.format(sql.Identifier(name)), (table_id,))
        found[name] = await cursor.fetchone()
    return found


async def read_earlier(url: str, connection: AsyncConnection) -> AsyncIterator[str]:
    """Read the events of an archive of before into blocks, and yield each table that is done.

    A table that is done is left alone when this is begun again. The last step drops what was read.

    Raises:
        ArchiveUnavailable: the database does not answer.
        ArchiveError: what is there does not lead to a table's head.
    """
    with translate_archive_errors(url):
        async with connection.cursor() as cursor:
            await cursor.execute("SELECT pg_advisory_lock(%s)", (_READING_EARLIER,))
            await cursor.execute(_EARLIER)
            row = await cursor.fetchone()
        if row is not None and row[0]:
            for table in await archived_tables(url, connection):
                async with connection.transaction(), connection.cursor() as cursor:
                    done = await _read_earlier_table(cursor, table)
                if done:
                    yield table.origin
            await _drop_earlier(connection)
        await connection.execute("SELECT pg_advisory_unlock(%s)", (_READING_EARLIER,))


async def _drop_earlier(connection: AsyncConnection) -> None:
    """Drop month by month: each takes some sixty locks, and a server has a few thousand."""
    async with connection.cursor() as cursor:
        await cursor.execute(_MONTHS)
        for (month,) in await cursor.fetchall():
            await cursor.execute(sql.SQL("DROP TABLE property.{}").format(sql.Identifier(month)))
        await cursor.execute("DROP TABLE property.event_before")


async def _read_earlier_table(cursor: AsyncCursor[Any], table: ArchivedTable) -> bool:
    await cursor.execute("SELECT FROM property.state WHERE table_id = %s", (table.id,))
    if await cursor.fetchone() is not None:
        return False
    head = Head.beginning(table.origin)
    while head.position < table.head.position:
        await cursor.execute(_EARLIER_EVENTS, (*split_origin(table.origin), head.position))
        rows = await cursor.fetchall()
        part = [ReplicatedEvent(table.origin, n, bytes(s), bytes(d)) for n, s, d in rows]
        if not part or part[0].position != head.position + 1:
            raise ArchiveError(f"{table.origin}: {head.position + 1} is not in the archive")
        await write_events(cursor, [TableEvents(table.id, head, [row_of(each) for each in part])])
        head = part[-1].head
    if head != table.head:
        raise ArchiveError(f"{table.origin}: its events do not lead to its head")
    return True
