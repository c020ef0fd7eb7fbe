"""Patrons who split their stakes however they can, and a model that says what may stand.

The model is written from docs/reference/rules.md: it knows the texts of a rulebook file, a list of
what lies on the layout, and sums. It never asks the product what is allowed.
"""

import random
import tomllib
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from events.commands import PlaceWager, Refusal, WagerRequest, WithdrawWager
from events.types import Wager
from table_core.decide.decision import DecisionContext
from table_core.rules.rulebook import Rulebook
from table_core.rules.rulebook_file import parse_rulebook
from table_core.rules.wager_checks import check_wagers
from table_core.rules.wager_screen import WagerScreen
from table_core.state.coup import Phase
from tests.support.cage.books import source
from tests.support.table.coups import USER, World, world_in

_LARGE: Final = 10**15
_WITHDRAWS: Final = 0.3
_SAME_LIMITS: Final = 10  # splittings in a row
_MAINS: Final = ("player", "banker")
_OPTIONS: Final = {"player": 0, "banker": 0, "tie": 1, "lucky8_player": 2, "lucky8_banker": 3}


class Lying(NamedTuple):
    """What lies on the layout."""

    id: str
    seat: int
    bet: str
    stake: int
    patron: str | None

    @property
    def whose(self) -> str:
        return self.patron or f"nobody's, in box {self.seat}"


class Splitting(NamedTuple):
    """What came of one.

    Args:
        asked: the commands.
        refused: how many of them.
        faults: what the table did otherwise than the model, a line each.
    """

    asked: int
    refused: int
    faults: tuple[str, ...]


class Model:
    """What a rulebook of form 2 lets stand."""

    def __init__(self, text: str) -> None:
        rules = tomllib.loads(text)
        self.bets: dict[str, dict[str, Any]] = rules["bets"]
        self.limits: dict[str, int] = rules.get("limits", {})
        self.options: dict[str, Any] = rules.get("options", {})

    def bound(self, each: Lying) -> object:
        """Return what the limits of its bet bind."""
        return {
            "patron": each.whose,
            "seat": each.seat,
            "spot": (each.whose, each.seat),
            "wager": each.id,
        }[self.bets[each.bet].get("per", "patron")]

    def sums(self, lying: list[Lying]) -> Iterator[tuple[str, int, int, int]]:
        """Yield everything that a limit binds: its name, its sum, the least and the most."""
        found: dict[tuple[str, object, int, int], int] = {}
        for each in lying:
            bet = self.bets[each.bet]
            per = bet.get("per", "patron")
            least, most = bet.get("minimum", 1), bet.get("maximum", _LARGE)
            for name, of, low, high in (
                (f"{each.bet} per {per}", self.bound(each), least, most),
                (each.bet, "all", 1, bet.get("table_maximum", _LARGE)),
                ("patron", each.whose, 1, self.limits.get("patron_maximum", _LARGE)),
                ("seat", each.seat, 1, self.limits.get("seat_maximum", _LARGE)),
                ("table", "all", 1, self.limits.get("table_maximum", _LARGE)),
            ):
                key = (name, of, low, high)
                found[key] = found.get(key, 0) + each.stake
        for (name, of, low, high), total in found.items():
            yield f"{name} of {of}", total, low, high

    def within(self, lying: list[Lying]) -> bool:
        """Return whether all of it may lie there together while more may come."""
        for each in lying:
            own = {other.bet for other in lying if other.whose == each.whose}
            if each.stake % self.bets[each.bet].get("step", 1) or own >= set(_MAINS):
                return False
            if len({_OPTIONS[bet] for bet in own & _OPTIONS.keys()}) > self.options.get(
                "max_options", 4
            ):
                return False
        return all(low <= total <= high for _, total, low, high in self.sums(lying))

    def lonely(self, lying: list[Lying]) -> list[Lying]:
        """Return the side bets without the wager that they need."""

        def has(side: Lying) -> bool:
            own = [each for each in lying if each.whose == side.whose]
            needs = self.bets[side.bet].get("requirement", "none")
            if needs == "any_main":
                return any(each.bet in {*_MAINS, "tie"} for each in own)
            return needs == "none" or any(e.bet in _MAINS and e.seat == side.seat for e in own)

        return [each for each in lying if not has(each)]

    def without(self, lying: list[Lying], named: set[str]) -> list[Lying]:
        """Return what a withdrawal of these leaves."""
        waiting = self.lonely(lying)
        left = [each for each in lying if each.id not in named]
        patrons = {each.whose for each in lying if each.id in named}
        gone = [e for e in self.lonely(left) if e.whose in patrons and e not in waiting]
        return [each for each in left if each not in gone]

    def closed(self, lying: list[Lying]) -> list[Lying]:
        """Return what stands when betting closes."""
        lonely = self.lonely(lying)
        left = [each for each in lying if each not in lonely]
        bets = {each.bet for each in lonely}
        too_little = set()
        for bet in bets:
            of_bet = [each for each in left if each.bet == bet]
            for each in of_bet:
                same = [o for o in of_bet if self.bound(o) == self.bound(each)]
                if sum(o.stake for o in same) < self.bets[bet].get("minimum", 1):
                    too_little.add(each)
        return [each for each in left if each not in too_little]


