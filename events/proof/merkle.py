"""The Merkle tree of RFC 6962, section 2.1, over the stored bytes of a log.

    MTH({})   = SHA-256("")
    MTH({d})  = SHA-256(00 || d)
    MTH(D[n]) = SHA-256(01 || MTH(D[0:k]) || MTH(D[k:n])),  k the largest power of two below n

The tree grows leaf by leaf and keeps its peaks only: the roots of the perfect subtrees, largest
first, one for each bit set in the number of leaves. The root, and every later root, needs no more
than the peaks.

A proof is a list of hashes that leads from one leaf to a root (*inclusion*, 2.1.1). Proofs are
verified as in RFC 9162, section 2.1.3.2, whose trees are the same.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Final

__all__ = [
    "MerkleTree",
    "inclusion_proofs",
    "leaf_hash",
    "node_hash",
    "root_of",
    "verify_inclusion",
]

_EMPTY_ROOT: Final = hashlib.sha256(b"").digest()
# Leaves that wait to join together: one by one takes half as long again.
_AT_ONCE: Final = 256


def leaf_hash(data: bytes) -> bytes:
    """Return the hash of a leaf: prefix 00, so that no leaf can pass for a node."""
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of an inner node: prefix 01."""
    return hashlib.sha256(b"\x01" + left + right).digest()


class MerkleTree:
    """A growing tree in O(log n) memory.

    Args:
        size: how many leaves it holds already.
        peaks: the roots of its perfect subtrees, largest first.

    Attributes:
        size: the number of leaves.

    Raises:
        ValueError: the number of peaks is not the number of bits set in `size`.
    """

    def __init__(self, size: int = 0, peaks: Iterable[bytes] = ()) -> None:
        self.size = size
        self._peaks, self._leaves = list(peaks), list[bytes]()
        if size < 0 or len(self._peaks) != size.bit_count():
            raise ValueError(f"{len(self._peaks)} peaks do not make a tree of {size} leaves")

    @property
    def peaks(self) -> tuple[bytes, ...]:
        """The roots of the perfect subtrees, largest first."""
        return tuple(self._joined())

    def add(self, data: bytes) -> None:
        """Append a leaf."""
        self.add_leaf(leaf_hash(data))

    def add_leaf(self, leaf: bytes) -> None:
        """Append a leaf by its hash from `leaf_hash`."""
        self._leaves.append(leaf)
        self.size += 1
        if len(self._leaves) >= _AT_ONCE:
            self._joined()

    def _joined(self) -> list[bytes]:
        """Return the peaks with the newest leaves, which join in the largest subtrees that fit."""
        peaks, leaves, done = self._peaks, self._leaves, 0
        size = self.size - len(leaves)
        while left := len(leaves) - done:
            height = min(left.bit_length(), (size & -size or left).bit_length()) - 1
            level = leaves[done : done + (1 << height)]
            done += len(level)
            while len(level) > 1:
                level = _level_above(level)
            # Adding to the size carries over its trailing ones; each carry joins two equal peaks.
            peak, carry = level[0], size >> height
            while carry & 1:
                peak = node_hash(peaks.pop(), peak)
                carry >>= 1
            peaks.append(peak)
            size += 1 << height
        leaves.clear()
        return peaks

    def root(self) -> bytes:
        """Return the Merkle tree hash of all leaves so far."""
        if not self.size:
            return _EMPTY_ROOT
        *larger, root = self._joined()
        for peak in reversed(larger):
            root = node_hash(peak, root)
        return root


def root_of(leaves: Iterable[bytes]) -> bytes:
    """Return the Merkle tree hash of `leaves`."""
    tree = MerkleTree()
    for leaf in leaves:
        tree.add(leaf)
    return tree.root()


def inclusion_proofs(
    leaves: Sequence[bytes], indices: Sequence[int]
) -> tuple[tuple[bytes, ...], ...]:
    """Return, for each of `indices` from 0, a proof that its leaf is in the tree of `leaves`.

    Args:
        leaves: the hashes of all leaves from `leaf_hash`; each is used once, however many the
            proofs.
        indices: the leaves to prove.

    Raises:
        ValueError: there is no such leaf.
    """
    if any(not 0 <= index < len(leaves) for index in indices):
        raise ValueError(f"not all of {list(indices)} are leaves of a tree of {len(leaves)}")
    proofs: list[list[bytes]] = [[] for _ in indices]
    level, depth = list(leaves), 0
    while len(level) > 1:
        for index, proof in zip(indices, proofs, strict=True):
            beside = (index >> depth) ^ 1
            if beside < len(level):  # else the node moves up alone, without a sibling here
                proof.append(level[beside])
        level = _level_above(level)
        depth += 1
    return tuple(map(tuple, proofs))


def verify_inclusion(
    leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes
) -> bool:
    """Report whether `proof` leads from the hash `leaf` at `index` to the root of `size` leaves."""
    if not 0 <= index < size:
        return False
    last = size - 1
    for beside in proof:
        if last == 0:
            return False
        if index & 1 or index == last:
            leaf = node_hash(beside, leaf)
            while index and not index & 1:
                index, last = index >> 1, last >> 1
        else:
            leaf = node_hash(leaf, beside)
        index, last = index >> 1, last >> 1
    return last == 0 and leaf == root


def _level_above(level: list[bytes]) -> list[bytes]:
    pairs = zip(level[::2], level[1::2], strict=False)
    # The body of `node_hash`: a call would take longer than the hash.
    above = [hashlib.sha256(b"\x01" + left + right).digest() for left, right in pairs]
    return [*above, level[-1]] if len(level) & 1 else above
