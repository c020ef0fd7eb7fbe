"""Faults of a configuration file: all of them at once, each with key, reason and an example."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from events.errors import ConfigError
from events.free_text import find_forbidden
from events.toml_form import read_tree

__all__ = ["ConfigFault", "ConfigFaults", "read_toml"]


class ConfigFault(Struct, frozen=True, kw_only=True):
    """One fault of a configuration.

    Args:
        key: where it is, such as `bus.port`; empty for the file as a whole.
        reason: the fault, for a person.
        example: a line of TOML that would be right; empty where a line cannot show it.
    """

    key: str
    reason: str
    example: str = ""

    def __str__(self) -> str:
        said = f"{self.key}: {self.reason}" if self.key else self.reason
        return f"{said}; for example {self.example}" if self.example else said


class ConfigFaults(ConfigError):  # noqa: N818 - one error that contains many faults
    """A configuration that cannot be used.

    Args:
        file: its name.
        faults: all of them, in the order of the keys.
    """

    def __init__(self, file: str, faults: Sequence[ConfigFault]) -> None:
        super().__init__("; ".join(f"{file}: {fault}" for fault in faults))
        self.file = file
        self.faults = tuple(faults)

    @property
    def lines(self) -> tuple[str, ...]:
        """One line a fault."""
        return tuple(f"{self.file}: {fault}" for fault in self.faults)


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """Read a configuration's file as a tree, before its keys are checked.

    Args:
        path: the file.
        what: its owner, as in "give `the table's` TOML file".

    Raises:
        ConfigError: the file is missing or is not TOML.
        ConfigFaults: a text in it contains forbidden characters; paths and names are texts too.
    """
    try:
        tree = read_tree(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; give {what} TOML file") from error
    except ValueError as error:
        raise ConfigError(f"{path}: no TOML: {error}") from error
    if faults := [ConfigFault(key=key, reason=what) for key, what in find_forbidden(tree)]:
        raise ConfigFaults(str(path), faults)
    return tree
