"""A log as its witness observes it: checks each event and judges each checkpoint. Pure.

The witness accepts events in order, each by its chain hash. It keeps the peaks of the Merkle tree
at the newest cosigned checkpoint, and the leaf hashes since. A checkpoint follows the events that
it covers, so the witness can compute its root from these.

The witness cosigns a checkpoint if a trusted key has signed it, if it is not older than the newest
cosigned one, and if its root matches the observed bytes. It therefore refuses a log that was
rewritten and signed again, even by the log's own key.

What was seen after the newest cosigned checkpoint may be another's, who has the table's password.
Where a trusted key's checkpoint contradicts it, and a person asks for it, the witness gives it up
and reads the hub again from what was cosigned. What was cosigned never gives way.

Trusted keys are those given by a person, and the one that signed the newest cosigned checkpoint. If
the log has announced a key, that key must have signed, and a trusted key as well: the table has the
old key sign the change.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from events.errors import InputError, UnreadableEvent
from events.proof.chain import origin_hash
from events.proof.checkpoint import Checkpoint, parse_checkpoint
from events.proof.merkle import MerkleTree, leaf_hash
from events.proof.note import Note, VerifierKey, parse_verifier_key, signed_by
from events.types import CheckpointKeyChanged, decode_entry
from property.hub.replicated_event import Head, HeadRelation, ReplicatedEvent, relation_to_head
from property.hub.subjects import continued_origin

__all__ = [
    "LEAVES_MOST",
    "AcceptedCheckpoint",
    "AnnouncedKey",
    "ObservedLog",
    "ObservedLogState",
    "WitnessRefusal",
]

# Leaves kept after the newest cosigned checkpoint: a week of a table that signs nothing. Beyond
# that the oldest merge into the peaks, and the witness cannot judge a checkpoint of their sizes.
LEAVES_MOST: Final = 65_536
# An event that announces a key contains this; the witness does not decode other events.
_ANNOUNCES: Final = CheckpointKeyChanged.TYPE.encode()


class WitnessRefusal(NamedTuple):
    """The refusal of an event or a checkpoint.

    Args:
        code: see `docs/property/witness.md`.
        text: one line for a person.
        position: the event's, or the checkpoint's size; 0 if there is none.
    """

    code: str
    text: str
    position: int = 0


class AnnouncedKey(NamedTuple):
    """A key that the log has announced, and the position of its announcement."""

    position: int
    key: VerifierKey


class AcceptedCheckpoint(NamedTuple):
    """A checkpoint to cosign.

    Args:
        checkpoint: its content.
        note: the checkpoint with its signatures.
        signer: the key by which it was accepted.
    """

    checkpoint: Checkpoint
    note: Note
    signer: VerifierKey


class ObservedLogState(NamedTuple):
    """The state of a log that the book keeps between two runs.

    Args:
        head: the chain's hash at the newest event; empty after events were given up.
        tree: the tree at the newest cosigned checkpoint, or at an earlier size.
        leaves: the leaf hashes after the tree, up to the head.
        announced: keys that the log has announced, in order.
        newest: the newest cosigned checkpoint, or None.
        signer: the key that signed it, or None.
    """

    head: bytes
    tree: MerkleTree
    leaves: tuple[bytes, ...] = ()
    announced: tuple[AnnouncedKey, ...] = ()
    newest: Checkpoint | None = None
    signer: VerifierKey | None = None


class ObservedLog:
    """One log that a witness observes.

    Args:
        origin: `<site>/<table>`.
        given: public keys of the log, given by a person.
        memory: the state from an earlier run; None at the first.

    Attributes:
        origin: `<site>/<table>`.
        announced: keys that the log has announced, in order.
        newest: the newest cosigned checkpoint, or None.
        head: the chain's hash at the newest event.
        tree: the stored tree: at the newest cosigned checkpoint, or at an earlier size.
        contested: whether another event was refused in the place of one since then.
    """

    def __init__(
        self, origin: str, given: Iterable[VerifierKey], memory: ObservedLogState | None = None
    ) -> None:
        known = memory or ObservedLogState(origin_hash(origin), MerkleTree())
        self.origin = origin
        self.announced = list(known.announced)
        self.newest = known.newest
        self._given = frozenset(given)
        self._signer = known.signer
        self.head = known.head
        self.tree = MerkleTree(known.tree.size, known.tree.peaks)
        self._leaves = list(known.leaves)
        self.contested = False

    @property
    def position(self) -> int:
        """The newest event's position."""
        return self.tree.size + len(self._leaves)

    def hear(self, carried: ReplicatedEvent) -> bytes | WitnessRefusal | None:
        """Add the next event.

        Returns:
            The leaf hash of an accepted event; None for a duplicate; else the refusal, which
            changes nothing.
        """
        position, stored = carried.position, carried.stored
        verdict = self._relation(carried)
        if verdict is HeadRelation.GAP:
            missing = self.position + 1  # names a whole run of missing events
            return WitnessRefusal("gap", f"after {self.position} comes {position}", missing)
        self.contested |= position > self.tree.size and verdict is HeadRelation.FORGED
        if verdict is HeadRelation.FORGED:
            said = f"event {position} does not follow: its hash is not that of the chain so far"
            return WitnessRefusal("forged", said, position)
        if verdict is not HeadRelation.NEXT:
            return self._again(position, stored, forks=verdict is HeadRelation.FORK)
        leaf = leaf_hash(stored)
        self._leaves.append(leaf)
        self.head = carried.hash
        if _ANNOUNCES in stored:
            self._record_key(position, stored)
        return leaf

    def _relation(self, carried: ReplicatedEvent) -> HeadRelation:
        if self.position == 0 and carried.position == 1:
            return relation_to_head(Head.beginning_of(carried), carried)
        if self.head:
            return relation_to_head(Head(self.position, self.head), carried)
        # After events were given up: the next checkpoint's root tells whether these are right.
        if carried.position == self.position + 1:
            return HeadRelation.NEXT
        behind = carried.position <= self.position
        return HeadRelation.DUPLICATE if behind else HeadRelation.GAP

    def contradicted_by(self, data: bytes) -> bool:
        """Return whether a trusted key's checkpoint contradicts what was seen since the newest one.

        It does by another root for what was seen, and by covering more than was seen where events
        were refused in its place.
        """
        try:
            checkpoint, note = parse_checkpoint(data)
        except InputError:
            return False
        size = checkpoint.size
        ours = checkpoint.origin in {self.origin, continued_origin(self.origin)}
        if not ours or size <= self.tree.size or not signed_by(note, self._given | self._last()):
            return False
        return self.contested if size > self.position else self._root(size) != checkpoint.root

    def give_way(self) -> bytes:
        """Give up what was seen after the newest cosigned checkpoint; return its leaf hashes."""
        given_up = b"".join(self._leaves)
        self._leaves.clear()
        self.contested = False
        self.announced = [each for each in self.announced if each.position <= self.tree.size]
        self.head = b"" if self.tree.size else origin_hash(self.origin)
        return given_up

    def merge_oldest_leaves(self) -> bool:
        """Merge the oldest leaves into the peaks if there are too many; return whether it did."""
        if len(self._leaves) <= LEAVES_MOST:
            return False
        self._advance_tree(self.tree.size + LEAVES_MOST // 2)
        return True

    def judge(self, data: bytes) -> AcceptedCheckpoint | WitnessRefusal | None:
        """Judge a checkpoint.

        Returns:
            The checkpoint to cosign; the refusal; or None if its events are still missing or it was
            cosigned before.
        """
        try:
            checkpoint, note = parse_checkpoint(data)
        except InputError as error:
            return WitnessRefusal("no_checkpoint", str(error))
        return self._judge(checkpoint, note)

    def _judge(
        self, checkpoint: Checkpoint, note: Note
    ) -> AcceptedCheckpoint | WitnessRefusal | None:
        size = checkpoint.size
        if checkpoint.origin not in {self.origin, continued_origin(self.origin)}:
            said = f"a checkpoint of {checkpoint.origin!r} among those of {self.origin!r}"
            return WitnessRefusal("foreign_origin", said, size)
        known = self._given | {each.key for each in self.announced} | self._last()
        signers = signed_by(note, known)
        if not signers:
            return _unsigned(note, known, size)
        older = self._older(checkpoint)
        if older is not None or size == self._cosigned or size > self.position:
            return older
        signer = self._counting(size, signers)
        if isinstance(signer, WitnessRefusal):
            return signer
        if self._root(size) != checkpoint.root:
            said = f"another root for the first {size} events than that of the bytes seen here"
            return WitnessRefusal("rewritten", said, size)
        return AcceptedCheckpoint(checkpoint, note, signer)

    def ahead(self, data: bytes) -> bool:
        """Return whether a checkpoint, for which `judge` returned None, waits for its events."""
        return parse_checkpoint(data)[0].size > self.position

    def keep(self, fit: AcceptedCheckpoint) -> None:
        """Record that the checkpoint was cosigned, and is the newest from now on."""
        self._advance_tree(fit.checkpoint.size)
        self.contested = False
        self.newest = fit.checkpoint
        self._signer = fit.signer

    @property
    def _cosigned(self) -> int:
        return self.newest.size if self.newest else -1

    def _last(self) -> frozenset[VerifierKey]:
        return frozenset({self._signer} if self._signer else ())

    def _again(self, position: int, stored: bytes, *, forks: bool) -> WitnessRefusal | None:
        at = position - 1 - self.tree.size
        if forks or (at >= 0 and self._leaves[at] != leaf_hash(stored)):
            self.contested |= position > self.tree.size
            said = f"event {position} is another than the one that was seen at {position} before"
            return WitnessRefusal("fork", said, position)
        return None

    def _record_key(self, position: int, stored: bytes) -> None:
        try:
            event = decode_entry(stored).data
            if isinstance(event, CheckpointKeyChanged):
                self.announced.append(AnnouncedKey(position, parse_verifier_key(event.key)))
        except (UnreadableEvent, InputError):
            return  # a newer build's event, or no key: its checkpoints then fail by their key

    def _older(self, checkpoint: Checkpoint) -> WitnessRefusal | None:
        newest, size = self.newest, checkpoint.size
        if newest is not None and size == newest.size and checkpoint.root != newest.root:
            return WitnessRefusal(
                "conflicting", f"a second root for {size} events, signed as well", size
            )
        if size < max(self._cosigned, self.tree.size):
            said = f"it covers {size} events, and {max(self._cosigned, self.tree.size)} are behind"
            return WitnessRefusal("older", f"{said} us already", size)
        return None

    def _counting(self, size: int, signers: frozenset[VerifierKey]) -> VerifierKey | WitnessRefusal:
        """Return the signer that counts at that size, or the refusal."""
        until = [each.key for each in self.announced if each.position <= size]
        believed = self._given | self._last()
        force = until[-1] if until else None
        if force is not None and force not in signers:
            said = f"signed by {min(signers).name} with a key that the log has replaced since"
            return WitnessRefusal("retired_key", said, size)
        if not signers & believed:
            said = f"signed by {force or min(signers)}, which nobody vouches for: give the key"
            return WitnessRefusal("unknown_key", said, size)
        return force or min(signers & believed)

    def _root(self, size: int) -> bytes:
        tree = MerkleTree(self.tree.size, self.tree.peaks)
        for leaf in self._leaves[: size - tree.size]:
            tree.add_leaf(leaf)
        return tree.root()

    def _advance_tree(self, size: int) -> None:
        done = size - self.tree.size
        for leaf in self._leaves[:done]:
            self.tree.add_leaf(leaf)
        del self._leaves[:done]


def _unsigned(note: Note, known: Iterable[VerifierKey], size: int) -> WitnessRefusal:
    names = {(key.name, key.key_id) for key in known}
    if any((each.name, each.key_id) in names for each in note.signatures):
        return WitnessRefusal("bad_signature", "the signature of a known key is wrong", size)
    said = " and ".join(f"{each.name}+{each.key_id.hex()}" for each in note.signatures)
    return WitnessRefusal(
        "unknown_key", f"signed by {said}, which is no known key of this log", size
    )
