"""Chooses the rulebook at startup: the configured one, or in mid-coup the version the log pins."""

from collections.abc import Sequence

from events.errors import ConfigError
from table_core.rules.rulebook import Rulebook
from table_core.state.table import TableState

__all__ = ["startup_rulebook"]


def startup_rulebook(
    state: TableState, configured: Rulebook, library: Sequence[Rulebook]
) -> Rulebook:
    """Return the rulebook by which the table plays until the next startup.

    Args:
        state: after the newest event of the log.
        configured: the rulebook in the configuration.
        library: other rulebooks that the table has.

    Returns:
        The configured one; while a coup is in progress by another version of it, that version.

    Raises:
        ConfigError: a coup is in progress by another rulebook, or by one that the table does not
            have; or the currency would change while money is still owed.
    """
    at_hand = {book.hash: book for book in (*library, configured)}
    before = at_hand.get(state.rulebook_hash)
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
    if before is None or before.currency == now.currency:
        return
    # What was given up keeps its currency, and can be recovered in it at any time.
    if state.commission.outstanding or (state.floats and state.floats[-1].open):
        raise ConfigError(
            f"rulebook {now.id} is in {now.currency}, and what is owed or lies in the tray is in "
            f"{before.currency}; start with {before.id} ({before.hash}), collect the commission "
            "and close the float first"
        )
