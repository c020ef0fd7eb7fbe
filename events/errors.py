"""The exceptions of the product, as one tree.

    TableError                    everything this product raises on purpose
     +-- InputError               bad input from a person or a program: one line, exit code 2
     |    +-- ConfigError         ... in a configuration or a rulebook file
     |    +-- MalformedJson       ... in a message or a file that another program wrote
     +-- LogError                 the event log cannot be used as it is
     |    +-- LogRefused          newer, broken, gapped or foreign: the file stays unchanged
     |    +-- LogConflict         append expected another position: there is a second writer
     |    +-- UnreadableEvent     stored bytes that this build must refuse
     |    +-- LogUnwritable       disk full, read-only, I/O error: nothing was stored
     +-- LedgerError              the cage's ledger cannot be used, or contradicts the log
     |    +-- LedgerUnavailable   its database does not answer: nothing was booked
     +-- ArchiveError             the property's archive cannot be used as it is
     |    +-- ArchiveUnavailable  its database does not answer: nothing was stored
     +-- BusError                 the broker refused a request
     +-- LinkError                the shoe link cannot be opened or has been lost
     +-- OurBug                   our own code has broken one of its promises

Refusals of commands are values (`events.commands.base.Refusal`), not exceptions.
"""

__all__ = [
    "ArchiveError",
    "ArchiveUnavailable",
    "BusError",
    "ConfigError",
    "InputError",
    "LedgerError",
    "LedgerUnavailable",
    "LinkError",
    "LogConflict",
    "LogError",
    "LogRefused",
    "LogUnwritable",
    "MalformedJson",
    "OurBug",
    "TableError",
    "UnreadableEvent",
]


class TableError(Exception):
    """The root of everything this product raises on purpose; `str()` is one line for a person."""


class InputError(TableError):
    """Bad input from a person or a program; names what is wrong, where, and what would be right."""


class ConfigError(InputError):
    """A configuration or rulebook file is wrong; names the file, the key and the reason."""


class MalformedJson(InputError):  # noqa: N818 - named for what it is
    """Bytes that are not JSON, or not JSON of the wanted type; the text is the decoder's."""


class LogError(TableError):
    """The event log cannot be used as it is."""


class LogRefused(LogError):  # noqa: N818 - a refusal, in the field's word
    """The file is not a log that this build may open. The file was left unchanged.

    Args:
        reason: one line for a person.
        position: the first bad position, or None where the whole file is meant.
    """

    def __init__(self, reason: str, position: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position


class LogConflict(LogError):  # noqa: N818 - named for what happened
    """Append expected another position: there is a second writer, so this one must stop."""

    def __init__(self, expected: int, actual: int) -> None:
        super().__init__(f"append expected position {expected}, but the log stands at {actual}")
        self.expected = expected
        self.actual = actual


class UnreadableEvent(LogError):  # noqa: N818 - named for what it is
    """Stored bytes that this build must refuse: damaged, unknown, or newer than this build."""


class LogUnwritable(LogError):  # noqa: N818 - named for what happened
    """The disk refused the append: nothing was stored and nothing may be acknowledged."""


class LedgerError(TableError):
    """The cage's ledger cannot be used as it is, or the log has an event that it cannot book."""


class LedgerUnavailable(LedgerError):  # noqa: N818 - named for what happened
    """The ledger's database does not answer: nothing was booked and nothing may be acknowledged."""


class ArchiveError(TableError):
    """The property's archive cannot be used as it is, or another writer changes our rows."""


class ArchiveUnavailable(ArchiveError):  # noqa: N818 - named for what happened
    """The archive's database does not answer: nothing was stored, nothing may be acknowledged."""


class BusError(TableError):
    """The broker refused a connection, a subscription or a publication."""


class LinkError(TableError):
    """The shoe link cannot be opened, or has been lost."""


class OurBug(TableError):  # noqa: N818 - not an error of the input
    """Our own code has broken one of its promises. Stop, and keep the evidence."""
