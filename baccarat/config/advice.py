"""What a table's configuration may say, and what the site should look at before it opens.

None of it keeps a table from starting: a site can mean it. `config check` and `doctor` say it.
"""

from collections.abc import Iterator

from msgspec import Struct

from baccarat.config.form import TableConfig
from baccarat.rulebooks.currencies import currency_faults
from baccarat.rulebooks.library import named_rulebook
from events.errors import InputError
from events.types import LimitsSet
from table_core.narrative.formatting import amount
from table_core.rulebook_check.check import check_rulebook
from table_core.rules.pay_scale import pay_scale
from table_core.rules.payable import first_unpayable
from table_core.rules.rulebook import Rulebook
from table_core.rules.table_limits import apply_limits

__all__ = ["ConfigAdvice", "advice", "payable_advice"]


class ConfigAdvice(Struct, frozen=True, kw_only=True):
    """One thing to look at.

    Args:
        key: of the configuration, or of the rulebook where it begins with `rulebook`.
        text: what follows from it as it is.
        remedy: what to write where the site does not mean it.
    """

    key: str
    text: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.key}: {self.text} -> {self.remedy}"


def advice(config: TableConfig) -> Iterator[ConfigAdvice]:
    """Yield what to look at in a configuration that has no faults."""
    try:
        rulebook = named_rulebook(config.rulebook_name)
    except InputError:
        return  # which is a fault of the configuration
    limits = LimitsSet() if config.limits is None else config.limits.as_event()
    in_force = apply_limits(rulebook, limits)
    for fault in currency_faults(rulebook):
        yield ConfigAdvice(
            key=f"rulebook: {fault.where}", text=f"{fault.text}: in force", remedy=fault.remedy
        )
    yield from _faulty_library(config)
    yield from _missing_scale(config, rulebook)
    yield from _missing_limits(in_force)
    yield from payable_advice(in_force)


def _faulty_library(config: TableConfig) -> Iterator[ConfigAdvice]:
    for name in config.library_files:
        for fault in check_rulebook(named_rulebook(name)):
            yield ConfigAdvice(
                key="library",
                text=f"{name}: {fault}: no coup is corrected to it",
                remedy="name an edition without the fault",
            )


def _missing_scale(config: TableConfig, rulebook: Rulebook) -> Iterator[ConfigAdvice]:
    scale = pay_scale(rulebook)
    if scale is not None and config.pay_scale is None:
        yield ConfigAdvice(
            key="pay_scale",
            text=f"is not said: this table pays by scale {scale}, and nothing here keeps another "
            "table of the property from paying by another (11A.8)",
            remedy=f'say the property\'s scale at every table: pay_scale = "{scale}"',
        )


def _missing_limits(rulebook: Rulebook) -> Iterator[ConfigAdvice]:
    offered = [bet for bet in rulebook.bets.values() if bet.offered]
    unbound = [bet.id for bet in offered if bet.maximum is None]
    whole = rulebook.limits
    bounds = (whole.patron_maximum, whole.seat_maximum, whole.table_maximum)
    if unbound and not any(bounds):
        yield ConfigAdvice(
            key="limits",
            text=f"no maximum on {', '.join(unbound)}: until people set limits, the sign says that "
            "there is none, and any stake is taken",
            remedy="write [limits] bets, or set limits at the table before it opens",
        )
    lowest = [bet.id for bet in offered if bet.minimum <= rulebook.unit]
    if lowest:
        yield ConfigAdvice(
            key="limits",
            text=f"no minimum on {', '.join(lowest)}: until people set limits, the sign says "
            f"{amount(rulebook.unit, rulebook.money)} {rulebook.currency}",
            remedy="write [limits] bets, or set limits at the table before it opens",
        )


def payable_advice(rulebook: Rulebook) -> Iterator[ConfigAdvice]:
    """Yield an example of a payment for which the table has no chips, where there is one."""
    found = first_unpayable(rulebook)
    if found is None:
        return
    stake, paid, chip = (
        f"{amount(each, rulebook.money)}" for each in (found.stake, found.paid, found.chip)
    )
    won = f"pays {paid} ({found.category})" if found.category else "is taken"
    yield ConfigAdvice(
        key="rulebook: unit",
        text=f"{stake} on {found.bet} {won}, and the smallest chip is {chip} {rulebook.currency}: "
        "not payable in chips",
        remedy=f"write unit = {found.chip} in a rulebook of your own: payouts are then rounded "
        f"{rulebook.rounding.payout.value} to whole chips; or a smaller chip in `chips`",
    )
