"""Write a command's output to a named file, whole or not at all, or to standard output.

A file name is easily mistyped, and the log and its key lie next to the evidence. So a command
replaces a file only by another of its kind. It writes to a device or a pipe and never replaces one.
"""

import fcntl
import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Final

from events.errors import InputError
from events.log.disk import write_durably

__all__ = ["require_stdout", "write_whole"]

# Files of one kind begin with the same bytes up to here: evidence, and pages.
_SIGNATURE_BYTES: Final = 8
_STDOUT: Final = 1


def require_stdout(what: str) -> None:
    """Refuse to begin if standard output was closed; `baccarat.cli.main` put a stream in its place.

    For a command that may take long before its first line, or that waits for input.

    Args:
        what: needs somewhere to go: `the events`.

    Raises:
        InputError: standard output was closed before the start.
    """
    if fcntl.fcntl(_STDOUT, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise InputError(f"standard output is closed; {what} needs somewhere to go")


def write_whole(path: Path, data: bytes | Iterator[bytes], option: str) -> None:
    """Write data to path.

    Args:
        path: the target. A link is followed.
        data: all of it, at once or piece by piece. Its first bytes show its kind.
        option: the option that named the path, for the message: `-o`.

    Raises:
        InputError: there is a file of another kind, or it cannot be written; it is unchanged.
    """
    pieces = iter((data,)) if isinstance(data, bytes) else data
    first = next(pieces)
    try:
        target = path.resolve()
        if target.exists() and not target.is_file():
            with target.open("wb") as file:
                file.writelines(chain((first,), pieces))
            return
        if target.is_file() and not _is_another(target, first):
            raise InputError(f"{option} {path}: holds something else, and that is not overwritten")
        write_durably(target, chain((first,), pieces), mode=None)
    except OSError as error:
        raise InputError(f"{option} {path}: {error.strerror}") from error
    except RuntimeError as error:  # raised for a circle of links by python 3.11 and 3.12
        raise InputError(f"{option} {path}: {error}") from error


def _is_another(target: Path, data: bytes) -> bool:
    with target.open("rb") as file:
        return file.read(_SIGNATURE_BYTES) in {b"", data[:_SIGNATURE_BYTES]}
