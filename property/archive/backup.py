"""Copies an archive into one file and back: whole, or only what cannot be made again from the logs.

The file is a ZIP archive: `manifest.json`, and the rows of each SQL table as PostgreSQL's COPY
writes them. A copy is of one moment, and the workers go on meanwhile.
"""

import zipfile
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct
from psycopg import AsyncConnection, AsyncCursor, sql

from events.errors import ArchiveError, InputError
from events.log.disk import PRIVATE_FILE
from property.archive.database import translate_archive_errors
from property.archive.partition_consumer import WORKERS_LOCK

__all__ = ["ArchiveBackup", "restore_archive", "write_backup"]

# The logs, by way of the hub, bring these again; everything else a person or a fork has made.
_MADE_AGAIN: Final = frozenset(
    {
        "block",
        "coup_row",
        "event_before",
        "feed",
        "head",
        "reading",
        "settlement_row",
        "state",
        "stay",
        "tail",
        "total",
        "wager",
    }
)
# Shifts first: they count a site's totals again, of which there are none yet.
_FIRST: Final = ("shift", "head")
_MANIFEST: Final = "manifest.json"
_FORM: Final = "baccarat-property-backup"
_TABLES: Final = """
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'property' AND c.relkind = 'r' AND c.relname <> 'alembic_version' ORDER BY 1
"""
_COLUMNS: Final = """
SELECT a.attname, a.attidentity <> '' FROM pg_attribute a
WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
ORDER BY a.attnum
"""
_PART: Final = 1 << 16
_VERSION: Final = "SELECT version_num FROM property.alembic_version"


class ArchiveBackup(Struct, frozen=True, kw_only=True):
    """A backup's manifest.

    Args:
        form: which kind of file it is.
        version: of the archive's schema.
        whole: whether it has the events and their rows.
        rows: how many of each SQL table.
    """

    form: str
    version: str
    whole: bool
    rows: dict[str, int]


async def write_backup(
    url: str, connection: AsyncConnection, file: Path, *, whole: bool
) -> ArchiveBackup:
    """Copy the archive into a new file.

    Raises:
        ArchiveUnavailable: the database does not answer.
        InputError: the file is there already.
        OSError: the file cannot be written.
    """
    rows: dict[str, int] = {}
    with _new_file(file) as out, translate_archive_errors(url):
        async with connection.transaction(), connection.cursor() as cursor:
            await cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            await cursor.execute("SET LOCAL statement_timeout = 0")
            for name in await _names(cursor):
                if whole or name not in _MADE_AGAIN:
                    rows[name] = await _copy_out(cursor, out, name)
            manifest = ArchiveBackup(
                form=_FORM, version=await _version(cursor), whole=whole, rows=rows
            )
        out.writestr(_MANIFEST, msgspec.json.encode(manifest))
    return manifest


async def restore_archive(url: str, connection: AsyncConnection, file: Path) -> ArchiveBackup:
    """Copy a backup back, in one transaction.

    A whole one goes into an archive without tables. Of the other kind, rows that are there stay.
    No worker may run meanwhile, and none begins.

    Raises:
        ArchiveUnavailable: the database does not answer.
        ArchiveError: workers run, or the archive holds tables.
        InputError: the file is no backup, is damaged, or of another version of the schema.
    """
    with _opened(file) as given, translate_archive_errors(url):
        manifest = _manifest(file, given)
        async with connection.transaction(), connection.cursor() as cursor:
            await cursor.execute("SET LOCAL statement_timeout = 0")
            await _check_free(cursor, manifest)
            if (now := await _version(cursor)) != manifest.version:
                raise InputError(f"{file}: is of version {manifest.version}, the archive of {now}")
            there = await _names(cursor)
            for name in sorted(manifest.rows, key=lambda n: (n not in _FIRST, n)):
                if name not in there:
                    raise InputError(f"{file}: has {name}, which the archive has not")
                await _copy_in(cursor, given, name, manifest)
    return manifest


def _new_file(file: Path) -> zipfile.ZipFile:
    try:
        file.touch(PRIVATE_FILE, exist_ok=False)
    except FileExistsError as error:
        raise InputError(f"{file}: is there already; choose another name") from error
    return zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1)


