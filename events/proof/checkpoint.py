"""Checkpoints: signed states of a log, in the form of C2SP tlog-checkpoint. Pure.

The text is three lines: the log's origin, how many events it has, and base64 of the RFC 6962 root
over their stored bytes: https://c2sp.org/tlog-checkpoint. A kept checkpoint and the public key are
enough to detect a log that was cut or rewritten since.
"""

import re
from base64 import b64encode
from collections.abc import Sequence
from typing import Final, NamedTuple

from events.errors import InputError
from events.proof.note import Note, SigningKey, from_base64, parse_note, signed_note

__all__ = ["Checkpoint", "parse_checkpoint", "signed_checkpoint"]

_ROOT_BYTES: Final = 32
_LINES: Final = 3
# Positions stay within 2^53 - 1, like all integers of ours.
_SIZE: Final = re.compile(r"(0|[1-9][0-9]{0,15})\Z")


class Checkpoint(NamedTuple):
    """The state of a log at one moment.

    Args:
        origin: `<site>/<table>`.
        size: how many events it had.
        root: the RFC 6962 root over their stored bytes.
    """

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> str:
        """The text that is signed."""
        return f"{self.origin}\n{self.size}\n{b64encode(self.root).decode()}\n"


def signed_checkpoint(checkpoint: Checkpoint, keys: Sequence[SigningKey]) -> bytes:
    """Return the checkpoint, signed, in the form that is stored and published."""
    return signed_note(checkpoint.text, keys)


def parse_checkpoint(data: bytes) -> tuple[Checkpoint, Note]:
    """Parse a checkpoint, and the note whose signatures are still to be verified.

    Lines after the third are extensions; they are signed and ignored.

    Raises:
        InputError: it is not a checkpoint; says why.
    """
    note = parse_note(data)
    lines = note.text.removesuffix("\n").split("\n")
    if len(lines) < _LINES or not all(lines):
        raise InputError("no checkpoint: three lines of origin, size and root")
    origin, size, root = lines[:_LINES]
    if not _SIZE.match(size):
        raise InputError(f"no checkpoint: {size[:20]!r} is no size")
    try:
        return Checkpoint(origin, int(size), from_base64(root, _ROOT_BYTES)), note
    except InputError as error:
        raise InputError(f"no checkpoint: the root is {error}") from error
