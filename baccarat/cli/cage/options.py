"""Options that the commands on a ledger share: the ledger, and a filter of its entries."""

from collections.abc import Callable
from contextlib import suppress
from datetime import date
from typing import Any, Final, TypeVar

import click

from baccarat.cli.value_types import NAME
from cage.ledger.reading import Filter, Ledger

__all__ = ["add_filter_options", "day_option", "filter_of", "ledger_option"]

_LEDGER: Final = "cage.sqlite"
_Command = TypeVar("_Command", bound=Callable[..., Any])


class _BusinessDay(click.ParamType[str]):
    """A day as `YYYY-MM-DD`."""

    name = "day"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the day; fail with a usage error if there is no such day."""
        day: str | None = None
        with suppress(ValueError):
            day = date.fromisoformat(value).isoformat()
        if day != value:  # no day, or one in another form of ISO 8601
            self.fail(f"{value!r}: write a business day, such as 2026-11-27", param, ctx)
        return value


def day_option(says: str) -> Callable[[_Command], _Command]:
    """Return the option `--day`, with this help."""
    return click.option("--day", metavar="YYYY-MM-DD", type=_BusinessDay(), help=says)


_OPTIONS: Final = (
    click.option("--table", metavar="SITE/TABLE", type=NAME, help="This table's book only."),
    click.option("--shoe", metavar="ID", type=NAME, help="This shoe only, such as 20261127-01."),
    day_option("This business day only."),
    click.option("--coup", metavar="ID", type=NAME, help="This coup only, such as 20261127-01/31."),
    click.option("--seat", type=click.IntRange(0, 99), help="This seat's postings only."),
    click.option("--bet", metavar="BET", type=NAME, help="This bet's postings only."),
)

ledger_option: Final = click.option(
    "--ledger",
    metavar="FILE|URL",
    default=_LEDGER,
    show_default=True,
    help="A SQLite file or postgresql://host/database.",
)
"""The option `--ledger`."""


def add_filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that filter entries."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def filter_of(ledger: Ledger, options: dict[str, Any]) -> Filter:
    """Return the filter that those options describe.

    Raises:
        InputError: one of them names what this ledger does not have.
    """
    chosen = Filter(**options)
    ledger.require_named(chosen)
    return chosen
