"""Wagers beside placing and settling: kinds, limits, lonely side bets, the aggregate."""

from importlib.resources import files
from typing import Any

import pytest

from events.commands import Refusal, SetLimits
from events.types import AggregateCapped, BetLimits, CoupSettled, LimitsSet
from table_core.projections.table_document import project_table
from table_core.rulebooks.shipped import load_rulebook
from table_core.rules.rulebook_file import parse_rulebook
from table_core.rules.table_limits import apply_limits, limit_faults
from table_core.state.coup import Phase
from table_core.state.table import TableState
from tests.support.cage.books import book
from tests.support.table.coups import World, world_in
from tests.support.table.histories import each_history

ALL_BETS = tuple(load_rulebook("au-commission").bets)
HISTORIES = """
a token is forfeited win or lose and counts for nothing in the house's cash
    in none
    open
    place_wager wagers="1 player 1000 kind=promo,2 banker 500 kind=promo,3 player 100"
    close
    deal 9S 2D KH 3C
    # Its winnings come in chips, and no stake.
    result player            -> settlement(1).lines.kind=promo,promo,chips
                             -> settlement(1).lines.result=win,lose,win
                             -> settlement(1).lines.paid=1000,0,200
                             -> settlement(1).staked=100 settlement(1).paid=1200
                             -> totals.house=-1100
a token on a tie is not turned into chips
    in none
    open
    place_wager wagers="1 player 1000 kind=promo"
    close
    deal 9S 9D KH QC
    result tie               -> settlement(1).lines.result=push settlement(1).lines.paid=0
a toke stands outside the aggregate
    # Unlucky 8 (Player 8 against 9) pays 8: 21 x 30,000 x 8 is far over the 3,000,000 aggregate.
    rules mini-lucky8
    in none
    open
    place_wager wagers="{twenty}"
    place_wager wagers="21 player 1000,21 lucky8_player 30000 kind=toke"
    close
    deal 8S 9D KH QC
    result banker            -> lucky(category)=unlucky_8 lucky(winnings)=3000000
                             -> lucky(toke)=240000 settlement(1).lines.-1.kind=toke
                             -> aggregate_capped: maximum=3000000
                             -> cap()=20,240000,3000000
below the aggregate nothing is cut and nothing is told
    rules mini-lucky8
    in none
    open
    place_wager wagers="1 player 1000,1 lucky8_player 30000"
    close
    deal 8S 9D KH QC
    result banker            -> count(aggregate_capped)=0

a side bet may come before the wager it needs
    {nz}
    place_wager wagers="1 perfect_pairs 500"
    place_wager wagers="1 player 500"
    close_betting            -> made betting_closed
a side bet without it goes back when betting closes
    * close_betting "made wagers_voided betting_closed"
    * "P1 4D"       "made wagers_voided betting_closed card_dealt"
    {nz}
    place_wager wagers="1 perfect_pairs 500"
    place_wager wagers="2 player 500"
    {0}                      -> {1}; coup.wagers.seat=2
                             -> wagers_voided: code=main_wager_required refunds.seat=1
                             -> wagers_voided: refunds.stake=500
withdrawing a main wager withdraws what needs it
    {nz}
    place_wager transaction=t wagers="1 player 500,1 perfect_pairs 500,2 player 500"
    withdraw_wager wagers=@1 -> made wagers_withdrawn
                             -> wagers_withdrawn: wagers=dealer/t/0,dealer/t/1

no wager is taken back that keeps the table within its differential
    # Player 400 against Banker 350: without Player's, Banker is 350 ahead; without the first
    # Banker's, Player is 250 ahead; without the last one's, Player is 200 ahead, as it may.
    in none
    set_limits differential=200
    open
    place_wager transaction=a wagers="1 banker 200"
    place_wager transaction=b wagers="2 player 400"
    place_wager transaction=c wagers="3 banker 150"
    withdraw_wager wagers=dealer/b/0             -> refused differential
    withdraw_wager wagers=dealer/a/0             -> refused differential
    withdraw_wager wagers=dealer/a/0,dealer/c/0  -> refused differential
    withdraw_wager wagers=dealer/c/0
    withdraw_wager wagers=dealer/a/0,dealer/b/0  -> coup.wagers=none    # both sides at once
what narrows a gap may always be taken back
    # A log of before may stand beyond a limit.
    in none
    open
    place_wager transaction=a wagers="1 banker 1000"
    place_wager transaction=b wagers="2 banker 900"
    place_wager transaction=c wagers="3 player 100"
    fold limits_set differential=200
    withdraw_wager wagers=dealer/c/0             -> refused differential
    withdraw_wager wagers=dealer/a/0

a table's limits lie over the rulebook's
    in none
    set_limits bets="player 500 2000 500" table_maximum=6000 differential=2000
    open
    place_wager wagers="1 player 400"  -> refused not_a_step
    place_wager wagers="1 player 2500" -> refused above_maximum
    place_wager wagers="1 player 250"  -> refused not_a_step
    place_wager wagers="1 player 2000"
    place_wager wagers="2 player 500"  -> refused differential
    place_wager wagers="3 banker 1000"
    place_wager wagers="4 tie 3100"    -> refused table_maximum
a maximum binds a patron however the stake is split
    # Four wagers of 300 on one spot, by one command and by several.
    rules mini-lucky8
    in none
    open
    place_wager wagers="1 player 500,1 lucky8_player 30000"
    place_wager wagers="1 lucky8_player 30000" -> refused above_maximum
    place_wager wagers="2 player 500,{four}"    -> refused above_maximum
    # One reference in two boxes; a box without one is another patron.
    place_wager wagers="3 player 500 patron=p,3 lucky8_player 20000 patron=p"
    place_wager wagers="4 lucky8_player 10001 patron=p" -> refused above_maximum
    place_wager wagers="4 lucky8_player 10000 patron=p"
    place_wager wagers="4 player 500,4 lucky8_player 30000"
    # What was taken back is free again.
    withdraw_wager wagers=@2
    place_wager wagers="1 lucky8_player 30000"
a maximum that the table has set binds a patron as well
    # Three of 20,000 where the maximum is 20,000.
    in none
    set_limits bets="banker 1 2000000 1"
    open
    place_wager wagers="1 banker 2000000,1 banker 2000000,1 banker 2000000" -> refused above_maximum
    place_wager wagers="1 banker 2000000"
    place_wager wagers="1 banker 2000000"      -> refused above_maximum
a table may have its limits bind something else
    in none
    set_limits bets="tie 1 100 1 per=seat table_maximum=250" patron_maximum=300 seat_maximum=400
    open
    place_wager wagers="1 tie 60 patron=p,2 tie 60 patron=p"
    place_wager wagers="1 tie 41 patron=q"     -> refused above_maximum
    place_wager wagers="3 tie 100,4 tie 31"    -> refused table_maximum
    place_wager wagers="3 player 181 patron=p" -> refused patron_maximum
    place_wager wagers="3 player 180 patron=p"
    place_wager wagers="3 player 221"          -> refused seat_maximum
    place_wager wagers="3 player 220"
a withdrawal leaves the minimum or nothing
    in none
    set_limits bets="tie 100 500 1"
    open
    place_wager wagers="1 tie 60"              -> refused below_minimum
    place_wager transaction=a wagers="1 tie 60,1 tie 60"
    place_wager transaction=b wagers="1 tie 10"
    withdraw_wager wagers=dealer/a/0           -> refused below_minimum
    withdraw_wager wagers=dealer/b/0
    withdraw_wager wagers=dealer/a/0,dealer/a/1 -> coup.wagers=none
what a lonely side bet leaves below the minimum goes back with it
    rules nz-scale-one bets.perfect_pairs.minimum=100
    in none
    open
    place_wager transaction=a wagers="1 player 500 patron=p,2 player 500 patron=p"
    place_wager transaction=b wagers="1 perfect_pairs 50 patron=p,2 perfect_pairs 50 patron=p"
    withdraw_wager wagers=dealer/a/0           -> refused below_minimum
    withdraw_wager wagers=dealer/a/0,dealer/b/1
                             -> wagers_withdrawn: wagers=dealer/a/0,dealer/b/0,dealer/b/1
    place_wager transaction=c wagers="2 perfect_pairs 50 patron=p,3 perfect_pairs 50 patron=p"
    close_betting                              -> made wagers_voided wagers_voided betting_closed
                                               -> coup.wagers.bet=player
the same limits again hold already
    in none
    set_limits table_maximum=6000      -> made limits_set
    set_limits table_maximum=6000      -> made nothing
"""
TWENTY = ",".join(f"{seat} player 1000,{seat} lucky8_player 30000" for seat in range(1, 21))
FOUR = ",".join(["2 lucky8_player 30000"] * 4)
STEPS = {"nz": "rules nz-scale-one\nin none\nopen", "twenty": TWENTY, "four": FOUR}


