"""Decides which of a table's archived events give way where two stories are told. Pure.

A checkpoint that the table's own key has signed covers the archive's events if they have its root.
What none covers is provisional: whoever has the table's password can have said it. A person may
accept another history from a position, but never behind what the witness has cosigned: such a log
goes on under a new origin that names the old.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from events.errors import InputError
from events.proof.checkpoint import Checkpoint
from events.proof.merkle import MerkleTree, leaf_hash

__all__ = ["CoveredEvents", "FeedSettlement", "plan_settlement"]


class CoveredEvents:
    """Holds a table's archived events against signed checkpoints, in one pass.

    Args:
        signed: checkpoints whose signatures were verified, by whatever trusted key.
    """

    def __init__(self, signed: Iterable[Checkpoint]) -> None:
        self._roots: dict[int, set[bytes]] = {}
        for each in signed:
            self._roots.setdefault(each.size, set()).add(each.root)
        self._tree = MerkleTree()
        self.covered = 0
        self.contradicted: int | None = None

    def take(self, stored: bytes) -> None:
        """Take the next archived event; the first is the log's first."""
        self._tree.add_leaf(leaf_hash(stored))
        size = self._tree.size
        roots = self._roots.get(size)
        if roots is None:
            return
        if self._tree.root() in roots:
            self.covered = size
        elif self.contradicted is None:
            self.contradicted = size


class FeedSettlement(NamedTuple):
    """How a table's feed is settled.

    Args:
        keep: the archive keeps its events up to this position.
        gives_way: how many later ones give way.
        why: one line for a person.
    """

    keep: int
    gives_way: int
    why: str


_NEW_NAME: Final = "such a log goes on under a new origin: give --as {origin}-r1"


def plan_settlement(
    origin: str, head: int, found: CoveredEvents, cosigned: Sequence[int], since: int | None
) -> FeedSettlement:
    """Return what gives way.

    Args:
        origin: `<site>/<table>`.
        head: the archive's newest position.
        found: the archived events, held against the signed checkpoints.
        cosigned: sizes of checkpoints that the witness has cosigned.
        since: the position from which a person accepts another history; None leaves it to the
            checkpoints.

    Raises:
        InputError: that position is not the archive's, or is behind what was cosigned.
    """
    bound = max(cosigned, default=0)
    if since is None:
        keep = min(head, found.covered)
        if not keep and not found.contradicted:
            said = "no signed checkpoint of this table was found: a person decides, by --from"
            raise InputError(f"{origin}: {said}")
        told = f"the table's own checkpoint of size {keep} covers the archive's events"
        if keep < head:
            told += f"; {keep + 1} to {head} are covered by none, and give way to the log's"
        return FeedSettlement(keep, head - keep, told)
    if not 1 <= since <= head + 1:
        raise InputError(f"--from: the archive has 1 to {head}: {since} is none of the next")
    if since <= bound:
        said = f"--from: {bound} events are cosigned, and can never give way; "
        raise InputError(said + _NEW_NAME.format(origin=origin))
    return FeedSettlement(since - 1, head - since + 1, f"the log's history counts from {since} on")
