"""Money: rounding, commission, maxima and phases; and what holds for every coup."""

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from events.cards import Card
from events.errors import OurBug
from events.money import MAX_AMOUNT, Odds
from events.types import SettlementLine, Wager
from table_core.rulebooks.shipped import load_rulebook, shipped_ids
from table_core.rules.commission_owed import commission_on
from table_core.rules.draw import judge_hands
from table_core.rules.rulebook import Rulebook
from table_core.rules.settlement import (
    KeptSettlement,
    Verdicts,
    pay_wagers,
    settle,
    settle_with_caps,
)
from table_core.state.table import by_id
from tests.support.cage.books import book
from tests.support.table.deals import cards, coups, outcome, wager, wagers

BANKER_WINS = "2H 4D KS 4C"
BANKER_WINS_ON_6 = "3D AC 2C 5H TH"
TIE = "9H 2D 8S KC 5H"
BOTH_8_SUITED = "JS JC 2S TC 6S 8C"
PLAYER_PAIR = "9H 2D 9S KC"

# what is changed in the rulebook | wager | coup -> winnings, commission, paid
MONEY = """
au-commission | banker=2500 | 2H 4D KS 4C -> 2500 125 4875
au-commission | banker=19 | 2H 4D KS 4C -> 19 0 38 commission down
au-commission | banker=39 | 2H 4D KS 4C -> 39 1 77
au-commission | banker=2500 | 9H 2D 8S KC 5H -> 0 0 2500 a push
au-commission | player=2500 | 2H 4D KS 4C -> 0 0 0
au-commission | tie=2500 | 9H 2D 8S KC 5H -> 20000 0 22500 no commission
au-even-money | banker=25 | 3D AC 2C 5H TH -> 13 0 38 payout up
au-even-money | banker=24 | 3D AC 2C 5H TH -> 12 0 36
au-even-money unit=5 | banker=15 | 3D AC 2C 5H TH -> 10 0 25 7.5 up to a chip
au-even-money rounding.payout=down | banker=25 | 3D AC 2C 5H TH -> 12 0 37
au-even-money rounding.payout=nearest | banker=25 | 3D AC 2C 5H TH -> 13 0 38 half goes up
au-commission unit=25 | banker=900 | 2H 4D KS 4C -> 900 25 1775 45 down to a chip
au-commission rounding.commission=up | banker=39 | 2H 4D KS 4C -> 39 2 76
au-commission rounding.commission=up | banker=1 | 2H 4D KS 4C -> 1 1 1
au-commission rounding.commission=nearest | banker=30 | 2H 4D KS 4C -> 30 2 58 1.5
au-commission commission.block=500 | banker=500 | 2H 4D KS 4C -> 500 25 975 25c per $5
au-commission commission.block=500 | banker=501 | 2H 4D KS 4C -> 501 50 952 ... or part
au-commission commission.block=500 | banker=10 | 2H 4D KS 4C -> 10 10 10 never more than won
mini-lucky8 | banker=2500 | 2H 4D KS 4C -> 2500 125 4875 prepaid: net
extras | big=50 | 3D AC 2C 5H TH -> 27 0 77
extras | big=51 | 3D AC 2C 5H TH -> 28 0 79 27.54
extras | small=101 | 2H 4D KS 4C -> 152 0 253
ez | banker=2500 | 2H 4D KS 4C -> 2500 0 5000
"""


@pytest.mark.parametrize("line", MONEY.strip().splitlines())
def test_amounts_round_as_the_rulebook_says(line: str) -> None:
    case, _, expected = line.partition("->")
    changes, placed, dealt = case.split("|")
    rulebook = book(*changes.split())
    (settled,) = settle(rulebook, outcome(dealt), wagers(placed))
    got = (settled.winnings, settled.commission, settled.paid)
    assert got == tuple(int(n) for n in expected.split()[:3])


def test_a_tie_gives_push_only_where_the_schedule_lists_it() -> None:
    strict, lenient = (
        load_rulebook("au-commission"),
        book("au-commission", "bets.super_six.pays.push=push"),
    )
    placed = wagers("super_six=100")
    assert settle(strict, outcome(TIE), placed)[0].result == "lose"
    assert settle(lenient, outcome(TIE), placed)[0].result == "push"
    assert settle(lenient, outcome(BANKER_WINS_ON_6), placed)[0].winnings == 1500


