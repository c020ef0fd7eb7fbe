"""The record of logins, verified by itself and by what the table's log has noted of it.

The chain of the record has no key. So whoever may write the file while the screens are stopped can
append a line, and the next start has the log note it. What a killed service leaves is a few seconds
of entries that are not noted; more than that is named, and so is a time that goes back.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from glob import escape
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from baccarat.config.form import TableConfig
from displays.auth.login_record import RecordEntry, read_record
from displays.process import NOTE_EVERY_S
from events.clock import seconds_between
from events.errors import TableError
from events.log.reader import reading
from events.types import LogAdopted, LoginsNoted, decode_data, decode_envelope

__all__ = ["VerifiedLogins", "missing_record", "verify_logins"]

_LEFT_MOST_S: Final = 2 * NOTE_EVERY_S
"""Seconds of entries that a kill leaves without a note: the table may be asked twice."""
_BACK_MOST_S: Final = 2
"""Seconds by which a time server sets a clock back without a word."""

_TYPES = tuple(f'"type":"{kind.TYPE}"'.encode() for kind in (LogAdopted, LoginsNoted))


class VerifiedLogins(NamedTuple):
    """What is known of a record.

    Args:
        entries: those up to the first bad line.
        head: the hash after them.
        says: what holds, or what does not, in one line.
        fault: whether something does not hold.
        doubts: what a person should look at, though an honest service can write it.
    """

    entries: tuple[RecordEntry, ...]
    head: bytes
    says: str
    fault: bool
    doubts: tuple[str, ...]


class _Notes(NamedTuple):
    """What a log has noted.

    Args:
        made: those since a person last adopted the log, each with its position.
        answered_for: how many entries the newest note before that had.
    """

    made: tuple[tuple[int, LoginsNoted], ...]
    answered_for: int


def verify_logins(config: TableConfig, path: Path) -> VerifiedLogins:
    """Verify the record at `path`.

    What it lacks is lost, also where a file next to it has it, whose name begins with the record's:
    such a file is named.

    Raises:
        OSError: a file cannot be read.
    """
    found, notes = read_record(path, config.origin), _Notes((), 0)
    says, fault = "not compared, the table's log is not on this machine", False
    try:
        if config.log_path.exists():
            notes = _noted(config.log_path)
            says, fault = _compared(config, path, notes)
    except TableError as error:
        says, fault = f"not compared, the table's log cannot be read: {error}", True
    if found.first_bad is not None:
        says, fault = f"line {found.first_bad} does not follow from those before it", True
    doubts = (*_back_in_time(found.entries, notes), *_not_noted(found.entries, notes))
    return VerifiedLogins(found.entries, found.chain[-1], says, fault, doubts)


def missing_record(config: TableConfig) -> str | None:
    """Return why a configuration that names no record is at fault; None where it is not."""
    try:
        noted = _noted(config.log_path).made if config.log_path.exists() else ()
    except TableError:
        return None  # whoever reads the log says so
    if not noted:
        return None
    position, newest = noted[-1]
    return (
        f"displays.record names no file, and the table's log has {newest.entries} entries at "
        f"{position}"
    )


def _compared(config: TableConfig, path: Path, notes: _Notes) -> tuple[str, bool]:
    # Read again after the notes, so that an entry that was noted meanwhile is not missed.
    chain = read_record(path, config.origin).chain
    lost = [(at, each) for at, each in notes.made if not _has(chain, each)]
    if not lost:
        return f"the table's log agrees, {len(notes.made)} times", False
    at, first = lost[0]
    told = f"cut off or written again before entry {first.entries}, which the log has at {at}"
    beside = [each for each in path.parent.glob(f"{escape(path.name)}?*") if each.is_file()]
    having = [each.name for each in beside if _has(read_record(each, config.origin).chain, first)]
    return f"{told}; the entry is in {', '.join(sorted(having))}" if having else told, True


def _has(chain: Sequence[bytes], noted: LoginsNoted) -> bool:
    return noted.entries < len(chain) and chain[noted.entries].hex() == noted.chain


def _back_in_time(entries: Sequence[RecordEntry], notes: _Notes) -> Iterator[str]:
    for before, each in pairwise(entries[notes.answered_for :]):
        back_s = seconds_between(each.at, before.at)
        if back_s > _BACK_MOST_S:
            yield f"entry {each.n} is {back_s:.0f} s older than the one before it"


def _not_noted(entries: Sequence[RecordEntry], notes: _Notes) -> Iterator[str]:
    """Name what a start of the screens found that the table had not noted in time."""
    noted = sorted(each.entries for _, each in notes.made)
    for each in entries:
        earlier = bisect_left(noted, each.n)
        if each.what != "started" or not earlier:
            continue
        left = entries[noted[earlier - 1] : each.n - 1]
        if left and seconds_between(left[0].at, left[-1].at) > _LEFT_MOST_S:
            yield (
                f"the table had not noted entries {left[0].n} to {left[-1].n} when the screens "
                f"started at entry {each.n}: it did not answer, or somebody added them"
            )


def _noted(log: Path) -> _Notes:
    noted, answered_for = list[tuple[int, LoginsNoted]](), 0
    with reading(log) as reader:
        for position, stored, _ in reader.bare():
            if any(each in stored for each in _TYPES):
                event = decode_data(decode_envelope(stored))
                if isinstance(event, LoginsNoted):
                    noted.append((position, event))
                elif isinstance(event, LogAdopted) and event.by and noted:
                    answered_for = noted[-1][1].entries
                    noted.clear()
    return _Notes(tuple(noted), answered_for)
