"""Wagers beside placing and settling: kinds, limits, lonely side bets, the aggregate."""

import pytest
from msgspec.structs import replace

from events.cards import Hand
from events.commands.base import Refusal
from events.commands.coup import CloseBetting
from events.commands.wagers import PlaceWager, SetLimits, WagerRequest, WithdrawWager
from events.types.shoe_reports import DeviceResult
from events.types.table import BettingClosed, CoupSettled, WagerKind, WagersWithdrawn
from events.types.wagers import AggregateCapped, BetLimits, LimitsSet, WagersVoided
from table_core.decide.decision import DecisionContext
from table_core.rulebooks.shipped import load_rulebook
from table_core.rules.table_limits import apply_limits, limit_faults
from table_core.state.coup import Phase
from table_core.state.table import TableState
from tests.support.cage.books import book
from tests.support.table.coups import NATURAL_NINE, World, code, drawn, world_in

ALL_BETS = tuple(load_rulebook("au-commission").bets)


def table(rulebook: str) -> World:
    world = World(DecisionContext(table="t1", rulebook=load_rulebook(rulebook)))
    world.ready()
    world.open()
    return world


def place(world: World, *wagers: WagerRequest) -> Refusal | None:
    made = world.ask(PlaceWager(transaction=world.transaction(), wagers=wagers))
    return made if isinstance(made, Refusal) else None


def finish(world: World) -> CoupSettled:
    """Player wins with a natural nine."""
    world.close()
    world.deal(*NATURAL_NINE)
    world.say(DeviceResult(winner="player"))
    return next(event for event in reversed(world.log) if isinstance(event, CoupSettled))


# ---- kinds ----


def test_a_token_is_forfeited_win_or_lose_and_counts_for_nothing_in_the_houses_cash() -> None:
    world = table("au-commission")
    assert not place(
        world,
        WagerRequest(seat=1, bet="player", stake=1000, kind="promo"),
        WagerRequest(seat=2, bet="banker", stake=500, kind="promo"),
        WagerRequest(seat=3, bet="player", stake=100),
    )
    settlement = finish(world).settlement
    assert [(line.kind, line.result, line.paid) for line in settlement.lines] == [
        ("promo", "win", 1000),  # its winnings in chips, and no stake
        ("promo", "lose", 0),
        ("chips", "win", 200),
    ]
    assert (settlement.staked, settlement.paid) == (100, 1200)
    assert world.state.totals.house == -1100


def test_a_token_on_a_tie_is_not_turned_into_chips() -> None:
    world = table("au-commission")
    assert not place(world, WagerRequest(seat=1, bet="player", stake=1000, kind="promo"))
    world.close()
    world.deal("9S", "9D", "KH", "QC")
    world.say(DeviceResult(winner="tie"))
    settlement = next(e for e in world.log if isinstance(e, CoupSettled)).settlement
    assert [(line.result, line.paid) for line in settlement.lines] == [("push", 0)]


def test_a_toke_stands_outside_the_aggregate() -> None:
    world = table("mini-lucky8")
    # Unlucky 8 (Player 8 against 9) pays 8: 21 x 30,000 x 8 is far over the 3,000,000 aggregate.
    for seat in range(1, 22):
        kind: WagerKind = "toke" if seat == 21 else "chips"
        assert not place(
            world,
            WagerRequest(seat=seat, bet="player", stake=1000),
            WagerRequest(seat=seat, bet="lucky8_player", stake=30000, kind=kind),
        )
    world.close()
    world.deal("8S", "9D", "KH", "QC")
    world.say(DeviceResult(winner="banker"))
    settlement = next(e for e in world.log if isinstance(e, CoupSettled)).settlement
    lucky = [line for line in settlement.lines if line.bet == "lucky8_player"]
    assert {line.category for line in lucky} == {"unlucky_8"}
    assert sum(line.winnings for line in lucky if line.kind == "chips") == 3_000_000
    assert [line.winnings for line in lucky if line.kind == "toke"] == [240_000]
    (capped,) = (event for event in world.log if isinstance(event, AggregateCapped))
    assert capped.maximum == 3_000_000
    assert len(capped.wagers) == 20
    assert {share.winnings for share in capped.wagers} == {240_000}
    assert sum(share.paid for share in capped.wagers) == 3_000_000


