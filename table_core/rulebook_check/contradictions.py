"""What in a rulebook contradicts something else in it, or can never hold."""

from collections.abc import Iterator
from typing import Final

from events.toml_form import FileFault
from events.types import LimitsSet
from table_core.odds.house_edge import deals_by_categories
from table_core.rules.rulebook import PUSH, Bet, Requirement, Rulebook
from table_core.rules.sign import pay_scale_of
from table_core.rules.table_limits import limit_faults
from table_core.rules.wager_checks import MAIN, OPTIONS, SIDES

__all__ = ["contradictions", "limits_out_of_reach"]

_EVEN_MONEY: Final = "Even Money"
_NEEDED: Final = {Requirement.ANY_MAIN: MAIN, Requirement.SAME_SEAT: frozenset(SIDES)}


def contradictions(rulebook: Rulebook) -> Iterator[FileFault]:
    """Yield the faults that no single key has."""
    yield from _never_placed(rulebook)
    yield from limits_out_of_reach(rulebook)
    yield from _options(rulebook)
    yield from _better_pays_less(rulebook)
    yield from _pay_scale(rulebook)
    yield from _game(rulebook)


def _offered(rulebook: Rulebook) -> list[Bet]:
    return [bet for bet in rulebook.bets.values() if bet.offered]


def _never_placed(rulebook: Rulebook) -> Iterator[FileFault]:
    offered = {bet.id for bet in _offered(rulebook)}
    if not offered:
        text, right = "no wager is offered", "write offered = true for one"
        yield FileFault.of("bets", "nothing_offered", text, right)
    for bet in _offered(rulebook):
        needed = _NEEDED.get(bet.requirement)
        if needed is not None and offered.isdisjoint(needed):
            names = ", ".join(sorted(needed))
            text = f"it needs one of {names}, and none of them is offered"
            right = f"offer one of {names}, or write requirement = 'none'"
            yield FileFault.of(f"bets.{bet.id}.requirement", "never_placed", text, right)


def limits_out_of_reach(rulebook: Rulebook) -> Iterator[FileFault]:
    """Yield limits that no wager can meet."""
    for line in limit_faults(rulebook, LimitsSet()):
        key, _, text = line.partition(": ")
        where = f"bets.{key}" if key in rulebook.bets else f"limits.{key}"
        right = "write limits that at least one stake meets"
        yield FileFault.of(where, "limit_out_of_reach", text, right)


def _options(rulebook: Rulebook) -> Iterator[FileFault]:
    most = rulebook.options.max_options
    there = {OPTIONS[bet.id] for bet in _offered(rulebook) if bet.id in OPTIONS}
    if most is not None and most > len(there):
        text = f"{most} of the {len(there)} options that are offered"
        right = f"write at most {len(there)}, or leave it out"
        yield FileFault.of("options.max_options", "limit_without_effect", text, right)


def _better_pays_less(rulebook: Rulebook) -> Iterator[FileFault]:
    """Yield side bets that pay a more special category less than one that it includes."""
    for bet in _offered(rulebook):
        found: set[tuple[str, str]] = set()
        for categories in deals_by_categories(bet, rulebook.decks):
            listed = [name for name in categories if name in bet.schedule and name != PUSH]
            found |= {(listed[0], lesser) for lesser in listed[1:]}
        for better, lesser in sorted(found):
            one, other = bet.schedule[better], bet.schedule[lesser]
            if bet.id in MAIN or other is None:
                continue
            if one is None or one.num * other.den < other.num * one.den:
                text = f"it pays less than {lesser}, which it includes"
                where = f"bets.{bet.id}.pays.{better}"
                yield FileFault.of(where, "better_pays_less", text, f"pay at least {other}")


def _pay_scale(rulebook: Rulebook) -> Iterator[FileFault]:
    """Seed 1, 11A.8: the scale in operation is displayed; so its name is that of what is paid."""
    bet, named = rulebook.bets.get("perfect_pairs"), rulebook.sign.pay_scale
    where = "sign.pay_scale"
    if bet is None or not bet.offered:
        if named is not None:
            text = f"{named!r:.40}, and no Perfect Pairs are offered"
            yield FileFault.of(where, "pay_scale", text, "leave it out")
        return
    paid = pay_scale_of(rulebook.bets)
    if paid is not None and named != paid:
        text = f"{named or 'none'!r:.40}; Perfect Pairs pay by scale {paid} (source 1, 11A.8)"
        yield FileFault.of(where, "pay_scale", text, f'write "{paid}"')
    elif paid is None and named in {"one", "two"}:
        text = f"{named!r}; Perfect Pairs pay by another (source 1, 11A.7)"
        right = f"pay Perfect Pairs by scale {named}, or give the scale a name of its own"
        yield FileFault.of(where, "pay_scale", text, right)


def _game(rulebook: Rulebook) -> Iterator[FileFault]:
    """Seed 2: the sign says whether it is Baccarat or Even Money Baccarat."""
    banker = rulebook.bets.get("banker")
    if banker is None:
        return
    plays, says = "win_on_6" in banker.schedule, _EVEN_MONEY in rulebook.sign.game
    if plays != says:
        text = f"{rulebook.sign.game!r:.60}; a Banker win on 6 pays "
        text += "apart, as in Even Money Baccarat" if plays else "as any other"
        right = f"write {_EVEN_MONEY} Baccarat" if plays else f"leave {_EVEN_MONEY} out"
        yield FileFault.of("sign.game", "game", text, f"{right} (source 2)")
