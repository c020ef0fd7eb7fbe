"""Events about the log's own proof: whose key signs it, and what it vouches for unsigned."""

from events.types.table import TableEvent

__all__ = ["CheckpointKeyChanged", "LogAdopted"]


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
