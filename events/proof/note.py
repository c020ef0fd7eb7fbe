"""Signed notes of C2SP: a text, a blank line, and a line for each signature. Pure.

    sydney/t1
    1071
    bDZZ6rXfYQ...=

    — sydney/t1 Vm0q3AAA...=

A signature line is an em dash, the key's name, and base64 of the key's id and the signature over
the text. An id is the first four bytes of SHA-256(name || 0A || 01 || public key); 01 means
Ed25519. A reader ignores lines of unknown keys, so that others may sign the same note:
https://c2sp.org/signed-note. Keys are written as in Go's sumdb/note.
"""

import hashlib
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from events.errors import InputError

__all__ = [
    "MAX_NAME",
    "Note",
    "Signature",
    "SigningKey",
    "VerifierKey",
    "from_base64",
    "parse_note",
    "parse_signing_key",
    "parse_verifier_key",
    "signed_by",
    "signed_note",
    "split_notes",
]

_ED25519: Final = b"\x01"
_KEY_BYTES: Final = 32
_ID_BYTES: Final = 4
_SIGNATURE_BYTES: Final = 64
_DASH: Final = "\u2014 "
_PRIVATE: Final = "PRIVATE+KEY+"
# More than ever sign one checkpoint; a longer note would only fill our memory.
_MAX_SIGNATURES: Final = 100
MAX_NAME: Final = 200
"""Characters of a key's name."""


class VerifierKey(NamedTuple):
    """A public key and the name that it signs under."""

    name: str
    public: bytes

    @property
    def key_id(self) -> bytes:
        """The four bytes before each of its signatures: a hint, not a proof."""
        return hashlib.sha256(b"%b\n%b%b" % (self.name.encode(), _ED25519, self.public)).digest()[
            :_ID_BYTES
        ]

    def __str__(self) -> str:
        """Return `name+id+key`, the form that a verifier is given."""
        return f"{self.name}+{self.key_id.hex()}+{b64encode(_ED25519 + self.public).decode()}"

    def verifies(self, text: str, signature: bytes) -> bool:
        """Report whether `signature` is this key's over `text`."""
        try:
            Ed25519PublicKey.from_public_bytes(self.public).verify(signature, text.encode())
        except (InvalidSignature, ValueError):
            return False
        return True


class SigningKey(NamedTuple):
    """A private key and the name that it signs under. Never shown, never logged."""

    name: str
    seed: bytes

    @property
    def verifier(self) -> VerifierKey:
        """The public half."""
        return VerifierKey(self.name, _expanded(self.seed)[1])

    @property
    def secret(self) -> str:
        """`PRIVATE+KEY+name+id+key`, the content of its file."""
        tail = b64encode(_ED25519 + self.seed).decode()
        return f"{_PRIVATE}{self.name}+{self.verifier.key_id.hex()}+{tail}"

    def __repr__(self) -> str:
        return f"SigningKey({self.name!r})"

    def __str__(self) -> str:
        return repr(self)

    def sign(self, text: str) -> bytes:
        """Return its signature over `text`."""
        return _expanded(self.seed)[0].sign(text.encode())


@lru_cache(maxsize=2)  # as slow as a signature; a table has one key, and two during a change
def _expanded(seed: bytes) -> tuple[Ed25519PrivateKey, bytes]:
    """Return the private key, and the public one that belongs to it."""
    key = Ed25519PrivateKey.from_private_bytes(seed)
    return key, key.public_key().public_bytes_raw()


class Signature(NamedTuple):
    """A signature line: the claimed signer, and the signature."""

    name: str
    key_id: bytes
    value: bytes


class Note(NamedTuple):
    """A text and the signatures under it, none of them verified."""

    text: str
    signatures: tuple[Signature, ...]


def parse_verifier_key(line: str) -> VerifierKey:
    """Parse `name+id+key`.

    Raises:
        InputError: it is not such a line, or its id belongs to another key.
    """
    name, key = _parse_key(line.strip())
    verifier = VerifierKey(name, key)
    if str(verifier) != line.strip():
        raise InputError("the id in the public key line is not that of its name and key")
    return verifier


def parse_signing_key(line: str) -> SigningKey:
    """Parse `PRIVATE+KEY+name+id+key`. No message shows any of it.

    Raises:
        InputError: it is not such a line, or its id belongs to another key.
    """
    text = line.strip()
    if not text.startswith(_PRIVATE):
        raise InputError(f"no private key; one begins with {_PRIVATE}")
    key = SigningKey(*_parse_key(text.removeprefix(_PRIVATE)))
    if key.secret != text:
        raise InputError("the id in the private key line is not that of its name and key")
    return key


