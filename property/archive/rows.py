"""Writes a table's events and the rows that follow from them, in the caller's transaction.

Events go into the table's tail, and from there into blocks (`property.archive.blocks`); the rows
are what `property.archive.folding` makes of them.
"""

import json
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from psycopg import AsyncCursor

from events.free_text import escape_nul, unescape_nul
from property.archive.batch import ArchiveRow, row_of
from property.archive.blocks import BLOCK_BYTES, Block, cut_blocks, make_block, unpack_block
from property.archive.folding import ArchivedState, FoldedRows, WagerRow, ends_a_coup, fold_events
from property.hub.replicated_event import Head, ReplicatedEvent

__all__ = [
    "ALLOW_MOVES",
    "TableEvents",
    "archived_hash",
    "fold_again",
    "read_events",
    "read_tail",
    "visible_json",
    "write_events",
    "written_json",
]

ALLOW_MOVES: Final = "SELECT set_config('property.moving', 'on', true)"
"""Said in a transaction that moves events from the tail into blocks, or removes them."""

# A JSON string, and the rare escapes in one that `escape_nul` changes, or that it has made.
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_CHANGED: Final = re.compile(r"\\u00(00|5c)", re.IGNORECASE)

_STATES: Final = """
SELECT table_id, document::text FROM property.state WHERE table_id = ANY (%s)
"""
_WAGERS: Final = """
SELECT w.table_id, to_jsonb(w)::text FROM property.wager w WHERE w.table_id = ANY (%s) ORDER BY w.at
"""
_STATE: Final = """
INSERT INTO property.state (table_id, document, shown)
SELECT * FROM unnest(%s::integer[], %s::jsonb[], %s::bigint[])
ON CONFLICT (table_id) DO UPDATE SET document = excluded.document, shown = excluded.shown
"""
_UNLAID: Final = "DELETE FROM property.wager WHERE table_id = ANY (%s)"
_LAID: Final = """
INSERT INTO property.wager AS w
SELECT * FROM jsonb_populate_recordset(NULL::property.wager, %s::jsonb)
ON CONFLICT (table_id, wager) DO UPDATE SET withdrawn = excluded.withdrawn
"""
_WITHDRAWN: Final = """
UPDATE property.wager w SET withdrawn = true
FROM jsonb_to_recordset(%s::jsonb) AS given (table_id integer, wager text)
WHERE w.table_id = given.table_id AND w.wager = given.wager
"""
_COUPS: Final = """
INSERT INTO property.coup_row
SELECT * FROM jsonb_populate_recordset(NULL::property.coup_row, %s::jsonb)
ON CONFLICT DO NOTHING
"""
_STAYS: Final = """
INSERT INTO property.stay AS s
SELECT c.table_id, split_part(c.coup, '/', 1), l.patron, min(l.laid_at), max(c.ended_at),
    min(c.position), max(c.position)
FROM jsonb_populate_recordset(NULL::property.coup_row, %s::jsonb) AS c
CROSS JOIN LATERAL unnest(c.patrons, c.laid_at) AS l (patron, laid_at)
WHERE l.laid_at IS NOT NULL GROUP BY 1, 2, 3
ON CONFLICT (table_id, shoe, patron) DO UPDATE SET
    began = least(s.began, excluded.began), ended = greatest(s.ended, excluded.ended),
    first = least(s.first, excluded.first), last = greatest(s.last, excluded.last)
"""
_CHANGES: Final = """
UPDATE property.coup_row c SET
    ended_at = coalesce(c.ended_at, given.ended_at),
    void = coalesce(given.void, c.void),
    settled_at = CASE WHEN given.settled IS NULL THEN c.settled_at ELSE s.settled_at END,
    rulebook = CASE WHEN given.settled IS NULL THEN c.rulebook ELSE s.rulebook END,
    winner = CASE WHEN given.settled IS NULL THEN c.winner ELSE s.winner END,
    player = CASE WHEN given.settled IS NULL THEN c.player ELSE s.player END,
    banker = CASE WHEN given.settled IS NULL THEN c.banker ELSE s.banker END,
    player_total = CASE WHEN given.settled IS NULL THEN c.player_total ELSE s.player_total END,
    banker_total = CASE WHEN given.settled IS NULL THEN c.banker_total ELSE s.banker_total END,
    revision = CASE WHEN given.settled IS NULL THEN c.revision ELSE s.revision END
FROM jsonb_to_recordset(%s::jsonb) AS given (
    table_id integer, coup text, ended_at timestamptz, void boolean, settled jsonb
)
CROSS JOIN LATERAL jsonb_populate_record(
    NULL::property.coup_row, coalesce(nullif(given.settled, 'null'), '{}')
) AS s
WHERE c.table_id = given.table_id AND c.coup = given.coup
"""
# A change of the shifts counts all totals again, and waits for this or is waited for.
_SHIFTS: Final = "LOCK TABLE property.shift IN SHARE MODE"
_SETTLED: Final = """
WITH kept AS (
    INSERT INTO property.settlement_row AS r
    SELECT * FROM jsonb_populate_recordset(NULL::property.settlement_row, %s::jsonb)
    ON CONFLICT DO NOTHING RETURNING r AS settlement
),
booked AS (
    SELECT (k.settlement).at, 1 AS sign, k.settlement FROM kept k
    UNION ALL
    SELECT (k.settlement).at, -1, was.settlement
    FROM kept k CROSS JOIN LATERAL (
        SELECT s AS settlement FROM property.settlement_row s
        WHERE s.table_id = (k.settlement).table_id AND s.coup = (k.settlement).coup
            AND s.phase = (k.settlement).phase AND s.revision = (k.settlement).reverses
        UNION ALL
        SELECT o.settlement FROM kept o
        WHERE (o.settlement).table_id = (k.settlement).table_id
            AND (o.settlement).coup = (k.settlement).coup
            AND (o.settlement).phase = (k.settlement).phase
            AND (o.settlement).revision = (k.settlement).reverses
    ) AS was
    WHERE (k.settlement).reverses IS NOT NULL
)
INSERT INTO property.total AS t
SELECT h.id, shift.day, shift.shift, (b.settlement).rulebook, l.bet,
    sum(CASE WHEN l.kind <> 'promo' AND l.result <> 'void' THEN b.sign * l.stake ELSE 0 END),
    sum(b.sign * (CASE WHEN l.result = 'lose' AND l.kind <> 'promo' THEN l.stake ELSE 0 END
        - l.winnings)),
    sum(b.sign * l.commission)
FROM booked b JOIN property.head h ON h.id = (b.settlement).table_id
CROSS JOIN LATERAL property.shift_at(h.site, b.at) AS shift
CROSS JOIN LATERAL property.lines(b.settlement) AS l
GROUP BY 1, 2, 3, 4, 5
ON CONFLICT (table_id, day, shift, rulebook, bet) DO UPDATE SET
    handle = t.handle + excluded.handle,
    win = t.win + excluded.win,
    commission = t.commission + excluded.commission
"""
_BLOCK_COLUMNS: Final = "table_id, first, last, first_at, last_at, before, hash, content"
_KEEP_BLOCKS: Final = f"COPY property.block ({_BLOCK_COLUMNS}) FROM STDIN"
_KEEP_TAIL: Final = "COPY property.tail (table_id, position, hash, bytes) FROM STDIN"
# COPY takes three exchanges with the server, and this one: events come one by one at normal pace.
_FEW: Final = 20
_KEEP_FEW: Final = """
INSERT INTO property.tail (table_id, position, hash, bytes)
SELECT %s, * FROM unnest(%s::bigint[], %s::bytea[], %s::bytea[])
"""
_TAIL: Final = """
SELECT position, hash, bytes FROM property.tail WHERE table_id = %s ORDER BY position
"""
_TAIL_GONE: Final = "DELETE FROM property.tail WHERE table_id = %s AND position <= %s"
_NEWEST: Final = """
SELECT hash FROM property.block WHERE table_id = %s ORDER BY first DESC LIMIT 1
"""
_BLOCKS: Final = f"""
SELECT {_BLOCK_COLUMNS} FROM property.block WHERE table_id = %s AND last >= %s AND first > %s
ORDER BY first LIMIT 1
"""  # noqa: S608 - our own words


