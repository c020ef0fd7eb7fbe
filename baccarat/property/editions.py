"""Editions for a property's archive: those that ship, and those kept next to logs."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, Literal

from events.log.editions import PROFILES, RULEBOOKS, editions_beside, kept_editions
from events.toml_form import read_tree
from property.archive.editions import Edition
from shoe_driver.profiles.catalogue import shipped_texts
from table_core.rulebooks.shipped import shipped_sources

__all__ = ["beside_logs", "shipped_here"]

_Kind = Literal["rulebook", "profile"]
_KINDS: Final[dict[str, _Kind]] = {RULEBOOKS: "rulebook", PROFILES: "profile"}


def shipped_here() -> list[Edition]:
    """Return every edition that ships with this build."""
    return [*_editions("rulebook", shipped_sources()), *_editions("profile", shipped_texts())]


def beside_logs(logs: Iterable[Path]) -> list[Edition]:
    """Return every edition that is kept next to these logs, or next to their copies."""
    return [
        edition
        for log in logs
        for folder, kind in _KINDS.items()
        for edition in _editions(kind, kept_editions(editions_beside(log, folder)).sources.values())
    ]


def _editions(kind: _Kind, sources: Iterable[bytes]) -> Iterator[Edition]:
    for source in sources:
        try:
            name = str(read_tree(source).get("id", ""))
        except ValueError:
            name = ""  # from a later build, which may write them differently
        yield Edition(kind, name, source)