def test_a_line_says_everything_about_its_wager() -> None:
    placed = wager("t-1/0", seat=7, bet="tiger", stake=100, patron="p-9")
    assert settle(load_rulebook("au-commission"), outcome(BANKER_WINS_ON_6), [placed]) == (
        SettlementLine(
            wager="t-1/0",
            seat=7,
            bet="tiger",
            patron="p-9",
            result="win",
            category="two_card",
            odds="12/1",
            stake=100,
            winnings=1200,
            commission=0,
            paid=1300,
        ),
    )


def test_a_wager_that_the_rulebook_does_not_have_is_void_and_goes_back() -> None:
    (line,) = settle(load_rulebook("ez"), outcome(BANKER_WINS), wagers("tiger=100"))
    assert (line.result, line.category, line.winnings, line.paid) == ("void", "void", 0, 100)


def test_each_phase_settles_its_own_wagers_and_both_settle_all() -> None:
    rulebook = load_rulebook("nz-scale-one")
    placed = wagers("player=100 perfect_pairs=100 2:banker=100 2:perfect_pairs=50")
    judged = outcome(PLAYER_PAIR)

    def ids(phase: int | None) -> list[str]:
        return [line.wager for line in settle(rulebook, judged, placed, phase=phase)]

    assert (ids(1), ids(2), ids(None)) == (["w1", "w3"], ["w0", "w2"], ["w0", "w1", "w2", "w3"])


def test_the_first_phase_settles_on_the_first_four_cards() -> None:
    rulebook = load_rulebook("nz-scale-one")
    judged = judge_hands(cards("2H 2S"), cards("KD 3C"))
    assert not judged.complete
    (line,) = settle(rulebook, judged, wagers("player=100 perfect_pairs=100"), phase=1)
    assert (line.wager, line.category, line.paid) == ("w1", "mixed", 600)


@pytest.mark.parametrize("phase", [2, None])
def test_nothing_else_settles_before_the_deal_is_complete(phase: int | None) -> None:
    judged = judge_hands(cards("2H 2S"), cards("KD 3C"))
    with pytest.raises(OurBug, match="incomplete deal"):
        settle(load_rulebook("nz-scale-one"), judged, wagers("player=100"), phase=phase)


def test_a_site_may_settle_pair_wagers_first() -> None:
    rulebook = book("au-commission", "bets.player_pair.phase=1")
    judged = judge_hands(cards("2H 2S"), cards("KD 3C"))
    (line,) = settle(rulebook, judged, wagers("player_pair=100 tiger_pair=100"), phase=1)
    assert (line.bet, line.winnings) == ("player_pair", 1100)


# ---- the Lucky 8 maximum ----

# changes | Lucky 8 wagers on Player or Banker, a seat each -> winnings; each wins 200 to 1
CAPPED = """
mini-lucky8 | P15000 -> 3000000 exactly at it
mini-lucky8 | P15001 -> 3000000
mini-lucky8 | P30000 B10000 -> 2250000 750000 both bets share it
mini-lucky8 | P9000 B9000 P9000 -> 1000000 1000000 1000000
mini-lucky8 | P6900 P22500 -> 704082 2295918 remainders 0.63 and 0.36
mini-lucky8 caps.scope=patron | P20000 B20000 -> 3000000 3000000
mini-lucky8 caps.scope=patron | P20000@p B20000@p -> 1500000 1500000
mini-lucky8 caps.allocation=first_placed | P10000 P10000 P10000 -> 2000000 1000000 0
mini-lucky8 unit=300000 | P10000 P10000 P10000 -> 1200000 900000 900000 in whole chips
mini-lucky8 unit=300000 caps.allocation=first_placed | P10000 P10000 -> 2100000 900000 7 and 3 of 10
"""


