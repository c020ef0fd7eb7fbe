"""The demo with everything going wrong: real processes, broker and terminal, and it still adds up.

What settled is held against cards and rules that the product does not know of: the simulated shoe's
own cards, a dealer by the printed rules, and the odds of the seeds by the auditor of the world.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from baccarat.demo.counters import DemoStatistics, Summary
from baccarat.demo.machine import DemoOptions, Machine
from baccarat.demo.play import play
from events.log.verify import verify
from events.types import (
    CoupMisaligned,
    CoupRealigned,
    CoupSettled,
    CoupVoided,
    Settlement,
    TableEvent,
)
from simulators.faults.registry import ALL, parse_faults
from simulators.people.dealer_and_patrons import PlayedCoup
from simulators.world.auditor.rules import Hands, settle_wager
from table_core.rulebooks.shipped import load_rulebook, shipped_ids
from tests.integration.baccarat.test_demo import demo, leaves_no_process
from tests.support.cage.ledgers import accounts_of, agrees
from tests.support.log.logs import events_in

A_SHOE_AND_MORE = 160
SHORT = 58
# One needs a longer shoe, one a profile that tells of locks, one a squeeze.
MAY_BE_MISSING = {"ninth_copy", "locked_draw", "short_disclosure"}
# Late wagers; the others are of the opening, and of a second look that came too early.
MAY_BE_REFUSED = {
    *("betting_closed", "shoe_error", "link_down", "coup_in_progress", "dummy_coup_due"),
    *("card_known", "not_due", "nothing_to_enter", "nothing_to_realign", "nothing_to_confirm"),
}


class Onlooker:
    """Watches, and says nothing."""

    async def run(self) -> None:
        await asyncio.Event().wait()

    def on_settlement(self, settlement: Settlement) -> None:
        """It is in the ledger."""

    def on_coup(self, coup: PlayedCoup) -> None:
        """It is in the ledger."""


class Game(NamedTuple):
    """What a game left behind."""

    summary: Summary
    played: list[PlayedCoup]
    events: list[TableEvent]
    rulebook: str
    data: Path


def game(
    data: Path, rulebook: str, disclosure: str, *, rounds: int, seed: int, faults: str = "all"
) -> Game:
    """Play it with the product's own services in their own processes."""
    options = DemoOptions(
        rounds=rounds,
        seed=seed,
        speed=0,
        rulebook=rulebook,
        profile="enq-bcc",
        disclosure=disclosure,
        data=data,
        port=None,
        faults=parse_faults(faults),
    )
    ledger = DemoStatistics()
    with Machine(options) as machine:
        played = asyncio.run(play(options, machine, ledger, Onlooker()))
    events = events_in(machine.table.log_path)
    return Game(played.summary, ledger.played, events, rulebook, data)


def in_force(events: Sequence[TableEvent]) -> dict[tuple[str, int], Settlement]:
    """The settlements that no later revision took back, by coup and phase."""
    return {
        (event.coup, event.settlement.phase): event.settlement
        for event in events
        if isinstance(event, CoupSettled)
    }


def _every_settlement_is_that_of_the_cards_that_fell(game: Game) -> None:
    settlements = in_force(game.events)
    bets: Counter[str] = Counter()
    for coup in game.played:
        assert coup.phase in {"settled", "voided"}, coup.coup
        last = settlements.get((coup.coup, 2))
        assert (last is not None) == (coup.phase == "settled"), coup.coup
        if last is None:
            continue
        called = coup.dealt.outcome
        assert called is not None, f"{coup.coup} settled, and was never dealt out"
        assert (last.player, last.banker) == (called.player, called.banker), coup.coup
        assert (last.player_total, last.banker_total, last.winner) == (
            called.player_total,
            called.banker_total,
            called.winner,
        ), coup.coup
        first = settlements.get((coup.coup, 1))
        for line in (*last.lines, *(first.lines if first else ())):
            bets[line.bet] += 1
            lie = Hands(called.player, called.banker)
            right = settle_wager(game.rulebook, line.bet, line.stake, lie).paid
            assert line.paid == right, f"{coup.coup} seat {line.seat} {line.bet}"
    assert bets.keys() == load_rulebook(game.rulebook).bets.keys(), "every bet was settled"


def _everybody_books_the_same_money(game: Game) -> None:
    told = game.summary
    standing = in_force(game.events).values()
    sums = [sum(getattr(s, what) for s in standing) for what in ("staked", "paid", "commission")]
    assert sums == [told.staked, told.paid, told.commission]
    assert told.staked - told.paid == told.house
    ledger = str(game.data / "ledger.sqlite")
    assert agrees(ledger, Path(told.log)).unbooked == 0
    booked = Counter(accounts_of(ledger))
    assert booked["seat"] + booked["collected"] + booked["recovered"] == told.house


