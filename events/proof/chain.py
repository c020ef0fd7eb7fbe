"""The hash chain over the stored bytes: whoever holds the newest hash holds the whole past.

    hash_0 = SHA-256(origin)
    hash_n = SHA-256("bac/event/1" || hash_{n-1} || u64 big-endian length of bytes_n || bytes_n)

The length stands before the bytes so that no two histories share an input, and the label keeps
these hashes apart from every other use of SHA-256. Hashes are of what is stored, never of a
re-encoding.
"""

import hashlib
from typing import Final

__all__ = ["HASH_BYTES", "next_hash", "origin_hash"]

HASH_BYTES: Final = 32

# Each event's hash begins with the label: its state is copied, not made anew.
_LABELLED: Final = hashlib.sha256(b"bac/event/1")
_LENGTH_BYTES: Final = 8


def origin_hash(origin: str) -> bytes:
    """The hash before the first event of the log `origin`, `<site>/<table>`."""
    return hashlib.sha256(origin.encode()).digest()


def next_hash(previous: bytes, stored: bytes) -> bytes:
    """The hash of the event whose stored bytes follow the one with the hash `previous`."""
    chained = _LABELLED.copy()
    chained.update(previous + len(stored).to_bytes(_LENGTH_BYTES, "big"))
    chained.update(stored)
    return chained.digest()
