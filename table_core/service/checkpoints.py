"""Signed checkpoints of the log: made after money has moved, stored in the log, published.

A checkpoint is due after every settlement, void and end of a shoe, and some time after other
events. It is made once the settlement is on its way, and covers every event until then: the money
never waits for a signature. If a kill prevents one, the next start makes it.

The first signer is the key in force. Where another key signed the log's newest checkpoint first, an
event announces the new key. Where the old key is still available, it signs once next to the new
one. So a holder of the old public key can trust the new one.
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
# Seconds: events in quick succession share a checkpoint, and the settlement is sent first.
_GATHER_S: Final = 0.01
_LOOK_EVERY_S: Final = 1.0
_MICROSECONDS: Final = 1_000_000

_log: Final = structlog.get_logger()


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
        table: announces a new key in the log.
        log: the same log.
        keys: to sign with.
        clock: measures the time since the last checkpoint.

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
        """Look soon: events came; or, `again`, the broker may have lost the newest checkpoint."""
        if again:
            self._published = None
        self._kick.set()

    def look(self) -> None:
        """Make a checkpoint if one is due.

        Raises:
            LogUnwritable: the checkpoint could not be stored; it stays due.
        """
        if self._due():
            self._make(self._signers)

    async def run(self, publish: Publish) -> None:
        """Make and publish checkpoints until cancelled; one that is due then is still made.

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
        self._published = newest  # before sending: the broker may disconnect and return meanwhile
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
        self._log.store_checkpoint(made)
        self._size = self._looked = size
        self._newest = made
        self._made_us = self._clock.mono_us()

    def _in_force(self, key: SigningKey) -> bool:
        """Return whether the newest checkpoint was signed by `key`, and first by it."""
        if self._newest is None:
            return False
        _, note = parse_checkpoint(self._newest)
        first = note._replace(signatures=note.signatures[:1])
        return bool(signed_by(first, (key.verifier,)))
