"""Evidence for one coup: one file that anybody can verify with nothing but a public key. Pure.

It holds the stored bytes of the coup's events with their positions. For each event it holds an
inclusion proof to the root of a signed checkpoint; then that checkpoint, the rulebook's file, and
the result. From the coup's first event to its end no position is left out, so nothing can be hidden
between.

The file has one encoding: JSON with an indent of two, keys as below, a line end. A file in another
encoding is not of this form. The last key is a seal over everything before it, which detects
accidents. The signature protects against a forger, and covers all but `build`.
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from events.errors import InputError, MalformedJson, UnreadableEvent
from events.json_form import decode_json, repeated_key
from events.proof.checkpoint import Checkpoint, is_bound_to, parse_checkpoint
from events.proof.merkle import leaf_hash, verify_inclusion
from events.proof.note import VerifierKey, signed_by
from events.types import (
    CoupSettled,
    CoupVoided,
    HandsCorrected,
    RulebookCorrected,
    WagerCorrected,
    decode_data,
    decode_envelope,
    event_id,
)
from table_core.evidence.judge import (
    EvidenceEvent,
    EvidenceFault,
    JudgedCoup,
    judge_again,
    naming_fault,
)
from table_core.rules.rulebook import LAST_PHASE, Rulebook
from table_core.rules.rulebook_file import parse_rulebook

__all__ = [
    "FORM",
    "CitedRulebook",
    "Evidence",
    "EvidenceVerdict",
    "ProvedEvent",
    "encode_evidence",
    "ends_coup",
    "expected_result",
    "parse_rulebooks",
    "read_evidence",
    "seal_evidence",
    "verify_evidence",
]

FORM: Final = "bac/evidence/1"
# Either of these identifies a file as evidence, however damaged the rest of it is.
_MARKS: Final = (b'"form": "bac/evidence/', b'"seal": "')


class ProvedEvent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A stored event with its position and proof.

    Args:
        position: in the log, from 1.
        stored: its stored bytes, as text.
        proof: RFC 6962 inclusion proof, hex, from the leaf up.
    """

    position: int
    stored: str
    proof: tuple[str, ...]