def _opened(file: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(file)
    except (OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{file}: cannot be read as a backup: {error}") from error


def _manifest(file: Path, given: zipfile.ZipFile) -> ArchiveBackup:
    try:
        damaged = given.testzip()
        manifest = msgspec.json.decode(given.read(_MANIFEST), type=ArchiveBackup)
    except (KeyError, msgspec.MsgspecError, zipfile.BadZipFile, OSError, EOFError) as error:
        raise InputError(f"{file}: is no backup of an archive, or not whole") from error
    if damaged is not None or manifest.form != _FORM:
        raise InputError(f"{file}: is damaged: {damaged or 'its manifest'}")
    return manifest


async def _check_free(cursor: AsyncCursor[Any], manifest: ArchiveBackup) -> None:
    await cursor.execute("SELECT pg_try_advisory_xact_lock(%s, 0)", (WORKERS_LOCK,))
    row = await cursor.fetchone()
    if row is None or not row[0]:
        raise ArchiveError("workers run on this archive: end all of them first, then restore")
    await cursor.execute("SELECT count(*) FROM property.head")
    row = await cursor.fetchone()
    if manifest.whole and row is not None and row[0]:
        raise ArchiveError(f"the archive holds {row[0]} tables: restore into an empty database")


async def _names(cursor: AsyncCursor[Any]) -> list[str]:
    await cursor.execute(_TABLES)
    return [name for (name,) in await cursor.fetchall()]


async def _version(cursor: AsyncCursor[Any]) -> str:
    await cursor.execute(_VERSION)
    row = await cursor.fetchone()
    return str(row[0]) if row else ""


async def _columns(cursor: AsyncCursor[Any], name: str) -> tuple[list[str], list[str]]:
    """Return a SQL table's columns, and those whose values PostgreSQL counts."""
    await cursor.execute(_COLUMNS, (f"property.{name}",))
    found = await cursor.fetchall()
    return [column for column, _ in found], [column for column, counted in found if counted]


async def _copy_out(cursor: AsyncCursor[Any], out: zipfile.ZipFile, name: str) -> int:
    columns, _ = await _columns(cursor, name)
    listed = sql.SQL(", ").join(map(sql.Identifier, columns))
    count = sql.SQL("SELECT count(*) FROM property.{}").format(sql.Identifier(name))
    await cursor.execute(count)
    row = await cursor.fetchone()
    asked = sql.SQL("COPY property.{} ({}) TO STDOUT").format(sql.Identifier(name), listed)
    with out.open(f"{name}.copy", "w", force_zip64=True) as member:
        async with cursor.copy(asked) as copy:
            async for part in copy:
                member.write(part)
    return int(row[0]) if row else 0


async def _copy_in(
    cursor: AsyncCursor[Any], given: zipfile.ZipFile, name: str, manifest: ArchiveBackup
) -> None:
    """Copy a SQL table's rows back: all, or those that are not there, with new numbers."""
    columns, counted = await _columns(cursor, name)
    table = sql.Identifier("property", name)
    into = table if manifest.whole else sql.Identifier("restored")
    if not manifest.whole:
        made = sql.SQL("CREATE TEMPORARY TABLE restored AS TABLE {} WITH NO DATA")
        await cursor.execute(made.format(table))
    listed = sql.SQL(", ").join(map(sql.Identifier, columns))
    copied = sql.SQL("COPY {} ({}) FROM STDIN").format(into, listed)
    with given.open(f"{name}.copy") as member:
        async with cursor.copy(copied) as copy:
            while part := member.read(_PART):
                await copy.write(part)
    if manifest.whole:
        for column in counted:
            said = sql.SQL("SELECT setval(pg_get_serial_sequence(%s, %s), max({})) FROM {}")
            given_names = (f"property.{name}", column)
            await cursor.execute(said.format(sql.Identifier(column), table), given_names)
        return
    own = sql.SQL(", ").join(sql.Identifier(each) for each in columns if each not in counted)
    moved = sql.SQL(
        "INSERT INTO {0} ({1}) SELECT {1} FROM restored EXCEPT SELECT {1} FROM {0} "
        "ON CONFLICT DO NOTHING"
    )
    await cursor.execute(moved.format(table, own))
    await cursor.execute("DROP TABLE restored")
