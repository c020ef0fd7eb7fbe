"""Checkpoints: signed states of a log, in the form of C2SP tlog-checkpoint. Pure.

The text is three lines: the log's origin, how many events it has, and base64 of the RFC 6962 root
over their stored bytes: https://c2sp.org/tlog-checkpoint. A kept checkpoint and the public key are
enough to detect a log that was cut or rewritten since.

Check a log against its checkpoints: those stored in it, and those kept elsewhere. A checkpoint
binds every event up to its size. So a good checkpoint also vouches for the keys that the log
announces up to there. With one public key you can follow a key rotation both ways, if a checkpoint
signed by a trusted key covers the change; the core has the old key sign it. At each size the log
itself determines the key in force, and only that one counts there: a retired key, which may since
have been stolen, signs nothing newer. A given key that the log never announced belongs to somebody
else, a witness, and counts everywhere.
"""

import re
from base64 import b64encode
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from events.errors import InputError
from events.proof.note import (
    Note,
    SigningKey,
    VerifierKey,
    from_base64,
    parse_note,
    signed_by,
    signed_note,
)

__all__ = [
    "Checkpoint",
    "CheckpointFault",
    "KeptCheckpoint",
    "SignatureReach",
    "VerifiedLog",
    "first_fault",
    "is_bound_to",
    "parse_checkpoint",
    "signature_reach",
    "signed_checkpoint",
]

_ROOT_BYTES: Final = 32
_LINES: Final = 3
# Positions stay within 2^53 - 1, like all integers of ours.
_SIZE: Final = re.compile(r"(0|[1-9][0-9]{0,15})\Z")
# A key of this name may be a table's.
_TABLE: Final = re.compile(r"[a-z0-9_-]+/[a-z0-9_-]+\Z")
# How the name of a later key ends: `<origin>-2` is the second of `<origin>`.
_SUCCESSOR: Final = re.compile(r"-[0-9]+\Z")


class Checkpoint(NamedTuple):
    """The state of a log at one moment.

    Args:
        origin: `<site>/<table>`.
        size: how many events it had.
        root: the RFC 6962 root over their stored bytes.
    """

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> str:
        """The text that is signed."""
        return f"{self.origin}\n{self.size}\n{b64encode(self.root).decode()}\n"


def signed_checkpoint(checkpoint: Checkpoint, keys: Sequence[SigningKey]) -> bytes:
    """Return the checkpoint, signed, in the form that is stored and published."""
    return signed_note(checkpoint.text, keys)


def parse_checkpoint(data: bytes) -> tuple[Checkpoint, Note]:
    """Parse a checkpoint, and the note whose signatures are still to be verified.

    Lines after the third are extensions; they are signed and ignored.

    Raises:
        InputError: it is not a checkpoint; says why.
    """
    note = parse_note(data)
    lines = note.text.removesuffix("\n").split("\n")
    if len(lines) < _LINES or not all(lines):
        raise InputError("no checkpoint: three lines of origin, size and root")
    origin, size, root = lines[:_LINES]
    if not _SIZE.match(size):
        raise InputError(f"no checkpoint: {size[:20]!r} is no size")
    try:
        return Checkpoint(origin, int(size), from_base64(root, _ROOT_BYTES)), note
    except InputError as error:
        raise InputError(f"no checkpoint: the root is {error}") from error


def is_bound_to(key: VerifierKey, origin: str) -> bool:
    """Return whether a key can sign for a log: its name is not that of another table."""
    if key.name == origin or not _TABLE.match(key.name):
        return True
    return key.name.startswith(origin) and bool(_SUCCESSOR.match(key.name[len(origin) :]))


class KeptCheckpoint(NamedTuple):
    """A checkpoint to compare with a log.

    Args:
        where: a name for messages: where it was stored, or its file.
        checkpoint: its content.
        note: the same with its signatures.
    """

    where: str
    checkpoint: Checkpoint
    note: Note


class VerifiedLog(NamedTuple):
    """The log's own data, as verified, to compare with checkpoints.

    Args:
        origin: `<site>/<table>`.
        events: how many there are.
        roots: the RFC 6962 root at each size of a checkpoint, as far as the log goes.
        keys: the keys that it announces, each with the position of the announcement, in order.
    """

    origin: str
    events: int
    roots: Mapping[int, bytes]
    keys: Sequence[tuple[int, VerifierKey]]

    def in_force(self, size: int) -> VerifierKey | None:
        """Return the key in force when the log had `size` events."""
        until = [key for position, key in self.keys if position <= size]
        return until[-1] if until else None

    def agrees(self, checkpoint: Checkpoint) -> bool:
        """Report whether the checkpoint matches this log."""
        root = self.roots.get(checkpoint.size)
        return checkpoint.origin == self.origin and checkpoint.root == root


class CheckpointFault(NamedTuple):
    """A fault, in words for a person, and the first position that nothing vouches for any more."""

    reason: str
    first_bad: int | None


def first_fault(
    log: VerifiedLog, held: Sequence[KeptCheckpoint], given: Collection[VerifierKey]
) -> CheckpointFault | None:
    """Return the first fault; None if the log matches every checkpoint.

    Args:
        log: the log, otherwise verified.
        held: the checkpoints, in the order of checking.
        given: trusted public keys. Without any, the log's own are trusted, and a forger who
            replaced those and every checkpoint goes unnoticed.
    """
    judge = _CheckpointChecker(log, held, given)
    return next((fault for each in held if (fault := judge.fault(each))), None)


