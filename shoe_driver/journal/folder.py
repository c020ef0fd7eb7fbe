"""A driver's folder: its journals, the lock against a second driver, and two small counters.

lock                   held by the running driver; contains its process id
session                how often a driver was started here (births and Wills carry it)
<journal>.journal      raw journals; the one with the highest number is the newest
<journal>.0002.journal ... and their further segments
<journal>.acked        hint: the acknowledged number; a stale one only causes a resend
<journal>.journal.torn-<byte>   an unfinished tail that was cut off
profiles/<SHA-256>.toml         every edition of a wire profile that a journal was decoded with
hold                   made by a person: while it exists, nothing is ever dropped
"""

import fcntl
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from events.clock import Clock, rfc3339
from events.errors import InputError, LogUnwritable
from events.log.disk import PRIVATE_FILE, PRIVATE_FOLDER, write_durably
from events.log.editions import PROFILES, write_editions
from shoe_driver.journal.files import SUFFIX, Journal
from shoe_driver.journal.records import JournalState

__all__ = ["JournalFolder"]

_NAME: Final = re.compile(
    r"(?P<journal>j\d{8}t\d{6}-(?P<number>\d+))(?:\.(?P<segment>\d+))?", re.ASCII
)
_HOLD: Final = "hold"


class JournalFolder:
    """The folder, made if it does not exist, and locked until `close`.

    Args:
        path: the folder.

    Raises:
        InputError: it cannot be used, or another driver uses it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
            self._lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
        except OSError as error:
            raise InputError(f"journal folder {path}: {error.strerror}") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(self._lock, 32).decode(errors="replace").strip() or "unknown"
            os.close(self._lock)
            raise InputError(
                f"journal folder {path} is in use by another driver (process {holder})"
            ) from error
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, b"%d\n" % os.getpid(), 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the lock."""
        os.close(self._lock)

    def next_session(self) -> int:
        """Return a session number, one higher than at the last start, and store it durably."""
        session = self._number("session") + 1
        try:
            write_durably(self.path / "session", b"%d\n" % session)
        except OSError as error:
            raise InputError(f"journal folder {self.path}: {error.strerror}") from error
        return session

    def newest(self) -> list[Path]:
        """Return the newest journal's files, in order; empty if there is none."""
        files = self.files()
        if not files:
            return []
        journal = _parts(files[-1])["journal"]
        return [path for path in files if _parts(path)["journal"] == journal]

    def files(self) -> list[Path]:
        """Return all journals' files, the oldest first."""
        found = [p for p in self.path.glob(f"*{SUFFIX}") if _NAME.fullmatch(p.stem)]
        return sorted(found, key=_order)

    def knows(self, journal: str) -> bool:
        """Report whether a journal was ever written here; its note outlives its files."""
        return any(path.name.startswith(f"{journal}.") for path in self.path.iterdir())

    @property
    def on_hold(self) -> bool:
        """Whether a person has forbidden to drop anything."""
        return (self.path / _HOLD).exists()

    def drop(self, path: Path) -> None:
        """Remove a journal's file, and the torn tail that was cut off it.

        Raises:
            OSError: the disk refused it.
        """
        for beside in self.path.glob(f"{path.name}.torn-*"):
            beside.unlink()
        path.unlink()

    def keep_profile(self, profile: bytes) -> None:
        """Store an edition of a profile durably, since the journals that contain it may be dropped.

        Raises:
            LogUnwritable: the disk refused it.
        """
        try:
            write_editions(self.path / PROFILES, [profile])
        except OSError as error:
            raise LogUnwritable(
                f"the wire profile cannot be kept in {self.path / PROFILES}: {error.strerror}"
            ) from error

    def begin(self, profile: bytes, clock: Clock, carried: JournalState | None = None) -> Journal:
        """Begin a new journal, newer than all others; its id is the time and a number.

        Args:
            profile: the bytes of the wire profile's file.
            clock: gives the time.
            carried: the device's state from the journal before, if it is still valid.

        Raises:
            LogUnwritable: the disk refused it.
        """
        self.keep_profile(profile)
        second = re.sub(r"[-:]", "", rfc3339(clock.utc_ns())[:19]).lower()
        number = max((_order(path)[0] for path in self.files()), default=0) + 1
        return Journal.create(self.path, f"j{second}-{number}", profile, clock, carried)

    def acked(self, journal: str) -> int:
        """Return the number that the core had acknowledged in the journal at the last note."""
        return self._number(f"{journal}.acked")

    def note_acked(self, journal: str, seq: int) -> None:
        """Note the acknowledged number. Only a hint: not forced to disk, and it may fail.

        It is written in place, always at the same length. Some file systems force a file that
        replaces another to the disk (3 ms), and twenty bytes within a sector are written whole or
        not at all.
        """
        with suppress(OSError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC
            note = os.open(self.path / f"{journal}.acked", flags, PRIVATE_FILE)
            try:
                os.pwrite(note, b"%019d\n" % seq, 0)
            finally:
                os.close(note)

    def _number(self, name: str) -> int:
        try:
            return int((self.path / name).read_bytes())
        except (OSError, ValueError):
            return 0


def _parts(path: Path) -> dict[str, str]:
    """Parse journal, number and segment from a file's name."""
    match = _NAME.fullmatch(path.stem)
    assert match is not None  # noqa: S101 - only files of such names are listed
    return match.groupdict(default="1")


def _order(path: Path) -> tuple[int, int]:
    parts = _parts(path)
    return int(parts["number"]), int(parts["segment"])