def test_below_the_aggregate_nothing_is_cut_and_nothing_is_told() -> None:
    world = table("mini-lucky8")
    assert not place(
        world,
        WagerRequest(seat=1, bet="player", stake=1000),
        WagerRequest(seat=1, bet="lucky8_player", stake=30000),
    )
    world.close()
    world.deal("8S", "9D", "KH", "QC")
    world.say(DeviceResult(winner="banker"))
    assert not [event for event in world.log if isinstance(event, AggregateCapped)]


# ---- side bets and the wager they need ----


def test_a_side_bet_may_come_before_the_wager_it_needs() -> None:
    world = table("nz-scale-one")
    assert not place(world, WagerRequest(seat=1, bet="perfect_pairs", stake=500))
    assert not place(world, WagerRequest(seat=1, bet="player", stake=500))
    (closed,) = world.must(CloseBetting(transaction="c"))
    assert isinstance(closed, BettingClosed)


@pytest.mark.parametrize("by", ["dealer", "first_card"])
def test_a_side_bet_without_it_goes_back_when_betting_closes(by: str) -> None:
    world = table("nz-scale-one")
    assert not place(world, WagerRequest(seat=1, bet="perfect_pairs", stake=500))
    assert not place(world, WagerRequest(seat=2, bet="player", stake=500))
    if by == "dealer":
        voided, closed = world.must(CloseBetting(transaction="c"))
    else:
        _, voided, closed, _ = world.say(drawn(Hand.PLAYER, 1, "4D"))
    assert isinstance(voided, WagersVoided)
    assert voided.code == "main_wager_required"
    assert [(refund.seat, refund.stake) for refund in voided.refunds] == [(1, 500)]
    assert isinstance(closed, BettingClosed)
    assert world.state.coup is not None
    assert [wager.seat for wager in world.state.coup.wagers] == [2]


def test_withdrawing_a_main_wager_withdraws_what_needs_it() -> None:
    world = table("nz-scale-one")
    assert not place(
        world,
        WagerRequest(seat=1, bet="player", stake=500),
        WagerRequest(seat=1, bet="perfect_pairs", stake=500),
        WagerRequest(seat=2, bet="player", stake=500),
    )
    assert world.state.coup is not None
    main, side, _ = (wager.id for wager in world.state.coup.wagers)
    (withdrawn,) = world.must(WithdrawWager(transaction="w", wagers=(main,)))
    assert isinstance(withdrawn, WagersWithdrawn)
    assert withdrawn.wagers == (main, side)


# ---- taking back, and the differential ----


def test_no_wager_is_taken_back_that_keeps_the_table_within_its_differential() -> None:
    world = world_in(Phase.NONE)
    world.must(SetLimits(transaction="s", differential=200))
    world.open()
    for seat, bet, stake in ((1, "banker", 200), (2, "player", 400), (3, "banker", 150)):
        assert not place(world, WagerRequest(seat=seat, bet=bet, stake=stake))
    assert world.state.coup is not None
    first, player, last = (wager.id for wager in world.state.coup.wagers)
    # Player 400 against Banker 350: without Player's, Banker is 350 ahead; without the first
    # Banker's, Player is 250 ahead; without the last one's, Player is 200 ahead, as it may.
    for wagers in ((player,), (first,), (first, last)):
        assert code(world, WithdrawWager(transaction="w", wagers=wagers)) == "differential"
    world.must(WithdrawWager(transaction="w", wagers=(last,)))
    world.must(WithdrawWager(transaction="x", wagers=(first, player)))  # both sides at once
    assert not world.state.coup.wagers


def test_what_narrows_a_gap_may_always_be_taken_back() -> None:
    world = table("au-commission")
    for seat, bet, stake in ((1, "banker", 1000), (2, "banker", 900), (3, "player", 100)):
        assert not place(world, WagerRequest(seat=seat, bet=bet, stake=stake))
    # A log of before may stand beyond a limit; here it comes from the side.
    world.state = replace(world.state, limits=LimitsSet(differential=200))
    assert world.state.coup is not None
    large, _, other = (wager.id for wager in world.state.coup.wagers)
    assert code(world, WithdrawWager(transaction="w", wagers=(other,))) == "differential"
    world.must(WithdrawWager(transaction="w", wagers=(large,)))


