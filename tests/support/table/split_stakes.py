"""Patrons who split their stakes however they can, under limits that come by chance.

The model of the money (`tests.support.money_model`) says what may stand.
"""

import random
import tomllib
from collections.abc import Iterator
from typing import Final, NamedTuple

from events.commands import PlaceWager, Refusal, WagerRequest, WithdrawWager
from events.types import Wager
from table_core.decide.decision import DecisionContext
from table_core.rules.rulebook import Rulebook
from table_core.rules.rulebook_file import parse_rulebook
from table_core.rules.wager_checks import check_wagers
from table_core.rules.wager_screen import WagerScreen
from table_core.state.coup import Phase
from tests.support.cage.books import source
from tests.support.money_model.model import Model
from tests.support.money_model.rulebook import ModelRulebook, Stake
from tests.support.table.coups import USER, World, world_in

_WITHDRAWS: Final = 0.3
_SAME_LIMITS: Final = 10  # splittings in a row
_MAINS: Final = ("player", "banker")


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
            limits, rulebook = ModelRulebook.read(text), parse_rulebook("split.toml", text.encode())
        played = _play(limits, rulebook, rng)
        yield played._replace(faults=tuple(f"{line}\n{text}" for line in played.faults))


def _play(limits: ModelRulebook, rulebook: Rulebook, rng: random.Random) -> Splitting:
    context = DecisionContext(table="t1", rulebook=rulebook)
    world, model = world_in(Phase.BETTING, wagers=False, context=context), _betting(limits)
    every: list[Wager] = []
    faults: list[str] = []
    refused, steps = 0, rng.randint(3, 9)
    for number in range(steps):
        lying = list(model.wagers)
        if lying and rng.random() < _WITHDRAWS:
            gone = rng.sample(lying, rng.randint(1, min(3, len(lying))))
            may = model.may_withdraw(gone)
            made = world.ask(WithdrawWager(transaction=f"w{number}", wagers=tuple(gone)))
            if may:
                model.withdraw(gone)
        else:
            stakes = _asked(limits, rng)
            laid = {f"{USER}/w{number}/{n}": stake for n, stake in enumerate(stakes)}
            every += [
                Wager(id=name, seat=s.seat, bet=s.bet, stake=s.stake, patron=s.patron)
                for name, s in laid.items()
            ]
            may = model.may_place(stakes)
            wagers = tuple(
                WagerRequest(seat=s.seat, bet=s.bet, stake=s.stake, patron=s.patron) for s in stakes
            )
            made = world.ask(PlaceWager(transaction=f"w{number}", wagers=wagers))
            if may:
                model.place(laid.items())
        if isinstance(made, Refusal) == may:
            faults.append(f"{made}, beside {lying}")
        refused += isinstance(made, Refusal)
        faults += _otherwise(world, model)
    world.close()
    model.close()
    faults += _otherwise(world, model)
    # The same at once, as `settle --batch` judges it: what is refused makes room for others.
    refusals = check_wagers(rulebook, (), every)
    judged = zip(every, refusals, strict=True)
    stands = {w.id: Stake(w.seat, w.bet, w.stake, w.patron) for w, no in judged if no is None}
    if any(refusals) and WagerScreen(rulebook).passes(every):
        faults.append(f"the screen lets {every} pass")
    at_once = _betting(limits)
    if not at_once.may_place(list(stands.values())) or at_once.unsupported(stands):
        faults.append(f"{stands} stand of {every}")
    return Splitting(steps, refused, tuple(faults))


def _betting(limits: ModelRulebook) -> Model:
    model = Model({limits.id: limits}, limits.id)
    model.open()
    return model


def _otherwise(world: World, model: Model) -> Iterator[str]:
    """Yield a line where something else lies on the layout than the model says."""
    assert world.state.coup is not None
    stands = world.state.coup.wagers.keys()
    if stands != model.wagers.keys():
        yield f"{stands} stand instead of {model.wagers}"


def _limited(book: str, rng: random.Random) -> str:
    """Return a shipped rulebook's text with some of every limit that there is."""
    changes = [
        f"limits.{name}={rng.randint(5, 40) * 20}"
        for name in ("patron_maximum", "seat_maximum", "table_maximum", "differential")
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


def _asked(limits: ModelRulebook, rng: random.Random) -> list[Stake]:
    """Return wagers that keep near the limits: of few bets, by few patrons in few boxes."""
    bets = rng.sample(sorted(limits.bets), min(3, len(limits.bets)))
    return [
        Stake(
            rng.randint(1, 3),
            rng.choice((*bets, rng.choice(_MAINS))),
            rng.choice((1, 5, 10, 20, 20, 40, 60, 100, 200, 300)),
            rng.choice((None, None, "p", "q")),
        )
        for _ in range(rng.randint(1, 4))
    ]
