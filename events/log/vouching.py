"""Whether a log's past is the table's own: its newest signatures, and the head kept outside it.

Somebody who can write the log's file can write another past with right hashes, and drop the
checkpoints that would reveal it. If the table signed such a log at its next start, the forgery
would look genuine. So the table also keeps its newest signed checkpoint in a separate file, the
*head*. It opens only a log that continues from the head. Without a head it adopts the log once, and
records that in an event.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from events.clock import seconds_between
from events.errors import InputError, LogRefused, UnreadableEvent
from events.log.disk import write_durably
from events.log.segments import archive_folder, find_segments, open_segment
from events.proof.chain import next_hash
from events.proof.checkpoint import Checkpoint, is_bound_to, parse_checkpoint
from events.proof.note import VerifierKey, signed_by
from events.types import Envelope, LogAdopted, decode_envelope
from events.types.registry import MONEY_TYPES

__all__ = [
    "HEAD_SUFFIX",
    "SIGNING_INTERVAL_S",
    "LogKeys",
    "MoneyMove",
    "SignedHead",
    "head_of",
    "unsigned_fault",
    "write_head",
]

HEAD_SUFFIX: Final = ".head"
"""The suffix of the head's name, next to the log by default."""
SIGNING_INTERVAL_S: Final = 300
"""Unsigned money of one transaction is accepted so near its first and the newest event, seconds."""
_ADOPT: Final = (
    "keep the files as they are and restore a verified backup; a log that a person answers for is "
    "taken over by `baccarat log adopt CONFIG --by NAME --reason TEXT`"
)
_HEAD_BYTES: Final = 64 * 1024
# A kill may come between the first checkpoint after an adoption and the head; not after a second.
_ADOPTED: Final = """
SELECT 1 FROM event WHERE type = ?
AND (SELECT count(*) FROM checkpoint WHERE size >= event.position) > 1 LIMIT 1
"""
_KINDS: Final = (LogAdopted.TYPE, *MONEY_TYPES)
_UNSIGNED: Final = f"""
SELECT bytes FROM event
WHERE position > ? AND type IN ({", ".join("?" * len(_KINDS))}) ORDER BY position
"""  # noqa: S608 - question marks alone
_CLOSED: Final = "SELECT bytes, hash FROM event WHERE position >= ? ORDER BY position"
_FIRST: Final = "SELECT position, hash FROM event ORDER BY position LIMIT 1"
_UNREADABLE: Final = (sqlite3.Error, UnicodeDecodeError, OSError)
_NEWEST: Final = "SELECT at FROM event ORDER BY position DESC LIMIT 1"


def head_of(log: Path) -> Path:
    """Return where a log's head lies where the configuration names no other place."""
    return log.with_name(log.name + HEAD_SUFFIX)


class MoneyMove(NamedTuple):
    """An event of `MONEY_TYPES`, as far as it matters whether it is signed.

    Args:
        position: its position.
        at: when it was appended.
        cause: the transaction that it belongs to.
        settles: whether it is a settlement.
    """

    position: int
    at: str
    cause: str
    settles: bool = False


def unsigned_fault(moves: Iterable[MoneyMove], newest: str) -> int | None:
    """Return the position of unsigned money that no kill leaves; None where a kill may leave it.

    A table signs the money of one transaction before it appends that of another
    (`table_core.process.checkpoints`). So a kill leaves one transaction, and little after it.

    Args:
        moves: the unsigned ones, in order.
        newest: when the log's newest event was appended.
    """
    first: MoneyMove | None = None
    for each in moves:
        first = first or each
        if each.cause != first.cause or _is_far(first.at, each.at):
            return first.position
    return first.position if first is not None and _is_far(first.at, newest) else None


def _is_far(one: str, other: str) -> bool:
    try:
        return abs(seconds_between(one, other)) > SIGNING_INTERVAL_S
    except ValueError:  # a forger's time
        return True


def write_head(path: Path, note: bytes) -> None:
    """Replace the head; durable on return.

    Raises:
        OSError: the disk refused; the old head stays.
    """
    write_durably(path, note)


class LogKeys(NamedTuple):
    """What a table trusts of its own when it opens its log.

    Args:
        keys: the public keys of the private keys that it holds.
        head: the file of the newest checkpoint that it signed.
    """

    keys: frozenset[VerifierKey]
    head: Path


