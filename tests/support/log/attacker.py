"""Somebody who can write every file but the keys, and everybody who might notice.

Each forgery is drawn from a seed, and done to a copy of a whole log: its rows, its schema, its WAL,
its closed files, its checkpoints and its head. `noticed` asks in turn the table that opens the log,
who verifies it with the table's public key, and who kept a checkpoint elsewhere.
"""

import json
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from msgspec import ValidationError
from msgspec.structs import replace
from structlog.testing import capture_logs

from baccarat.history.log_judging import Judging, opening_judge
from baccarat.rulebooks.editions import available_rulebooks
from events.errors import LogError, TableError
from events.log.editions import PROFILES, RULEBOOKS, editions_folder, write_editions
from events.log.store import EventLog
from events.log.verify import parse_kept_checkpoints, verify
from events.log.vouching import LogKeys, head_of, write_head
from events.proof.checkpoint import Checkpoint, parse_checkpoint, signed_checkpoint
from events.proof.merkle import root_of
from events.proof.note import SigningKey, VerifierKey, parse_verifier_key
from events.types import (
    AlarmCleared,
    CheckpointKeyChanged,
    CoupSettled,
    LogAdopted,
    RulebookAdopted,
    TableEvent,
    decode_data,
    decode_envelope,
    event_id,
)
from table_core.fold.snapshot import encode_state, snapshot_anchor
from table_core.service.snapshots import restore_state, snapshot_path
from table_core.state.table import TableState
from tests.support.kept.stories import LOG, kept_stories, unpack
from tests.support.log.logs import forging, json_bytes, keep, rehash
from tests.support.table.evidence import resealed

STRANGER = SigningKey("harbour/b8", bytes(range(7, 39)))
_E = TypeVar("_E", bound=TableEvent)
STORIES = ("world-1", "money-per-shoe", "closed-files", "by-hand")


class Base(NamedTuple):
    """A whole log of an earlier build in a folder of its own, with its head and its keys."""

    folder: Path
    origin: str
    keys: frozenset[VerifierKey]
    kept: bytes
    rulebooks: Mapping[str, str]

    @property
    def log(self) -> Path:
        return self.folder / LOG


def bases(folder: Path) -> list[Base]:
    """The logs that are forged, each unpacked with its editions beside it."""
    found = []
    for story in kept_stories():
        if story.parents[1].name != "0.1.0" or story.name not in STORIES:
            continue
        there = unpack(story, folder / story.name)
        log = there / LOG
        for path in there.glob("*.toml"):
            kind = RULEBOOKS if path.name.startswith("rules") else PROFILES
            write_editions(editions_folder(log, kind), [path.read_bytes()])
        keys = frozenset(parse_verifier_key(p.read_text()) for p in there.glob("key*.pub"))
        with closing(sqlite3.connect(log)) as db:
            ((kept,),) = db.execute("SELECT note FROM checkpoint ORDER BY size DESC LIMIT 1")
            ((origin,),) = db.execute("SELECT value FROM meta WHERE name = 'origin'")
        write_head(head_of(log), kept)
        books = available_rulebooks(log).books.values()
        found.append(Base(there, origin, keys, kept, {each.hash: each.currency for each in books}))
    return found


def record(base: Base) -> list[list[Any]]:
    """What the log's files say, but for hints that prove nothing."""
    said = []
    for path in [base.log, *sorted(base.folder.glob("archive/*-0*.sqlite"))]:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
            said.append(db.execute("SELECT * FROM event ORDER BY position").fetchall())
            said.append(db.execute("SELECT * FROM checkpoint ORDER BY size").fetchall())
    for path in _indexes(base):
        with closing(sqlite3.connect(path)) as db:
            said.append(db.execute("SELECT * FROM request ORDER BY 1").fetchall())
    return said


def is_as_it_was(base: Base, before: list[list[Any]]) -> bool:
    """Whether a forgery changed nothing of the record: a free page, or a hint."""
    try:
        return record(base) == before
    except (sqlite3.Error, UnicodeDecodeError):
        return False


