"""Reads the rulebooks that ship with the product; only it and the service do I/O here."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from events.errors import ConfigError, OurBug
from events.log.editions import shipped_editions
from table_core.rules.rulebook import Rulebook
from table_core.rules.rulebook_file import parse_rulebook

__all__ = ["load_rulebook", "shipped_books", "shipped_ids", "shipped_source", "shipped_sources"]

_SUFFIX: Final = ".toml"


def shipped_ids() -> tuple[str, ...]:
    """Return the ids of the shipped rulebooks, sorted."""
    return tuple(_editions())


@cache
def load_rulebook(rulebook_id: str) -> Rulebook:
    """Return the newest edition of a shipped rulebook; each is read and compiled once a process.

    Raises:
        ConfigError: no such rulebook is shipped.
    """
    name = f"{rulebook_id}{_SUFFIX}"
    rulebook = parse_rulebook(name, shipped_source(rulebook_id))
    if rulebook.id != rulebook_id:
        raise OurBug(f"the shipped {name} calls itself {rulebook.id!r}")
    return rulebook


@cache
def shipped_books() -> Mapping[str, Rulebook]:
    """Return every shipped edition by hash, older ones too; each is compiled once a process."""
    books = (parse_rulebook("a shipped rulebook", source) for source in shipped_sources())
    return {book.hash: book for book in books}


def shipped_source(rulebook_id: str) -> bytes:
    """Return the bytes of a rulebook's file, which are hashed; a site edits a copy of them.

    Raises:
        ConfigError: no such rulebook is shipped.
    """
    known = _editions()
    if rulebook_id not in known:
        raise ConfigError(f"no rulebook {rulebook_id!r} is shipped; known are {', '.join(known)}")
    return known[rulebook_id][-1]


def shipped_sources() -> tuple[bytes, ...]:
    """Return the bytes of every shipped edition, older ones included."""
    return tuple(source for editions in _editions().values() for source in editions)


@cache
def _editions() -> Mapping[str, tuple[bytes, ...]]:
    return shipped_editions(files("table_core").joinpath("rulebooks"))
