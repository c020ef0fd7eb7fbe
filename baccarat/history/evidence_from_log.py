"""Collect the evidence for one coup from a log, which stays unchanged and may be in use.

Before the evidence is returned, the code that will verify it elsewhere verifies it here, with the
key that the log itself announces.

Make the evidence for a coup from an index of the log, as `evidence_from_log` does. A proof needs
the sibling hashes on its way to the root. The index has the roots of whole blocks of leaves; only
the leaves of the few blocks that the proof needs are hashed again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct

from baccarat.rulebooks.editions import AvailableRulebooks, available_rulebooks
from events.commands import Refusal
from events.errors import InputError
from events.log.editions import RULEBOOKS
from events.log.reader import LogReader, reading
from events.proof.checkpoint import parse_checkpoint
from events.proof.merkle import inclusion_proofs, leaf_hash
from events.proof.note import VerifierKey, parse_verifier_key
from events.types import BettingOpened, CheckpointKeyChanged, Envelope, decode_data, decode_envelope
from table_core.evidence.bundle import (
    FORM,
    Evidence,
    ProvedEvent,
    encode_evidence,
    ends_coup,
    expected_result,
    seal_evidence,
    verify_evidence,
)
from table_core.evidence.judge import EvidenceEvent, EvidenceFault
from table_core.history.index import BLOCK, HistoryIndex, ReadRows, root_above
from table_core.refusals import refuse

__all__ = [
    "CoupProved",
    "EvidenceCollector",
    "EvidenceSource",
    "NoEvidence",
    "Progress",
    "Proofs",
    "Prove",
    "assemble",
    "build_name",
    "covering_checkpoint",
    "gather",
    "proofs",
    "prove",
]

Progress = Callable[[int, int], None]
_DISTRIBUTION: Final = "baccarat-table"

Proofs = Sequence[Sequence[bytes]]
Prove = Callable[[Sequence[int], int], Proofs]
"""Return inclusion proofs of leaves, counted from 0, in the tree of a number of events."""


class EvidenceSource(NamedTuple):
    """The material of evidence.

    Args:
        origin: of the log.
        coup: the coup's id.
        build: the build to name as its maker.
        records: the coup's events, each with its stored bytes.
        checkpoint: covers them.
        keys: those that the log announced.
    """

    origin: str
    coup: str
    build: str
    records: tuple[tuple[EvidenceEvent, bytes], ...]
    checkpoint: bytes
    keys: frozenset[VerifierKey]


class NoEvidence(Exception):  # noqa: N818 - the answer is no
    """The log has the coup but cannot prove it now."""


def gather(
    path: Path,
    coup: str,
    *,
    build: str,
    rulebooks: AvailableRulebooks | None = None,
    progress: Progress | None = None,
) -> bytes:
    """Return the evidence for a coup, as the bytes of its file.

    Args:
        path: the log.
        coup: the coup's id.
        build: the build to name as its maker.
        rulebooks: those at hand; by default, those next to the log and in this build.
        progress: called with the events read and the events in all.

    Raises:
        InputError: there is no such log, coup or rulebook.
        LogRefused: the log is damaged; names the position.
        NoEvidence: the coup is not over, no checkpoint covers it, or its record contradicts itself.
    """
    at_hand = rulebooks or available_rulebooks(path)
    with reading(path) as log:
        collector = EvidenceCollector(coup)
        for stored in log.read():
            collector.take(stored.position, stored.stored)
            if progress:
                progress(stored.position, log.end)
        records = collector.finished(path)
        checkpoint = covering_checkpoint(log, records[-1][0].position)

    def prove(indices: Sequence[int], size: int) -> Proofs:
        return inclusion_proofs(collector.leaves[:size], indices)

    source = EvidenceSource(
        log.origin, coup, build, tuple(records), checkpoint, frozenset(collector.keys)
    )
    return assemble(source, prove, at_hand.sources)


def assemble(source: EvidenceSource, prove: Prove, rulebooks: Mapping[str, bytes]) -> bytes:
    """Return the evidence for a coup whose records are collected, as the bytes of its file.

    Args:
        source: the records.
        prove: makes the proofs.
        rulebooks: the bytes of those at hand, by hash.

    Raises:
        InputError: a rulebook is missing.
        NoEvidence: the coup's record contradicts itself.
    """
    coup, records = source.coup, source.records
    texts = _rulebooks(records, rulebooks)
    size = parse_checkpoint(source.checkpoint)[0].size
    proofs = prove([record.position - 1 for record, _ in records], size)
    try:
        expected = expected_result(source.origin, coup, [record for record, _ in records], texts)
    except EvidenceFault as fault:
        raise NoEvidence(f"coup {coup} contradicts itself: {fault}") from fault
    evidence = Evidence(
        form=FORM,
        build=source.build,
        origin=source.origin,
        coup=coup,
        expected=expected,
        checkpoint=source.checkpoint.decode(),
        rulebooks=texts,
        events=tuple(
            ProvedEvent(
                position=record.position,
                stored=stored.decode(),
                proof=tuple(each.hex() for each in proof),
            )
            for (record, stored), proof in zip(records, proofs, strict=True)
        ),
    )
    data = encode_evidence(seal_evidence(evidence))
    verdict = verify_evidence(data, source.keys)
    if not verdict.ok:
        raise NoEvidence(f"coup {coup} cannot be proved: {verdict.part}: {verdict.reason}")
    return data


class EvidenceCollector:
    """Takes the events of a log one by one, and keeps those of one coup.

    Args:
        coup: the coup's id.

    Attributes:
        leaves: the leaf hash of every event that was taken.
        keys: those that the log announced.
    """

    def __init__(self, coup: str) -> None:
        self._coup = coup
        self._commit: list[tuple[int, Envelope, bytes]] = []
        self._kept: list[tuple[EvidenceEvent, bytes]] = []
        self._begun = False
        self._over = False
        self.leaves: list[bytes] = []
        self.keys: list[VerifierKey] = []

    def take(self, position: int, stored: bytes) -> None:
        """Take the next event."""
        self.leaves.append(leaf_hash(stored))
        envelope = decode_envelope(stored)
        if envelope.type == CheckpointKeyChanged.TYPE:
            announced = decode_data(envelope)
            assert isinstance(announced, CheckpointKeyChanged)  # noqa: S101 - its type says so
            self.keys.append(parse_verifier_key(announced.key))
        if self._commit and self._commit[-1][1].cause != envelope.cause:
            self._commit = []
        self._commit.append((position, envelope, stored))
        mine = envelope.correlation == self._coup
        if mine and envelope.type == BettingOpened.TYPE:
            self._begun = True
            for each in self._commit:  # with the shoe's report that began it, if there is one
                self._keep(*each)
        elif self._begun and (mine or not self._over):
            self._keep(position, envelope, stored)

    def _keep(self, position: int, envelope: Envelope, stored: bytes) -> None:
        record = EvidenceEvent(position, envelope, decode_data(envelope))
        self._kept.append((record, stored))
        self._over = self._over or ends_coup(record, self._coup)

    def finished(self, path: Path) -> list[tuple[EvidenceEvent, bytes]]:
        """Return the events that were kept.

        Raises:
            InputError: the coup never began; `path` is the log, for the message.
            NoEvidence: it is not over.
        """
        if not self._begun:
            raise InputError(f"--coup {self._coup}: no such coup in {path}; one is <shoe>/<number>")
        if not self._over:
            raise NoEvidence(f"coup {self._coup} is not over yet")
        return self._kept


def covering_checkpoint(log: LogReader, last: int) -> bytes:
    """Return the first checkpoint that covers a coup and all later events about it.

    Raises:
        NoEvidence: no checkpoint covers position `last`.
    """
    newest = 0
    for size, note in log.checkpoints():
        if size >= last:
            return note
        newest = size
    told = f"the newest covers {newest} events" if newest else "the log has none"
    raise NoEvidence(
        f"no checkpoint covers the coup's last event, at {last}; {told}: "
        "a table with a signing key makes one behind every settlement"
    )


def build_name() -> str:
    """Return this build's name, which evidence records as its maker."""
    try:
        return f"{_DISTRIBUTION} {version(_DISTRIBUTION)}"
    except PackageNotFoundError:
        return f"{_DISTRIBUTION}, run from its source"