def parse_note(data: bytes) -> Note:
    """Parse one signed note strictly.

    Raises:
        InputError: it is not a signed note; says why.
    """
    try:
        whole = data.decode()
    except UnicodeDecodeError as error:
        raise InputError("no signed note: not UTF-8") from error
    if any(character < " " and character != "\n" for character in whole):
        raise InputError("no signed note: it holds control characters")
    text, blank, lines = whole.rpartition("\n\n")
    if not text or not blank or not lines.endswith("\n"):
        raise InputError("no signed note: a text, a blank line, then signature lines")
    found = lines.removesuffix("\n").split("\n")
    if len(found) > _MAX_SIGNATURES:
        raise InputError(f"no signed note: more than {_MAX_SIGNATURES} signatures")
    return Note(f"{text}\n", tuple(map(_parse_signature, found)))


def signed_note(text: str, keys: Sequence[SigningKey]) -> bytes:
    """Return `text`, which ends with a line end, signed by each of `keys`."""
    lines = [
        f"{_DASH}{key.name} {b64encode(key.verifier.key_id + key.sign(text)).decode()}\n"
        for key in keys
    ]
    return "".join((text, "\n", *lines)).encode()


def signed_by(note: Note, keys: Iterable[VerifierKey]) -> frozenset[VerifierKey]:
    """Return the `keys` that have signed the note; none if any of their signatures is wrong.

    A note with a wrong signature is refused whole, whoever else has signed it (C2SP signed-note).
    """
    known = {(key.name, key.key_id): key for key in keys}
    good = set()
    for signature in note.signatures:
        key = known.get((signature.name, signature.key_id))
        if key is None:
            continue
        if not key.verifies(note.text, signature.value):
            return frozenset()
        good.add(key)
    return frozenset(good)


def split_notes(data: bytes) -> tuple[bytes, ...]:
    """Split concatenated notes, with or without blank lines between them.

    Only those blank lines are dropped; anything that is not a note remains, to be refused.
    """
    notes: list[bytes] = []
    lines: list[bytes] = []
    dash = _DASH.encode()
    for line in data.splitlines(keepends=True):
        if lines and lines[-1].startswith(dash) and not line.startswith(dash):
            notes.append(b"".join(lines))
            lines = []
        if lines or line != b"\n":
            lines.append(line)
    return (*notes, b"".join(lines)) if lines else tuple(notes)


def from_base64(text: str, size: int) -> bytes:
    """Decode base64 in its one canonical form.

    Raises:
        InputError: it is not, or it does not hold `size` bytes.
    """
    try:
        data = b64decode(text, validate=True)
    except (Base64Error, ValueError) as error:
        raise InputError("no base64") from error
    if len(data) != size or b64encode(data).decode() != text:
        raise InputError(f"no base64 of {size} bytes")
    return data


def _parse_key(text: str) -> tuple[str, bytes]:
    name, plus, rest = text.partition("+")
    _, other, tail = rest.partition("+")
    if not plus or not other or not _is_name(name):
        raise InputError("no key; one is written name+id+key, as `baccarat keys` prints it")
    try:
        key = from_base64(tail, len(_ED25519) + _KEY_BYTES)
    except InputError as error:
        raise InputError(f"the key {name!r} has {error} at its end") from error
    if key[:1] != _ED25519:
        raise InputError(f"the key {name!r} is no Ed25519 key")
    return name, key[1:]


def _parse_signature(line: str) -> Signature:
    name, space, tail = line.removeprefix(_DASH).partition(" ")
    if not line.startswith(_DASH) or not space or not _is_name(name):
        raise InputError("no signed note: a signature line is a dash, a name and base64")
    try:
        data = b64decode(tail, validate=True)
    except (Base64Error, ValueError) as error:
        raise InputError(f"no signed note: the signature of {name!r} is no base64") from error
    if len(data) <= _ID_BYTES or b64encode(data).decode() != tail:
        raise InputError(f"no signed note: the signature of {name!r} is no base64 of one")
    return Signature(name, data[:_ID_BYTES], data[_ID_BYTES:])


def _is_name(name: str) -> bool:
    return 0 < len(name) <= MAX_NAME and name.isprintable() and not {"+", *" \u00a0"} & set(name)
