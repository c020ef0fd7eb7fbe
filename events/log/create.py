"""Create a new, empty log, whole or not at all, and upgrade an older log's format."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from events.errors import LogRefused
from events.log.disk import remove_database, sync
from events.log.schema import APPLICATION_ID, SCHEMA, SCHEMA_VERSION, SCHEMAS

__all__ = ["RESTORING_SUFFIX", "create", "upgrade"]

_NEW_SUFFIX: Final = ".new"

RESTORING_SUFFIX: Final = ".restoring"
"""The suffix of a restored log's name until the copy is verified and takes its place."""


def create(path: Path, origin: str) -> None:
    """Create the empty log of `origin`. The caller holds the writer's lock.

    The log is made under another name and renamed once it is on the disk, so a power cut leaves
    either no log or a whole one.

    Raises:
        LogRefused: there is a WAL without its log, and SQLite would throw its content away. Or a
            restore was interrupted after it had moved the old log away.
        OSError, sqlite3.Error: the disk refused.
    """
    for suffix in ("-wal", "-journal"):
        left = path.with_name(path.name + suffix)
        if left.exists():
            raise LogRefused(
                f"{path}: missing, but {left.name} is there and may hold events; "
                "put the two together again, or restore a verified backup"
            )
    restoring = path.with_name(path.name + RESTORING_SUFFIX)
    if restoring.exists():
        raise LogRefused(
            f"{path}: missing, and {restoring.name} is there: "
            "restore it once more, or remove that file for an empty log"
        )
    new = path.with_name(path.name + _NEW_SUFFIX)
    remove_database(new)  # left by an interrupted creation
    try:
        with closing(sqlite3.connect(new, isolation_level=None)) as db:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("BEGIN")
            db.execute(f"PRAGMA application_id={APPLICATION_ID}")
            db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
            for statement in SCHEMA.values():
                db.execute(statement)
            meta = [("origin", origin), ("session", 0)]
            db.executemany("INSERT INTO meta VALUES (?, ?)", meta)
            db.execute("COMMIT")
        # The last connection that closes moves the WAL into the file and syncs it.
        new.rename(path)
        sync(path.parent)
    finally:
        remove_database(new)


def upgrade(db: sqlite3.Connection, version: int) -> None:
    """Add to a log of an older format what it lacks, within the caller's transaction.

    Its content stays unchanged: a new format only adds tables and triggers.
    """
    for name, statement in SCHEMA.items():
        if name not in SCHEMAS[version]:
            db.execute(statement)
    db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