def _rulebooks(
    records: Iterable[tuple[EvidenceEvent, bytes]], known: Mapping[str, bytes]
) -> tuple[str, ...]:
    """Return the files of the rulebooks that the coup was played and judged by."""
    wanted = {
        digest: str(getattr(record.event, "rulebook", ""))
        for record, _ in records
        if (digest := getattr(record.event, "rulebook_hash", None))
    }
    missing = [
        f"{name} (SHA-256 {digest})" for digest, name in wanted.items() if digest not in known
    ]
    if missing:
        raise InputError(
            f"the coup was judged by {' and '.join(missing)}, which lies neither in the folder "
            f"{RULEBOOKS} beside the log nor in this build; name its file with --rulebook"
        )
    return tuple(known[digest].decode() for digest in wanted)


class CoupProved(Struct, frozen=True, kw_only=True):
    """What `prove_coup` shows.

    Args:
        coup: the coup's id.
        file: a name for the file.
        evidence: the file's text; `baccarat evidence verify` takes it as it is.
    """

    coup: str
    file: str
    evidence: str


def prove(
    index: HistoryIndex, read: ReadRows, log: LogReader, coup: str, rulebooks: Mapping[str, bytes]
) -> CoupProved | Refusal:
    """Return the evidence for a coup of the index, or the refusal.

    Args:
        index: of the log.
        read: reads its rows.
        log: the log.
        coup: the coup's id.
        rulebooks: the bytes of those at hand, by hash.
    """
    collector = EvidenceCollector(coup)
    for (position, stored, _), _ in index.course(coup, read):
        collector.take(position, stored)
    try:
        records = collector.finished(Path(log.origin))
        source = EvidenceSource(
            origin=log.origin,
            coup=coup,
            build=build_name(),
            records=tuple(records),
            checkpoint=covering_checkpoint(log, records[-1][0].position),
            keys=frozenset(map(parse_verifier_key, index.keys)),
        )
        data = assemble(source, lambda indices, size: proofs(index, read, indices, size), rulebooks)
    except NoEvidence as error:
        return refuse("no_evidence", str(error))
    except InputError as error:
        return refuse("unknown_rulebook", str(error))
    name = f"coup-{log.origin.replace('/', '-')}-{coup.replace('/', '-')}.json"
    return CoupProved(coup=coup, file=name, evidence=data.decode())


def proofs(
    index: HistoryIndex, read: ReadRows, indices: Sequence[int], size: int
) -> tuple[tuple[bytes, ...], ...]:
    """Return an inclusion proof for each leaf, counted from 0, in the tree of `size` events."""
    whole, rest = divmod(size, BLOCK)
    blocks = index.blocks[:whole]
    if rest:
        blocks = [*blocks, root_above(list(_leaves(index, read, whole, rest)))]
    made: dict[int, tuple[bytes, ...]] = {}
    for block in sorted({each // BLOCK for each in indices}):
        leaves = list(_leaves(index, read, block, rest if block == whole else BLOCK))
        own = [each for each in indices if each // BLOCK == block]
        (above,) = inclusion_proofs(blocks, [block])
        below = inclusion_proofs(leaves, [each - block * BLOCK for each in own])
        made |= {each: (*proof, *above) for each, proof in zip(own, below, strict=True)}
    return tuple(made[each] for each in indices)


def _leaves(index: HistoryIndex, read: ReadRows, block: int, count: int) -> Iterator[bytes]:
    rows = read(block * BLOCK, index.heads[block])
    return (leaf_hash(stored) for _, stored, _ in islice(rows, count))