def noticed(base: Base) -> str | None:
    """Who refuses or names the forgery: `opening`, `start`, `verify`, `kept`; None for nobody."""
    judge = partial(Judging, base.log)
    trust = LogKeys(base.keys, head_of(base.log), base.rulebooks)
    try:
        log = EventLog.open(base.log, base.origin, trust, opening_judge(base.log, base.origin))
        with log, capture_logs():
            if log.adopts:
                return "adopted"
            if restore_state(log).fault is not None:
                return "start"
    except (LogError, TableError):
        return "opening"
    try:
        if not verify(base.log, keys=base.keys, judging=judge).ok:
            return "verify"
        held = parse_kept_checkpoints("kept", base.kept)
        return None if verify(base.log, keys=base.keys, held=held).ok else "kept"
    except TableError:
        return "verify"


def resign(db: sqlite3.Connection, base: Base) -> None:
    """Sign every checkpoint again, over what is there now, by a key of another table."""
    leaves = [row[0] for row in db.execute("SELECT bytes FROM event ORDER BY position")]
    for size, _ in db.execute("SELECT size, note FROM checkpoint").fetchall():
        checkpoint = Checkpoint(base.origin, size, root_of(leaves[:size]))
        note = signed_checkpoint(checkpoint, [STRANGER])
        db.execute("UPDATE checkpoint SET note = ? WHERE size = ?", (note, size))


# ---- the forgeries ----


def _files(base: Base) -> list[Path]:
    return [base.log, *sorted(base.folder.glob("archive/*-0*.sqlite"))]


def _indexes(base: Base) -> list[Path]:
    return sorted(base.folder.glob("archive/*-requests.sqlite"))


def _cover(rng: random.Random, db: sqlite3.Connection, base: Base) -> None:
    """Make a change fit, as thoroughly as the forger is."""
    if rng.random() < 0.8:
        rehash(db, base.origin)
    if rng.random() < 0.5:
        db.execute("DELETE FROM checkpoint")
    elif rng.random() < 0.5:
        resign(db, base)


def column(rng: random.Random, base: Base) -> None:
    """Another value in one column of one row."""
    table, name = rng.choice(
        [
            *(("event", each) for each in ("position", "type", "version", "at", "bytes", "hash")),
            *(("checkpoint", each) for each in ("size", "note")),
            *(("request", each) for each in ("transaction_id", "position")),
            ("cursor", "position"),
            ("meta", "value"),
        ]
    )
    value = rng.choice([None, 0, -1, 7, 10**9, "x", b"x", "2026-01-01T00:00:00.000000000Z"])
    with forging(rng.choice(_files(base))) as db:
        (rows,) = db.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608 - our names
        with suppress(sqlite3.IntegrityError):  # SQLite itself refuses a text as a position
            row = rng.randrange(rows or 1)
            db.execute(
                f"UPDATE OR IGNORE {table} SET {name} = ? WHERE {_key(table)} = "  # noqa: S608 - our names
                f"(SELECT {_key(table)} FROM {table} LIMIT 1 OFFSET {row})",
                (value,),
            )


def _key(table: str) -> str:
    return {"event": "position", "checkpoint": "size", "request": "transaction_id"}.get(
        table, "name"
    )


def content(rng: random.Random, base: Base) -> None:
    """Another amount, face, byte, seat, name or time in an event that stays readable."""
    path = rng.choice(_files(base))
    with forging(path) as db:
        rows = db.execute("SELECT position, bytes FROM event").fetchall()
        rng.shuffle(rows)
        for position, stored in rows:
            told = json.loads(stored)
            if _change(rng, told["data"]):
                changed = json_bytes(told)
                if changed != stored:
                    sql = "UPDATE event SET bytes = ? WHERE position = ?"
                    db.execute(sql, (changed, position))
                    break
        _cover(rng, db, base)


def _change(rng: random.Random, data: Any) -> bool:
    """Change one leaf of some JSON, in place; whether there was one."""
    places = list(_leaves(data))
    if not places:
        return False
    holder, key = rng.choice(places)
    was = holder[key]
    if isinstance(was, bool):
        holder[key] = not was
    elif isinstance(was, int):
        holder[key] = max(0, was + rng.choice([-1, 1, 10, 1000]))
    elif isinstance(was, str) and len(was) == 2 and was[0] in "A23456789TJQK":
        holder[key] = rng.choice("A23456789TJQK") + was[1]
    elif isinstance(was, str) and was in {"win", "lose", "push", "player", "banker", "tie"}:
        holder[key] = rng.choice(["win", "lose", "player", "banker"])
    elif isinstance(was, str):
        holder[key] = was[:-1] + rng.choice("0123456789ABCDEF") if was else "x"
    return bool(holder[key] != was)


