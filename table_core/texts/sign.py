"""The lines of the table's sign, from the rules: limits, whom they bind, commission, needs. Pure.

The pay table and each bet's own limits stand on the sign as a table; the lines say what a table of
figures cannot. A rulebook of form 1 writes its own lines, so only its limits are added.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeVar

from table_core.rules.rulebook import PUSH, Bet, Requirement, Rulebook
from table_core.rules.wager_checks import OPTIONS, mains_for
from table_core.texts.sentences import Sentence, Value, percent_of

__all__ = ["MAIN_BETS", "offered_bets", "sign_lines", "their_names"]

MAIN_BETS: Final = ("player", "banker", "tie")
_K = TypeVar("_K")
_ALL: Final = "sign.all_bets"
_SIDE: Final = "sign.side_bets"


def sign_lines(rulebook: Rulebook) -> tuple[Sentence, ...]:
    """Return the lines that the rules give, in the order in which the sign has them.

    Args:
        rulebook: with the limits in force.
    """
    parts = _PARTS if rulebook.sign.generated else (_limits,)
    return tuple(line for part in parts for line in part(rulebook))


def offered_bets(rulebook: Rulebook) -> tuple[Bet, ...]:
    """Return the bets that the table takes, in the rulebook's order."""
    return tuple(bet for bet in rulebook.bets.values() if bet.offered)


def their_names(bets: Iterable[Bet]) -> tuple[str, ...]:
    """Return the keys of the words of bets."""
    return tuple(f"bet.{bet.id}" for bet in bets)


def _commission(rulebook: Rulebook) -> Iterator[Sentence]:
    terms = rulebook.commission
    bets = their_names(bet for bet in offered_bets(rulebook) if bet.commission)
    if terms is None or not bets:
        yield Sentence("sign.no_commission")
        return
    values: dict[str, Value] = {"bets": bets, "rate": percent_of(terms.rate)}
    yield Sentence(f"sign.commission.{terms.timing.value}", values)
    if terms.block > 1:
        yield Sentence("sign.commission.block", {"block": terms.block})


def _special(rulebook: Rulebook) -> Iterator[Sentence]:
    """Yield the wins of Player and Banker that do not pay as their others do."""
    for bet in offered_bets(rulebook):
        if bet.id not in MAIN_BETS:
            continue
        for category, odds in bet.schedule.items():
            if category in {PUSH, "win"}:
                continue
            values: dict[str, Value] = {
                "bet": (f"bet.{bet.id}",),
                "category": (f"category.{bet.id}.{category}",),
            }
            if odds is None:
                yield Sentence("sign.pushes", values)
            else:
                values |= {"num": str(odds.num), "den": str(odds.den)}
                yield Sentence("sign.pays", values)


def _scale(rulebook: Rulebook) -> Iterator[Sentence]:
    scale = rulebook.sign.pay_scale
    if scale is not None:
        values: dict[str, Value] = {"bet": ("bet.perfect_pairs",), "scale": (f"scale.{scale}",)}
        yield Sentence("sign.scale", values)


def _requirements(rulebook: Rulebook) -> Iterator[Sentence]:
    side = [bet for bet in offered_bets(rulebook) if bet.id not in MAIN_BETS]
    for requirement, group in _grouped(side, lambda bet: bet.requirement).items():
        values: dict[str, Value] = {"bets": _named(group, _SIDE, len(side))}
        if requirement is not Requirement.NONE:
            mains = mains_for(rulebook, group[0])
            values["mains"] = tuple(f"bet.{bet}" for bet in MAIN_BETS if bet in mains)
        yield Sentence(f"sign.requires.{requirement.value}", values)


def _options(rulebook: Rulebook) -> Iterator[Sentence]:
    most = rulebook.options.max_options
    if most is not None:
        options = dict.fromkeys(
            "sign.main" if name == "main" else f"bet.{name}"
            for bet, name in OPTIONS.items()
            if bet in rulebook.bets and rulebook.bets[bet].offered
        )
        yield Sentence("sign.max_options", {"most": str(most), "options": tuple(options)})


def _bound(rulebook: Rulebook) -> Iterator[Sentence]:
    """Yield whom the bets' limits bind; a minimum of the unit is none."""
    offered = offered_bets(rulebook)

    def limits(bet: Bet) -> Iterator[str]:
        least, most = bet.minimum > rulebook.unit, bet.maximum is not None
        if least and most and bet.per == bet.minimum_per:
            yield f"sign.both_per.{bet.per}"
            return
        if most:
            yield f"sign.maximum_per.{bet.per}"
        if least:
            yield f"sign.minimum_per.{bet.minimum_per}"

    for key in dict.fromkeys(key for bet in offered for key in limits(bet)):
        group = [bet for bet in offered if key in limits(bet)]
        yield Sentence(key, {"bets": _named(group, _ALL, len(offered))})


def _limits(rulebook: Rulebook) -> Iterator[Sentence]:
    for bet in offered_bets(rulebook):
        if bet.table_maximum is not None:
            values: dict[str, Value] = {"bet": (f"bet.{bet.id}",), "amount": bet.table_maximum}
            yield Sentence("sign.bet_table_maximum", values)
    limits = rulebook.limits
    for name in ("patron_maximum", "seat_maximum", "table_maximum", "differential"):
        amount = getattr(limits, name)
        if amount is not None:
            yield Sentence(f"sign.{name}", {"amount": amount})


def _caps(rulebook: Rulebook) -> Iterator[Sentence]:
    for cap in rulebook.caps:
        bets = tuple(f"bet.{bet}" for bet in cap.bets if rulebook.bets[bet].offered)
        if bets:
            values: dict[str, Value] = {"bets": bets, "amount": cap.maximum}
            yield Sentence(f"sign.cap.{cap.scope}.{cap.allocation}", values)


def _house(rulebook: Rulebook) -> Iterator[Sentence]:
    sign = rulebook.sign
    yield Sentence("sign.no_side_betting")
    for line in sign.own_lines:
        yield Sentence("sign.own", {"text": line.text})
    if sign.help_line:
        yield Sentence("sign.help_line", {"text": sign.help_line})
    else:
        yield Sentence("sign.help")


def _grouped(bets: Sequence[Bet], by: Callable[[Bet], _K]) -> dict[_K, list[Bet]]:
    """Return bets by what they have in common, in the rulebook's order."""
    groups: dict[_K, list[Bet]] = {}
    for bet in bets:
        groups.setdefault(by(bet), []).append(bet)
    return groups


def _named(group: Sequence[Bet], everything: str, whole: int) -> tuple[str, ...]:
    """Return the names of bets; one name where these are all of several."""
    return (everything,) if len(group) == whole > 1 else their_names(group)


_PARTS: Final = (
    _commission, _special, _scale, _requirements, _options, _bound, _limits, _caps, _house
)  # fmt: skip
