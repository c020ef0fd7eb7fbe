"""Where a rulebook's faults lie: keys as they are shown, and which follow from which. Pure."""

from collections.abc import Iterable, Iterator
from typing import Final

from events.toml_form import FileFault

__all__ = ["shown_key", "without_consequences"]

_MOST_KEY: Final = 40


def shown_key(key: str) -> str:
    """Return a key of a TOML table as a fault names it; quoted where it is no plain word."""
    plain = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if plain and len(key) <= _MOST_KEY else repr(key[:_MOST_KEY])


def without_consequences(
    found: Iterable[FileFault], earlier: Iterable[FileFault]
) -> Iterator[FileFault]:
    """Yield the faults that do not lie at, above or below the place of an earlier one."""
    places = [fault.where for fault in earlier]
    for fault in found:
        if not any(_meet(fault.where, place) for place in places):
            yield fault


def _meet(one: str, other: str) -> bool:
    shorter, longer = sorted((one, other), key=len)
    return longer == shorter or longer.startswith((f"{shorter}.", f"{shorter}["))
