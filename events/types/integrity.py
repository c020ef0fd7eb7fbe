"""Events about proof: whose key signs the log, and what it vouches for beyond its own events."""

from events.types.table import TableEvent

__all__ = ["CheckpointKeyChanged", "LogAdopted", "LoginsNoted"]


class CheckpointKeyChanged(TableEvent, frozen=True, kw_only=True):
    """From here on checkpoints are signed by this key; the first key of a log is a change as well.

    Args:
        key: the public key, `name+id+key` (`VerifierKey`).
    """

    TYPE = "checkpoint_key_changed"
    key: str


class LogAdopted(TableEvent, frozen=True, kw_only=True):
    """The table vouches from here on for a past that its signatures alone do not prove.

    Args:
        size: how many events there were before this one.
        chain: the hash of the log's chain there, hex.
        by: the person who adopted it; empty where a first start did.
        reason: `first_start`, or the person's reason.
        kept: the signed checkpoint that was kept outside the log and is given up; else empty.
    """

    TYPE = "log_adopted"
    size: int
    chain: str
    by: str = ""
    reason: str
    kept: str = ""


class LoginsNoted(TableEvent, frozen=True, kw_only=True):
    """The record of logins had so many entries, and ended with this hash.

    Args:
        entries: how many there were.
        chain: the hash of the record's chain after the last of them, hex.
    """

    TYPE = "logins_noted"
    entries: int
    chain: str
