"""Chooses the rulebook at startup: the configured one, or the one that a coup in progress cites."""

from collections.abc import Sequence

from events.errors import ConfigError
from table_core.rules.pay_scale import pay_scale
from table_core.rules.rulebook import Rulebook
from table_core.state.table import TableState

__all__ = ["startup_rulebook"]


def startup_rulebook(
    state: TableState,
    configured: Rulebook,
    library: Sequence[Rulebook],
    property_scale: str | None = None,
) -> Rulebook:
    """Return the rulebook by which the table plays until the next startup.

    Args:
        state: after the newest event of the log.
        configured: the rulebook in the configuration.
        library: other rulebooks that the table has.
        property_scale: the property's pay scale; None where nobody has said one.

    Returns:
        The configured one; while a coup is in progress by another version of it, that version.

    Raises:
        ConfigError: a coup is in progress by another rulebook, or by one that the table does not
            have; the currency would change while money is still owed; or the pay scale is not the
            property's.
    """
    at_hand = {book.hash: book for book in (*library, configured)}
    before = at_hand.get(state.rulebook_hash)
    _require_the_propertys_scale(before, configured, property_scale)
    if not state.in_progress or state.coup is None:
        _require_same_money(state, before, configured)
        return configured
    coup = state.coup
    if before is None or before.id != configured.id:
        raise ConfigError(
            f"coup {coup.id} is in progress under rulebook {state.rulebook} "
            f"({state.rulebook_hash}), but the configuration says {configured.id} "
            f"({configured.hash}); start with the old one, finish or void the coup first"
        )
    if coup.rulebook_hash not in at_hand:
        raise ConfigError(
            f"coup {coup.id} is in progress and was corrected to rulebook {coup.rulebook} "
            f"({coup.rulebook_hash}), which is not at hand; start with the build and the files "
            "that have it, and finish or void the coup first"
        )
    return before


def _require_same_money(state: TableState, before: Rulebook | None, now: Rulebook) -> None:
    if before is None or before.money == now.money:
        return
    owed = state.commission
    # What was given up keeps its currency, but not its decimals, and can be recovered at any time.
    debts = owed.outstanding or (before.currency == now.currency and owed.uncollected)
    if debts or (state.floats and state.floats[-1].open):
        raise ConfigError(
            f"rulebook {now.id} is in {now.money.said}, and what is owed or lies in the tray is in "
            f"{before.money.said}; start with {before.id} ({before.hash}), collect the commission "
            "and close the float first"
        )


def _require_the_propertys_scale(before: Rulebook | None, now: Rulebook, said: str | None) -> None:
    """Refuse another scale than the property's, or than the last one where nobody has said it."""
    scale, last = pay_scale(now), pay_scale(before) if before else None
    if scale is None or (said or last or scale) == scale:
        return
    if said is not None:
        remedy = f"the property's is {said}: adopt a rulebook that pays by it"
    else:
        remedy = (
            f"this table has paid by scale {last}; where the property has changed its scale, say "
            f'pay_scale = "{scale}" in the configuration of every table'
        )
    raise ConfigError(
        f"rulebook {now.id} pays by scale {scale}, and one scale holds for every table of a "
        f"property (11A.8): {remedy}"
    )