class TableEvents(NamedTuple):
    """A table's next events.

    Args:
        table_id: the table's number in the archive.
        head: before them.
        rows: the events.
        document: the table's state before them, where the caller has read it; empty for none yet.
    """

    table_id: int
    head: Head
    rows: Sequence[ArchiveRow]
    document: str | None = None


def visible_json(document: str) -> str:
    """Return JSON with its strings in visible form, for PostgreSQL, which stores no NUL."""
    return _rewritten(document, escape_nul)


def written_json(document: str) -> str:
    """Return the JSON that `visible_json` was given."""
    return _rewritten(document, unescape_nul)


def _rewritten(document: str, form: Callable[[str], str]) -> str:
    if not _CHANGED.search(document):
        return document
    return _STRING.sub(
        lambda text: json.dumps(form(json.loads(text[0])), ensure_ascii=False), document
    )


def _json(rows: Iterable[Any]) -> str:
    return visible_json(msgspec.json.encode(list(rows)).decode())


async def write_events(cursor: AsyncCursor[Any], batches: Sequence[TableEvents]) -> None:
    """Store events of several tables, and fold them into the tables' rows."""
    states, folded = await _fold(cursor, batches)
    for each in batches:
        await _write_bytes(cursor, states[each.table_id], each)
    await _write_rows(cursor, folded)
    await _write_states(cursor, states)