def _leaves(data: Any) -> Iterator[tuple[Any, Any]]:
    items = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in items:
        if isinstance(value, dict | list):
            yield from _leaves(value)
        elif value is not None:
            yield data, key


def removal(rng: random.Random, base: Base) -> None:
    """Events cut from the end, or out of the middle with all later ones moved up."""
    with forging(base.log) as db:
        positions = [row[0] for row in db.execute("SELECT position FROM event ORDER BY 1")]
        at = rng.choice(positions[1:])
        if rng.random() < 0.5:
            for table in ("event", "request", "cursor"):
                db.execute(f"DELETE FROM {table} WHERE position >= ?", (at,))  # noqa: S608 - our names
            db.execute("DELETE FROM checkpoint WHERE size >= ?", (at,))
        else:
            db.execute("DELETE FROM event WHERE position = ?", (at,))
            for position, stored in db.execute(
                "SELECT position, bytes FROM event WHERE position > ? ORDER BY 1", (at,)
            ).fetchall():
                told = json.loads(stored)
                told["position"] = position - 1
                data = json_bytes(told)
                sql = "UPDATE event SET position = ?, bytes = ? WHERE position = ?"
                db.execute(sql, (position - 1, data, position))
        _cover(rng, db, base)


def scheme(rng: random.Random, base: Base) -> None:
    """A trigger more or fewer, under any name; a view, a table, another version."""
    statement = rng.choice(
        [
            "DROP TRIGGER event_never_changes",
            "DROP TRIGGER checkpoint_never_goes",
            "CREATE TRIGGER more AFTER INSERT ON event BEGIN DELETE FROM cursor; END",
            "CREATE TABLE more (n INTEGER)",
            "CREATE VIEW more AS SELECT * FROM event",
            "CREATE INDEX more ON event (type)",
            "PRAGMA user_version=1",
            "PRAGMA user_version=3",
            "PRAGMA application_id=1",
        ]
    )
    path = rng.choice(_files(base))
    path.chmod(0o644)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(statement)


def checkpoints(rng: random.Random, base: Base) -> None:
    """Checkpoints dropped, cut back to the first, or signed by another table's key."""
    with forging(base.log) as db:
        how = rng.randrange(4)
        if how == 0:
            db.execute("DELETE FROM checkpoint")
        elif how == 1:
            db.execute("DELETE FROM checkpoint WHERE size > (SELECT min(size) FROM checkpoint)")
        elif how == 2:
            resign(db, base)
        else:
            note = base.kept.replace(b"\n\n", b"\nmore\n\n", 1)
            db.execute("UPDATE checkpoint SET note = ?", (note,))


def head(rng: random.Random, base: Base) -> None:
    """The head gone, another's, torn, or forged."""
    path, said = head_of(base.log), parse_checkpoint(base.kept)[0]
    forged = signed_checkpoint(said._replace(root=rng.randbytes(32)), [STRANGER])
    how = rng.randrange(5)
    if how == 0:
        path.unlink()
    elif how == 1:
        path.write_bytes(signed_checkpoint(said, [STRANGER]))
    elif how == 2:
        path.write_bytes(base.kept[: rng.randrange(len(base.kept))])
    elif how == 3:
        path.write_bytes(forged)
    else:
        at = rng.randrange(len(base.kept))
        flipped = bytes([base.kept[at] ^ rng.randrange(1, 256)])
        path.write_bytes(base.kept[:at] + flipped + base.kept[at + 1 :])


def bytes_of_files(rng: random.Random, base: Base) -> None:
    """A few bytes anywhere in a file."""
    path = rng.choice(_files(base))
    path.chmod(0o644)
    data = bytearray(path.read_bytes())
    for _ in range(rng.randrange(1, 4)):
        data[rng.randrange(len(data))] ^= rng.randrange(1, 256)
    path.write_bytes(data)


