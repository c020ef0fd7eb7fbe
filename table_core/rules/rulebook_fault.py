"""A fault of a rulebook: where it is, what is wrong, and what would be right. Pure."""

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

__all__ = ["RulebookFault", "shown_key", "without_consequences"]

_MOST_TEXT: Final = 300
_MOST_KEY: Final = 40


class RulebookFault(Struct, frozen=True):
    """One fault.

    Args:
        where: the key in the file, such as `bets.tie.pays.win`; `file` for the whole.
        code: its stable name.
        text: what is wrong, on one line.
        remedy: what would be right, on one line.
    """

    where: str
    code: str
    text: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.where}: {self.text}; {self.remedy}"

    @classmethod
    def of(cls, where: str, code: str, text: str, remedy: str) -> "RulebookFault":
        """Return a fault whose texts fit on a line, whatever the file holds."""
        return cls(where, code, *(" ".join(each.split())[:_MOST_TEXT] for each in (text, remedy)))


def shown_key(key: str) -> str:
    """Return a key of a TOML table as a fault names it; quoted where it is no plain word."""
    plain = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if plain and len(key) <= _MOST_KEY else repr(key[:_MOST_KEY])


def without_consequences(
    found: Iterable[RulebookFault], earlier: Iterable[RulebookFault]
) -> Iterator[RulebookFault]:
    """Yield the faults that do not lie at, above or below the place of an earlier one."""
    places = [fault.where for fault in earlier]
    for fault in found:
        if not any(_meet(fault.where, place) for place in places):
            yield fault


def _meet(one: str, other: str) -> bool:
    shorter, longer = sorted((one, other), key=len)
    return longer == shorter or longer.startswith((f"{shorter}.", f"{shorter}["))
