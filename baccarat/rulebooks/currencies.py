"""The currencies of ISO 4217 and their decimals: the one place that reads ISO's list.

A rulebook of form 2 says its decimals itself, so that a running table asks no list. The list is for
what is new: adopting a rulebook, and naming a currency on the command line.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from events.errors import InputError
from events.money import Currency
from events.toml_form import FileFault
from table_core.rules.rulebook import Rulebook
from table_core.rules.rulebook_forms import form_1_decimals

__all__ = ["currency_faults", "iso_currency", "iso_decimals", "known_currency"]

_NONE: Final = "no currency of ISO 4217 that has a minor unit"
_RIGHT: Final = "write its code, such as AUD"


@cache
def iso_decimals() -> Mapping[str, int]:
    """Return the decimals of every currency of ISO 4217 that has a minor unit, by code.

    A code without one is no money that a table could take: gold (XAU), tests (XTS).
    """
    import iso4217  # noqa: PLC0415 - it parses ISO's list, and most commands never ask

    found = {each.code: each.exponent for each in iso4217.Currency}
    return {code: decimals for code, decimals in found.items() if decimals is not None}


def iso_currency(code: str) -> Currency:
    """Return a currency by its code.

    Raises:
        InputError: ISO 4217 has none of this code, or it has no minor unit.
    """
    if code not in iso_decimals():
        raise InputError(f"{code!r}: {_NONE}; {_RIGHT}")
    return Currency(code, iso_decimals()[code])


def known_currency(code: str) -> Currency:
    """Return a currency that a log names, and that ISO 4217 may have dropped since."""
    return Currency(code, iso_decimals().get(code, form_1_decimals(code)))


def currency_faults(rulebook: Rulebook) -> Iterator[FileFault]:
    """Yield why nobody may adopt a rulebook with this currency.

    A table that has played by it plays on, whatever has become of ISO's list since.
    """
    decimals = iso_decimals().get(rulebook.currency)
    if decimals is None:
        text, right = f"{rulebook.currency!r}: {_NONE}", _RIGHT
        yield FileFault.of("currency", "unknown_currency", text, right)
    elif decimals != rulebook.decimals:
        text = (
            f"{rulebook.decimals}, and by ISO 4217 an amount in {rulebook.currency} has {decimals}"
        )
        right = f"write form = 2 and decimals = {decimals}, and all amounts in that unit"
        yield FileFault.of("decimals", "wrong_decimals", text, right)
