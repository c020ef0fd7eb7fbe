"""A table on a log with signed checkpoints, driven by hand; and the proofs' independent oracle."""

import hashlib
import json
import sqlite3
import subprocess
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from msgspec import convert

from events.cards import Hand
from events.commands import CloseBetting, Command, LoadShoe, OpenBetting, PlaceWager, WagerRequest
from events.log.store import EventLog
from events.log.vouching import LogKeys
from events.mqtt.topics import Topics
from events.proof.note import SigningKey
from events.types import AnyReport, DeviceResult, LinkOpen, LinkUp
from table_core.evidence.bundle import Evidence, encode_evidence, seal_evidence
from table_core.process.checkpoints import CheckpointKeys
from table_core.rulebooks.shipped import load_rulebook
from table_core.rules.rulebook import Rulebook
from table_core.service.table import Table
from tests.support.clock import FakeClock
from tests.support.table.coups import NATURAL_NINE, ORDER, SHOE, drawn, shoe_event

ORIGIN = "site/t1"
KEY = SigningKey(ORIGIN, bytes(range(32)))
OTHER_KEY = SigningKey("site/t1-2", bytes(range(1, 33)))
THIRD_KEY = SigningKey(ORIGIN, bytes(range(2, 34)))
ROLES = {name: frozenset({name}) for name in ("dealer", "supervisor", "wagers")}


class SignedTable:
    """A table, its log, and what signs it."""

    def __init__(
        self,
        path: Path,
        *,
        key: SigningKey = KEY,
        retiring: SigningKey | None = None,
        rulebook: str | Rulebook = "au-commission",
        head: Path | None = None,
    ) -> None:
        self.clock = FakeClock()
        own = frozenset(each.verifier for each in (key, retiring) if each)
        self.log = EventLog.open(path, ORIGIN, LogKeys(own, head) if head else None)
        book = load_rulebook(rulebook) if isinstance(rulebook, str) else rulebook
        keys = CheckpointKeys(key, retiring, 300)
        self.table = Table(
            self.log,
            Topics("site", "t1"),
            book,
            self.clock,
            roles=ROLES,
            salt_key=b"signed",
            keys=keys,
            head=head,
        )
        self.checkpoints = self.table.sign_checkpoints(keys)
        self._transactions = self.log.position

    def ask(self, user: str, command: Command) -> None:
        answer = self.table.ask(user, command, caught_up=True)
        assert answer.result == "accepted", answer

    def transaction(self) -> str:
        self._transactions += 1
        return f"t-{self._transactions}"

    def say(self, *reports: AnyReport) -> None:
        for report in reports:
            self.table.hear(shoe_event(self.table.state.link.seq + 1, report))

    def ready(self, shoe: str = SHOE) -> None:
        self.say(LinkOpen(transport="pty:x"), LinkUp())
        self.ask("dealer", LoadShoe(transaction=self.transaction(), shoe=shoe))

    def open(self, *wagers: tuple[int, str, int]) -> None:
        self.ask("dealer", OpenBetting(transaction=self.transaction()))
        asked = tuple(WagerRequest(seat=seat, bet=bet, stake=stake) for seat, bet, stake in wagers)
        if asked:
            self.ask("wagers", PlaceWager(transaction=self.transaction(), wagers=asked))
        self.ask("dealer", CloseBetting(transaction=self.transaction()))

    def deal(self, cards: Sequence[str] = NATURAL_NINE) -> None:
        places = (*ORDER, (Hand.PLAYER, 3), (Hand.BANKER, 3))
        self.say(*(drawn(*place, card) for place, card in zip(places, cards, strict=False)))

    def coup_without_checkpoint(self) -> None:
        """A whole coup: Player wins with a natural nine."""
        if self.table.state.shoe is None:
            self.ready()
        self.open((1, "player", 1000), (2, "banker", 2000), (3, "tie", 500))
        self.deal()
        self.say(DeviceResult(winner="player"))

    def coup_dealt(self) -> None:
        """The rest of a coup whose wagers were placed, and its checkpoint."""
        self.deal()
        self.say(DeviceResult(winner="player"))
        self.table.make_due_checkpoint()

    def coup(self) -> str:
        """The same, and its checkpoint."""
        self.coup_without_checkpoint()
        self.table.make_due_checkpoint()
        assert self.table.state.coup is not None
        return self.table.state.coup.id


@contextmanager
def signed_table(
    path: Path,
    *,
    key: SigningKey = KEY,
    retiring: SigningKey | None = None,
    rulebook: str | Rulebook = "au-commission",
    head: Path | None = None,
) -> Iterator[SignedTable]:
    made = SignedTable(path, key=key, retiring=retiring, rulebook=rulebook, head=head)
    try:
        yield made
    finally:
        made.log.close()


def played(path: Path, coups: int = 2) -> Path:
    """A closed log of so many coups."""
    with signed_table(path) as table:
        table.ready()
        for _ in range(coups):
            table.coup()
    return path


def stored_checkpoints(path: Path) -> list[tuple[int, bytes]]:
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
        return db.execute("SELECT size, note FROM checkpoint ORDER BY size").fetchall()


# ---- second implementations ----


def mth(leaves: Sequence[bytes]) -> bytes:
    """RFC 6962, section 2.1, word for word."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\x00" + leaves[0]).digest()
    k = _split(len(leaves))
    return hashlib.sha256(b"\x01" + mth(leaves[:k]) + mth(leaves[k:])).digest()


def path_of(m: int, leaves: Sequence[bytes]) -> list[bytes]:
    """RFC 6962, section 2.1.1: PATH(m, D[n])."""
    if len(leaves) == 1:
        return []
    k = _split(len(leaves))
    if m < k:
        return [*path_of(m, leaves[:k]), mth(leaves[k:])]
    return [*path_of(m - k, leaves[k:]), mth(leaves[:k])]


def _split(n: int) -> int:
    k = 1
    while k * 2 < n:
        k *= 2
    return k


def openssl_says(folder: Path, public: bytes, text: bytes, signature: bytes) -> bool:
    """Whether OpenSSL's own command finds the signature good."""
    # SubjectPublicKeyInfo of Ed25519 (RFC 8410) is this prefix and the key.
    (folder / "key.der").write_bytes(bytes.fromhex("302a300506032b6570032100") + public)
    (folder / "text").write_bytes(text)
    (folder / "signature").write_bytes(signature)
    command = ["openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-keyform", "DER"]
    files = ["-inkey", "key.der", "-in", "text", "-sigfile", "signature"]
    done = subprocess.run([*command, *files], cwd=folder, capture_output=True, check=False)
    return done.returncode == 0


def by_hand(note: bytes) -> tuple[list[str], bytes, bytes, bytes]:
    """A checkpoint taken apart without our parser: its lines, its text, key id, signature."""
    text, _, signatures = note.partition(b"\n\n")
    (line, *_) = signatures.decode().splitlines()
    dash, _, encoded = line.split(" ")
    assert dash == "\u2014"
    data = b64decode(encoded)
    return text.decode().split("\n"), text + b"\n", data[:4], data[4:]


def resealed(data: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    """Return evidence as a forger without a key can change and seal it."""
    told = json.loads(data)
    change(told)
    return encode_evidence(seal_evidence(convert(told, Evidence)))
