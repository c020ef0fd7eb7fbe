"""Rulebooks by name: the shipped ones by id, and a site's own by path."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final

from baccarat.read_files import read_file
from events.errors import ConfigError
from events.free_text import find_forbidden
from events.toml_form import FileFault
from table_core.rulebooks.shipped import shipped_ids, shipped_source, shipped_sources
from table_core.rules.rulebook import Rulebook
from table_core.rules.rulebook_file import parse_rulebook

__all__ = [
    "is_file",
    "named_rulebook",
    "site_rulebook",
    "source_of",
    "table_requirements_missing",
]

_SUFFIX: Final = ".toml"
_LONGEST_ID: Final = 64
_LONGEST_LINE: Final = 400
_MOST_LINES: Final = 50
_MAIN_WAGERS: Final = ("player", "banker", "tie")  # of every game of the seeds


def is_file(name: str) -> bool:
    """Return whether a name is the path of a site's own rulebook, not the id of a shipped one."""
    return name.endswith(_SUFFIX)


def named_rulebook(name: str) -> Rulebook:
    """Return the rulebook that a person requests.

    Args:
        name: the id of a shipped one, or the path of a site's own, which ends in `.toml`.

    Raises:
        InputError: there is none, or it is faulty; one line that names file, key and reason.
    """
    return parse_rulebook(name if is_file(name) else f"{name}{_SUFFIX}", source_of(name))


def source_of(name: str) -> bytes:
    """Return the bytes of a rulebook's file.

    Raises:
        InputError: there is none.
    """
    if not is_file(name) and name not in shipped_ids() and Path(name).exists():
        raise ConfigError(f"{name}: the name of a rulebook's file ends in {_SUFFIX}; rename it")
    return read_file(name) if is_file(name) else shipped_source(name)


def site_rulebook(name: str) -> Rulebook:
    """Return a rulebook that a table may play by: as `named_rulebook`, and it lacks nothing.

    It must have an id of its own. Ledgers and reports name a rulebook by its id, and would mistake
    one with a shipped id for the shipped one.

    Raises:
        InputError: as there; or it lacks something that a table needs.
    """
    book = named_rulebook(name)
    if lacking := "; ".join(map(str, table_requirements_missing(book))):
        raise ConfigError(f"{name}: {lacking}")
    return book


def table_requirements_missing(book: Rulebook) -> Iterator[FileFault]:
    """Yield why a rulebook that can judge a coup is not fit for a table with patrons.

    Evidence and logs are judged by the rulebook of the coup, so they do not check any of this.
    """
    exact = {sha256(source).hexdigest() for source in shipped_sources()}
    if book.id in shipped_ids() and book.hash not in exact:
        yield FileFault.of(
            "id",
            "shipped_id",
            f"{book.id!r} is that of a shipped rulebook, of which this is no exact copy",
            'give it an id of its own, such as id = "harbour-house"',
        )
    for bet in _MAIN_WAGERS:
        if bet not in book.bets:
            right = "write it, with offered = false where the table does not take it"
            yield FileFault.of(f"bets.{bet}", "missing", "missing", right)
    if not book.sign.game.strip():
        right = "write what the sign calls the game"
        yield FileFault.of("sign.game", "missing", "empty", right)
    written = not book.sign.generated
    if written and (not book.sign.lines or not all(line.strip() for line in book.sign.lines)):
        right = "write what the sign must say, such as the site's own help line"
        yield FileFault.of("sign.lines", "missing", "missing, or one is empty", right)
    yield from _too_long_texts(book)


def _too_long_texts(book: Rulebook) -> Iterator[FileFault]:
    """Yield texts that a screen or a message has no room for."""
    for key, text, most in (
        ("id", book.id, _LONGEST_ID),
        ("title", book.title, _LONGEST_LINE),
        ("sign.game", book.sign.game, _LONGEST_LINE),
        ("sign.pay_scale", book.sign.pay_scale or "", _LONGEST_LINE),
        *(("sign.lines", line, _LONGEST_LINE) for line in book.sign.lines),
    ):
        if len(text) > most or not text.isprintable():
            wrong = f"at most {most} characters, and each of them to be seen"
            yield FileFault.of(key, "unshowable_text", wrong, "write a shorter, plain text")
        else:
            for where, wrong in find_forbidden(text, key):
                yield FileFault.of(where, "unshowable_text", wrong, "write a plain text")
    if len(book.sign.lines) > _MOST_LINES:
        wrong, right = f"{len(book.sign.lines)} lines", f"at most {_MOST_LINES}"
        yield FileFault.of("sign.lines", "too_many_lines", wrong, right)
