"""Options that the commands on a ledger share: the ledger, and a filter of its entries."""

from collections.abc import Callable
from typing import Any, Final

import click

from cage.ledger.reading import Filter

__all__ = ["add_filter_options", "filter_of", "ledger_option"]

_LEDGER: Final = "cage.sqlite"
_OPTIONS: Final = (
    click.option("--table", metavar="SITE/TABLE", help="This table's book only."),
    click.option("--shoe", metavar="ID", help="This shoe only, such as 20261127-01."),
    click.option("--day", metavar="YYYY-MM-DD", help="This business day only."),
    click.option("--coup", metavar="ID", help="This coup only, such as 20261127-01/31."),
    click.option("--seat", type=click.IntRange(0, 99), help="This seat's postings only."),
    click.option("--bet", metavar="BET", help="This bet's postings only."),
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


def filter_of(options: dict[str, Any]) -> Filter:
    """Return the filter that those options describe."""
    return Filter(**options)
