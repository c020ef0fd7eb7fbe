"""The event that anchors a snapshot at a shoe's end, so that a later start can begin there."""

from events.types.table import TableEvent

__all__ = ["BooksClosed"]


class BooksClosed(TableEvent, frozen=True, kw_only=True):
    """The log and the table as they stood at `size`, the position just before this event.

    The shell appends it behind the end of each shoe. The fold ignores it, but for its position.
    Sealed: burned faces could be guessed and held against the state's hash.

    Args:
        shoe: the last shoe that ended.
        size: how many events there were.
        chain: the chain's hash at `size`, hex.
        peaks: the RFC 6962 peaks of the tree over them, hex, largest first.
        fold: the version of the fold that made the state.
        shape: of the state's types, hex: a state of another shape has other bytes.
        state: SHA-256 of the encoded state at `size`, hex.
    """

    TYPE = "books_closed"
    shoe: str
    size: int
    chain: str
    peaks: tuple[str, ...]
    fold: int
    shape: str
    state: str
