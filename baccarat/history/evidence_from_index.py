"""Make the evidence for a coup from an index of the log, as `evidence_from_log` does.

A proof needs the sibling hashes on its way to the root. The index has the roots of whole blocks of
leaves; only the leaves of the few blocks that the proof needs are hashed again.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from msgspec import Struct

from baccarat.history.evidence_from_log import (
    EvidenceCollector,
    EvidenceSource,
    NoEvidence,
    assemble,
    build_name,
    covering_checkpoint,
)
from events.commands.base import Refusal
from events.errors import InputError
from events.log.reader import LogReader
from events.proof.merkle import inclusion_proofs, leaf_hash
from events.proof.note import parse_verifier_key
from table_core.history.index import BLOCK, HistoryIndex, ReadRows, root_above
from table_core.refusals import refuse

__all__ = ["CoupProved", "proofs", "prove"]


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
