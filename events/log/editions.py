"""Editions: the rulebooks that coups are judged by and the profiles that shoe bytes are read by.

A log names an edition by the SHA-256 of its bytes and never holds the bytes. So the edition's file
lies next to the log, for as long as the log exists:

    table.sqlite
    rulebooks/<SHA-256>.toml    the rulebooks that its coups are judged by
    profiles/<SHA-256>.toml     the profiles that its shoe's bytes were read by

The product ships a library of editions: `ez.toml` is the first edition of `ez`, `ez.2.toml` the
second. A shipped edition is never edited and never removed; an id without a number means the
newest.
"""

import os
import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final, NamedTuple

from events.log.disk import sync, write_durably
from events.log.segments import archive_folder

__all__ = [
    "PROFILES",
    "RULEBOOKS",
    "StoredEditions",
    "copy_editions",
    "damaged_editions",
    "editions_folder",
    "read_editions",
    "shipped_editions",
    "write_editions",
]

RULEBOOKS: Final = "rulebooks"
"""The name of the folder of rulebooks, next to the log."""
PROFILES: Final = "profiles"
"""The name of the folder of wire profiles; a driver has one in its journal folder."""

_SUFFIX: Final = ".toml"
# Whatever a service's umask is: the table, as another user, reads the driver's editions. The folder
# above decides who may come this far.
_FOLDER_MODE: Final = 0o755
_MODE: Final = 0o644
_MOST_BYTES: Final = 1024 * 1024  # hundreds of times the largest edition that is shipped
_SHIPPED: Final = re.compile(r"(?P<id>[^.]+)(?:\.(?P<number>[1-9][0-9]*))?\.toml\Z")


class StoredEditions(NamedTuple):
    """The content of a folder of editions.

    Args:
        sources: the bytes of each edition, by hash.
        left_out: a line for each file that does not match its name, or cannot be read.
    """

    sources: dict[str, bytes]
    left_out: tuple[str, ...]


def editions_folder(log: Path, kind: str) -> Path:
    """Return the folder of a kind of editions, for a log or for one of its closed files."""
    return archive_folder(Path(os.path.realpath(log))).parent / kind


def write_editions(folder: Path, sources: Iterable[bytes]) -> tuple[str, ...]:
    """Store editions; on return each one is in the folder, whole and on the disk.

    Args:
        folder: where to store them; it is made if there is anything to store.
        sources: their bytes. An edition that is there stays; a damaged one is replaced.

    Returns:
        Their hashes, in the order of `sources`.

    Raises:
        OSError: the disk refused.
    """
    digests, put = [], False
    for source in sources:
        digests.append(sha256(source).hexdigest())
        path = folder / f"{digests[-1]}{_SUFFIX}"
        if path.is_file() and _read(path) == source:
            continue
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(_FOLDER_MODE)
        write_durably(path, source, _MODE)
        put = True
    if put:
        sync(folder.parent)
    return tuple(digests)


def read_editions(folder: Path) -> StoredEditions:
    """Return the editions that a folder holds; none if there is no such folder."""
    sources: dict[str, bytes] = {}
    left_out = []
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        try:
            source = _read(path)
        except OSError as error:
            left_out.append(f"{path}: cannot be read: {error.strerror}")
            continue
        if sha256(source).hexdigest() == path.stem:
            sources[path.stem] = source
        else:
            left_out.append(f"{path}: is not what was kept: its bytes have another hash")
    return StoredEditions(sources, tuple(left_out))


def copy_editions(log: Path, copy: Path) -> None:
    """Copy a log's editions next to the log's copy; damaged ones are left out.

    Raises:
        OSError: the disk refused.
    """
    for kind in (RULEBOOKS, PROFILES):
        found = read_editions(editions_folder(log, kind))
        write_editions(editions_folder(copy, kind), found.sources.values())


def damaged_editions(log: Path) -> tuple[str, ...]:
    """Return a line for each damaged edition next to a log."""
    return tuple(
        line
        for kind in (RULEBOOKS, PROFILES)
        for line in read_editions(editions_folder(log, kind)).left_out
    )


def shipped_editions(folder: Traversable) -> Mapping[str, tuple[bytes, ...]]:
    """Return the editions in a folder of shipped files, by id, the newest last."""
    found: dict[str, dict[int, bytes]] = {}
    for entry in folder.iterdir():
        named = _SHIPPED.match(entry.name)
        if named is not None:
            found.setdefault(named["id"], {})[int(named["number"] or 1)] = entry.read_bytes()
    return {
        name: tuple(source for _, source in sorted(editions.items()))
        for name, editions in sorted(found.items())
    }


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_MOST_BYTES + 1)