def play_splittings(book: str, rng: random.Random, times: int) -> Iterator[Splitting]:
    """Split stakes over wagers, boxes, commands and withdrawals, under limits that come by chance.

    Args:
        book: the id of a shipped rulebook.
        rng: makes the limits and the wagers.
        times: how often.
    """
    for number in range(times):
        if number % _SAME_LIMITS == 0:
            text = _limited(book, rng)
            model, rulebook = Model(text), parse_rulebook("split.toml", text.encode())
        played = _play(model, rulebook, rng)
        yield played._replace(faults=tuple(f"{line}\n{text}" for line in played.faults))


def _play(model: Model, rulebook: Rulebook, rng: random.Random) -> Splitting:
    context = DecisionContext(table="t1", rulebook=rulebook)
    world = world_in(Phase.BETTING, wagers=False, context=context)
    lying: list[Lying] = []
    every: list[Wager] = []
    faults: list[str] = []
    refused, steps = 0, rng.randint(3, 9)
    for number in range(steps):
        if lying and rng.random() < _WITHDRAWS:
            gone = {each.id for each in rng.sample(lying, rng.randint(1, min(3, len(lying))))}
            after = model.without(lying, gone)
            made = world.ask(WithdrawWager(transaction=f"w{number}", wagers=tuple(gone)))
        else:
            asked = _asked(model, rng)
            after = [*lying, *(Lying(f"{USER}/w{number}/{n}", *w) for n, w in enumerate(asked))]
            every += [
                Wager(id=e.id, seat=e.seat, bet=e.bet, stake=e.stake, patron=e.patron)
                for e in after[len(lying) :]
            ]
            wagers = tuple(WagerRequest(seat=s, bet=b, stake=n, patron=p) for s, b, n, p in asked)
            made = world.ask(PlaceWager(transaction=f"w{number}", wagers=wagers))
        if isinstance(made, Refusal) == model.within(after):
            faults.append(f"{made} of {after} beside {lying}")
        refused += isinstance(made, Refusal)
        lying = lying if isinstance(made, Refusal) else after
        faults += _otherwise(world, lying)
    world.close()
    faults += _otherwise(world, model.closed(lying))
    # The same at once, as `settle --batch` judges it: what is refused makes room for others.
    refusals = check_wagers(rulebook, (), every)
    judged = zip(every, refusals, strict=True)
    stands = [Lying(w.id, w.seat, w.bet, w.stake, w.patron) for w, no in judged if no is None]
    if any(refusals) and WagerScreen(rulebook).passes(every):
        faults.append(f"the screen lets {every} pass")
    if not model.within(stands) or model.lonely(stands):
        faults.append(f"{stands} stand of {every}")
    return Splitting(steps, refused, tuple(faults))


def _otherwise(world: World, lying: list[Lying]) -> Iterator[str]:
    """Yield a line where something else lies on the layout than the model says."""
    assert world.state.coup is not None
    stands = {each.id for each in world.state.coup.wagers}
    if stands != {each.id for each in lying}:
        yield f"{stands} stand instead of {lying}"


def _limited(book: str, rng: random.Random) -> str:
    """Return a shipped rulebook's text with some of every limit that there is."""
    changes = [
        f"limits.{name}_maximum={rng.randint(5, 40) * 20}"
        for name in ("patron", "seat", "table")
        if rng.random() < 0.2
    ]
    for bet in tomllib.loads(source(book))["bets"]:
        step, least = rng.choice((1, 10, 20)), rng.randint(1, 10) * 20
        drawn = {
            "step": step,
            "minimum": least,
            "maximum": least + rng.randint(0, 10) * 20,
            "per": rng.choice(("patron", "seat", "spot", "wager")),
            "table_maximum": least + rng.randint(0, 20) * 20,
        }
        changes += [
            f"bets.{bet}.{key}={value}" for key, value in drawn.items() if rng.random() < 0.5
        ]
    return source(book, *changes)


def _asked(model: Model, rng: random.Random) -> list[tuple[int, str, int, str | None]]:
    """Return wagers that keep near the limits: of few bets, by few patrons in few boxes."""
    bets = rng.sample(sorted(model.bets), min(3, len(model.bets)))
    return [
        (
            rng.randint(1, 3),
            rng.choice((*bets, rng.choice(_MAINS))),
            rng.choice((1, 5, 10, 20, 20, 40, 60, 100, 200, 300)),
            rng.choice((None, None, "p", "q")),
        )
        for _ in range(rng.randint(1, 4))
    ]
