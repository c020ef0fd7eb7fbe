"""The event about the log's own proof: the key that signs its checkpoints has changed."""

from events.types.table import TableEvent

__all__ = ["CheckpointKeyChanged"]


class CheckpointKeyChanged(TableEvent, frozen=True, kw_only=True):
    """From here on checkpoints are signed by this key; the first key of a log is a change as well.

    Args:
        key: the public key, `name+id+key` (`VerifierKey`).
    """

    TYPE = "checkpoint_key_changed"
    key: str
