"""Editions for a property's archive: those that ship, and those kept next to logs."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

from events.errors import InputError
from events.log.editions import editions_folder, read_editions
from events.toml_form import read_tree
from property.archive.store import Edition
from property.hub.subjects import EditionKind
from property.uplink.editions import EDITION_FOLDERS
from shoe_driver.profiles.catalogue import shipped_texts
from shoe_driver.profiles.profile import parse_profile
from table_core.rulebooks.shipped import shipped_sources
from table_core.rules.rulebook_file import parse_rulebook

__all__ = ["editions_next_to_logs", "read_edition", "shipped_editions"]

# A key of so many parts is none of ours, and `tomllib` takes a minute over one of thirty thousand.
_DOTS_MOST: Final = 500


def shipped_editions() -> list[Edition]:
    """Return every edition that ships with this build."""
    return [*_editions("rulebook", shipped_sources()), *_editions("profile", shipped_texts())]


def editions_next_to_logs(logs: Iterable[Path]) -> list[Edition]:
    """Return every edition that is kept next to these logs, or next to their copies."""
    return [
        edition
        for log in logs
        for kind, folder in EDITION_FOLDERS.items()
        for edition in _editions(kind, read_editions(editions_folder(log, folder)).sources.values())
    ]


@lru_cache(maxsize=256)
def read_edition(kind: EditionKind, source: bytes) -> Edition:
    """Read what came as an edition; most tables have the same.

    Raises:
        InputError: it is none of that kind, or of a later build.
    """
    if max((line.count(b".") for line in source.splitlines()), default=0) > _DOTS_MOST:
        raise InputError(f"a line has more than {_DOTS_MOST} dots")
    if kind == "rulebook":
        return Edition(kind, parse_rulebook("rulebook", source).id, source)
    return Edition(kind, parse_profile(source, source="of a shoe").id, source)


def _editions(kind: EditionKind, sources: Iterable[bytes]) -> Iterator[Edition]:
    for source in sources:
        try:
            name = str(read_tree(source).get("id", ""))
        except ValueError:
            name = ""  # from a later build, which may write them differently
        yield Edition(kind, name, source)
