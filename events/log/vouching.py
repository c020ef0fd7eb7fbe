"""Whether a log's past is the table's own: its newest signatures, and the head kept outside it.

Somebody who can write the log's file can write another past with right hashes, and drop the
checkpoints that would reveal it. If the table signed such a log at its next start, the forgery
would look genuine. So the table also keeps its newest signed checkpoint in a separate file, the
*head*. It opens only a log that continues from the head. Without a head it adopts the log once, and
records that in an event.
"""

import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from events.clock import seconds_between
from events.errors import InputError, LogRefused
from events.log.disk import write_durably
from events.proof.checkpoint import Checkpoint, is_bound_to, parse_checkpoint
from events.proof.note import VerifierKey, signed_by
from events.types import (
    CheckpointKeyChanged,
    Envelope,
    LogAdopted,
    RulebookAdopted,
    RulebookCorrected,
    TableEvent,
)
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
# Release 0.1.0 kept no head, and appended none of these events. A kill may come between a log's
# first checkpoint and its head; not after a second, nor in a continued file.
_HAD_A_HEAD: Final = """
SELECT 1 FROM event WHERE (
  type = 'log_adopted' OR type = 'rulebook_adopted' AND version > 1
  OR type = 'books_closed' AND json_extract(CAST(bytes AS TEXT), '$.data.fold') > 3
) AND (SELECT count(*) FROM checkpoint WHERE size >= event.position) > (
  position = 1 OR position > (SELECT min(position) FROM event)
) LIMIT 1
"""
_FIRST: Final = "SELECT min(position) FROM event"


def head_of(log: Path) -> Path:
    """Return where a log's head lies where the configuration names no other place."""
    return log.with_name(log.name + HEAD_SUFFIX)


class MoneyMove(NamedTuple):
    """An event of `MONEY_TYPES`, as far as it matters whether it is signed.

    Args:
        position: its position.
        at: when it was appended.
        begins: position of the first event of its transaction.
        settles: whether it is a settlement.
    """

    position: int
    at: str
    begins: int
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
        if each.begins != first.begins or _is_far(first.at, each.at):
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
        rulebooks: the currency of each rulebook that is configured or shipped, by its hash; None
            to trust every rulebook.
    """

    keys: frozenset[VerifierKey]
    head: Path
    rulebooks: Mapping[str, str] | None = None


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
        self._path = path
        self._trust = trust
        self._moves: list[MoneyMove] = []
        self._cited: set[str] = set()
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

    def check(
        self, db: sqlite3.Connection, end: int, newest: str, signed: Checkpoint | None
    ) -> bool:
        """Check what the log's file has against the head; return whether the log is to be adopted.

        Args:
            db: the file, its chain checked, its unsigned events taken.
            end: the newest position.
            newest: when its event was appended.
            signed: the newest checkpoint in the file, which is the table's own.

        Raises:
            LogRefused: the log's past is not what the table signed.
        """
        kept = self.kept
        if kept is None:
            if not end:
                return False
            if db.execute(_HAD_A_HEAD).fetchone():
                raise self._refusal(f"its head {self._trust.head} is missing")
        elif kept.size > end:
            told = f"missing: the log ends at {end}, but the table signed {kept.size} events"
            raise self._refusal(told, end + 1)
        elif signed is None or signed.size < kept.size:
            raise self._refusal(f"the table's checkpoint of {kept.size} events is missing")
        position = unsigned_fault(self._moves, newest) if signed else None
        if signed is not None and position is not None:
            told = f"unsigned: the table's signatures end at {signed.size}, more than a kill leaves"
            raise self._refusal(told, position)
        return kept is None

    def require_file(self, db: sqlite3.Connection, signed: Checkpoint) -> None:
        """Refuse a file that begins after the newest signature: none is closed unsigned.

        Raises:
            LogRefused: it does; nobody vouches for the end of a closed file.
        """
        (first,) = db.execute(_FIRST).fetchone()
        if first is not None and signed.size < first - 1:
            told = f"the table's signatures end at {signed.size}, before this file begins"
            raise self._refusal(told, first)

    def take_signed(self, event: TableEvent) -> None:
        """Note what an event says that the table has signed."""
        self._cited.add(getattr(event, "rulebook_hash", ""))

    def take_unsigned(self, envelope: Envelope, event: TableEvent, begins: int) -> None:
        """Take an event that the table has not signed, and will sign if this is opened.

        Args:
            envelope: of the event.
            event: the event.
            begins: the position of the first event of its transaction.

        Raises:
            LogRefused: it vouches for what the table does not know of.
        """
        position = envelope.position
        if event.TYPE in MONEY_TYPES:
            if envelope.actor == "core":
                raise self._refusal("money that neither shoe nor person asked for", position)
            self._moves.append(MoneyMove(position, envelope.at, begins))
        if isinstance(event, LogAdopted) and self.kept is not None:
            # A person's adoption is signed at once, or is given again.
            raise self._refusal("adopted, and the table has not signed that", position)
        if isinstance(event, CheckpointKeyChanged):
            own = {str(key) for key in self._trust.keys}
            if event.key not in own:
                told = "announces a key whose private key this table does not hold"
                raise self._refusal(f"{told}, and the table has not signed that", position)
        self._require_known_rulebook(event, position)

    def _require_known_rulebook(self, event: TableEvent, position: int) -> None:
        cited, known = getattr(event, "rulebook_hash", None), self._trust.rulebooks
        if cited is None or known is None:
            return
        is_new = isinstance(event, RulebookAdopted | RulebookCorrected)
        if cited not in known and (is_new or cited not in self._cited):
            told = f"cites a rulebook {cited[:12]} that is not configured: name it in `library`"
            raise self._refusal(f"{told}, as the table has not signed that", position)
        if isinstance(event, RulebookAdopted) and event.currency not in {"", known.get(cited)}:
            told = f"adopts a rulebook in {event.currency}, which has another currency"
            raise self._refusal(f"{told}, and the table has not signed that", position)

    def require_root(self, root: bytes) -> None:
        """Refuse a log that has another root at the head's size.

        Raises:
            LogRefused: it has.
        """
        if self.kept is not None and root != self.kept.root:
            told = f"rewritten since the table signed {self.kept.size} events"
            raise self._refusal(told)

    def _refusal(self, what: str, position: int | None = None) -> LogRefused:
        where = f"{self._path}" if position is None else f"{self._path}: position {position}"
        return LogRefused(f"{where}: {what}; {_ADOPT}", position)
