"""The sums of what stands: moved on wager by wager they are those of the whole, and as quick."""

from collections import defaultdict
from random import Random

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from events.types import Wager, WagersPlaced, WagersWithdrawn
from table_core.fold.common import current_coup
from table_core.fold.dispatch import fold
from table_core.fold.snapshot import decode_state, encode_state
from table_core.rules.wager_totals import (
    UNSUMMED,
    WagerTotals,
    add_wagers,
    remove_wagers,
)
from table_core.state.coup import Phase
from table_core.state.table import Coup, TableState, by_id
from tests.support.table.coups import COUP, world_in

lone_wagers = st.builds(
    Wager,
    id=st.just(""),
    seat=st.integers(1, 3),
    bet=st.sampled_from(["player", "banker", "tie"]),
    stake=st.integers(1, 5),
    patron=st.none() | st.sampled_from(["p", "1"]),
)
rows = st.lists(lone_wagers, max_size=12).map(
    lambda row: [msgspec.structs.replace(w, id=f"u/t/{n}") for n, w in enumerate(row)]
)


def by_hand(wagers: list[Wager]) -> tuple[dict[str, int], dict[object, int]]:
    """Stakes by bet, and stakes by whose, bet and seat: counted without the product."""
    bets: dict[str, int] = defaultdict(int)
    spots: dict[object, int] = defaultdict(int)
    for wager in wagers:
        whose = f"seat {wager.seat}" if wager.patron is None else f"patron {wager.patron}"
        bets[wager.bet] += wager.stake
        spots[whose, wager.bet, wager.seat] += wager.stake
    return dict(bets), dict(spots)


def summed(standing: WagerTotals) -> tuple[dict[str, int], dict[object, int]]:
    spots: dict[object, int] = {
        (patron, bet, int(seat)): stake
        for bucket in standing.patrons.values()
        for patron, bets in bucket.items()
        for bet, seats in bets.items()
        for seat, stake in seats.items()
    }
    return standing.by_bet, spots


@given(rows, st.sets(st.integers(0, 11)), st.integers(0, 12))
def test_sums_are_those_of_the_wagers_however_they_came_and_went(
    row: list[Wager], gone: set[int], cut: int
) -> None:
    first = add_wagers(WagerTotals(), row[:cut])
    kept = summed(first)
    standing = add_wagers(first, row[cut:])
    assert summed(standing) == by_hand(row)
    assert standing == add_wagers(WagerTotals(), row)
    taken = [wager for n, wager in enumerate(row) if n in gone]
    left = [wager for n, wager in enumerate(row) if n not in gone]
    standing = remove_wagers(standing, taken)
    assert summed(standing) == by_hand(left)
    assert standing == add_wagers(WagerTotals(), left)
    assert standing.staked == sum(wager.stake for wager in left)
    assert summed(first) == kept == by_hand(row[:cut])  # never changed in place


@given(rows)
def test_sums_are_stored_and_read_again(row: list[Wager]) -> None:
    standing = add_wagers(WagerTotals(), row)
    state = TableState(coup=Coup(id="", phase=Phase.BETTING, rulebook="", rulebook_hash=""))
    assert state.coup is not None
    coup = msgspec.structs.replace(state.coup, wagers=by_id(reversed(row)), summed=standing)
    state = msgspec.structs.replace(state, coup=coup)
    back = decode_state(encode_state(state))
    assert back == state
    assert back.coup is not None
    assert list(back.coup.wagers.values()) == row[::-1]


@given(st.randoms(use_true_random=False))
def test_totals_are_those_of_the_wagers_left_whichever_are_withdrawn(rng: Random) -> None:
    state, left = world_in(Phase.BETTING, wagers=False).state, list[Wager]()
    for step in range(20):
        size = rng.choice((1, 3, UNSUMMED, 2 * UNSUMMED + 5))
        ids = [f"u/{step}/{index}" for index in range(size)]
        came = tuple(Wager(id=name, seat=rng.randint(1, 3), bet="tie", stake=5) for name in ids)
        state, left = fold(state, WagersPlaced(coup=COUP, wagers=came)), [*left, *came]
        gone = rng.sample([each.id for each in left], rng.randint(1, min(len(left), 40)))
        state = fold(state, WagersWithdrawn(coup=COUP, wagers=tuple(gone)))
        left = [each for each in left if each.id not in gone]
        coup = current_coup(state)
        assert list(coup.wagers.values()) == left
        assert coup.standing == add_wagers(WagerTotals(), left)
        assert coup.summed.count <= len(left) < coup.summed.count + UNSUMMED


def test_where_nothing_stands_every_sum_is_nothing() -> None:
    nothing = WagerTotals()
    assert (nothing.count, nothing.staked, nothing.line_bytes) == (0, 0, 0)
    assert (nothing.patrons, nothing.by_bet) == ({}, {})
    row = [Wager(id="u/t/1", seat=1, bet="tie", stake=5)]
    assert remove_wagers(add_wagers(nothing, row), row) == nothing
