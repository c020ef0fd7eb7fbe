"""Signed checkpoints of the log: made after money has moved, stored in the log, published.

A checkpoint is due after every event by which money or chips move, after the end of a shoe, and
some time after other events. The table makes the checkpoint after it has sent the settlement, so
that the money never waits for its own signature. The checkpoint covers every event until then. The
table makes it at the latest before money moves again. So a kill leaves the money of at most one
transaction unsigned; the next start signs it.

The first signer is the key in force. Where another key signed the log's newest checkpoint first, an
event announces the new key. Where the old key is still available, it signs once next to the new
one. So a holder of the old public key can trust the new one. Pure.
"""

from contextlib import suppress
from typing import Final, NamedTuple

from events.errors import LogUnwritable
from events.mqtt.process import LogLine, Now, Publish, Signal, Steps, Wait
from events.proof.checkpoint import Checkpoint, parse_checkpoint, signed_checkpoint
from events.proof.merkle import MerkleTree
from events.proof.note import SigningKey, signed_by
from table_core.process.log_effects import (
    DescribeLog,
    FindEvent,
    ReadCheckpoint,
    StoreCheckpoint,
)
from table_core.process.table_writer import LANDMARKS, TableWriter

__all__ = ["CheckpointKeys", "Checkpoints"]

# Seconds: events in quick succession share a checkpoint, and the settlement is sent first.
_GATHER_S: Final = 0.01
# Between two attempts, where the disk or the broker did not take a checkpoint.
_AGAIN_S: Final = 1.0
_MICROSECONDS: Final = 1_000_000


class CheckpointKeys(NamedTuple):
    """The keys that sign checkpoints, and the interval.

    Args:
        signing: the key in force from now on.
        retiring: the key in force until now, where it is still available.
        every_s: how long events without money wait for a checkpoint, seconds.
    """

    signing: SigningKey
    retiring: SigningKey | None
    every_s: int