class SignedHead:
    """The head, and what it demands of a log that is opened.

    Args:
        path: the log, for messages.
        origin: `<site>/<table>`.
        trust: the table's keys and its head.

    Attributes:
        kept: the head; None where there is no file.

    Raises:
        LogRefused: the head cannot be read, or none of the table's keys signed it.
    """

    def __init__(self, path: Path, origin: str, trust: LogKeys) -> None:
        self._path, self._origin = path, origin
        self._trust = trust
        self.kept: Checkpoint | None = None
        self.note = b""
        try:
            with trust.head.open("rb") as file:
                self.note = file.read(_HEAD_BYTES)
        except FileNotFoundError:
            return
        except OSError as error:
            raise LogRefused(f"{trust.head}: cannot be read: {error.strerror}") from error
        try:
            self.kept, _ = parse_checkpoint(self.note)
        except InputError as error:
            raise self._refusal(f"{trust.head} holds {error}") from error
        if self.kept.origin != origin:
            raise self._refusal(f"{trust.head} is the head of {self.kept.origin!r}")
        self.require_own(self.note, f"{trust.head}", origin)

    def require_own(self, note: bytes, where: str, origin: str) -> None:
        """Refuse a checkpoint that none of the table's keys signed.

        Raises:
            LogRefused: it is not the table's.
        """
        own = frozenset(key for key in self._trust.keys if is_bound_to(key, origin))
        said = parse_checkpoint(note)[1]
        if not signed_by(said, own):
            names = " and ".join(f"{each.name}+{each.key_id.hex()}" for each in said.signatures)
            told = f"{where} is signed by {names}, by no private key that this table holds"
            raise self._refusal(told)

    def check(self, db: sqlite3.Connection, end: int, signed: Checkpoint | None) -> bool:
        """Check what the log's file has against the head; return whether the log is to be adopted.

        Args:
            db: the file, its chain checked.
            end: the newest position.
            signed: the newest checkpoint in the file, which is the table's own.

        Raises:
            LogRefused: the log's past is not what the table signed.
        """
        kept = self.kept
        if kept is None:
            if not end:
                return False
            if db.execute(_ADOPTED, (LogAdopted.TYPE,)).fetchone():
                raise self._refusal(f"its head {self._trust.head} is missing")
        elif kept.size > end:
            told = f"missing: the log ends at {end}, but the table signed {kept.size} events"
            raise self._refusal(told, end + 1)
        elif signed is None or signed.size < kept.size:
            raise self._refusal(f"the table's checkpoint of {kept.size} events is missing")
        else:
            # A person's adoption is signed at once, or is given again.
            for each in self._unsigned(db, signed.size):
                if each.type == LogAdopted.TYPE:
                    told = "adopted, and the table has not signed that"
                    raise self._refusal(told, each.position)
        if signed is not None:
            self._require_signed(db, signed.size)
        return kept is None

    def require_root(self, root: bytes) -> None:
        """Refuse a log that has another root at the head's size.

        Raises:
            LogRefused: it has.
        """
        if self.kept is not None and root != self.kept.root:
            told = f"rewritten since the table signed {self.kept.size} events"
            raise self._refusal(told)

    def _require_signed(self, db: sqlite3.Connection, size: int) -> None:
        (newest,) = db.execute(_NEWEST).fetchone()
        moves = (
            MoneyMove(each.position, each.at, each.cause)
            for each in self._unsigned(db, size)
            if each.type in MONEY_TYPES
        )
        position = unsigned_fault(moves, newest)
        if position is not None:
            told = f"unsigned: the table's signatures end at {size}, more than a kill leaves"
            raise self._refusal(told, position)

    def _unsigned(self, db: sqlite3.Connection, size: int) -> Iterator[Envelope]:
        """Yield each adoption and each move of money after `size`, in closed files as well."""
        first, digest = db.execute(_FIRST).fetchone()
        if size + 1 < first:
            for each in self._in_closed(size, first, digest):
                if each.type in _KINDS:
                    yield each
        for (stored,) in db.execute(_UNSIGNED, (size, *_KINDS)):
            yield decode_envelope(stored)

    def _in_closed(self, size: int, base: int, digest: bytes) -> Iterator[Envelope]:
        """Yield the events of the closed files after `size`; their chain must end with `digest`."""
        position, head = size, b""
        for file in find_segments(archive_folder(self._path), self._origin, base):
            if file.last <= size:
                continue
            try:
                with closing(open_segment(file.path)) as db:
                    rows = db.execute(_CLOSED, (position,))
                    first, found = rows.fetchone()
                    if decode_envelope(first).position != position or head not in (b"", found):
                        told = f"{file.path} does not go on from the signatures or the file before"
                        raise self._refusal(told, position)
                    head = found
                    for stored, found in rows:
                        event, head = decode_envelope(stored), next_hash(head, stored)
                        if (event.position, head) != (position + 1, found):
                            told = f"the hash chain breaks in {file.path}"
                            raise self._refusal(told, position + 1)
                        position += 1
                        yield event
            except (*_UNREADABLE, UnreadableEvent, TypeError) as error:
                raise self._refusal(f"{file.path} is unreadable: {error}") from error
        if head != digest:
            raise self._refusal("the closed files are of another past", base)

    def _refusal(self, what: str, position: int | None = None) -> LogRefused:
        where = f"{self._path}" if position is None else f"{self._path}: position {position}"
        return LogRefused(f"{where}: {what}; {_ADOPT}", position)
