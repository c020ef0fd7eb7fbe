"""Read small files that a person names, with a limit on their size."""

from pathlib import Path
from typing import Final

from events.errors import InputError

__all__ = ["read_file"]

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
