"""Logs to test on: events to append, files as a killed writer leaves them, and a forger's tools."""

import json
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from events.log.reader import reading
from events.log.schema import OWN_ACTORS, SCHEMA
from events.log.store import EventLog
from events.proof.chain import next_hash, origin_hash
from events.types import (
    AlarmRaised,
    BettingClosed,
    Pending,
    Stored,
    TableEvent,
    decode_data,
    decode_envelope,
    encode_envelope,
)

ORIGIN = "sydney/t1"
AT = "2026-11-27T21:40:07.123456789Z"
NAME = "table.sqlite"


def stored_bytes(
    event: TableEvent,
    position: int,
    *,
    stream: str = ORIGIN,
    at: str = AT,
    actor: str = "shoe",
    cause: str = "",
    index: int = 0,
    correlation: str = "",
) -> bytes:
    """An event as a log keeps it, each of another cause where none is named."""
    return encode_envelope(
        event,
        index=index,
        stream=stream,
        position=position,
        at=at,
        actor=actor,
        cause=cause or f"j1/{position}",
        correlation=correlation,
    )


def json_bytes(told: Any) -> bytes:
    """Return JSON in the form in which a log stores it."""
    return json.dumps(told, separators=(",", ":"), ensure_ascii=False).encode()


def to_append(stored: bytes) -> Pending:
    """Stored bytes as a log takes them."""
    told = decode_envelope(stored)
    return Pending(told.type, told.v, told.at, stored)


def event_of(stored: Stored) -> TableEvent:
    return decode_data(decode_envelope(stored.stored))


def events_in(path: Path) -> list[TableEvent]:
    """All events of a log that nobody need have closed."""
    with reading(path) as log:
        return [event_of(each) for each in log.read()]


def pending(
    position: int,
    event: TableEvent | None = None,
    *,
    cause: str = "",
    index: int = 0,
    stream: str = ORIGIN,
) -> Pending:
    """An event for `position`; of one type or another where none is given."""
    coup, cause = "20261127-01/1", cause or f"shoe/{position}"
    if event is None and position % 2:
        event = BettingClosed(coup=coup, by="dealer")
    elif event is None:
        event = AlarmRaised(alarm="shoe_link", text="die Tür ist auf: ♠", coup=coup)
    stored = stored_bytes(
        event,
        position,
        stream=stream,
        actor=cause.partition("/")[0],
        cause=cause,
        index=index,
        correlation=coup,
    )
    return to_append(stored)


def grow(log: EventLog, count: int, transaction: str | None = None) -> None:
    """Append `count` events in one commit."""
    first = log.position + 1
    cause = transaction or f"shoe/{first}"
    entries = [pending(first + i, cause=cause, index=i) for i in range(count)]
    request = None if transaction is None else (transaction, b'{"transaction":"x"}')
    log.append(log.position, entries, request)


def made(folder: Path, events: int = 6) -> Path:
    """A closed log in `folder`, with a request for every two events and a cursor at its end."""
    path = folder / NAME
    with EventLog.open(path, ORIGIN) as log:
        for number in range(events // 2):
            grow(log, 2, f"anna/t-{number}")
        log.move_cursor("cage", log.position)
    return path


def killed(folder: Path, events: int = 6) -> Path:
    """A log as SIGKILL leaves it: everything in the WAL, next to nothing in the main file."""
    alive = folder / "alive"
    dead = folder / "dead"
    dead.mkdir()
    with EventLog.open(alive / NAME, ORIGIN) as log:
        for number in range(events // 2):
            grow(log, 2, f"anna/t-{number}")
        log.move_cursor("cage", log.position)
        for name in (NAME, f"{NAME}-wal", f"{NAME}.lock"):
            shutil.copyfile(alive / name, dead / name)
    assert (dead / f"{NAME}-wal").stat().st_size > 0
    return dead / NAME


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below `folder` and what is in it."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"<folder>"
        for path in sorted(folder.rglob("*"))
    }


@contextmanager
def forging(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that may do anything: triggers are gone, and are there again afterwards."""
    path.chmod(0o644)  # a closed file is read-only
    triggers = {name: sql for name, sql in SCHEMA.items() if sql.startswith("CREATE TRIGGER")}
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for name in triggers:
            db.execute(f"DROP TRIGGER IF EXISTS {name}")
        yield db
        for sql in triggers.values():
            db.execute(sql)


def rehash(db: sqlite3.Connection, origin: str = ORIGIN) -> None:
    """Make the chain anew over whatever is stored, as a thorough forger would.

    A file that goes on from another begins with the other's last event, whose hash stays.
    """
    head = origin_hash(origin)
    for number, (position, stored, digest) in enumerate(
        db.execute("SELECT position, bytes, hash FROM event ORDER BY position").fetchall()
    ):
        if number == 0 and position != 1:
            head = digest
            continue
        head = next_hash(head, stored if isinstance(stored, bytes) else b"")
        db.execute("UPDATE event SET hash = ? WHERE position = ?", (head, position))


def replace_stored(path: Path, position: int, stored: bytes) -> None:
    """Put other bytes at `position`, with the chain made anew."""
    with forging(path) as db:
        db.execute("UPDATE event SET bytes = ? WHERE position = ?", (stored, position))
        rehash(db)


def keep(
    log: EventLog,
    events: Sequence[TableEvent],
    *,
    at: str = AT,
    actor: str = "shoe",
    cause: str | None = None,
) -> None:
    """Append what a table without a log has made, or a forger, in one commit."""
    first = log.position + 1
    cause = cause or f"j/{first}"
    entries = [
        stored_bytes(
            event,
            first + index,
            stream=log.origin,
            at=at,
            actor=actor,
            cause=cause,
            index=index,
            correlation=str(getattr(event, "coup", None) or ""),
        )
        for index, event in enumerate(events)
    ]
    asked = None if actor in OWN_ACTORS else (cause, b"{}")
    log.append(log.position, [to_append(each) for each in entries], asked)


def keep_alarms(log: EventLog, count: int) -> None:
    """Append so many events that follow from any others: an alarm is raised, again and again."""
    keep(log, [AlarmRaised(alarm=f"a{number % 5}", text="test") for number in range(count)])
