"""Keep the editions that a log needs next to it before it cites them, and find them again.

The table reads a file that a person edits, or that the next build changes, only when it starts. It
plays by the kept copy; corrections of last month's coups and evidence use the kept copy too. Code
that needs a rulebook by its hash calls `available_rulebooks`. It searches next to the log, then the
files that a person gives, then the shipped ones.
"""

from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

import click

from baccarat.read_files import read_file
from baccarat.rulebooks.library import source_of
from events.errors import ConfigError, LogUnwritable
from events.free_text import show_text
from events.log.editions import PROFILES, RULEBOOKS, editions_folder, read_editions, write_editions
from events.structured_log import structlog
from shoe_driver.profiles.catalogue import profile_text, shipped_texts
from table_core.rulebooks.shipped import shipped_books, shipped_sources
from table_core.rules.rulebook import Rulebook
from table_core.rules.rulebook_file import parse_rulebook

__all__ = [
    "AvailableRulebooks",
    "ProfileKeeper",
    "available_rulebooks",
    "available_rulebooks_with_warnings",
    "editions_at_hand",
    "has_kept",
    "keep_profiles",
    "keep_rulebooks",
]

_log: Final = structlog.get_logger()


class AvailableRulebooks(NamedTuple):
    """The rulebooks at hand for a log.

    Args:
        sources: the bytes of each, by hash.
        books: the same, parsed.
        left_out: a line for each file next to the log that this build cannot use.
    """

    sources: Mapping[str, bytes]
    books: Mapping[str, Rulebook]
    left_out: tuple[str, ...]


def available_rulebooks(log: Path, files: Iterable[str] = ()) -> AvailableRulebooks:
    """Return the rulebooks for a log: kept next to it, given, shipped, in this order.

    Args:
        log: its file, or one of its closed files.
        files: paths of rulebooks that a person gives.

    Raises:
        InputError: a given one cannot be read, or is faulty.
    """
    sources: dict[str, bytes] = {}
    books: dict[str, Rulebook] = {}

    def take(name: str, source: bytes) -> None:
        digest = sha256(source).hexdigest()
        if digest not in books:
            books[digest] = shipped_books().get(digest) or parse_rulebook(name, source)
            sources[digest] = source

    kept = read_editions(editions_folder(log, RULEBOOKS))
    left_out = list(kept.left_out)
    for digest, source in kept.sources.items():
        try:
            take(f"{RULEBOOKS}/{digest}.toml", source)
        except ConfigError as error:
            left_out.append(str(error))
    for name in files:
        take(name, read_file(name) if Path(name).exists() else source_of(name))
    for source in shipped_sources():
        take("a shipped rulebook", source)
    return AvailableRulebooks(sources, books, tuple(left_out))


def available_rulebooks_with_warnings(log: Path, files: Iterable[str] = ()) -> AvailableRulebooks:
    """Return the same for a command, and print each file that was left out on stderr."""
    found = available_rulebooks(log, files)
    for line in found.left_out:
        click.echo(f"baccarat: left out: {show_text(' '.join(line.split()))}", err=True)
    return found


def editions_at_hand(log: Path, kind: str) -> Mapping[str, bytes]:
    """Return what is kept next to a log, and what this build ships, by hash; as it is, unparsed.

    Args:
        log: its file.
        kind: `RULEBOOKS` or `PROFILES`.
    """
    shipped = shipped_sources() if kind == RULEBOOKS else shipped_texts()
    ours = {sha256(source).hexdigest(): source for source in shipped}
    return ours | read_editions(editions_folder(log, kind)).sources


def keep_rulebooks(log: Path, names: Iterable[str] = ()) -> tuple[str, ...]:
    """Keep next to a log every rulebook that its table can play or judge by.

    Args:
        log: its file.
        names: those of the configuration, as `source_of` takes them; shipped ones are kept too.

    Returns:
        The hashes, those of `names` first.

    Raises:
        InputError: a named one cannot be read.
        LogUnwritable: the disk refused.
    """
    return _keep(log, RULEBOOKS, [*map(source_of, names), *shipped_sources()])


def has_kept(log: Path, rulebook: Rulebook) -> bool:
    """Return whether a rulebook stands next to a log: its table has started with it before."""
    try:
        return (editions_folder(log, RULEBOOKS) / f"{rulebook.hash}.toml").is_file()
    except OSError:  # whoever asks may not look there
        return False


def keep_profiles(log: Path, names: Iterable[str] = ()) -> tuple[str, ...]:
    """Keep wire profiles in the same way; `names` as `profile_text` takes them."""
    return _keep(log, PROFILES, [*map(profile_text, names), *shipped_texts()])


class ProfileKeeper:
    """Keeps the driver's profile next to the log, before the first event that cites it.

    The driver may read by another edition than the table's configuration names, because it reads a
    journal to its end by the edition that it began with. It keeps each edition with its journals,
    where this object finds it on the same machine. On another machine only its hash is known here.

    Args:
        log: the log's file.
        kept: the hashes that are kept already.
        journals: the folder of the driver's journals.
    """

    def __init__(self, log: Path, kept: Iterable[str], journals: Path) -> None:
        self._log, self._journals = log, journals
        self._settled = set(kept)

    def __call__(self, digest: str) -> None:
        """Keep the edition of this hash, which an event cites.

        Raises:
            LogUnwritable: the disk refused to keep it.
        """
        if digest in self._settled:
            return
        beside = read_editions(editions_folder(self._log, PROFILES)).sources
        source = (beside | read_editions(self._journals / PROFILES).sources).get(digest)
        if source is None:
            why = f"its file lies neither beside the log nor in {self._journals / PROFILES}"
            _log.warning("profile.not_kept", hash=digest, why=why)
        else:
            _keep(self._log, PROFILES, [source])
        self._settled.add(digest)


def _keep(log: Path, kind: str, sources: Iterable[bytes]) -> tuple[str, ...]:
    folder = editions_folder(log, kind)
    try:
        return write_editions(folder, sources)
    except OSError as error:
        raise LogUnwritable(f"{folder}: no edition can be kept: {error.strerror}") from error
