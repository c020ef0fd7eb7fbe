"""A sentence before it has a language: the key of a template, and the values to put in. Pure.

The templates are the screens' words, a file a language. Whoever has them says the sentence with
`say`; a page does so with `say` of `displays/static/js/sentences.js`.
"""

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Final

from msgspec import Struct

from events.money import Currency, Odds
from table_core.narrative.formatting import amount

__all__ = ["Sentence", "Value", "Words", "joined", "money", "percent", "percent_of", "say"]

Value = str | int | tuple[str, ...]
"""A text or a figure as it is shown; an amount in minor units; or keys of words, to be listed."""
Words = Mapping[str, str]
"""The texts of one language by key."""

_HOLE: Final = re.compile(r"\{(\w+)\}")
_FINE: Final = 4  # decimals of a percentage


class Sentence(Struct, frozen=True):
    """A sentence in no language.

    Args:
        key: of its template.
        values: by the name that the template has for each.
    """

    key: str
    values: dict[str, Value] = {}


def say(sentence: Sentence, words: Words, currency: Currency) -> str:
    """Return the sentence in the language of `words`; amounts are of `currency`."""

    def value(hole: re.Match[str]) -> str:
        found = sentence.values[hole[1]]
        if isinstance(found, int):
            return money(found, currency)
        return found if isinstance(found, str) else joined(found, words)

    return _HOLE.sub(value, words[sentence.key])


def joined(keys: Iterable[str], words: Words) -> str:
    """Return the words of keys as a list."""
    return words["list.and"].join(words[key] for key in keys)


def money(minor: int, currency: Currency) -> str:
    """Return an amount with its currency, without decimals where it is whole: `USD 30,000`."""
    whole, _, part = amount(minor, currency).partition(".")
    return f"{currency.code} {whole}.{part}" if part.strip("0") else f"{currency.code} {whole}"


def percent(share: Fraction, decimals: int = _FINE) -> str:
    """Return a share in per cent, rounded: `1.0579`; `5` where nothing is left to round."""
    scaled = round(share * 100 * 10**decimals)
    sign, (whole, part) = "-" if scaled < 0 else "", divmod(abs(scaled), 10**decimals)
    exact = share * 100 == Fraction(scaled, 10**decimals)
    digits = f"{part:0{decimals}}"
    digits = digits.rstrip("0") if exact else digits
    return f"{sign}{whole}.{digits}" if digits else f"{sign}{whole}"


def percent_of(rate: Odds) -> str:
    """Return a rate in per cent: 1/20 is `5`."""
    return percent(Fraction(rate.num, rate.den))