def _nothing_is_lost_and_everything_has_its_reason(game: Game) -> None:
    told = game.summary
    assert (told.lost, told.duplicates) == (0, 0)
    assert told.acknowledged == told.settlements
    assert told.coups == len(game.played)
    voided = {event.coup for event in game.events if isinstance(event, CoupVoided)}
    assert voided == {coup.coup for coup in game.played if coup.phase == "voided"}
    assert len(voided) == told.voided
    broken_off = [coup.coup for coup in game.played if coup.dealt.outcome is None]
    assert sorted(voided) == sorted(broken_off), "only what was never dealt out is void"
    misaligned = {event.coup for event in game.events if isinstance(event, CoupMisaligned)}
    realigned = {event.coup for event in game.events if isinstance(event, CoupRealigned)}
    assert misaligned <= realigned | voided
    assert len(misaligned) == told.misaligned
    assert told.refused.get("betting_closed", 0) == told.faults["late_wager"]
    assert set(told.refused) <= MAY_BE_REFUSED


def _adds_up(game: Game) -> None:
    verdict = verify(Path(game.summary.log))
    assert verdict.ok, verdict.reason
    _every_settlement_is_that_of_the_cards_that_fell(game)
    _everybody_books_the_same_money(game)
    _nothing_is_lost_and_everything_has_its_reason(game)
    leaves_no_process(game.data)


@pytest.mark.parametrize(
    ("rulebook", "disclosure", "seed"),
    [
        ("au-commission", "immediate", 7),
        pytest.param("nz-scale-one", "deferred", 11, marks=pytest.mark.soak),
    ],
)
def test_every_irregularity_and_it_still_adds_up(
    rulebook: str, disclosure: str, seed: int, tmp_path: Path
) -> None:
    played = game(tmp_path, rulebook, disclosure, rounds=SHORT, seed=seed)
    assert set(ALL) - set(played.summary.faults) <= MAY_BE_MISSING
    _adds_up(played)


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("disclosure", ["immediate", "deferred"])
@pytest.mark.parametrize("rulebook", shipped_ids())
def test_a_whole_shoe_of_every_rulebook_with_every_irregularity_adds_up(
    rulebook: str, disclosure: str, tmp_path: Path
) -> None:
    played = game(tmp_path, rulebook, disclosure, rounds=A_SHOE_AND_MORE, seed=8)
    assert set(ALL) - set(played.summary.faults) <= MAY_BE_MISSING - {"ninth_copy"}
    longest = Counter(coup.dealt.shoe for coup in played.played).most_common(1)[0][1]
    assert longest > 60, "one of the shoes was played to its cut card"
    _adds_up(played)


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(100, 110))
def test_other_seeds_add_up_too(seed: int, tmp_path: Path) -> None:
    rulebook = shipped_ids()[seed % len(shipped_ids())]
    disclosure = ("immediate", "deferred")[seed % 2]
    _adds_up(game(tmp_path, rulebook, disclosure, rounds=A_SHOE_AND_MORE, seed=seed))


@pytest.mark.soak
def test_a_result_that_never_comes_is_noticed_and_confirmed(tmp_path: Path) -> None:
    played = game(tmp_path, "ez", "immediate", rounds=20, seed=3, faults="no_result,late_wager")
    assert played.summary.faults["no_result"] > 0
    assert played.summary.done["confirm_result"] == played.summary.faults["no_result"]
    assert (played.summary.lost, played.summary.voided) == (0, 0)


def test_the_command_takes_faults_by_name_and_tells_what_came(tmp_path: Path) -> None:
    words = ("--rounds", "6", "--seed", "4", "--speed", "0", "--json")
    chosen = ("--faults", "unplug,late_wager,wrong_result", "--rulebook", "mini-lucky8")
    ended = demo(*words, *chosen, data=tmp_path)
    assert ended.code == 0, ended.err
    told = json.loads(ended.out)
    assert set(told["faults"]) == {"unplug", "late_wager", "wrong_result"}
    assert told["done"]["confirm_result"] == told["faults"]["wrong_result"]
    assert told["refused"]["betting_closed"] == told["faults"]["late_wager"]
    assert set(told["refused"]) <= MAY_BE_REFUSED
    assert (told["coups"], told["lost"], told["duplicates"]) == (6, 0, 0)
    assert told["misaligned"] >= told["faults"]["unplug"]
    leaves_no_process(tmp_path)
