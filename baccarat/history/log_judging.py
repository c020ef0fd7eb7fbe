"""The judge of a whole log, with the rulebooks and wire profiles that lie next to it.

Rooms below cannot see one another, so they meet here: `events.log.verify` walks the log,
`table_core` judges the money, and `shoe_driver` reads the shoe's bytes.
"""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from events.errors import InputError
from events.log.editions import PROFILES, RULEBOOKS, editions_folder, read_editions
from events.log.verify import BadFile
from events.types.envelope import Envelope
from events.types.shoe_reports import ShoeEvent
from events.types.table import TableEvent
from shoe_driver.profiles.catalogue import shipped_texts
from shoe_driver.profiles.profile import parse_profile
from shoe_driver.reread import RawReader
from table_core.evidence.judge import EvidenceFault
from table_core.evidence.log_judge import JudgedCounts, LogJudge
from table_core.rulebooks.shipped import shipped_sources
from table_core.rules.rulebook import Rulebook
from table_core.rules.rulebook_file import parse_rulebook

__all__ = ["Judging", "opening_judge"]

_T = TypeVar("_T")


class Judging:
    """Judges the events of one log while a verifier walks it.

    Args:
        log: its file.
        origin: `<site>/<table>`.
        whole: whether the walk begins with the log's first event.
    """

    def __init__(self, log: Path, origin: str, *, whole: bool = True) -> None:
        self._readers = _Parsed(_kept(log, PROFILES), _reader)
        books = _Parsed(_kept(log, RULEBOOKS), _rulebook)
        packed = _OnDisk() if whole else None
        self._judge = LogJudge(origin, books, self._raw_says, packed, whole=whole)

    @property
    def counts(self) -> JudgedCounts:
        """What was judged so far."""
        return self._judge.counts

    def take(self, position: int, envelope: Envelope, event: TableEvent) -> None:
        """Judge the next event.

        Raises:
            BadFile: the record does not follow from itself; names the position.
        """
        try:
            self._judge.take(position, envelope, event)
        except EvidenceFault as fault:
            raise _bad(fault) from fault

    def finish(self) -> None:
        """Judge what waits for the end of its commit.

        Raises:
            BadFile: as `take`.
        """
        try:
            self._judge.finish()
        except EvidenceFault as fault:
            raise _bad(fault) from fault

    def _raw_says(self, event: ShoeEvent) -> bool | None:
        reader = self._readers.get(event.profile_hash)
        return None if reader is None else reader.says(event)


def opening_judge(log: Path, origin: str) -> Callable[[bool], Judging]:
    """Return what makes the judge of the events that the opening of a log checks."""
    return lambda whole: Judging(log, origin, whole=whole)


def _kept(log: Path, kind: str) -> Mapping[str, bytes]:
    """Return the editions of a kind at hand, by hash: those next to the log, and the shipped."""
    shipped = shipped_sources() if kind == RULEBOOKS else shipped_texts()
    ours = {sha256(source).hexdigest(): source for source in shipped}
    return ours | read_editions(editions_folder(log, kind)).sources


def _reader(source: bytes) -> RawReader:
    return RawReader(parse_profile(source, source="a kept profile"))


def _rulebook(source: bytes) -> Rulebook:
    return parse_rulebook("a kept rulebook", source)


class _Parsed(Mapping[str, _T]):
    """Editions by hash, each parsed when it is first asked for.

    An edition that this build cannot use is as good as missing.
    """

    def __init__(self, sources: Mapping[str, bytes], parse: Callable[[bytes], _T]) -> None:
        self._sources = sources
        self._parse = parse
        self._parsed: dict[str, _T | None] = {}

    def __getitem__(self, digest: str) -> _T:
        if digest not in self._parsed:
            self._parsed[digest] = None
            with suppress(InputError):
                self._parsed[digest] = self._parse(self._sources[digest])
        found = self._parsed[digest]
        if found is None:
            raise KeyError(digest)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)


def _bad(fault: EvidenceFault) -> BadFile:
    _, _, position = fault.part.rpartition(" ")
    return BadFile(fault.reason, int(position) if position.isdigit() else None)


class _OnDisk(MutableMapping[str, bytes]):
    """A mapping in a temporary file of SQLite's own, so that a long log needs little memory."""

    def __init__(self) -> None:
        self._db = sqlite3.connect("", isolation_level=None)
        self._db.execute("PRAGMA journal_mode=OFF")
        self._db.execute("CREATE TABLE kept (name TEXT PRIMARY KEY, data BLOB) WITHOUT ROWID")

    def __getitem__(self, name: str) -> bytes:
        row = self._db.execute("SELECT data FROM kept WHERE name = ?", (name,)).fetchone()
        if row is None:
            raise KeyError(name)
        return bytes(row[0])

    def __setitem__(self, name: str, data: bytes) -> None:
        self._db.execute("REPLACE INTO kept VALUES (?, ?)", (name, data))

    def __delitem__(self, name: str) -> None:
        self._db.execute("DELETE FROM kept WHERE name = ?", (name,))

    def __iter__(self) -> Iterator[str]:
        return (str(name) for (name,) in self._db.execute("SELECT name FROM kept"))

    def __len__(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM kept").fetchone()[0])