# ---- the table's own limits ----


def test_a_tables_limits_lie_over_the_rulebooks() -> None:
    world = world_in(Phase.NONE)
    world.must(
        SetLimits(
            transaction="s",
            bets=(BetLimits(bet="player", minimum=500, maximum=2000, step=500),),
            table_maximum=6000,
            differential=2000,
        )
    )
    world.open()
    for stake, why in ((400, "not_a_step"), (2500, "above_maximum"), (250, "not_a_step")):
        refusal = place(world, WagerRequest(seat=1, bet="player", stake=stake))
        assert refusal is not None
        assert refusal.code == why
    assert not place(world, WagerRequest(seat=1, bet="player", stake=2000))
    refusal = place(world, WagerRequest(seat=2, bet="player", stake=500))
    assert refusal is not None
    assert refusal.code == "differential"
    assert not place(world, WagerRequest(seat=3, bet="banker", stake=1000))
    refusal = place(world, WagerRequest(seat=4, bet="tie", stake=3100))
    assert refusal is not None
    assert refusal.code == "table_maximum"


def test_the_rulebooks_hash_stays_the_files() -> None:
    rulebook = load_rulebook("au-commission")
    world = world_in(Phase.NONE)
    world.must(SetLimits(transaction="s", table_maximum=6000))
    limited = apply_limits(rulebook, world.state.limits)
    assert limited.hash == rulebook.hash
    assert apply_limits(rulebook, TableState().limits) is rulebook


def test_a_step_of_an_older_version_never_lets_a_stake_in_that_cannot_be_paid() -> None:
    """25 was a unit when the limits were set; now it is 50, and 25 at even money would pay 50."""
    older, newer = (book("au-commission", f"unit={unit}", "id=harbour") for unit in (25, 50))
    limits = LimitsSet(bets=(BetLimits(bet="player", minimum=25, maximum=1000, step=25),))
    assert apply_limits(older, limits).bets["player"].step == 25
    player = apply_limits(newer, limits).bets["player"]
    assert (player.minimum, player.maximum, player.step) == (25, 1000, 50)
    assert [*limit_faults(newer, limits)] == ["player: step 25 is no multiple of 50"]


@pytest.mark.parametrize(
    ("command", "names"),
    [
        (SetLimits(transaction="s", bets=(BetLimits(bet="dragon7"),)), "dragon7"),
        (SetLimits(transaction="s", bets=(BetLimits(bet="tie", minimum=0),)), "tie"),
        (SetLimits(transaction="s", bets=(BetLimits(bet="tie", minimum=9, maximum=8),)), "tie"),
        (SetLimits(transaction="s", bets=(BetLimits(bet="tie", step=0),)), "tie"),
        (
            SetLimits(transaction="s", bets=(BetLimits(bet="tie", minimum=6, maximum=9, step=5),)),
            "tie: no multiple of step 5 lies from minimum 6 to 9",
        ),
        (SetLimits(transaction="s", bets=(BetLimits(bet="tie", step=10**16),)), "tie: no multiple"),
        (
            SetLimits(
                transaction="s",
                bets=tuple(BetLimits(bet=bet, minimum=301) for bet in ALL_BETS),
                table_maximum=300,
            ),
            "table_maximum: 300 is below 301",
        ),
        (
            SetLimits(
                transaction="s",
                bets=(
                    BetLimits(bet="banker", minimum=600),
                    BetLimits(bet="player", minimum=501, step=100),
                ),
                differential=599,
            ),
            "differential: 599 is below 600",
        ),
        (SetLimits(transaction="s", table_maximum=0), "table_maximum"),
        (SetLimits(transaction="s", differential=-1), "differential"),
    ],
)
def test_limits_that_make_no_sense_are_refused(command: SetLimits, names: str) -> None:
    refusal = world_in(Phase.NONE).ask(command)
    assert isinstance(refusal, Refusal)
    assert refusal.code == "invalid_limits"
    assert names in refusal.text


def test_the_same_limits_again_hold_already() -> None:
    world = world_in(Phase.NONE)
    limits = SetLimits(transaction="s", table_maximum=6000)
    assert world.must(limits)
    assert world.must(replace(limits, transaction="t")) == []
