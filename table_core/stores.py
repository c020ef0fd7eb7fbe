"""The rulebooks that ship with the product: the only input of this room beside its shell's."""

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from events.errors import ConfigError
from table_core.rulebook import Rulebook
from table_core.rulebook_form import parse_rulebook

__all__ = ["load_rulebook", "shipped"]

_SUFFIX = ".toml"


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
        ConfigError: no such rulebook is shipped, or its file is wrong.
    """
    if rulebook_id not in shipped():
        raise ConfigError(
            f"no rulebook {rulebook_id!r} is shipped; known are {', '.join(shipped())}"
        )
    name = f"{rulebook_id}{_SUFFIX}"
    rulebook = parse_rulebook(name, _folder().joinpath(name).read_bytes())
    if rulebook.id != rulebook_id:
        raise ConfigError(f"{name}: id: {rulebook.id!r}; the file's name and its id must agree")
    return rulebook


def _folder() -> Traversable:
    return files("table_core").joinpath("rulebooks")
