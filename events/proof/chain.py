"""The hash chain over the stored bytes: the newest hash fixes the whole past.

    hash_0 = SHA-256(origin)
    hash_n = SHA-256("bac/event/1" || hash_{n-1} || u64 big-endian length of bytes_n || bytes_n)

The length precedes the bytes so that no two histories share an input. The label separates these
hashes from every other use of SHA-256. Hashes are of the stored bytes, never of a re-encoding.
"""

import hashlib
from typing import Final

__all__ = ["HASH_BYTES", "next_hash", "origin_hash"]

HASH_BYTES: Final = 32

# Each event's hash begins with the label: its state is copied, not computed again.
_LABELLED: Final = hashlib.sha256(b"bac/event/1")
_LENGTH_BYTES: Final = 8


def origin_hash(origin: str) -> bytes:
    """Return the hash before the first event of the log `origin`, `<site>/<table>`."""
    return hashlib.sha256(origin.encode()).digest()


def next_hash(previous: bytes, stored: bytes) -> bytes:
    """Return the hash of the event that follows the one with the hash `previous`."""
    chained = _LABELLED.copy()
    chained.update(previous + len(stored).to_bytes(_LENGTH_BYTES, "big"))
    chained.update(stored)
    return chained.digest()
