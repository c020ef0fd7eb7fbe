"""Cosignatures: what a witness says of another's checkpoint, by C2SP tlog-cosignature v1. Pure.

    sydney/t1
    1071
    bDZZ6rXfYQ...=

    — sydney/t1 Vm0q3AAA...=
    — sydney/witness 2net5wAAAABqEiEg...==

A witness that cosigns says one thing: *when I signed this, it was the newest that I had seen of
this log, and it holds all that I had seen of it before*. The line is one of a signed note, so that
whoever verifies the log's own signature may leave it alone. What is signed is

    cosignature/v1
    time 1779571104
    <the checkpoint's text>

and the line holds the key's id, the time as a u64, big-endian, in seconds since 1970, and the
Ed25519 signature. Ids are as in `events.proof.note`, with 04 in the place of 01, so that a key of a
witness is never taken for one of a log: https://c2sp.org/tlog-cosignature.
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
# The sign bit of a timestamp stays free: a reader may keep it in a signed integer.
_TIME_END: Final = 1 << 63


class WitnessKey(NamedTuple):
    """A witness's public key and the name it signs under."""

    name: str
    public: bytes

    @property
    def key_id(self) -> bytes:
        """The four bytes that stand before each of its cosignatures: a hint, not a proof."""
        hashed = b"%b\n%b%b" % (self.name.encode(), _KIND, self.public)
        return hashlib.sha256(hashed).digest()[:_ID_BYTES]

    def __str__(self) -> str:
        """`name+id+key`, as it is given to whoever verifies."""
        return f"{self.name}+{self.key_id.hex()}+{b64encode(_KIND + self.public).decode()}"


def witness_key(key: SigningKey) -> WitnessKey:
    """The public half of a private key that cosigns."""
    return WitnessKey(key.name, key.verifier.public)


def parse_witness_key(line: str) -> WitnessKey:
    """Read `name+id+key`.

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
    """The checkpoint with a cosignature behind its other signatures.

    Args:
        note: the checkpoint as it was published.
        text: what it says, `Note.text` of the same.
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
    """When `key` has cosigned the checkpoint, seconds since 1970; None where it has not.

    None as well where it has signed twice and one of the two is wrong: such a note is refused
    whole (C2SP signed-note).
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
