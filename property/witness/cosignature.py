"""Cosignatures of checkpoints, by C2SP tlog-cosignature v1: keys, signing, verification. Pure.

    sydney/t1
    1071
    bDZZ6rXfYQ...=

    — sydney/t1 Vm0q3AAA...=
    — sydney/witness 2net5wAAAABqEiEg...==

A cosignature means: *when I signed this, it was the newest checkpoint that I had seen of this log,
and it covers all that I had seen before*. It is one line of a signed note, which a verifier of the
log's own signature may ignore. The witness signs

    cosignature/v1
    time 1779571104
    <the checkpoint's text>

and the line holds the key's id, the time as a u64, big-endian, in seconds since 1970, and the
Ed25519 signature. Key ids are as in `events.proof.note`, with 04 instead of 01, so that no reader
mistakes a witness's key for a log's: https://c2sp.org/tlog-cosignature.
"""

import hashlib
from base64 import b64encode
from typing import Final, NamedTuple

from events.errors import InputError
from events.proof.note import Note, SigningKey, VerifierKey, from_base64

__all__ = ["WitnessKey", "cosign", "cosigned_at", "parse_witness_key", "witness_key"]

_KIND: Final = b"\x04"
_KEY_BYTES: Final = 32
_ID_BYTES: Final = 4
_TIME_BYTES: Final = 8
# A timestamp's sign bit stays free: a reader may store it in a signed integer.
_TIME_END: Final = 1 << 63


class WitnessKey(NamedTuple):
    """A witness's public key and the name it signs under."""

    name: str
    public: bytes

    @property
    def key_id(self) -> bytes:
        """The four bytes before each of its cosignatures: a hint, not a proof."""
        hashed = b"%b\n%b%b" % (self.name.encode(), _KIND, self.public)
        return hashlib.sha256(hashed).digest()[:_ID_BYTES]

    def __str__(self) -> str:
        """Return `name+id+key`, the form for verifiers."""
        return f"{self.name}+{self.key_id.hex()}+{b64encode(_KIND + self.public).decode()}"


def witness_key(key: SigningKey) -> WitnessKey:
    """Return the public half of a witness's private key."""
    return WitnessKey(key.name, key.verifier.public)


def parse_witness_key(line: str) -> WitnessKey:
    """Parse `name+id+key`.

    Raises:
        InputError: it is no such line, or its id is another key's.
    """
    text = line.strip()
    name, _, rest = text.partition("+")
    try:
        key = from_base64(rest.partition("+")[2], len(_KIND) + _KEY_BYTES)
    except InputError as error:
        raise InputError(f"no witness's key; one is written name+id+key: {error}") from error
    found = WitnessKey(name, key[1:])
    if key[:1] != _KIND or not name or str(found) != text:
        raise InputError("no witness's key: it is of another kind, or its id is not its own")
    return found


def cosign(note: bytes, text: str, key: SigningKey, at_s: int) -> bytes:
    """Return the checkpoint with a cosignature after its other signatures.

    Args:
        note: the published checkpoint.
        text: its `Note.text`.
        key: the witness's.
        at_s: now, seconds since 1970.

    Raises:
        ValueError: the time does not fit.
    """
    if not 0 < at_s < _TIME_END:
        raise ValueError(f"{at_s} is no time of a cosignature")
    signature = key.sign(_signed(text, at_s))
    line = witness_key(key).key_id + at_s.to_bytes(_TIME_BYTES, "big") + signature
    return note + f"\u2014 {key.name} {b64encode(line).decode()}\n".encode()


def cosigned_at(note: Note, key: WitnessKey) -> int | None:
    """Return when `key` cosigned the checkpoint, seconds since 1970; None if it did not.

    Also None if the key has signed twice and one signature is wrong: C2SP signed-note refuses such
    a note.
    """
    newest = None
    for each in note.signatures:
        if (each.name, each.key_id) != (key.name, key.key_id):
            continue
        at_s = int.from_bytes(each.value[:_TIME_BYTES], "big")
        signature = each.value[_TIME_BYTES:]
        verifier = VerifierKey(key.name, key.public)
        if not 0 < at_s < _TIME_END or not verifier.verifies(_signed(note.text, at_s), signature):
            return None
        newest = max(at_s, newest or 0)
    return newest


def _signed(text: str, at_s: int) -> str:
    return f"cosignature/v1\ntime {at_s}\n{text}"
