"""The record of logins, verified by itself and by what the table's log has noted of it."""

from collections.abc import Iterator, Sequence
from glob import escape
from pathlib import Path
from typing import NamedTuple

from baccarat.config.form import TableConfig
from displays.auth.login_record import RecordEntry, read_record
from events.errors import TableError
from events.log.reader import reading
from events.types import LogAdopted, LoginsNoted, decode_data, decode_envelope

__all__ = ["VerifiedLogins", "verify_logins"]

_TYPES = tuple(f'"type":"{kind.TYPE}"'.encode() for kind in (LogAdopted, LoginsNoted))


class VerifiedLogins(NamedTuple):
    """What is known of a record.

    Args:
        entries: those up to the first bad line.
        head: the hash after them.
        says: what holds, or what does not, in one line.
        fault: whether something does not hold.
    """

    entries: tuple[RecordEntry, ...]
    head: bytes
    says: str
    fault: bool


def verify_logins(config: TableConfig, path: Path) -> VerifiedLogins:
    """Verify the record at `path`.

    What it lacks is lost, also where a file next to it has it, whose name begins with the record's:
    such a file is named.

    Raises:
        OSError: a file cannot be read.
    """
    found = read_record(path, config.origin)
    says, fault = _compared(config, path)
    if found.first_bad is not None:
        says, fault = f"line {found.first_bad} does not follow from those before it", True
    return VerifiedLogins(found.entries, found.chain[-1], says, fault)


def _compared(config: TableConfig, path: Path) -> tuple[str, bool]:
    if not config.log_path.exists():
        return "not compared, the table's log is not on this machine", False
    try:
        noted = list(_noted(config.log_path))
    except TableError as error:
        return f"not compared, the table's log cannot be read: {error}", True
    # Read again after the notes, so that an entry that was noted meanwhile is not missed.
    chain = read_record(path, config.origin).chain
    lost = [(at, each) for at, each in noted if not _has(chain, each)]
    if not lost:
        return f"the table's log agrees, {len(noted)} times", False
    at, first = lost[0]
    told = f"cut off or written again before entry {first.entries}, which the log has at {at}"
    beside = [each for each in path.parent.glob(f"{escape(path.name)}?*") if each.is_file()]
    having = [each.name for each in beside if _has(read_record(each, config.origin).chain, first)]
    return f"{told}; the entry is in {', '.join(sorted(having))}" if having else told, True


def _has(chain: Sequence[bytes], noted: LoginsNoted) -> bool:
    return noted.entries < len(chain) and chain[noted.entries].hex() == noted.chain


def _noted(log: Path) -> Iterator[tuple[int, LoginsNoted]]:
    """Yield the notes since a person last adopted the log, each with its position."""
    noted = list[tuple[int, LoginsNoted]]()
    with reading(log) as reader:
        for position, stored, _ in reader.bare():
            if any(each in stored for each in _TYPES):
                event = decode_data(decode_envelope(stored))
                if isinstance(event, LoginsNoted):
                    noted.append((position, event))
                elif isinstance(event, LogAdopted) and event.by:
                    noted.clear()
    yield from noted