@pytest.mark.parametrize("line", CAPPED.strip().splitlines())
def test_an_aggregate_maximum_is_shared(line: str) -> None:
    case, _, expected = line.partition("->")
    changes, placed = case.split("|")
    spelled = {"P": "lucky8_player=", "B": "lucky8_banker="}
    asked = " ".join(
        f"{seat}:{spelled[word[0]]}{word[1:]}" for seat, word in enumerate(placed.split(), start=1)
    )
    lines = settle(book(*changes.split()), outcome(BOTH_8_SUITED), wagers(asked))
    amounts = [int(word) for word in expected.split()[: len(lines)]]
    assert [settled.winnings for settled in lines] == amounts
    assert all(settled.paid == settled.stake + settled.winnings for settled in lines)


def test_wagers_outside_an_aggregate_maximum_are_paid_in_full() -> None:
    lines = settle(
        load_rulebook("mini-lucky8"),
        outcome(BOTH_8_SUITED),
        wagers("tie=1000000 lucky8_player=30000"),
    )
    assert [line.winnings for line in lines] == [8_000_000, 3_000_000]


@given(st.lists(st.integers(1, 30_000), min_size=1, max_size=40))
def test_sharing_is_by_largest_remainder(stakes: list[int]) -> None:
    placed = [
        wager(f"w{n}", seat=n + 1, bet="lucky8_player", stake=s) for n, s in enumerate(stakes)
    ]
    lines = settle(load_rulebook("mini-lucky8"), outcome(BOTH_8_SUITED), placed)
    shares = [line.winnings for line in lines]
    claims = [200 * stake for stake in stakes]
    if sum(claims) <= 3_000_000:
        assert shares == claims
        return
    exact = [Fraction(claim * 3_000_000, sum(claims)) for claim in claims]
    assert sum(shares) == 3_000_000
    extra = [share - int(quota) for share, quota in zip(shares, exact, strict=True)]
    assert set(extra) <= {0, 1}
    # Nobody with a smaller remainder, or the same and placed later, got what another did not.
    order = [(quota - int(quota), -n) for n, quota in enumerate(exact)]
    got = [key for key, more in zip(order, extra, strict=True) if more]
    missed = [key for key, more in zip(order, extra, strict=True) if not more]
    assert not got or not missed or min(got) > max(missed)


# ---- what holds for every coup ----


@st.composite
def placed_wagers(draw: st.DrawFn) -> tuple[Rulebook, list[Wager]]:
    rulebook = load_rulebook(draw(st.sampled_from(shipped_ids())))
    bets = st.sampled_from(sorted(rulebook.bets))
    stakes = st.one_of(st.integers(1, 100_000), st.just(MAX_AMOUNT))
    spots = draw(st.lists(st.tuples(st.integers(1, 99), bets, stakes), max_size=30))
    made = [wager(f"t/{n}", seat=s, bet=b, stake=a) for n, (s, b, a) in enumerate(spots)]
    return rulebook, made