def side_files(rng: random.Random, base: Base) -> None:
    """A WAL or a journal that is not the log's; a closed file gone, renamed or exchanged."""
    archive = sorted(base.folder.glob("archive/*-0*.sqlite"))
    how = rng.randrange(5)
    if how == 0 or not archive:
        suffix = rng.choice(["-wal", "-journal"])
        base.log.with_name(LOG + suffix).write_bytes(rng.randbytes(4096))
    elif how == 1:
        rng.choice(archive).unlink()
    elif how == 2:
        rng.choice(archive).rename(archive[0].with_name("other-000000000001-000000000002.sqlite"))
    elif how == 3:
        first, second = rng.sample(archive, 2)
        data = first.read_bytes()
        first.chmod(0o644)
        first.write_bytes(second.read_bytes())
        second.chmod(0o644)
        second.write_bytes(data)
    else:
        second = base.folder / "another-name.sqlite"
        second.hardlink_to(base.log)


def requests(rng: random.Random, base: Base) -> None:
    """A request forgotten, moved or invented, so that it is carried out twice or never.

    In the index of the closed files where there is one, else in the log.
    """
    how = rng.choice(["DELETE FROM request", "UPDATE request SET position = position + 1",
                      "UPDATE request SET transaction_id = 'dealer/none'"])  # fmt: skip
    indexes = [closing(sqlite3.connect(each, isolation_level=None)) for each in _indexes(base)]
    with indexes[0] if indexes else forging(base.log) as db:
        names = db.execute("SELECT transaction_id FROM request ORDER BY 1").fetchall()
        db.execute(f"{how} WHERE transaction_id = ?", rng.choice(names or [("",)]))


def launder(rng: random.Random, base: Base) -> None:
    """Another past, all hashes right, all signatures gone, and the key announced again or not."""
    content(rng, base)
    with forging(base.log) as db:
        rehash(db, base.origin)
        db.execute("DELETE FROM checkpoint")
    if rng.random() < 0.3:
        head_of(base.log).unlink(missing_ok=True)


def addition(rng: random.Random, base: Base) -> None:
    """An event at the end that names no coup, another currency, or one key twice."""
    empty = {"coup": "", "wager": None, "was": None, "reason": "x"}
    book = {"rulebook": "au-commission", "rulebook_hash": "0" * 64, "currency": ""}
    owed = {"coup": "", "currency": "AUD", "method": "paid", "amounts": []}
    alarm = {"alarm": "x", "text": "x"}
    kind, version, data = rng.choice(
        [
            ("wager_corrected", 1, empty),
            ("coup_voided", 1, {"coup": "", "reason": "x", "refunds": []}),
            ("commission_collected", 2, owed),
            ("rulebook_adopted", 2, book),
            ("alarm_raised", 1, alarm),
        ]
    )
    with forging(base.log) as db:
        ((position, at),) = db.execute("SELECT max(position) + 1, at FROM event").fetchall()
        told = {"event_id": event_id("core/x", 0), "stream": base.origin, "position": position,
                "type": kind, "v": version, "at": at, "actor": "core", "cause": "core/x",
                "correlation": "", "data": data}  # fmt: skip
        stored = json_bytes(told)
        if data is alarm:
            stored = stored.replace(b'"text":"x"', b'"text":"x","text":"x"')
        row = (position, kind, version, at, stored, b"")
        db.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?)", row)
        rehash(db, base.origin)


def another_key(rng: random.Random, base: Base) -> None:
    """The key of another table announced in place of the table's own, and signing everything."""
    with forging(base.log) as db:
        for position, stored in db.execute(
            "SELECT position, bytes FROM event WHERE type = 'checkpoint_key_changed'"
        ).fetchall():
            told = json.loads(stored)
            told["data"]["key"] = str(STRANGER.verifier)
            data = json_bytes(told)
            db.execute("UPDATE event SET bytes = ? WHERE position = ?", (data, position))
        rehash(db, base.origin)
        resign(db, base)
    if rng.random() < 0.5:
        said = parse_checkpoint(base.kept)[0]
        head_of(base.log).write_bytes(signed_checkpoint(said, [STRANGER]))


