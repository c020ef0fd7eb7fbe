"""The house's procedure for burn, cut card and last coup. Pure."""

from typing import Final

from events.cards import Card
from events.types.shoe_life import BurnRecorded, CutCardCame, CutPlace
from table_core.rules.rulebook import Procedure
from table_core.state.coup import OVER, Phase
from table_core.state.shoe import ShoeState

__all__ = ["BURN_ALARM", "burn_expected", "cut_card_event", "cut_place_of", "reported_burn"]

_TEN: Final = 10
# Active from the first coup of a shoe without a reported burn, until a person records the burn.
BURN_ALARM: Final = "burn_missing"


def burn_expected(procedure: Procedure, exposed: Card | None) -> int | None:
    """Return the number of cards burned after the first one; None where it is not known."""
    rule, _, number = procedure.burn.partition(":")
    if rule == "none":
        return 0
    if rule == "fixed":
        return int(number)
    return None if exposed is None else exposed.points or _TEN


def reported_burn(shoe: ShoeState, procedure: Procedure) -> BurnRecorded:
    """Return the burn as the shoe has reported it."""
    return BurnRecorded(
        shoe=shoe.id,
        exposed=shoe.exposed,
        burned=shoe.burned,
        expected=burn_expected(procedure, shoe.exposed),
        by="shoe",
    )


def cut_place_of(phase: Phase) -> CutPlace:
    """Return where a cut card came out that the shoe reports in this phase."""
    if phase in OVER:
        return "between"
    return "first_card" if phase in {Phase.BETTING, Phase.CLOSED} else "mid_coup"


def cut_card_event(
    shoe: ShoeState, place: CutPlace, procedure: Procedure, *, by: str
) -> CutCardCame:
    """Return the event of a cut card at this place, with the last coup by the house's policy.

    In place of a coup's first card, that coup is the last under both policies. Otherwise the coup
    is finished, and one more is played or none. `between` means after the previous coup.
    """
    more = procedure.cut_card == "one_more" and place != "first_card"
    return CutCardCame(shoe=shoe.id, place=place, by=by, last_coup=max(1, shoe.coups + more))
