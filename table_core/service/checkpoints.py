"""Signed checkpoints of the log: made when money has moved, kept in the log, told on the bus.

One is due behind every settlement, void and end of a shoe, and when a while has gone by with other
events. It comes after the settlement is on its way and covers all there is by then: the money never
waits for a signature. What a kill cuts off is made at the next start.

The first to sign is the key in force. A log whose newest checkpoint was signed first by another key
has this one announced in an event; and where the old key is still at hand, it signs beside the new
one once, so that whoever holds the old public key can believe the new.
"""

import asyncio
from contextlib import suppress
from typing import Final, NamedTuple

import structlog

from events.clock import Clock
from events.errors import LogUnwritable
from events.log.store import EventLog
from events.proof.checkpoint import Checkpoint, parse_checkpoint, signed_checkpoint
from events.proof.note import SigningKey, signed_by
from events.types.snapshot_anchor import BooksClosed
from events.types.table import CoupSettled, CoupVoided, ShoeEnded
from table_core.service.publishers import Publish
from table_core.service.table_writer import Table

__all__ = ["CheckpointKeys", "Checkpoints"]

_LANDMARKS: Final = frozenset({CoupSettled.TYPE, CoupVoided.TYPE, ShoeEnded.TYPE, BooksClosed.TYPE})
# What comes in the same breath is covered together, and the settlement is sent before, seconds.
_GATHER_S: Final = 0.01
_LOOK_EVERY_S: Final = 1.0
_MICROSECONDS: Final = 1_000_000

_log: Final = structlog.get_logger()


class CheckpointKeys(NamedTuple):
    """What checkpoints are signed with, and how often.

    Args:
        signing: the key in force from now on.
        retiring: the one that was in force until now, where it is still at hand.
        every_s: how long events without money wait for a checkpoint, seconds.
    """

    signing: SigningKey
    retiring: SigningKey | None
    every_s: int


class Checkpoints:
    """Makes, keeps and publishes them.

    Args:
        table: on whose log a new key is announced.
        log: the same log.
        keys: what to sign with.
        clock: tells how long the last one is ago.

    Raises:
        LogUnwritable: the announcement or the first checkpoint could not be stored.
    """

    def __init__(self, table: Table, log: EventLog, keys: CheckpointKeys, clock: Clock) -> None:
        self._table = table
        self._log = log
        self._clock = clock
        self._every_us = keys.every_s * _MICROSECONDS
        self._kick = asyncio.Event()
        self._kick.set()
        self._signers: tuple[SigningKey, ...] = (keys.signing,)
        self._newest: bytes | None
        self._size, self._newest = log.newest_checkpoint() or (0, None)
        self._looked = self._size
        self._published: bytes | None = None
        self._made_us = clock.mono_us()
        self._refused = False
        if table.fault is None and not self._in_force(keys.signing):
            table.announce_key(str(keys.signing.verifier))
            retiring = (keys.retiring,) if keys.retiring else ()
            _log.info("checkpoint.key", key=str(keys.signing.verifier), handed_over=bool(retiring))
            self._make((keys.signing, *retiring))

    @property
    def newest(self) -> bytes | None:
        """The newest checkpoint; None before the first."""
        return self._newest

    def kick(self, *, again: bool = False) -> None:
        """Something was appended; or, `again`, the broker may have lost the newest one."""
        if again:
            self._published = None
        self._kick.set()

    def look(self) -> None:
        """Make one if it is due.

        Raises:
            LogUnwritable: it could not be stored; it stays due.
        """
        if self._due():
            self._make(self._signers)

    async def run(self, publish: Publish) -> None:
        """Make and publish for ever, until cancelled; what is due then is still made.

        Raises:
            LogUnwritable: the log must be opened again.
        """
        try:
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LOOK_EVERY_S):
                        await self._kick.wait()
                self._kick.clear()
                await asyncio.sleep(_GATHER_S)
                self._try()
                await self._offer(publish)
        finally:
            with suppress(LogUnwritable):
                self.look()

    def _try(self) -> None:
        try:
            self.look()
        except LogUnwritable as error:
            if self._log.closed:
                raise
            if not self._refused:
                _log.error("checkpoint.unwritable", reason=str(error))
            self._refused = True
        else:
            self._refused = False

    async def _offer(self, publish: Publish) -> None:
        newest = self._newest
        if newest is None or newest is self._published:
            return
        self._published = newest  # before it is sent: the broker may be lost and back meanwhile
        if not await publish(newest):
            self._published = None

    def _due(self) -> bool:
        if self._log.position == self._size or self._table.fault is not None:
            return False  # nothing to cover, or a log that must not be signed for
        if self._clock.mono_us() - self._made_us >= self._every_us:
            return True
        for stored in self._log.read(self._looked + 1):
            if stored.type in _LANDMARKS:
                return True
            self._looked = stored.position
        return False

    def _make(self, signers: tuple[SigningKey, ...]) -> None:
        size = self._log.position
        made = signed_checkpoint(Checkpoint(self._log.origin, size, self._log.root), signers)
        self._log.keep_checkpoint(made)
        self._size = self._looked = size
        self._newest = made
        self._made_us = self._clock.mono_us()

    def _in_force(self, key: SigningKey) -> bool:
        """Whether the newest checkpoint was signed by `key`, and first by it."""
        if self._newest is None:
            return False
        _, note = parse_checkpoint(self._newest)
        first = note._replace(signatures=note.signatures[:1])
        return bool(signed_by(first, (key.verifier,)))
