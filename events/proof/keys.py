"""Key files: a private key that only its owner may read, and public keys from a command line.

A private key's file holds one line, `PRIVATE+KEY+name+id+key`. Making the key prints its public
half, which is not secret. A file that others may read is refused: the key's owner can sign another
history.
"""

import os
import secrets
from pathlib import Path
from typing import Final

from events.errors import InputError
from events.proof.message_keys import read_private
from events.proof.note import (
    MAX_NAME,
    SigningKey,
    VerifierKey,
    parse_signing_key,
    parse_verifier_key,
)

__all__ = [
    "load_signing_key",
    "make_signing_key",
    "read_verifier_key",
]

_SEED_BYTES: Final = 32
_MAX_FILE: Final = 4096


def make_signing_key(path: Path, name: str) -> SigningKey:
    """Make a private key in a new file of mode 0600; durable on return.

    Raises:
        InputError: the name cannot be a key's, the file exists already, or it cannot be made.
    """
    key = SigningKey(name, secrets.token_bytes(_SEED_BYTES))
    try:
        parse_verifier_key(str(key.verifier))
    except InputError as error:
        right = f"1 to {MAX_NAME} characters that can be seen, no spaces, no plus signs"
        raise InputError(f"{name[:80]!r} cannot name a key: {right}") from error
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            os.fchmod(descriptor, 0o600)  # whatever the umask has removed
            file.write(f"{key.secret}\n")
            file.flush()
            os.fsync(descriptor)
    except FileExistsError as error:
        raise InputError(f"{path}: is there already, and a key is never overwritten") from error
    except OSError as error:
        raise InputError(f"{path}: cannot keep a key here: {error.strerror}") from error
    return key


def load_signing_key(path: Path) -> SigningKey:
    """Read a private key.

    Raises:
        InputError: there is no such file, others may read it, or it holds no private key.
    """
    data = read_private(path, "keys new", _MAX_FILE)
    try:
        return parse_signing_key(data.decode("utf-8", "replace"))
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def read_verifier_key(text: str) -> VerifierKey:
    """Read a public key from a command line: the key's line itself, or the path of its file.

    Raises:
        InputError: it is neither.
    """
    if text.count("+") >= 2 and not Path(text).is_file():  # noqa: PLR2004 - name+id+key
        return parse_verifier_key(text)
    try:
        with Path(text).open("rb") as file:
            line = file.read(_MAX_FILE).decode("utf-8", "replace")
    except (OSError, ValueError) as error:
        raise InputError(
            f"--key {text}: neither a public key line, name+id+key, nor a file that holds one"
        ) from error
    if line.startswith("PRIVATE"):
        raise InputError(f"--key {text}: a private key; `baccarat keys show` tells the public one")
    try:
        return parse_verifier_key(line)
    except InputError as error:
        raise InputError(f"--key {text}: {error}") from error