async def fold_again(cursor: AsyncCursor[Any], batch: TableEvents, *, packed: bool) -> None:
    """Fold events that are stored already into their table's rows.

    Args:
        cursor: in the caller's transaction.
        batch: the events after those that the table's state has.
        packed: whether a block has them, and not the tail.
    """
    states, folded = await _fold(cursor, [batch])
    if packed:
        _leave_tail(states[batch.table_id], batch.rows)
    await _write_rows(cursor, folded)
    await _write_states(cursor, states)


async def _fold(
    cursor: AsyncCursor[Any], batches: Sequence[TableEvents]
) -> tuple[dict[int, ArchivedState], dict[int, FoldedRows]]:
    states = await _read_states(cursor, batches)
    ending = [each.table_id for each in batches if ends_a_coup(each.rows)]
    placed = await _read_wagers(cursor, [each for each in ending if states[each].open])
    return states, {
        each.table_id: fold_events(
            each.table_id, states[each.table_id], each.rows, placed.get(each.table_id, ())
        )
        for each in batches
    }


async def _write_states(cursor: AsyncCursor[Any], states: Mapping[int, ArchivedState]) -> None:
    documents = [visible_json(msgspec.json.encode(each).decode()) for each in states.values()]
    shown = [each.shown for each in states.values()]
    await cursor.execute(_STATE, (list(states), documents, shown))


def _leave_tail(state: ArchivedState, rows: Iterable[ArchiveRow]) -> None:
    packed = sum(len(row.stored) for row in rows)
    state.tail_bytes -= packed
    if state.open is not None:
        state.open.tail_bytes -= packed


async def _read_states(
    cursor: AsyncCursor[Any], batches: Sequence[TableEvents]
) -> dict[int, ArchivedState]:
    documents = {each.table_id: each.document or "" for each in batches}
    if unread := [each.table_id for each in batches if each.document is None]:
        await cursor.execute(_STATES, (unread,))
        documents |= dict(await cursor.fetchall())
    return {
        table: msgspec.json.decode(written_json(document), type=ArchivedState)
        if document
        else ArchivedState()
        for table, document in documents.items()
    }


async def _read_wagers(
    cursor: AsyncCursor[Any], tables: Sequence[int]
) -> Mapping[int, list[WagerRow]]:
    found: dict[int, list[WagerRow]] = {}
    if tables:
        await cursor.execute(_WAGERS, (list(tables),))
        for table, row in await cursor.fetchall():
            wager = msgspec.json.decode(written_json(row), type=WagerRow)
            found.setdefault(table, []).append(wager)
    return found


