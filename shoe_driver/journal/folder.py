"""A driver's folder: its journals, the lock against a second driver, and two small counters.

lock                   held by the running driver; says which process that is
session                how often a driver was started here (births and Wills carry it)
<journal>.journal      raw journals; the one with the highest number is the newest
<journal>.0002.journal ... which go on in further files
<journal>.acked        hint: what the core has acknowledged; stale is harmless, it is resent
<journal>.journal.torn-<byte>   an unfinished tail that was cut off
profiles/<SHA-256>.toml         every edition of a wire profile that a journal was read by
hold                   put there by a person: as long as it is there, nothing is ever dropped
"""

import fcntl
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from events.clock import Clock, rfc3339
from events.errors import InputError, LogUnwritable
from events.log.editions import PROFILES, keep_editions
from shoe_driver.journal.files import SUFFIX, Journal, write_durably
from shoe_driver.records import Carried

__all__ = ["JournalFolder"]

_NAME: Final = re.compile(r"(?P<journal>j\d{8}t\d{6}-(?P<number>\d+))(?:\.(?P<segment>\d+))?")
_HOLD: Final = "hold"


class JournalFolder:
    """The folder, made where there is none, and locked until `close`.

    Args:
        path: the folder.

    Raises:
        InputError: it cannot be used, or another driver uses it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
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
        """Unlock."""
        os.close(self._lock)

    def next_session(self) -> int:
        """One more than at the last start, durably."""
        session = self._number("session") + 1
        try:
            write_durably(self.path / "session", b"%d\n" % session)
        except OSError as error:
            raise InputError(f"journal folder {self.path}: {error.strerror}") from error
        return session

    def newest(self) -> list[Path]:
        """The newest journal's files, in order; empty where there is none."""
        files = self.files()
        if not files:
            return []
        journal = _parts(files[-1])["journal"]
        return [path for path in files if _parts(path)["journal"] == journal]

    def files(self) -> list[Path]:
        """All journals' files, the oldest first."""
        found = [p for p in self.path.glob(f"*{SUFFIX}") if _NAME.fullmatch(p.stem)]
        return sorted(found, key=_order)

    def knows(self, journal: str) -> bool:
        """Whether it was ever written here: its files may be gone, the note of it stays."""
        return any(path.name.startswith(f"{journal}.") for path in self.path.iterdir())

    @property
    def on_hold(self) -> bool:
        """Whether a person has said that nothing may be dropped."""
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
        """Keep an edition, whole and on the disk: journals that have it may be dropped some day.

        Raises:
            LogUnwritable: the disk refused it.
        """
        try:
            keep_editions(self.path / PROFILES, [profile])
        except OSError as error:
            raise LogUnwritable(
                f"the wire profile cannot be kept in {self.path / PROFILES}: {error.strerror}"
            ) from error

    def begin(self, profile: bytes, clock: Clock, carried: Carried | None = None) -> Journal:
        """A new journal, newer than all others; its id is the time and a number.

        Args:
            profile: the bytes of the wire profile's file.
            clock: gives the time.
            carried: what the journal before it knew of the device, where that holds.

        Raises:
            LogUnwritable: the disk refused it.
        """
        self.keep_profile(profile)
        second = re.sub(r"[-:]", "", rfc3339(clock.utc_ns())[:19]).lower()
        number = max((_order(path)[0] for path in self.files()), default=0) + 1
        return Journal.create(self.path, f"j{second}-{number}", profile, clock, carried)

    def acked(self, journal: str) -> int:
        """What the core had acknowledged of the journal when this was last noted."""
        return self._number(f"{journal}.acked")

    def note_acked(self, journal: str, seq: int) -> None:
        """Note what the core has acknowledged. Only a hint: not forced to disk, may fail.

        In its place, and always as long: some file systems force a file that replaces another to
        the disk (3 ms), and twenty bytes within a sector are written whole or not at all.
        """
        with suppress(OSError):
            note = os.open(self.path / f"{journal}.acked", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC)
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
    """Journal, number and segment of a file's name."""
    match = _NAME.fullmatch(path.stem)
    assert match is not None  # noqa: S101 - only files of such names are listed
    return match.groupdict(default="1")


def _order(path: Path) -> tuple[int, int]:
    parts = _parts(path)
    return int(parts["number"]), int(parts["segment"])