class Evidence(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of an evidence file.

    Args:
        form: name and version of the file's form.
        build: of the program that made it; the seal covers it, the signature does not.
        origin: of the log, `<site>/<table>`.
        coup: the coup's id.
        expected: the coup's result.
        checkpoint: the signed checkpoint that covers the events.
        rulebooks: the files that the coup was judged by, as text.
        events: in order of position.
        seal: SHA-256 of this file with an empty seal, hex.
    """

    form: str
    build: str
    origin: str
    coup: str
    expected: JudgedCoup
    checkpoint: str
    rulebooks: tuple[str, ...]
    events: tuple[ProvedEvent, ...]
    seal: str = ""


class CitedRulebook(Struct, frozen=True):
    """A rulebook by its id and the SHA-256 of its file."""

    id: str
    hash: str


class EvidenceVerdict(NamedTuple):
    """The result of verifying an evidence file.

    Args:
        ok: whether everything is proved.
        part: the part of the file that is wrong; None if ok.
        reason: one line for a person; None if ok.
        coup: the coup's id, where that could be read.
        origin: of the log.
        size: the number of events that the checkpoint covers.
        key: the public key that signed it.
        events: the number of events that are proved.
        expected: the coup's result; None unless ok.
        rulebooks: id and hash of each that it was judged by; empty unless ok.
    """

    ok: bool
    part: str | None = None
    reason: str | None = None
    coup: str | None = None
    origin: str | None = None
    size: int | None = None
    key: str | None = None
    events: int = 0
    expected: JudgedCoup | None = None
    rulebooks: tuple[CitedRulebook, ...] = ()


def encode_evidence(evidence: Evidence) -> bytes:
    """Return the bytes of the evidence's file."""
    return msgspec.json.format(msgspec.json.encode(evidence), indent=2) + b"\n"


def seal_evidence(evidence: Evidence) -> Evidence:
    """Return the evidence with its seal."""
    unsealed = msgspec.structs.replace(evidence, seal="")
    seal = hashlib.sha256(encode_evidence(unsealed)).hexdigest()
    return msgspec.structs.replace(evidence, seal=seal)


def verify_evidence(data: bytes, keys: Collection[VerifierKey]) -> EvidenceVerdict:
    """Verify an evidence file with the trusted public keys and nothing else.

    Raises:
        InputError: the file is no evidence, or a newer build made it.
    """
    try:
        evidence = read_evidence(data)
    except EvidenceFault as fault:
        return EvidenceVerdict(ok=False, part=fault.part, reason=fault.reason)
    try:
        checkpoint, key = _checkpoint(evidence, keys)
        records = tuple(_proved(evidence, checkpoint))
        _complete(evidence.coup, records)
        _as_it_says(evidence, records)
    except EvidenceFault as fault:
        return EvidenceVerdict(ok=False, part=fault.part, reason=fault.reason, coup=evidence.coup)
    return EvidenceVerdict(
        ok=True,
        coup=evidence.coup,
        origin=evidence.origin,
        size=checkpoint.size,
        key=str(key),
        events=len(records),
        expected=evidence.expected,
        rulebooks=tuple(
            CitedRulebook(book.id, digest)
            for digest, book in parse_rulebooks(evidence.rulebooks).items()
        ),
    )


def expected_result(
    origin: str, coup: str, records: Sequence[EvidenceEvent], rulebooks: Sequence[str]
) -> JudgedCoup:
    """Return the coup's result by its events.

    Raises:
        EvidenceFault: the events contradict one another, the rules or the rulebooks.
    """
    return judge_again(origin, coup, records, parse_rulebooks(rulebooks))


def parse_rulebooks(texts: Sequence[str]) -> Mapping[str, Rulebook]:
    """Return the rulebooks by the SHA-256 of their files.

    Raises:
        EvidenceFault: a file is no rulebook, or is there twice.
    """
    found: dict[str, Rulebook] = {}
    for text in texts:
        digest = hashlib.sha256(text.encode()).hexdigest()
        if digest in found:
            raise EvidenceFault("rulebook", "one rulebook is there twice")
        try:
            found[digest] = parse_rulebook("rulebook", text.encode())
        except InputError as error:
            raise EvidenceFault("rulebook", str(error)) from error
    return found


def ends_coup(record: EvidenceEvent, coup: str) -> bool:
    """Return whether this event ends the coup."""
    event = record.event
    if isinstance(event, CoupSettled):
        return event.coup == coup and event.settlement.phase == LAST_PHASE
    return isinstance(event, CoupVoided) and event.coup == coup


def read_evidence(data: bytes) -> Evidence:
    """Return the content of an evidence file, of which nothing is verified but its form.

    Raises:
        InputError: the file is no evidence.
        EvidenceFault: it is damaged, or not written in the one way.
    """
    try:
        form = decode_json(data, _Form).form
        evidence = decode_json(data, Evidence) if form == FORM else None
        if (key := repeated_key(data)) is not None:
            raise EvidenceFault("form", f"the key {key!r:.40} is there twice")
    except MalformedJson as error:
        if any(mark in data for mark in _MARKS):
            raise EvidenceFault("form", f"damaged: {_printable(str(error))}") from error
        raise InputError(
            "no evidence; `baccarat evidence LOG --coup ID -o FILE` makes it"
        ) from error
    if evidence is None:
        if any(mark in data for mark in _MARKS):
            raise EvidenceFault("form", f"{form[:40]!r}; this build reads {FORM}")
        raise InputError("no evidence; `baccarat evidence LOG --coup ID -o FILE` makes it")
    if encode_evidence(evidence) != data:
        raise EvidenceFault("form", "not written in the one way that evidence is written")
    return evidence


def _printable(text: str) -> str:
    """Return one printable line, whatever a damaged file contains."""
    return "".join(character if character.isprintable() else "?" for character in text)


class _Form(Struct, frozen=True):
    form: str


def _checkpoint(
    evidence: Evidence, keys: Collection[VerifierKey]
) -> tuple[Checkpoint, VerifierKey]:
    try:
        checkpoint, note = parse_checkpoint(evidence.checkpoint.encode())
    except InputError as error:
        raise EvidenceFault("checkpoint", str(error)) from error
    bound = [key for key in keys if is_bound_to(key, checkpoint.origin)]
    signers = signed_by(note, bound)
    if not signers and (others := signed_by(note, keys)):
        names = " and ".join(sorted(key.name for key in others))
        raise EvidenceFault(
            "checkpoint", f"of {checkpoint.origin}, and signed by {names}, another table's key"
        )
    if not signers:
        names = " and ".join(f"{each.name}+{each.key_id.hex()}" for each in note.signatures)
        known = {(key.name, key.key_id) for key in keys}
        if any((each.name, each.key_id) in known for each in note.signatures):
            raise EvidenceFault(
                "checkpoint", f"badly signed: what it says is not what {names} signed"
            )
        raise EvidenceFault("checkpoint", f"signed by {names}, and that key was not given")
    if checkpoint.origin != evidence.origin:
        raise EvidenceFault(
            "origin", f"{evidence.origin!r}, but the checkpoint is {checkpoint.origin!r}'s"
        )
    return checkpoint, min(signers)


def _proved(evidence: Evidence, checkpoint: Checkpoint) -> Iterator[EvidenceEvent]:
    """Yield each event once its bytes are proved to be in the log at its position."""
    for item in evidence.events:
        part = f"event at {item.position}"
        stored = item.stored.encode()
        proof = tuple(map(_hash, item.proof))
        index = item.position - 1
        if None in proof or not verify_inclusion(
            leaf_hash(stored), index, checkpoint.size, [h for h in proof if h], checkpoint.root
        ):
            raise EvidenceFault(part, "its bytes, position and proof do not lead to the checkpoint")
        try:
            envelope = decode_envelope(stored)
            event = decode_data(envelope)
        except UnreadableEvent as error:
            raise EvidenceFault(part, str(error)) from error
        if (envelope.stream, envelope.position) != (evidence.origin, item.position):
            raise EvidenceFault(part, f"says that it is {envelope.stream} {envelope.position}")
        record = EvidenceEvent(item.position, envelope, event)
        fault = naming_fault(record)
        if fault is not None:
            raise EvidenceFault(part, f"{envelope.type}: {fault}")
        yield record


def _as_it_says(evidence: Evidence, records: Sequence[EvidenceEvent]) -> None:
    expected = expected_result(evidence.origin, evidence.coup, records, evidence.rulebooks)
    if expected != evidence.expected:
        raise EvidenceFault("expected", "the coup comes to another result")
    if seal_evidence(evidence) != evidence:
        raise EvidenceFault(
            "seal", "the file is not as it was sealed, though all that is signed is"
        )


def _hash(text: str) -> bytes | None:
    """Return a hash from lower-case hex; None for any other text."""
    try:
        found = bytes.fromhex(text)
    except ValueError:
        return None
    return found if found.hex() == text and len(found) == hashlib.sha256().digest_size else None


_OF_A_CORRECTION: Final = (
    HandsCorrected, WagerCorrected, RulebookCorrected, CoupSettled, CoupVoided
)  # fmt: skip


def _begins_whole(records: Sequence[EvidenceEvent], record: EvidenceEvent) -> None:
    """Check that a correction's events are here from the first of its transaction on."""
    if not isinstance(record.event, _OF_A_CORRECTION):
        return
    cause = record.envelope.cause
    mine = [each for each in records if each.envelope.cause == cause]
    for index, each in enumerate(mine):
        if (each.envelope.event_id, each.position - mine[0].position) != (
            event_id(cause, index),
            index,
        ):
            told = f"a part of what its transaction wrote is missing before {each.position}"
            raise EvidenceFault("events", told)


def _complete(coup: str, records: Sequence[EvidenceEvent]) -> None:
    """Check that no event of the coup is missing and no foreign event follows its end."""
    causes = {r.envelope.cause for r in records if r.envelope.correlation == coup}
    if not causes:
        raise EvidenceFault("coup", f"no event of coup {coup!r} is here")
    over, behind = False, list[EvidenceEvent]()
    before = records[0].position - 1
    for record in records:
        if record.position <= before:
            raise EvidenceFault(f"event at {record.position}", "out of order")
        if over and record.envelope.cause not in causes:
            raise EvidenceFault(f"event at {record.position}", f"is none of coup {coup}")
        if over:
            behind.append(record)
        if not over and record.position != before + 1:
            raise EvidenceFault(
                "events", f"position {before + 1} is missing from the coup's course"
            )
        before = record.position
        over = over or ends_coup(record, coup)
    for record in behind:
        _begins_whole(records, record)
