"""Files of message keys, and files that only their owner may read."""

import os
import secrets
import stat
from pathlib import Path
from typing import Final

from events.errors import InputError
from events.proof.message_mac import MESSAGE_SECRET_BYTES, MessageKey, parse_message_keys

__all__ = ["load_message_keys", "make_message_key", "read_private"]

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_MAX_RING: Final = 1024 * 1024  # thousands of message keys


def load_message_keys(path: Path, origin: str) -> tuple[MessageKey, ...]:
    """Read a file of message keys, the newest of an owner first.

    Args:
        path: the file.
        origin: the table's `<site>/<table>`.

    Raises:
        InputError: there is no such file, others may read it, or a key in it is damaged or another
            table's.
    """
    data = read_private(path, "keys messages", _MAX_RING)
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


def read_private(path: Path, command: str, most: int) -> bytes:
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
