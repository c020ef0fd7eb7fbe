"""Compares every message sent to the broker with the events that were stored by then.

Nothing is sent before it is stored: no event, no settlement, no acknowledgement. A message has
exactly the stored content, without faces that nobody may see yet. Each event is sent at least once,
and each settlement once more as one, which the cage acknowledges. A checkpoint is signed, and is of
this very log. The witness parses the tree and the note by their definitions alone (RFC 6962, 2.1;
docs/reference/log-format.md).
"""

import hashlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from events.commands import Ack
from events.mqtt.topics import Topics
from events.types import ShoeAck, Stored
from simulators.world.auditor.audited_coup import Violation, require

__all__ = ["PublicationWitness"]

_SEALED: Final = frozenset({"shoe_reported", "shoe_audited", "books_closed"})
_SETTLEMENT: Final = "coup_settled"
_DICTS: Final = msgspec.json.Decoder(dict[str, Any])
_ACKS: Final = msgspec.json.Decoder(ShoeAck)
_CAGE_ACKS: Final = msgspec.json.Decoder(Ack)


class PublicationWitness:
    """Receives every message.

    Args:
        topics: the table's.
        public: the 32 bytes of the table's public key.
        appended: returns how many events of a journal are in the log.
        booked: returns the position of the cage's ledger.
    """

    def __init__(
        self,
        topics: Topics,
        public: bytes,
        appended: Callable[[str], int],
        booked: Callable[[], int],
    ) -> None:
        self._origin = f"{topics.site}/{topics.table}"
        self._public = Ed25519PublicKey.from_public_bytes(public)
        self._appended, self._booked = appended, booked
        self._stored: list[Stored] = []
        self._true: dict[bytes, Stored] = {}  # messages that match a stored event
        self._owed: set[int] = set()  # settlements that were not published
        self._untold: set[int] = set()  # events that were not published
        self._paid = self._acknowledged = 0  # the newest settlement; what the cage says it booked
        self._tree = _Tree()
        self._notes: dict[bytes, int] = {}  # checkpoints that were verified, and their sizes
        self._hearers: dict[str, Callable[[bytes], None]] = {
            topics.event: self._event,
            topics.settlement: self._settlement,
            topics.checkpoint: self._checkpoint,
            topics.shoe_ack: self._shoe_ack,
            topics.request("cage", "ack"): self._cage_ack,
        }

    def stored(self, stored: Stored) -> None:
        """Note that the next event is on the disk."""
        require(stored.position == len(self._stored) + 1, "stored at {}", stored.position)
        self._stored.append(stored)
        self._untold.add(stored.position)
        if stored.type not in _SEALED:  # the hash is the last field (docs/reference/topics.md)
            said = b'%b,"hash":"%b"}' % (stored.stored[:-1], stored.hash.hex().encode())
            self._true[said] = stored
        if stored.type == _SETTLEMENT:
            self._owed.add(stored.position)
            self._paid = stored.position

    def check_disk(self, there: Sequence[tuple[object, ...]]) -> None:
        """Check that the disk holds exactly the events that were stored.

        Raises:
            Violation: it holds others.
        """
        require(there == self._stored, "the disk does not hold what was stored")

    def hear(self, topic: str, payload: bytes) -> None:
        """Check a message.

        Raises:
            Violation: it should not have been sent.
        """
        hearer = self._hearers.get(topic)
        if hearer is not None:
            hearer(payload)

    @property
    def lacks(self) -> str:
        """What is not published, signed or acknowledged by now; empty when all is."""
        if self._owed:
            return f"settlements at {sorted(self._owed)} were told to nobody"
        if self._untold:
            return f"events at {sorted(self._untold)[:10]} were told to nobody"
        signed = max(self._notes.values(), default=0)
        if signed < self._paid:
            return f"the settlement at {self._paid} is signed nowhere"
        booked = self._acknowledged >= self._paid
        return "" if booked else f"the cage never acknowledges the settlement at {self._paid}"

    def _checkpoint(self, note: bytes) -> None:
        """Check that it is of this log, and signed by its key."""
        if note in self._notes:
            return
        text, gap, signatures = note.partition(b"\n\n")
        lines = text.decode().split("\n")
        said = f"the checkpoint {lines}"
        require(bool(gap) and len(lines) >= 3 and lines[0] == self._origin, f"{said} is none")  # noqa: PLR2004 - origin, size and root
        size = int(lines[1])
        require(size <= len(self._stored), f"{said} is ahead of the log")
        root = b64encode(self._tree.root(self._stored, size)).decode()
        require(lines[2] == root, f"{said} is of another log: {root}")
        signature = b64decode(signatures.decode().split()[2])[4:]  # after the key's id
        try:
            self._public.verify(signature, text + b"\n")
        except InvalidSignature as error:
            raise Violation(f"{said} is not signed by the table's key") from error
        self._notes[note] = size

    def _event(self, payload: bytes) -> None:
        self._untold.discard(self._hold(payload).position)

    def _settlement(self, payload: bytes) -> None:
        stored = self._hold(payload)
        require(stored.type == _SETTLEMENT, f"{stored.type} at {stored.position} is no settlement")
        self._owed.discard(stored.position)

    def _hold(self, payload: bytes) -> Stored:
        """Return the stored event that the message must equal, followed by the chain's hash."""
        known = self._true.get(payload)
        if known is not None:
            return known
        said: dict[str, Any] = _DICTS.decode(payload)
        position: int = said["position"]
        there = 0 < position <= len(self._stored)
        require(there, "event {} is told before it is stored", position)
        stored = self._stored[position - 1]
        first: dict[str, Any] = _DICTS.decode(stored.stored)
        if stored.type in _SEALED:
            first["data"] = None
            first.pop("salt", None)
        true = first | {"hash": stored.hash.hex()}
        require(said == true, "{!r} was told of {}", payload, stored)
        self._true[payload] = stored
        return stored

    def _shoe_ack(self, payload: bytes) -> None:
        ack = _ACKS.decode(payload)
        there = self._appended(ack.journal)
        if ack.seq > there:
            raise Violation(f"{ack.journal}/{ack.seq} is acknowledged, and the log has {there}")

    def _cage_ack(self, payload: bytes) -> None:
        ack = _CAGE_ACKS.decode(payload)
        booked = self._booked()
        if ack.position > booked:
            raise Violation(f"the cage acknowledges {ack.position}, and has booked {booked}")
        self._acknowledged = max(self._acknowledged, ack.position)


class _Tree:
    """The root over the first so many events; rising sizes continue from the last."""

    def __init__(self) -> None:
        self._size = 0
        self._peaks: list[tuple[int, bytes]] = []  # (leaves, hash), the largest first

    def root(self, stored: Sequence[Stored], size: int) -> bytes:
        if size < self._size:
            return _Tree().root(stored, size)
        for each in stored[self._size : size]:
            leaves, node = 1, hashlib.sha256(b"\x00" + each.stored).digest()
            while self._peaks and self._peaks[-1][0] == leaves:
                node = hashlib.sha256(b"\x01" + self._peaks.pop()[1] + node).digest()
                leaves *= 2
            self._peaks.append((leaves, node))
        self._size = size
        root = self._peaks[-1][1] if self._peaks else hashlib.sha256(b"").digest()
        for _, peak in reversed(self._peaks[:-1]):
            root = hashlib.sha256(b"\x01" + peak + root).digest()
        return root
