"""A site's own rulebooks kept beside the log, each by its hash, for as long as the log is.

A file that a person edits is read when a table comes up, and never again: what the table plays by,
what a coup of last month is judged by, and what evidence has in it, is the copy.
"""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

import structlog

from baccarat.placing import put_in_place
from baccarat.rulebooks.library import is_file, named_rulebook
from baccarat.small_files import read_file
from events.errors import ConfigError, InputError
from table_core.rulebooks.shipped import load_rulebook, shipped
from table_core.rules.rulebook import Rulebook

__all__ = ["Kept", "keep_rulebooks"]

_SUFFIX: Final = ".toml"
_MODE: Final = 0o644
_log: Final = structlog.get_logger()


class Kept(NamedTuple):
    """What is at hand.

    Args:
        in_force: the rulebook that was asked for.
        library: every rulebook, those that are shipped first.
        files: where those of them lie that are not shipped.
    """

    in_force: Rulebook
    library: tuple[Rulebook, ...]
    files: tuple[str, ...]


def keep_rulebooks(folder: Path, in_force: str, further: Iterable[str] = ()) -> Kept:
    """Keep a copy of each file that is named, and read those of before.

    Args:
        folder: for the copies; it is made when there is something to be kept.
        in_force: the id of a shipped rulebook, or the path of the site's own.
        further: paths of the site's own.

    Raises:
        InputError: one that is named cannot be read, or cannot be kept.
    """
    names = {name: _kept(folder, name) for name in (in_force, *further) if is_file(name)}
    kept = dict(_sound(folder))
    library = {book.hash: book for book in (*map(load_rulebook, shipped()), *kept.values())}
    book = kept[names[in_force]] if is_file(in_force) else load_rulebook(in_force)
    return Kept(book, tuple(library.values()), tuple(kept))


def _kept(folder: Path, name: str) -> str:
    """The copy of a file, by its hash."""
    source = read_file(name)
    path = folder / f"{sha256(source).hexdigest()}{_SUFFIX}"
    try:
        if not path.exists() or path.read_bytes() != source:
            folder.mkdir(parents=True, exist_ok=True)
            put_in_place(path, source, _MODE)
    except OSError as error:
        raise ConfigError(f"{name}: no copy can be kept in {folder}: {error.strerror}") from error
    return str(path)


def _sound(folder: Path) -> Iterator[tuple[str, Rulebook]]:
    """The copies that are what their names say, and that this build can read."""
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        try:
            if sha256(read_file(str(path))).hexdigest() == path.stem:
                yield str(path), named_rulebook(str(path))
                continue
            reason = "it is not what was kept"
        except InputError as error:
            reason = str(error)
        _log.warning("rulebook.left_out", file=str(path), reason=reason)