class SignatureReach(NamedTuple):
    """How far the signatures on a log reach.

    Args:
        size: the number of events that they cover, 0 for none.
        keys: the public keys that signed, each believed and in force where it did.
    """

    size: int
    keys: tuple[VerifierKey, ...]


def signature_reach(
    log: VerifiedLog, held: Sequence[KeptCheckpoint], given: Collection[VerifierKey]
) -> SignatureReach:
    """Return how far the checkpoints reach that nothing is wrong with; see `first_fault`."""
    judge = _CheckpointChecker(log, held, given)
    good = [each for each in held if judge.fault(each) is None]
    signers = {key for each in good for key in judge.believed_signers(each)}
    size = max((each.checkpoint.size for each in good), default=0)
    return SignatureReach(size, tuple(sorted(signers)))


class _CheckpointChecker:
    def __init__(
        self, log: VerifiedLog, held: Sequence[KeptCheckpoint], given: Collection[VerifierKey]
    ) -> None:
        self._log = log
        announced = frozenset(key for _, key in log.keys)
        bound = frozenset(key for key in given if is_bound_to(key, log.origin))
        self._foreign = bound - announced
        self._elsewhere = frozenset(given) - bound
        self._known = frozenset(given) | announced
        self._signers = {id(each): signed_by(each.note, self._known) for each in held}
        self._believed = bound if given else announced
        self._vouched = self._follow(held)

    def fault(self, held: KeptCheckpoint) -> CheckpointFault | None:
        """Return the fault of the log by this checkpoint, or of the checkpoint."""
        log, checkpoint = self._log, held.checkpoint
        size = checkpoint.size
        if checkpoint.origin != log.origin:
            said = f"{held.where} is a checkpoint of {checkpoint.origin!r}, not of {log.origin!r}"
            return CheckpointFault(said, None)
        if not self._signers[id(held)]:
            return CheckpointFault(f"{held.where} {self._unsigned(held.note)}", None)
        if size > log.events:
            said = f"missing: the log ends at {log.events}, but {held.where} covers {size} events"
            return CheckpointFault(said, log.events + 1)
        if not log.agrees(checkpoint):
            said = f"rewritten: {held.where} gives another root for the first {size} events"
            if self._vouched:
                said += f", of which {self._vouched} are vouched for by another checkpoint"
            return CheckpointFault(said, min(self._vouched, size - 1) + 1 if size else None)
        return self._distrust(held)

    def _unsigned(self, note: Note) -> str:
        known = {(key.name, key.key_id) for key in self._known}
        said = [f"{each.name}+{each.key_id.hex()}" for each in note.signatures]
        for each in note.signatures:
            if (each.name, each.key_id) in known:
                return f"is badly signed: the signature of {each.name} is wrong"
        return (
            f"is signed by {' and '.join(said)}, which this log never announced and nobody gave: "
            "give the public key"
        )

    def _distrust(self, held: KeptCheckpoint) -> CheckpointFault | None:
        size = held.checkpoint.size
        counting = self._counting(held)
        if not counting:
            if others := sorted(key.name for key in self._signers[id(held)] & self._elsewhere):
                said = f"{held.where} is signed by a key of {others[0]}, another table's"
                return CheckpointFault(said, None)
            known = " and ".join(sorted(key.name for key in self._signers[id(held)]))
            said = f"{held.where} is signed by a key of {known} that was not in force at {size}"
            return CheckpointFault(said, None)
        if not counting & self._believed:
            return CheckpointFault(
                f"{held.where} is signed by {min(counting)}, "
                "which no key that was given vouches for",
                None,
            )
        return None

    def believed_signers(self, held: KeptCheckpoint) -> frozenset[VerifierKey]:
        """Return the signers of a good checkpoint that count and are believed."""
        return self._counting(held) & self._believed

    def _counting(self, held: KeptCheckpoint) -> frozenset[VerifierKey]:
        """Return the signers that count at the checkpoint's size."""
        force = self._log.in_force(held.checkpoint.size)
        return self._signers[id(held)] & (self._foreign | ({force} if force else set()))

    def _follow(self, held: Sequence[KeptCheckpoint]) -> int:
        """Trust the keys that trusted keys vouch for; return how many events those vouch for."""
        agreeing = [each for each in held if self._log.agrees(each.checkpoint)]
        vouched = 0
        while True:
            sizes = [
                each.checkpoint.size
                for each in agreeing
                if (self._counting(each) | self._retiring(each)) & self._believed
            ]
            if max(sizes, default=0) <= vouched:
                return vouched
            vouched = max(sizes)
            announced = {key for position, key in self._log.keys if position <= vouched}
            self._believed |= announced

    def _retiring(self, held: KeptCheckpoint) -> frozenset[VerifierKey]:
        """Return the previous key in force, if it has signed together with its successor."""
        size = held.checkpoint.size
        force = self._log.in_force(size)
        until = [key for position, key in self._log.keys if position <= size and key != force]
        signers = self._signers[id(held)]
        return signers & {until[-1]} if until and force in signers else frozenset()