async def _write_rows(cursor: AsyncCursor[Any], folded: Mapping[int, FoldedRows]) -> None:
    every = folded.values()
    if ended := [table for table, each in folded.items() if each.ended]:
        await cursor.execute(_UNLAID, (ended,))
    wagers = [wager for each in every for wager in each.placed.values()]
    coups = [coup for each in every for coup in each.coups.values()]
    steps = (
        (_LAID, [wager for wager in wagers if wager.patron]),
        (_WITHDRAWN, [wager for wager in wagers if not wager.patron]),
        (_COUPS, coups),
        (_STAYS, [coup for coup in coups if coup.patrons]),
        (_CHANGES, [change for each in every for change in each.changes.values()]),
        (_SETTLED, [settlement for each in every for settlement in each.settlements]),
    )
    for statement, rows in steps:
        if rows:
            if statement is _SETTLED:
                await cursor.execute(_SHIFTS)
            await cursor.execute(statement, (_json(rows),))


async def _write_bytes(cursor: AsyncCursor[Any], state: ArchivedState, batch: TableEvents) -> None:
    """Store the events in the tail, or in blocks as soon as there are enough of them."""
    blocks: list[Block] = []
    rest = batch.rows
    closed = state.tail_bytes if state.open is None else state.open.tail_bytes
    if closed >= BLOCK_BYTES:
        origin = rest[0].origin
        tail = await read_tail(cursor, batch.table_id, origin)
        before = batch.head.hash if not tail else await _hash_before(cursor, batch, origin)
        until = None if state.open is None else state.open.position
        cut, rest = cut_blocks([*map(row_of, tail), *rest], until)
        for rows in cut:
            blocks.append(make_block(batch.table_id, before, rows))
            before = rows[-1].hash
        if tail and blocks:
            await cursor.execute(ALLOW_MOVES)
            await cursor.execute(_TAIL_GONE, (batch.table_id, blocks[-1].last))
        for rows in cut:
            _leave_tail(state, rows)
        kept = tail[-1].position if tail else 0
        rest = [row for row in rest if row.position > kept]
    if blocks:
        async with cursor.copy(_KEEP_BLOCKS) as copy:
            for block in blocks:
                await copy.write_row(block)
    if len(rest) > _FEW:
        async with cursor.copy(_KEEP_TAIL) as copy:
            for row in rest:
                await copy.write_row((batch.table_id, row.position, row.hash, row.stored))
    elif rest:
        positions, hashes = [row.position for row in rest], [row.hash for row in rest]
        stored = [row.stored for row in rest]
        await cursor.execute(_KEEP_FEW, (batch.table_id, positions, hashes, stored))


async def _hash_before(cursor: AsyncCursor[Any], batch: TableEvents, origin: str) -> bytes:
    await cursor.execute(_NEWEST, (batch.table_id,))
    row = await cursor.fetchone()
    return bytes(row[0]) if row else Head.beginning(origin).hash


async def read_tail(cursor: AsyncCursor[Any], table_id: int, origin: str) -> list[ReplicatedEvent]:
    """Return the events of a table that are in no block yet."""
    await cursor.execute(_TAIL, (table_id,))
    return [
        ReplicatedEvent(origin, position, bytes(stored), bytes(digest))
        for position, digest, stored in await cursor.fetchall()
    ]


async def read_events(
    cursor: AsyncCursor[Any], table_id: int, origin: str, since: int = 1
) -> AsyncIterator[list[ReplicatedEvent]]:
    """Yield a table's events from a position on, block by block, and then the tail.

    Raises:
        ArchiveError: a block is damaged.
    """
    after = 0
    while True:
        await cursor.execute(_BLOCKS, (table_id, since, after))
        row = await cursor.fetchone()
        if row is None:
            break
        block = Block(*row)
        after = block.first
        yield [each for each in unpack_block(origin, block) if each.position >= since]
    tail = await read_tail(cursor, table_id, origin)
    if rest := [each for each in tail if each.position >= since]:
        yield rest


async def archived_hash(
    cursor: AsyncCursor[Any], table_id: int, origin: str, position: int
) -> bytes | None:
    """Return the hash of an event that is archived; None where it is not kept any more."""
    asked = "SELECT hash FROM property.tail WHERE table_id = %s AND position = %s"
    await cursor.execute(asked, (table_id, position))
    if (row := await cursor.fetchone()) is not None:
        return bytes(row[0])
    await cursor.execute(_BLOCKS, (table_id, position, 0))
    row = await cursor.fetchone()
    if row is None or row[1] > position:
        return None
    events = unpack_block(origin, Block(*row))
    return events[position - events[0].position].hash