@given(placed_wagers(), coups)
def test_money_is_conserved_in_every_line(
    placed: tuple[Rulebook, list[Wager]], dealt: tuple[Card, ...]
) -> None:
    rulebook, asked = placed
    lines = settle(rulebook, outcome(" ".join(map(str, dealt))), asked)
    assert [line.wager for line in lines] == [w.id for w in asked]
    for line, asked_for in zip(lines, asked, strict=True):
        bet = rulebook.bets[line.bet]
        returned = 0 if line.result == "lose" else line.stake
        assert line.paid == returned + line.winnings - line.commission
        assert 0 <= line.commission <= line.winnings
        assert (line.seat, line.bet, line.stake) == (
            asked_for.seat,
            asked_for.bet,
            asked_for.stake,
        )
        listed = bet.schedule.get(line.category)
        if line.result == "win":
            assert listed is not None
            assert line.odds == str(listed)
            assert line.winnings <= -(-line.stake * listed.num // listed.den)
        else:
            assert line.result == ("lose" if line.category == "lose" else "push")
            assert (line.winnings, line.commission, line.odds) == (0, 0, None)


KEPT = {name: Verdicts(load_rulebook(name)) for name in shipped_ids()}  # from coup to coup
NEWEST = {name: KeptSettlement(load_rulebook(name)) for name in shipped_ids()}


@given(placed_wagers(), coups)
def test_the_phases_together_are_the_whole(
    placed: tuple[Rulebook, list[Wager]], dealt: tuple[Card, ...]
) -> None:
    rulebook, asked = placed
    judged = outcome(" ".join(map(str, dealt)))
    whole = settle(rulebook, judged, asked)
    parts = [line for phase in (1, 2) for line in settle(rulebook, judged, asked, phase=phase)]
    assert Counter(parts) == Counter(whole)
    payments, _ = pay_wagers(rulebook, judged, asked, KEPT[rulebook.id])
    assert [paid for *_, paid in payments] == [line.paid for line in whole]
    assert [result.category for result, *_ in payments] == [line.category for line in whole]
    kept, one, less = NEWEST[rulebook.id], by_id(asked), by_id(asked[1:])
    for some, phase in ((one, 1), (one, 1), (one, 2), (less, 2), (one, 2)):
        assert kept.settle(judged, some, phase) == settle_with_caps(
            rulebook, judged, some.values(), phase=phase
        )


@given(placed_wagers(), coups)
def test_a_wager_settles_the_same_whoever_else_wagers(
    placed: tuple[Rulebook, list[Wager]], dealt: tuple[Card, ...]
) -> None:
    rulebook, asked = placed
    judged = outcome(" ".join(map(str, dealt)))
    together = settle(rulebook, judged, asked)
    alone = [settle(rulebook, judged, [each])[0] for each in asked]
    shared = {bet for cap in rulebook.caps for bet in cap.bets}
    for one, other in zip(together, alone, strict=True):
        assert one == other or (one.bet in shared and one.winnings < other.winnings)


def test_an_aggregate_maximum_that_is_just_reached_cuts_nothing() -> None:
    rulebook = load_rulebook("mini-lucky8")
    reached, exceeded = wagers("lucky8_player=15000"), wagers("lucky8_player=15001")
    assert settle_with_caps(rulebook, outcome(BOTH_8_SUITED), reached)[1] == ()
    (capped,) = settle_with_caps(rulebook, outcome(BOTH_8_SUITED), exceeded)[1]
    assert (capped.cap, capped.shares) == (rulebook.caps[0], (("w0", 3_000_200, 3_000_000),))


# kind of two wagers of 20,000 that win 200 to 1 under a maximum of 3,000,000 -> what each is paid
KINDS_UNDER_A_MAXIMUM = {
    "promo": (1_500_000, 1_500_000),  # the token does not come back
    "toke": (4_020_000, 4_020_000),  # the dealers' own, outside of the maximum
    "chips": (1_520_000, 1_520_000),
}


@pytest.mark.parametrize(("kind", "paid"), KINDS_UNDER_A_MAXIMUM.items())
def test_each_kind_of_wager_is_paid_by_its_rule_and_named_in_its_line(
    kind: str, paid: tuple[int, int]
) -> None:
    placed = [replace(w, kind=kind) for w in wagers("lucky8_player=20000 2:lucky8_banker=20000")]
    lines = settle(load_rulebook("mini-lucky8"), outcome(BOTH_8_SUITED), placed)
    assert [(line.kind, line.paid) for line in lines] == [(kind, amount) for amount in paid]


def test_a_rulebook_without_commission_takes_none() -> None:
    rulebook = replace(load_rulebook("au-commission"), commission=None)
    (line,) = settle(rulebook, outcome(BANKER_WINS), wagers("banker=2500"))
    assert (line.winnings, line.commission, line.paid) == (2500, 0, 5000)


def test_the_commission_laid_in_advance_is_that_of_the_best_odds_in_whole_chips() -> None:
    rulebook = load_rulebook("au-commission")
    banker = replace(rulebook.bets["banker"], schedule={"six": Odds(1, 2), "win": Odds(1)})
    halved = replace(rulebook, bets={"banker": banker})
    assert commission_on(halved, wager(bet="banker", stake=2500)) == 125
    # 1,950 to 1 is paid as 20 chips of 100, and 5 % of those are a chip.
    assert commission_on(book("au-commission", "unit=100"), wager(bet="banker", stake=1950)) == 100
