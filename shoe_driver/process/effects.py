"""The driver's effects: what it asks of the journals' disk, of the shoe's port, and of chance."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from events.mqtt.process import Effect, Signal
from shoe_driver.journal.records import JournalHeader, JournalState, Record

__all__ = [
    "AckReceived",
    "BeginJournal",
    "BeginSegment",
    "BytesWait",
    "ClosePort",
    "DropFile",
    "JournalFile",
    "JournalNote",
    "JournalSegment",
    "ListFiles",
    "LookUpJournal",
    "NoteAcked",
    "OpenJournal",
    "OpenNewest",
    "OpenPort",
    "ReadJournal",
    "StoreRecords",
    "TakeRead",
    "Uniform",
    "WritePort",
]


# ---- the journals' disk: all wait, unless they say otherwise ----


class OpenJournal(Struct, frozen=True, kw_only=True):
    """A journal that is open for writing: the newest one.

    Args:
        header: its newest file's header.
        file: the name of that file.
        size: bytes in it.
        floor: the number up to which events were in files that have been dropped.
        acked: the number that the core had acknowledged at the last note.
        torn: bytes of an unfinished tail that were moved aside.
    """

    header: JournalHeader
    file: str
    size: int
    floor: int = 0
    acked: int = 0
    torn: int = 0


class JournalSegment(Struct, frozen=True):
    """A journal's next file.

    Args:
        file: its name.
        size: bytes in it.
        state: its record with the journal's state, to be decoded like any other.
    """

    file: str
    size: int
    state: Record


class JournalFile(Struct, frozen=True):
    """A file of any journal.

    Args:
        name: the file's.
        size: bytes.
        written_s: when it was last written, seconds since 1970.
        last: number of its last event in the newest journal; 0 for a file of an older journal,
            None for the file that is being written.
    """

    name: str
    size: int
    written_s: float
    last: int | None


class JournalNote(Struct, frozen=True):
    """What the disk has of a journal.

    Args:
        known: whether it was ever written here.
        acked: the number that the core had acknowledged at the last note.
    """

    known: bool
    acked: int


class OpenNewest(Effect[OpenJournal | None], frozen=True):
    """Open the newest journal; None if there is none.

    Raises LogRefused if it is damaged, and LogUnwritable if it cannot be opened or repaired.
    """


class BeginJournal(Effect[OpenJournal], frozen=True):
    """Begin a journal and open it in place of the one that was open.

    Raises LogUnwritable if the disk refuses it; the old one stays open.

    Args:
        profile: the bytes of the wire profile's file.
        carried: the device's state from the journal before, if it is still valid.
    """

    profile: bytes
    carried: JournalState | None = None


class ReadJournal(Effect[None], frozen=True):
    """Read the open journal. Raises LogRefused if a file is damaged.

    Args:
        after: read all records from which the events above this number are decoded.
        visit: called with each, perhaps in another thread.
    """

    after: int
    visit: Callable[[Record], None]


class StoreRecords(Effect[int], frozen=True):
    """Append records to the open journal; return the bytes in its file.

    When the result comes they are on disk. Raises LogUnwritable if none of them is.
    """

    records: Sequence[Record]


class BeginSegment(Effect[JournalSegment], frozen=True):
    """Begin the open journal's next file. Raises LogUnwritable: the old file goes on."""

    carried: JournalState


class NoteAcked(Effect[None], frozen=True):
    """Note what the core has acknowledged: a hint, which may be lost. Does not wait."""

    journal: str
    seq: int


class LookUpJournal(Effect[JournalNote], frozen=True):
    """Look up what the disk has of a journal. Does not wait."""

    journal: str


class ListFiles(Effect[Sequence[JournalFile]], frozen=True):
    """List the files of all journals, the oldest first; none if a person has put them on hold.

    Raises OSError.
    """


class DropFile(Effect[None], frozen=True):
    """Remove a journal's file, and the torn tail that was cut off it. Raises OSError."""

    name: str


# ---- the port: none waits but its opening ----


class OpenPort(Effect[float], frozen=True):
    """Open the shoe's port; return for how many seconds what comes is old.

    Raises LinkError if it cannot be opened. Waits.

    Args:
        writes: whether it may be written.
        arrived: set whenever bytes have come, or the link is lost.
    """

    writes: bool
    arrived: Signal


class TakeRead(Effect[Sequence[Record]], frozen=True):
    """Take what was read since the last time, stamped with the time of reading.

    Raises LinkError if the link is lost, after everything that came before.
    """


class BytesWait(Effect[bool], frozen=True):
    """Report whether bytes wait that were not taken, or the loss of the link does."""


class WritePort(Effect[None], frozen=True):
    """Write to the device. Raises LinkError if the link is lost, or accepts nothing."""

    data: bytes


class ClosePort(Effect[None], frozen=True):
    """Close the port."""


# ---- and besides: neither waits ----


class Uniform(Effect[float], frozen=True):
    """Draw a number between two others."""

    least: float
    most: float


class AckReceived(Effect[None], frozen=True):
    """Mark the step at which a message of the core has come, and nothing was done with it."""
