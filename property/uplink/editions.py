"""The editions beside a table's log, for its uplink: which of them it has not published yet."""

from pathlib import Path
from typing import Final, NamedTuple

from events.log.editions import PROFILES, RULEBOOKS, editions_folder, read_editions
from property.hub.subjects import EditionKind

__all__ = ["EDITION_FOLDERS", "EditionQueue", "QueuedEdition"]

EDITION_FOLDERS: Final[dict[EditionKind, str]] = {"rulebook": RULEBOOKS, "profile": PROFILES}
"""Where the editions of each kind lie, beside the log."""

# The stream takes 64 KiB, with headers.
_MOST_BYTES: Final = 60 * 1024


class QueuedEdition(NamedTuple):
    """An edition to be published: its kind, the SHA-256 of its bytes in hex, and its bytes."""

    kind: EditionKind
    digest: str
    source: bytes


class EditionQueue:
    """The editions beside a log that have to be published.

    Args:
        log: the log's file, which may not be there yet.
    """

    def __init__(self, log: Path) -> None:
        self._log = log
        self._published: set[tuple[EditionKind, str]] = set()

    def pending(self) -> tuple[list[QueuedEdition], str]:
        """Return those not yet published, and a line on one that cannot be. Blocks."""
        found: list[QueuedEdition] = []
        wrong: list[str] = []
        for kind, name in EDITION_FOLDERS.items():
            folder = editions_folder(self._log, name)
            if all((kind, path.stem) in self._published for path in folder.glob("*.toml")):
                continue
            kept = read_editions(folder)
            wrong += kept.left_out
            for digest, source in kept.sources.items():
                if len(source) > _MOST_BYTES:
                    wrong.append(f"{folder / digest}.toml: longer than {_MOST_BYTES} bytes")
                elif (kind, digest) not in self._published:
                    found.append(QueuedEdition(kind, digest, source))
        return found, next(iter(wrong), "")

    def published(self, edition: QueuedEdition) -> None:
        """Note that the hub has an edition."""
        self._published.add(edition[:2])

    def begin_again(self) -> None:
        """Have all of them published again: the hub may have lost them."""
        self._published.clear()
