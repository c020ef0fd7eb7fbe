"""Read small files that a person names, with a limit on their size."""

import codecs
from pathlib import Path
from typing import Final

from events.errors import InputError

__all__ = ["read_file", "read_password"]

_MAX_BYTES: Final = 1024 * 1024  # hundreds of times the largest shipped rulebook


def read_file(path: str) -> bytes:
    """Return the bytes of a small file.

    Raises:
        InputError: it cannot be read, or it is far too long.
    """
    try:
        if Path(path).exists() and not Path(path).is_file():
            raise InputError(f"{path}: cannot be read: it is no file")
        with Path(path).open("rb") as file:
            source = file.read(_MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot be read: {reason}") from error
    if len(source) > _MAX_BYTES:
        raise InputError(f"{path}: longer than {_MAX_BYTES} bytes; that is another kind of file")
    return source


def read_password(path: Path) -> str:
    """Return the password in a file of one line.

    Raises:
        InputError: it cannot be read, is empty, or is no line of UTF-8.
    """
    source = read_file(str(path))
    if source.startswith(codecs.BOM_UTF8):
        raise InputError(f"{path}: begins with a byte order mark; save it as UTF-8 without one")
    try:
        password = source.decode().strip()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is no UTF-8; save the password as one line of UTF-8") from error
    if not password or not password.isprintable():
        raise InputError(f"{path}: holds no password; write it as one line")
    return password
