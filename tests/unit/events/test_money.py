"""Money is conserved: whatever is wagered, dealt, voided or withdrawn, every chip is somewhere.

An auditor (`tests.support.table.auditor`) follows the events alone, moves the chips as they say,
and is held against the table's own books after every coup.
"""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from events.commands.wagers import WithdrawWager
from events.types.table import CoupSettled, CoupVoided, TableEvent, WagersWithdrawn
from table_core.decide.decision import DecisionContext
from table_core.rulebooks.shipped import load_rulebook
from tests.support.table.auditor import Auditor
from tests.support.table.coups import World
from tests.support.table.money_game import BOOKS, ENDS, Game, Played, random_coup

ASKED = st.tuples(
    st.integers(1, 4),
    st.integers(0, 20),
    st.integers(1, 40),
    st.sampled_from(["chips", "chips", "promo", "toke"]),
    st.sampled_from([None, None, "p-1", "p-2"]),
)
COUPS = st.lists(
    st.builds(
        Played,
        asked=st.lists(ASKED, max_size=12),
        withdrawn=st.lists(st.integers(0, 11), max_size=3),
        closed_by_card=st.booleans(),
        end=st.sampled_from(ENDS),
        owing=st.sampled_from(["collect", "one", "give up", "recover"]),
        corrections=st.integers(0, 3),
    ),
    min_size=1,
    max_size=5,
)


@pytest.mark.parametrize("name", BOOKS)
@settings(max_examples=12, deadline=None)
@given(coups=COUPS, seed=st.integers(0, 2**32))
def test_every_chip_is_somewhere_whatever_is_wagered_and_however_it_ends(
    name: str, coups: list[Played], seed: int
) -> None:
    game = Game(BOOKS[name](), seed)
    game.audit()
    for coup in coups:
        game.play(coup)


@pytest.mark.parametrize("name", BOOKS)
def test_money_is_conserved_over_a_whole_shoe(name: str) -> None:
    game = Game(BOOKS[name](), seed=sum(map(ord, name)))
    rng = random.Random(f"money/{name}")
    while not game.table.over:
        game.play(random_coup(rng))
    settled = [event for event in game.world.log if isinstance(event, CoupSettled)]
    assert len(settled) > 50
    assert {line.kind for each in settled for line in each.settlement.lines} == {
        "chips",
        "promo",
        "toke",
    }
    assert game.world.state.totals.house == game.auditor.won.total() != 0
    if game.rulebook.commission:
        assert game.world.state.commission.accrued > 0


# ---- two phases ----


@pytest.mark.parametrize("name", ["nz-scale-one", "pairs first", "reverse_all"])
def test_every_wager_is_settled_in_exactly_one_of_the_two_phases(name: str) -> None:
    game = Game(BOOKS[name](), seed=7)
    rng = random.Random(f"phases/{name}")
    phases = set()
    for _ in range(40):
        begun = len(game.world.log)
        game.play(replace(random_coup(rng), end="settled", corrections=0))
        coup = game.world.state.coup
        assert coup is not None
        taken = [
            (line.wager, event.settlement.phase)
            for event in game.world.log[begun:]
            if isinstance(event, CoupSettled)
            for line in event.settlement.lines
        ]
        assert sorted(wager for wager, _ in taken) == sorted(wager.id for wager in coup.wagers)
        bets = {wager.id: wager.bet for wager in coup.wagers}
        assert all(game.rulebook.phase_of(bets[wager]) == phase for wager, phase in taken)
        phases |= {phase for _, phase in taken}
    assert phases == {1, 2}


# ---- the auditor itself ----


def tampered(log: list[TableEvent], how: str) -> list[TableEvent]:
    """The log with one thing in it that must not be."""
    at = next(
        index
        for index, event in enumerate(log)
        if isinstance(event, CoupVoided if how.startswith("refund") else CoupSettled)
        and (event.refunds if isinstance(event, CoupVoided) else len(event.settlement.lines) > 1)
    )
    found = log[at]
    if isinstance(found, CoupVoided):
        refunds = {
            "refund twice": (*found.refunds, found.refunds[0]),
            "refund too much": (replace(found.refunds[0], stake=10**6), *found.refunds[1:]),
            "refund lost": found.refunds[1:],
        }[how]
        return [*log[:at], replace(found, refunds=refunds), *log[at + 1 :]]
    assert isinstance(found, CoupSettled)
    first, *rest = found.settlement.lines
    lines = {
        "settled twice": (first, first, *rest),
        "line lost": tuple(rest),
        "paid too much": (replace(first, paid=first.paid + 1), *rest),
        "another seat": (replace(first, seat=first.seat + 50), *rest),
        "won too much": (replace(first, winnings=first.winnings + 3), *rest),
    }.get(how, (first, *rest))
    changed = replace(found, settlement=replace(found.settlement, lines=lines))
    events = {"whole settlement twice": [found, found], "settlement lost": []}.get(how, [changed])
    return [*log[:at], *events, *log[at + 1 :]]


@pytest.fixture(scope="module")
def game() -> Game:
    """A whole shoe."""
    game = Game(BOOKS["au-commission"](), seed=3)
    rng = random.Random("tampering")
    while not game.table.over:
        game.play(random_coup(rng))
    return game


@pytest.mark.parametrize(
    "how",
    [
        "settled twice",
        "line lost",
        "paid too much",
        "another seat",
        "won too much",
        "whole settlement twice",
        "settlement lost",
        "refund twice",
        "refund too much",
        "refund lost",
    ],
)
def test_the_auditor_finds_what_must_not_be(how: str, game: Game) -> None:
    def audited(log: Sequence[TableEvent]) -> None:
        auditor = Auditor(game.rulebook, *game.world.context.library)
        auditor.hear(log)
        auditor.check(game.world.state)

    audited(game.world.log)
    with pytest.raises((AssertionError, KeyError)):
        audited(tampered(game.world.log, how))


# ---- withdrawing ----


def test_withdrawing_leaves_a_side_bet_alone_that_still_waits_for_its_main_wager() -> None:
    world = World(DecisionContext(table="t1", rulebook=load_rulebook("nz-scale-one")))
    world.ready()
    world.open()
    world.bet((1, "perfect_pairs", 500))
    world.bet((2, "player", 500), (2, "perfect_pairs", 100))
    assert world.state.coup is not None
    waiting, main, side = (wager.id for wager in world.state.coup.wagers)
    (withdrawn,) = world.must(WithdrawWager(transaction="w", wagers=(main,)))
    assert isinstance(withdrawn, WagersWithdrawn)
    assert withdrawn.wagers == (main, side)
    world.bet((1, "banker", 500))
    assert world.state.coup.wagers[0].id == waiting
