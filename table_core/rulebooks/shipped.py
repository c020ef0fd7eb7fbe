"""The rulebooks that ship with the product: the only input of this room beside its shell's."""

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from events.errors import ConfigError, OurBug
from table_core.rules.rulebook import Rulebook
from table_core.rules.rulebook_file import parse_rulebook

__all__ = ["load_rulebook", "shipped", "shipped_source"]

_SUFFIX: Final = ".toml"


def shipped() -> tuple[str, ...]:
    """The ids of the shipped rulebooks, sorted."""
    return tuple(
        sorted(
            entry.name.removesuffix(_SUFFIX)
            for entry in _folder().iterdir()
            if entry.name.endswith(_SUFFIX)
        )
    )


@cache
def load_rulebook(rulebook_id: str) -> Rulebook:
    """Read a shipped rulebook; each file is read and compiled once a process.

    Raises:
        ConfigError: no such rulebook is shipped.
    """
    name = f"{rulebook_id}{_SUFFIX}"
    rulebook = parse_rulebook(name, shipped_source(rulebook_id))
    if rulebook.id != rulebook_id:
        raise OurBug(f"the shipped {name} calls itself {rulebook.id!r}")
    return rulebook


def shipped_source(rulebook_id: str) -> bytes:
    """The bytes of a shipped rulebook's file: what is hashed, and what a site copies to change.

    Raises:
        ConfigError: no such rulebook is shipped.
    """
    known = shipped()
    if rulebook_id not in known:
        raise ConfigError(f"no rulebook {rulebook_id!r} is shipped; known are {', '.join(known)}")
    return _folder().joinpath(f"{rulebook_id}{_SUFFIX}").read_bytes()


def _folder() -> Traversable:
    return files("table_core").joinpath("rulebooks")
