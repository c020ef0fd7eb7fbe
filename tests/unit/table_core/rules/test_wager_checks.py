"""Which wagers a table takes: a line a case, the codes last, `-` for a wager that stands."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.commands import Refusal
from events.money import MAX_AMOUNT
from events.types import Wager
from table_core.rulebooks.shipped import load_rulebook, shipped_ids
from table_core.rules.rulebook import Rulebook
from table_core.rules.wager_checks import check_further_wagers, check_wagers, unsupported_side_bets
from table_core.rules.wager_screen import WagerScreen
from table_core.rules.wager_totals import WagerTotals, add_wagers
from table_core.rules.wagers import BET_KINDS, patron_of
from tests.support.cage.books import book
from tests.support.table.deals import wager, wagers

# rulebook and what is changed in it | wagers (w0, w1, ...) -> codes
CASES = """
au-commission | banker=100 -> -
au-commission | dragon_seven=100 -> unknown_bet
au-commission | Banker=100 -> unknown_bet
au-commission | panda8=100 -> not_offered
au-commission bets.tie.offered=false | tie=100 -> not_offered
au-commission | tie=0 -> invalid_stake
au-commission | tie=-100 -> invalid_stake
au-commission | tie=8998201053687 -> -
au-commission | tie=8998201053688 -> invalid_stake
au-commission | tie=1 -> -
au-commission unit=25 | tie=50 2:tie=60 -> - not_a_step
au-commission bets.tie.step=50 | tie=50 2:tie=75 -> - not_a_step
au-commission bets.tie.minimum=50 | tie=50 2:tie=49 -> - below_minimum
au-commission bets.tie.maximum=50 | tie=50 2:tie=51 -> - above_maximum
au-commission bets.tie.maximum=50 | tie=50 tie=50 2:tie=50 -> - above_maximum -
au-commission bets.tie.maximum=50 | tie=50@p 2:tie=1@p 2:tie=50@q -> - above_maximum -
au-commission bets.tie.maximum=50 bets.tie.per=wager | tie=50 tie=50 -> - -
au-commission bets.tie.maximum=50 bets.tie.per=spot | tie=50 tie=1 2:tie=50 -> - above_maximum -
au-commission bets.tie.maximum=50 bets.tie.per=spot | tie=5@p tie=5@q tie=46@p -> - - above_maximum
ez bets.tie.maximum=50 bets.tie.per=seat | tie=50@p tie=1@q 2:tie=50@p -> - above_maximum -
ez bets.tie.maximum=20000 | tie=20000 tie=20000 tie=20000 -> - above_maximum above_maximum
au-commission bets.tie.minimum=50 | tie=25 tie=25 2:tie=25 -> - - below_minimum
au-commission bets.tie.minimum=50 | tie=25@p 2:tie=25@p 2:tie=25@q -> - - below_minimum
au-commission bets.tie.minimum=50 bets.tie.per=wager | tie=25 tie=25 -> below_minimum below_minimum
ez bets.tie.minimum=50 bets.tie.per=spot | tie=25@p 2:tie=25@p 2:tie=25@p -> below_minimum - -
ez bets.tie.minimum=50 bets.tie.per=seat | tie=25@p tie=25@q 2:tie=49@p -> - - below_minimum
ez bets.tie.minimum=50 limits.seat_maximum=30 | tie=25@p 2:tie=25@p 3:tie=9@q -> - - below_minimum
ez bets.tie.minimum=50 bets.tie.per=seat limits.patron_maximum=30 | tie=25@p tie=25@q -> - -
ez bets.tie.table_maximum=100 | tie=60 2:tie=41 3:tie=40 player=500 -> - table_maximum - -
ez limits.patron_maximum=100 | tie=60@p 2:tie=41@p 3:player=40@p 4:tie=100 -> - patron_maximum - -
ez limits.seat_maximum=100 | tie=60@p player=41@q player=40 2:tie=100 -> - seat_maximum - -
au-commission limits.table_maximum=100 | tie=60 2:tie=41 3:tie=40 -> - table_maximum -
au-commission limits.differential=50 | player=50 player=1 2:banker=9 -> - differential -
au-commission limits.differential=50 | tie=500 -> -
au-commission | 0:tie=5 100:tie=5 1:tie=5 99:tie=5 -> invalid_seat invalid_seat - -
au-commission | player=5 banker=5 -> - opposite_sides
au-commission | banker=5 player=5 -> - opposite_sides
au-commission | player=5 2:banker=5 -> - -
au-commission | player=5 player=5 -> - -
au-commission | player=5@p 2:banker=5@p -> - opposite_sides
au-commission | player=5@p banker=5@q -> - -
au-commission | player=5@p banker=5 -> - -
au-commission options.allow_opposite=true | player=5 banker=5 -> - -
au-commission | player=0 banker=5 -> invalid_stake -
mini-lucky8 | player=5 tie=5 lucky8_player=5 lucky8_banker=5 -> - - - too_many_options
mini-lucky8 | lucky8_banker=5 lucky8_player=5 tie=5 banker=5 -> - - - too_many_options
mini-lucky8 | player=5 tie=5 lucky8_player=5 tie=5 lucky8_player=9 -> - - - - -
mini-lucky8 | player=5 tie=5 2:lucky8_player=5 2:banker=5 -> - - - -
mini-lucky8 options.max_options=2 | player=5 tie=5 lucky8_player=5 -> - - too_many_options
mini-lucky8 options.max_options=4 | player=5 tie=5 lucky8_player=5 lucky8_banker=5 -> - - - -
mini-lucky8 | player=5 lucky8_player=30000 -> - -
mini-lucky8 | player=5 lucky8_player=30001 -> - above_maximum
mini-lucky8 | player=5 lucky8_player=30000 lucky8_player=30000 -> - - above_maximum
mini-lucky8 options.tie_is_main=false | lucky8_player=5 tie=5 -> main_wager_required -
nz-scale-one options.tie_is_main=true | perfect_pairs=5 tie=5 -> - -
mini-lucky8 | lucky8_player=5 -> main_wager_required
mini-lucky8 | lucky8_player=5 tie=5 -> - -
mini-lucky8 | lucky8_player=5 2:tie=5 -> main_wager_required -
mini-lucky8 | lucky8_player=5@p 2:tie=5@p -> - -
mini-lucky8 | lucky8_player=5 player=0 -> main_wager_required invalid_stake
mini-lucky8 | 3:lucky8_player=5 3:lucky8_banker=5 -> main_wager_required main_wager_required
nz-scale-one | perfect_pairs=5 tie=5 -> main_wager_required -
nz-scale-one | perfect_pairs=5 banker=5 -> - -
nz-scale-one | perfect_pairs=5@p 2:player=5@p -> main_wager_required -
nz-scale-one | perfect_pairs=5@p player=5@q -> main_wager_required -
nz-scale-one | perfect_pairs=5@p player=5@p -> - -
ez | dragon7=5 panda8=5 -> main_wager_required main_wager_required
ez | dragon7=5 panda8=5 tie=5 -> - - -
au-commission | tiger=5 tiger_pair=5 super_six=5 player_pair=5 -> - - - -
au-commission bets.tiger.requirement=any_main | tiger=5 big_tiger=5 -> main_wager_required -
extras | dragon_bonus_player=5 big=5 lucky6=5 -> - - -
"""


# Each pair breaks two rules at once; the first in the contract's order names the refusal.
ORDER = """
au-commission | 0:dragon_seven=-1 -> unknown_bet
au-commission | 0:panda8=-1 -> not_offered
au-commission unit=25 | 0:tie=-1 -> invalid_stake
au-commission unit=25 bets.tie.minimum=50 | 0:tie=30 -> not_a_step
au-commission bets.tie.maximum=50 limits.table_maximum=10 | tie=60 -> above_maximum
au-commission bets.tie.minimum=50 limits.table_maximum=10 | tie=40 -> below_minimum
au-commission limits.table_maximum=10 limits.differential=5 | player=40 -> table_maximum
au-commission limits.differential=5 | 0:player=40 -> differential
au-commission bets.tie.maximum=9 limits.patron_maximum=8 | tie=10 -> above_maximum
au-commission bets.tie.minimum=10 limits.patron_maximum=8 | tie=9 -> below_minimum
au-commission limits.patron_maximum=8 limits.seat_maximum=8 | tie=9 -> patron_maximum
au-commission limits.seat_maximum=8 bets.tie.table_maximum=8 | tie=9 -> seat_maximum
mini-lucky8 | lucky8_player=30001 -> above_maximum
mini-lucky8 options.max_options=1 | tie=5 player=5 banker=5 -> - too_many_options too_many_options
mini-lucky8 options.max_options=1 | player=5 banker=5 -> - opposite_sides
"""

# A wager that stood only together with another is refused with it.
PAIRS = "nz-scale-one bets.perfect_pairs.minimum=9"
GAP = "au-commission limits.differential=500 bets.player.minimum=100"
LOW = f"{GAP} bets.player.maximum=200"
LONE = "mini-lucky8 bets.tie.requirement=same_seat"
TOGETHER = f"""
ez bets.tie.minimum=9 limits.table_maximum=9 | player=1 tie=8 tie=1 -> - below_minimum table_maximum
{PAIRS} | player=5@p perfect_pairs=5@p 2:perfect_pairs=5@p -> - below_minimum main_wager_required
{GAP} | player=60 2:banker=560 player=1050 -> below_minimum differential differential
{LOW} | player=60 2:banker=560 player=150 -> below_minimum differential above_maximum
{GAP} | player=60 2:banker=560 player=1050 3:player=100 -> below_minimum differential differential -
{GAP} | 2:player=60 banker=450 banker=99 2:player=1050 -> below_minimum - differential differential
{LONE} | 1:tie=5 2:lucky8_player=5 -> main_wager_required main_wager_required
{LONE} | tie=5@p 2:lucky8_player=5@p -> main_wager_required main_wager_required
"""


def codes(refusals: Sequence[Refusal | None]) -> list[str]:
    return [refusal.code if refusal else "-" for refusal in refusals]


@pytest.mark.parametrize("line", (CASES + ORDER.lstrip() + TOGETHER.lstrip()).strip().splitlines())
def test_a_wager_stands_or_is_refused_with_its_code(line: str) -> None:
    case, _, expected = line.partition("->")
    changes, asked = case.split("|")
    rulebook, placed = book(*changes.split()), wagers(asked)
    assert codes(check_wagers(rulebook, (), placed)) == expected.split()
    assert not WagerScreen(rulebook).passes(placed) or set(expected.split()) == {"-"}


PLAIN = """
au-commission | player=5 2:banker=5 2:tiger=5@p
ez limits.table_maximum=20 | 3:player=5 3:dragon7=5 3:player=10
nz-scale-one | perfect_pairs=5@p player=5@p
"""


@pytest.mark.parametrize("line", PLAIN.strip().splitlines())
def test_plain_wagers_pass_the_screen(line: str) -> None:
    changes, asked = line.split("|")
    assert WagerScreen(book(*changes.split())).passes(wagers(asked))


def test_an_id_that_stands_already_is_a_duplicate() -> None:
    rulebook = load_rulebook("au-commission")
    first, again = wager("a", bet="tie"), wager("a", bet="player")
    assert codes(check_wagers(rulebook, (), [first, again])) == ["-", "duplicate_wager"]
    assert codes(check_wagers(rulebook, [first], [again])) == ["duplicate_wager"]


def test_a_duplicate_comes_before_the_combinations() -> None:
    rulebook = load_rulebook("au-commission")
    asked = [wager("a", bet="player"), wager("a", bet="banker"), wager("b", bet="banker")]
    assert codes(check_wagers(rulebook, (), asked)) == ["-", "duplicate_wager", "opposite_sides"]


def test_an_id_that_was_refused_is_free() -> None:
    asked = [wager("a", stake=0), wager("a")]
    assert codes(check_wagers(load_rulebook("au-commission"), (), asked)) == ["invalid_stake", "-"]


def test_what_stands_counts_but_is_not_judged_again() -> None:
    rulebook = book("mini-lucky8", "limits.table_maximum=100")
    standing = [wager("s0", bet="player", stake=60), wager("s1", seat=2, bet="lucky8_player")]
    asked = [
        wager("w0", bet="banker", stake=1),
        wager("w1", bet="tie", stake=41),
        wager("w2", bet="lucky8_banker", stake=1),
    ]
    # Above the table's maximum as it stands (60 + 100): nothing more is taken, nothing is undone.
    assert codes(check_wagers(rulebook, standing, asked)) == ["table_maximum"] * 3
    assert codes(check_wagers(load_rulebook("mini-lucky8"), standing, asked)) == [
        "opposite_sides",
        "-",
        "-",
    ]


def test_a_side_bet_may_come_before_its_main_wager_while_more_may_follow() -> None:
    rulebook = load_rulebook("mini-lucky8")
    strict, nothing = book("mini-lucky8", "options.side_bet_first=false"), WagerTotals()
    side, main = wager("w0", bet="lucky8_player"), wager("w1", bet="player")
    assert codes(check_further_wagers(rulebook, nothing, (), [side])) == ["-"]
    assert codes(check_further_wagers(rulebook, add_wagers(nothing, [side]), (), [main])) == ["-"]
    assert codes(check_further_wagers(strict, nothing, (), [side])) == ["main_wager_required"]
    assert codes(check_further_wagers(strict, nothing, (), [side, main])) == ["-", "-"]
    assert codes(check_further_wagers(strict, add_wagers(nothing, [main]), (), [side])) == ["-"]
    assert codes(unsupported_side_bets(rulebook, [side])) == ["main_wager_required"]
    assert codes(unsupported_side_bets(rulebook, [side, main])) == ["-", "-"]


def test_a_refusal_says_what_and_how_much() -> None:
    (refusal,) = check_wagers(
        load_rulebook("mini-lucky8"), (), [wager(bet="lucky8_player", stake=30_001)]
    )
    assert refusal == Refusal(
        code="above_maximum",
        text="30001 on lucky8_player is above its maximum of 30000 for a patron",
    )


anything = st.builds(
    Wager,
    id=st.sampled_from([f"t/{n}" for n in range(12)]),
    seat=st.integers(-1, 101) | st.integers(1, 3),
    bet=st.sampled_from([*BET_KINDS, "", "x" * 1000, "tie\0"]),
    stake=st.integers(-(2**70), 2**70) | st.integers(1, 40_000),
    patron=st.none() | st.sampled_from(["p", "q", ""]),
)


@given(
    st.sampled_from(shipped_ids()).map(load_rulebook),
    st.lists(anything, max_size=30),
)
def test_what_stands_obeys_every_rule(rulebook: Rulebook, asked: list[Wager]) -> None:
    refusals = check_wagers(rulebook, (), asked)
    assert len(refusals) == len(asked)
    standing = [w for w, refusal in zip(asked, refusals, strict=True) if refusal is None]
    assert len({w.id for w in standing}) == len(standing)
    for placed in standing:
        bet = rulebook.bets[placed.bet]
        own = {w.bet for w in standing if patron_of(w) == patron_of(placed)}
        box = {
            w.bet for w in standing if (patron_of(w), w.seat) == (patron_of(placed), placed.seat)
        }
        assert 1 <= placed.seat <= 99
        assert bet.minimum <= placed.stake <= (bet.maximum or MAX_AMOUNT)
        assert not {"player", "banker"} <= own
        if rulebook.id == "mini-lucky8":
            assert len(own - {"player", "banker"}) + bool(own & {"player", "banker"}) <= 3
        if placed.bet.startswith("lucky8") or placed.bet in {"dragon7", "panda8"}:
            assert own & {"player", "banker", "tie"}
        if placed.bet == "perfect_pairs":
            assert box & {"player", "banker"}


@given(
    st.sampled_from(shipped_ids()).map(load_rulebook),
    st.lists(anything, max_size=20),
    st.integers(0, 20),
)
def test_asking_in_two_goes_is_the_same_as_asking_at_once(
    rulebook: Rulebook, asked: list[Wager], cut: int
) -> None:
    at_once = codes(check_further_wagers(rulebook, WagerTotals(), (), asked))
    first = check_further_wagers(rulebook, WagerTotals(), (), asked[:cut])
    standing = [w for w, refusal in zip(asked, first, strict=False) if refusal is None]
    totals, ids = add_wagers(WagerTotals(), standing), {wager.id for wager in standing}
    then = check_further_wagers(rulebook, totals, ids, asked[cut:])
    assert codes([*first, *then]) == at_once