def lucky(world: World, what: str) -> object:
    """Of the lines of Lucky 8: the only category, and what chips and tokes have won."""
    (settled,) = (event for event in world.log if isinstance(event, CoupSettled))
    lines = [line for line in settled.settlement.lines if line.bet == "lucky8_player"]
    return {
        "category": sorted({line.category for line in lines}),
        "winnings": sum(line.winnings for line in lines if line.kind == "chips"),
        "toke": [line.winnings for line in lines if line.kind == "toke"],
    }[what]


def cap(world: World, _: str) -> object:
    """How many wagers are capped, what each of them wins, and what is paid for all."""
    (capped,) = (event for event in world.log if isinstance(event, AggregateCapped))
    won = sorted({share.winnings for share in capped.wagers})
    return [len(capped.wagers), *won, sum(share.paid for share in capped.wagers)]


test_wagers_beside_placing_and_settling = each_history(
    HISTORIES, World, {"lucky": lucky, "cap": cap}, **STEPS
)


def test_the_rulebooks_hash_stays_the_files() -> None:
    rulebook = load_rulebook("au-commission")
    world = world_in(Phase.NONE)
    world.must(SetLimits(transaction="s", table_maximum=6000))
    limited = apply_limits(rulebook, world.state.limits)
    assert limited.hash == rulebook.hash
    assert apply_limits(rulebook, TableState().limits) is rulebook


