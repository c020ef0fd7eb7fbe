"""The Merkle tree of RFC 6962, section 2.1, over the stored bytes of a log.

    MTH({})   = SHA-256("")
    MTH({d})  = SHA-256(00 || d)
    MTH(D[n]) = SHA-256(01 || MTH(D[0:k]) || MTH(D[k:n])),  k the largest power of two below n

The tree is grown leaf by leaf and keeps its peaks only: the roots of the perfect subtrees, largest
first, one for each bit that is set in the number of leaves. They are all that the root, and every
later root, needs.
"""

import hashlib
from collections.abc import Iterable
from typing import Final

__all__ = ["Tree", "leaf_hash", "node_hash", "root_of"]

_EMPTY_ROOT: Final = hashlib.sha256(b"").digest()


def leaf_hash(data: bytes) -> bytes:
    """The hash of a leaf: prefix 00, so that no leaf can pass for a node."""
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node: prefix 01."""
    return hashlib.sha256(b"\x01" + left + right).digest()


class Tree:
    """A tree that grows; O(log n) memory.

    Args:
        size: how many leaves it holds already.
        peaks: the roots of its perfect subtrees, largest first.

    Raises:
        ValueError: there is not one peak for each bit set in `size`.
    """

    def __init__(self, size: int = 0, peaks: Iterable[bytes] = ()) -> None:
        self._size = size
        self._peaks = list(peaks)
        if size < 0 or len(self._peaks) != size.bit_count():
            raise ValueError(f"{len(self._peaks)} peaks do not make a tree of {size} leaves")

    @property
    def size(self) -> int:
        """How many leaves there are."""
        return self._size

    @property
    def peaks(self) -> tuple[bytes, ...]:
        """The roots of the perfect subtrees, largest first."""
        return tuple(self._peaks)

    def add(self, data: bytes) -> None:
        """Add a leaf behind the others."""
        peak = leaf_hash(data)
        # Adding one to the size carries over its trailing ones: each carry joins two equal peaks.
        carry = self._size
        while carry & 1:
            peak = node_hash(self._peaks.pop(), peak)
            carry >>= 1
        self._peaks.append(peak)
        self._size += 1

    def root(self) -> bytes:
        """The Merkle tree hash of all leaves so far."""
        if not self._peaks:
            return _EMPTY_ROOT
        *larger, root = self._peaks
        for peak in reversed(larger):
            root = node_hash(peak, root)
        return root


def root_of(leaves: Iterable[bytes]) -> bytes:
    """The Merkle tree hash of `leaves`."""
    tree = Tree()
    for leaf in leaves:
        tree.add(leaf)
    return tree.root()
