"""Key files: a private key that only its owner may read, and public keys from a command line.

A private key's file holds one line, `PRIVATE+KEY+name+id+key`. Making the key prints its public
half, which is not secret. A file that others may read is refused: the key's owner can sign another
history.
"""

import os
import secrets
import stat
from pathlib import Path
from typing import Final

from events.errors import InputError
from events.proof.message_mac import MESSAGE_SECRET_BYTES, MessageKey, parse_message_keys
from events.proof.note import SigningKey, VerifierKey, parse_signing_key, parse_verifier_key

__all__ = [
    "load_message_keys",
    "load_signing_key",
    "make_message_key",
    "make_signing_key",
    "read_verifier_key",
]

_SEED_BYTES: Final = 32
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_MAX_FILE: Final = 4096
_MAX_RING: Final = 1024 * 1024  # thousands of message keys


def make_signing_key(path: Path, name: str) -> SigningKey:
    """Make a private key in a new file of mode 0600; durable on return.

    Raises:
        InputError: the name cannot be a key's, the file exists already, or it cannot be made.
    """
    key = SigningKey(name, secrets.token_bytes(_SEED_BYTES))
    try:
        parse_verifier_key(str(key.verifier))
    except InputError as error:
        raise InputError(f"{name!r} cannot name a key: no spaces, no plus signs") from error
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
    data = _read_private(path, "keys new", _MAX_FILE)
    try:
        return parse_signing_key(data.decode("utf-8", "replace"))
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def load_message_keys(path: Path, origin: str) -> tuple[MessageKey, ...]:
    """Read a file of message keys, the newest of an owner first.

    Args:
        path: the file.
        origin: the table's `<site>/<table>`.

    Raises:
        InputError: there is no such file, others may read it, or a key in it is damaged or another
            table's.
    """
    data = _read_private(path, "keys messages", _MAX_RING)
    try:
        found = parse_message_keys(data.decode("utf-8", "replace"))
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    other = next((key.origin for key in found if key.origin != origin), None)
    if other is not None:
        raise InputError(f"{path}: holds a message key of {other}, and this table is {origin}")
    if not found:
        raise InputError(f"{path}: holds no message key; `baccarat keys messages` makes them")
    return found


def make_message_key(origin: str, owner: str) -> MessageKey:
    """Make a message key."""
    return MessageKey(origin=origin, owner=owner, secret=secrets.token_bytes(MESSAGE_SECRET_BYTES))


def _read_private(path: Path, command: str, most: int) -> bytes:
    """Return the content of a file that its owner alone may read.

    Raises:
        InputError: there is no such file, or others may read it.
    """
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(mode):
                raise InputError(f"{path}: not a file; name one that `baccarat {command}` made")
            if mode & _OTHERS:
                raise InputError(
                    f"{path}: others than its owner may read or write it (mode "
                    f"{stat.S_IMODE(mode):04o}); chmod 600 it, and make a new key if others have"
                )
            return file.read(most)
    except OSError as error:
        raise InputError(
            f"{path}: {error.strerror}; name a private key that `baccarat {command}` made"
        ) from error


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