def _unsigned(base: Base, *events: TableEvent, actor: str, cause: str) -> None:
    """Append behind the newest signature, for the table to sign it."""
    with EventLog.open(base.log, base.origin) as log:
        at = max(each.at for each in log.read(log.position))
        keep(log, events, at=at, actor=actor, cause=cause)


def _of(base: Base, kind: type[_E]) -> list[_E]:
    with EventLog.open(base.log, base.origin) as log:
        said = [decode_data(decode_envelope(each.stored)) for each in log.read()]
    return [event for event in said if isinstance(event, kind)]


def unsigned_money(rng: random.Random, base: Base) -> None:
    """A false settlement behind the signatures: of any coup or of none, or many of one cause."""
    every = [each.settlement for each in _of(base, CoupSettled)]
    settled = rng.choice([each for each in every if each.lines])
    line, won = settled.lines[0], rng.randrange(1, 10**6)
    lines = (replace(line, result="win", winnings=won, paid=line.stake + won), *settled.lines[1:])
    coup = rng.choice([settled.coup, settled.coup, "20250101-01/1"])
    more = settled.revision + 1
    forged = replace(
        settled,
        coup=coup,
        settlement_id=f"{settled.settlement_id.rpartition('/')[0]}/{more}",
        revision=more,
        reverses=settled.settlement_id,
        lines=lines,
        paid=sum(each.paid for each in lines),
    )
    actor, cause = rng.choice([("core", "core/x/1"), ("shoe", "j/1"), ("pit", "pit/x")])
    for number in range(rng.randrange(1, 3) if actor != "pit" else 1):
        between = [AlarmCleared(alarm="x")] * number
        _unsigned(
            base, *between, CoupSettled(coup=coup, settlement=forged), actor=actor, cause=cause
        )
        _unsigned(base, AlarmCleared(alarm="x"), actor="core", cause=f"core/y/{number}")


def unsigned_word(rng: random.Random, base: Base) -> None:
    """What a table vouches for, behind its signatures: a key, books, a rulebook, an adoption."""
    log, book = base.log, _of(base, RulebookAdopted)[-1]
    state = encode_state(TableState())
    with EventLog.open(log, base.origin) as told:
        false = TableState(position=told.position)
        books = snapshot_anchor(false, state, shoe="x", chain=told.head, peaks=told.peaks)
    events: list[TableEvent] = [
        CheckpointKeyChanged(key=str(SigningKey(f"{base.origin}-2", rng.randbytes(32)).verifier)),
        books,
        replace(books, size=books.size - 1),
        replace(book, currency="JPY"),
        replace(book, rulebook_hash=rng.randbytes(32).hex()),
        LogAdopted(size=1, chain="00", by="Jo Ng", reason="the disk is lost"),
    ]
    snapshot_path(log).write_bytes(state)
    _unsigned(base, rng.choice(events), actor="core", cause=f"core/x/{books.size}")


def part_of(rng: random.Random, data: bytes) -> bytes:
    """Evidence with events left out or changed, sealed again."""

    def change(told: dict[str, Any]) -> None:
        events = told["events"]
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(events))
            if rng.random() < 0.7 and len(events) > 1:
                del events[at]
            else:
                inner = json.loads(events[at]["stored"])
                _change(rng, inner["data"])
                events[at]["stored"] = json_bytes(inner).decode()
        if rng.random() < 0.3:
            _change(rng, told["expected"])

    try:
        return resealed(data, change)
    except ValidationError:  # a word that the form does not have
        return data


FORGERIES: tuple[Callable[[random.Random, Base], None], ...] = (
    column, content, addition, removal, scheme, checkpoints, head, bytes_of_files, side_files,
    requests, launder, another_key, unsigned_money, unsigned_word,
)  # fmt: skip


def forge(base: Base, to: Path, seed: int) -> tuple[str, Base]:
    """Do the forgery of a seed to a copy; return its name and the copy."""
    rng = random.Random(seed)
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(base.folder, to)
    copy = base._replace(folder=to)
    how = FORGERIES[seed % len(FORGERIES)]
    how(rng, copy)
    return how.__name__, copy