def test_what_limits_bind_stands_in_the_state() -> None:
    first = book("ez", "limits.seat_maximum=900", "bets.tie.table_maximum=500")
    own = BetLimits(bet="banker", maximum=70, per="seat")
    shown = project_table(
        TableState(limits=LimitsSet(bets=(own,), patron_maximum=800)),
        table="t1", rulebook=first, catching_up=False,
    ).rulebook  # fmt: skip
    assert (shown.patron_maximum, shown.seat_maximum) == (800, 900)
    bets = {bet.id: (bet.maximum, bet.per, bet.table_maximum) for bet in shown.bets}
    assert (bets["banker"], bets["tie"]) == ((70, "seat", None), (None, "patron", 500))


def test_a_form_1_spot_keeps_its_minimum_a_wager() -> None:
    text = (files("table_core") / "rulebooks" / "ez.toml").read_text("utf-8")
    bet = '[bets.tie]\nper = "spot"'
    first = parse_rulebook("site.toml", text.replace("[bets.tie]", bet).encode())
    for per, minimum_per in ((None, "wager"), ("spot", "wager"), ("seat", "seat")):
        limits = LimitsSet(bets=(BetLimits(bet="tie", per=per),))  # type: ignore[arg-type]  # literals
        limited = apply_limits(first, limits).bets["tie"]
        assert (limited.per, limited.minimum_per) == (per or "spot", minimum_per)


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
        (
            SetLimits(transaction="s", bets=(BetLimits(bet="tie"), BetLimits(bet="tie"))),
            "tie: its limits are there twice",
        ),
        (
            SetLimits(
                transaction="s",
                bets=(
                    BetLimits(bet="player", minimum=500, per="seat"),
                    BetLimits(bet="tie", minimum=301, step=10),
                ),
                table_maximum=499,
            ),
            "table_maximum: 499 is below 500, the least that may be wagered on player",
        ),
        (
            SetLimits(
                transaction="s", bets=(BetLimits(bet="tie", minimum=500),), patron_maximum=499
            ),
            "patron_maximum: 499 is below 500, the least that may be wagered on tie",
        ),
        (
            SetLimits(
                transaction="s",
                bets=(
                    BetLimits(bet="player", minimum=500, per="seat"),
                    BetLimits(bet="tie", minimum=501),
                ),
                seat_maximum=400,
            ),
            "seat_maximum: 400 is below 500, the least that may be wagered on player",
        ),
        (
            SetLimits(
                transaction="s",
                bets=tuple(BetLimits(bet=bet, minimum=301) for bet in ALL_BETS),
                seat_maximum=300,
            ),
            "seat_maximum: 300 is below 301, the least that may be wagered on player",
        ),
        (SetLimits(transaction="s", table_maximum=0), "table_maximum"),
        (SetLimits(transaction="s", patron_maximum=0), "patron_maximum: 0 is less than 1"),
        (SetLimits(transaction="s", bets=(BetLimits(bet="tie", table_maximum=0),)), "tie: table_m"),
        (
            SetLimits(transaction="s", bets=(BetLimits(bet="tie", minimum=9, table_maximum=8),)),
            "tie: table_maximum 8 is below 9",
        ),
        (SetLimits(transaction="s", differential=-1), "differential"),
    ],
)
def test_limits_that_make_no_sense_are_refused(command: SetLimits, names: str) -> None:
    refusal = world_in(Phase.NONE).ask(command)
    assert isinstance(refusal, Refusal)
    assert refusal.code == "invalid_limits"
    assert names in refusal.text


@pytest.mark.parametrize(
    "limits",
    [
        {"bets": (BetLimits(bet="player", minimum=500),), "seat_maximum": 400},  # in two boxes
        {"bets": (BetLimits(bet="tie", minimum=500, per="seat"),), "patron_maximum": 400},
        {"bets": (BetLimits(bet="player", minimum=500),), "differential": 400},
        {"bets": (BetLimits(bet="player", minimum=500),), "table_maximum": 500},
    ],
)
def test_limits_that_some_wagers_meet_are_set(limits: dict[str, Any]) -> None:
    assert world_in(Phase.NONE).must(SetLimits(transaction="s", **limits))
