"""A whole log as JSON Lines, for a verifier by another hand, as docs/reference/log-export.md says.

One event is in memory at a time. An edition's line precedes the first event that cites it, and a
checkpoint's line follows the event at which it was signed.
"""

import re
import tomllib
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from baccarat.history.evidence_from_log import build_name
from baccarat.rulebooks.editions import editions_at_hand
from events.errors import LogRefused
from events.log.editions import PROFILES, RULEBOOKS
from events.log.reader import LogReader
from events.proof.merkle import MerkleTree

__all__ = ["EXPORT_FORMAT", "Editions", "editions_of", "export_lines"]

EXPORT_FORMAT: Final = "baccarat-log/1"
# Within the stored JSON a quotation mark of a text is escaped, so no text can look like this.
_CITED: Final = re.compile(rb'"(rulebook|profile)_hash":"([0-9a-f]{64})"')
_KINDS: Final = {"rulebook": RULEBOOKS, "profile": PROFILES}

Editions = Mapping[tuple[str, str], bytes]
"""The bytes of rulebooks and wire profiles, by kind (`rulebook`, `profile`) and SHA-256."""


def editions_of(log: Path) -> Editions:
    """Return the editions that are kept next to a log, and those that this build ships."""
    return {
        (kind, digest): source
        for kind, folder in _KINDS.items()
        for digest, source in editions_at_hand(log, folder).items()
    }


def export_lines(
    log: LogReader, editions: Editions, progress: Callable[[int, int], None] | None = None
) -> Iterator[bytes]:
    """Yield the lines of the export, the header first; each ends with a line feed.

    Args:
        log: the log.
        editions: those at hand.
        progress: called after each event with its position and the log's end.

    Raises:
        LogRefused: an event is missing or differs from what was hashed, or a checkpoint is no text.
    """
    header = {
        "format": EXPORT_FORMAT,
        "origin": log.origin,
        "events": log.end,
        "build": build_name(),
    }
    yield _line(header)
    checkpoints, written = log.checkpoints(), 0
    waiting = next(checkpoints, None)
    cited: set[tuple[str, str]] = set()
    tree = MerkleTree()
    for position, stored, digest in log.bare():
        for kind, edition in _CITED.findall(stored):
            named = kind.decode(), edition.decode()
            if named not in cited:
                cited.add(named)
                yield _line(_edition(*named, editions.get(named)))
        encoded = b64encode(stored).decode()
        yield _line({"position": position, "bytes": encoded, "hash": digest.hex()})
        tree.add(stored)
        while waiting is not None and waiting[0] <= position:
            yield _line({"checkpoint": _text(*waiting)})
            written += 1
            waiting = next(checkpoints, None)
        if progress is not None:
            progress(position, log.end)
    while waiting is not None:  # covers events that the log has lost: the reader has to see it
        yield _line({"checkpoint": _text(*waiting)})
        written += 1
        waiting = next(checkpoints, None)
    yield _line({"end": log.end, "checkpoints": written, "root": tree.root().hex()})


def _edition(kind: str, digest: str, source: bytes | None) -> dict[str, Any]:
    """Return an edition's line; text and content are null where no file of that hash is at hand."""
    text = content = None
    if source is not None:
        text = source.decode("utf-8", "replace")
        try:
            content = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            content = None
    return {"edition": kind, "hash": digest, "text": text, "content": content}


def _text(size: int, note: bytes) -> str:
    try:
        return note.decode()
    except (UnicodeDecodeError, AttributeError) as error:
        raise LogRefused(f"the checkpoint stored at {size!r} is no text: {error}") from error


def _line(content: dict[str, Any]) -> bytes:
    return msgspec.json.encode(content) + b"\n"