class Checkpoints:
    """Makes, stores and publishes checkpoints.

    Args:
        writer: announces a new key in the log.
        keys: to sign with.

    Attributes:
        newest: the newest checkpoint; None before the first.
    """

    def __init__(self, writer: TableWriter, keys: CheckpointKeys) -> None:
        self._writer = writer
        self._keys = keys
        self._every_us = keys.every_s * _MICROSECONDS
        self._kick = Signal(is_set=True)
        self._size = self._looked = 0
        self.newest: bytes | None = None
        self._published: bytes | None = None
        self._made_us = 0
        self._refused = False
        self._next: SigningKey | None = None

    def start(self) -> Steps[None]:
        """Sign what a kill left; announce the key, if it is a new one, and sign by it.

        A log that the table has yet to vouch for is adopted first, and signed at once.

        Raises:
            LogUnwritable: the announcement or the first checkpoint could not be stored.
        """
        yield from self.sign_left()
        signing, retiring = self._keys.signing, self._keys.retiring
        adopts = self._writer.fault is None and (yield from DescribeLog()).adopts
        if adopts:
            yield from self._writer.adopt_log()
            yield from LogLine("warning", "log.adopted", {"events": self._writer.state.position})
        if self._writer.fault is None and not self._in_force(signing):
            yield from self._announce(signing, retiring)
        elif adopts:
            yield from self._make((signing,))
        self._writer.before_money = self.sign_before_money

    def sign_left(self) -> Steps[None]:
        """Sign what a kill left, by a key in force, before a start appends anything far from it.

        Raises:
            LogUnwritable: the checkpoint could not be stored.
        """
        self._size, self.newest = (yield from ReadCheckpoint()) or (0, None)
        self._looked = self._size
        self._made_us = (yield from Now()).mono_us
        if (yield from DescribeLog()).adopts:
            return
        for key in (self._keys.signing, self._keys.retiring):
            if key is not None and self._in_force(key) and (yield from self._due()):
                yield from self._make((key,))

    def follow(self, key: SigningKey) -> None:
        """Sign by another key from the next look on; the key until now signs once next to it."""
        self._next = key
        self._kick.set()

    def kick(self, *, again: bool = False) -> None:
        """Look soon: events came; or, `again`, the broker may have lost the newest checkpoint."""
        if again:
            self._published = None
        self._kick.set()

    def look(self) -> Steps[None]:
        """Make a checkpoint if one is due, or another key follows.

        Raises:
            LogUnwritable: the checkpoint could not be stored; it stays due.
        """
        if self._next is not None and self._writer.fault is None:
            if not self._in_force(self._next):
                yield from self._announce(self._next, self._keys.signing)
            self._keys, self._next = self._keys._replace(signing=self._next), None
        if (yield from self._due()):
            yield from self._make((self._keys.signing,))

    def sign_before_money(self) -> Steps[None]:
        """Sign what is due: no second transaction with money, and no closed file, is unsigned.

        Raises:
            LogUnwritable: the checkpoint could not be stored; it stays due.
        """
        if self._writer.fault is None and self._writer.landmark > self._size:
            yield from self._make((self._keys.signing,))

    def make_last(self) -> Steps[None]:
        """Make a checkpoint that is due when the service ends; the next start can make it too."""
        with suppress(LogUnwritable):
            yield from self.look()

    def run(self) -> Steps[None]:
        """Make and publish checkpoints for ever.

        Raises:
            LogUnwritable: the log must be opened again.
        """
        while True:
            yield from Wait(self._rest_s(), self._kick, _GATHER_S)
            self._kick.clear()
            yield from self._try()
            yield from self._offer()

    def _rest_s(self) -> float:
        """Return after how many seconds to look again, where nothing kicks: money always does."""
        owing = self._refused or self.newest is not self._published
        return _AGAIN_S if owing else self._keys.every_s

    def _try(self) -> Steps[None]:
        try:
            yield from self.look()
        except LogUnwritable as error:
            if (yield from DescribeLog()).closed:
                raise
            if not self._refused:
                yield from LogLine("error", "checkpoint.unwritable", {"reason": str(error)})
            self._refused = True
        else:
            self._refused = False

    def _offer(self) -> Steps[None]:
        newest = self.newest
        if newest is None or newest is self._published:
            return
        self._published = newest  # before sending: the broker may disconnect and return meanwhile
        if not (yield from Publish(self._writer.topics.checkpoint, newest, retain=True)):
            self._published = None

    def _due(self) -> Steps[bool]:
        position = self._writer.state.position
        if position == self._size or self._writer.fault is not None:
            return False  # nothing to cover, or a log that must not be signed for
        if (yield from Now()).mono_us - self._made_us >= self._every_us:
            return True
        if (yield from FindEvent(self._looked + 1, LANDMARKS)) is not None:
            return True
        self._looked = position
        return False

    def _announce(self, key: SigningKey, before: SigningKey | None) -> Steps[None]:
        text = str(key.verifier)
        yield from self._writer.announce_key(text)
        handed_over = {"key": text, "handed_over": before is not None}
        yield from LogLine("info", "checkpoint.key", handed_over)
        yield from self._make((key, before) if before else (key,))

    def _make(self, signers: tuple[SigningKey, ...]) -> Steps[None]:
        tail = yield from DescribeLog()
        root = MerkleTree(tail.position, tail.peaks).root()
        made = signed_checkpoint(Checkpoint(tail.origin, tail.position, root), signers)
        yield from StoreCheckpoint(made)
        self._size = self._looked = tail.position
        self.newest = made
        self._made_us = (yield from Now()).mono_us

    def _in_force(self, key: SigningKey) -> bool:
        """Return whether the newest checkpoint was signed by `key`, and first by it."""
        if self.newest is None:
            return False
        _, note = parse_checkpoint(self.newest)
        first = note._replace(signatures=note.signatures[:1])
        return bool(signed_by(first, (key.verifier,)))
