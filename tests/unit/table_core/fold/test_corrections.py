"""What a correction changes of the state, and which ones no state allows."""

import pytest
from msgspec.structs import replace

from events.cards import Card, Winner
from events.errors import OurBug
from events.types import (
    CoupSettled,
    CoupVoided,
    DealCompleted,
    HandsCorrected,
    RulebookCorrected,
    SeatDifference,
    ShoeLoaded,
    TableEvent,
    WagerCorrected,
    WagersPlaced,
)
from table_core.fold.common import current_coup, current_shoe
from table_core.fold.corrections import PAST_COUP_EVENTS, find_past_coup
from table_core.fold.dispatch import fold
from table_core.rules.rulebook import INITIAL_PHASE, LAST_PHASE
from table_core.rules.wager_totals import UNSUMMED, WagerTotals, add_wagers
from table_core.state.coup import Phase
from table_core.state.shoe import ShoeState
from table_core.state.table import TableState, by_id
from tests.support.table.coups import COUP, SHOE, cards, settled, world_in
from tests.support.table.deals import wager

BEFORE, NEXT = "20261126-03", "20261127-02"
OF_BEFORE = f"{BEFORE}/4"
PLAYER, BANKER = cards("9S KH"), cards("2D 3C")
VOID = CoupVoided(coup=COUP, reason="a camera", refunds=())
WAGER = WagerCorrected(coup=COUP, wager=wager("late"), reason="the slip")
BOOK = RulebookCorrected(
    coup=COUP, was="a", was_hash="0", rulebook="b", rulebook_hash="1", reason="the sign"
)
SETTLED = world_in(Phase.SETTLED)
COMPLETED = DealCompleted(
    coup=COUP,
    player=PLAYER,
    banker=BANKER,
    player_total=9,
    banker_total=5,
    natural=True,
    winner=Winner.PLAYER,
    rules=(),
)


def hands(
    player: str, banker: str, coup: str = COUP, *, was: tuple[str, str] = ("9S KH", "2D 3C")
) -> HandsCorrected:
    return HandsCorrected(
        coup=coup,
        was_player=cards(was[0]),
        was_banker=cards(was[1]),
        player=cards(player),
        banker=cards(banker),
        reason="camera 4",
    )


def again(
    revision: int, phase: int = LAST_PHASE, coup: str = COUP, *differences: SeatDifference
) -> CoupSettled:
    settlement = replace(
        settled(SETTLED).settlement,
        coup=coup,
        phase=phase,
        revision=revision,
        difference=differences,
    )
    return CoupSettled(coup=coup, settlement=settlement)


# ---- the coup in progress ----


def test_corrected_hands_open_what_was_concluded_and_are_counted_once() -> None:
    state = world_in(Phase.COMPLETE).state
    after = fold(state, hands("8S KH", "2D 3C"))
    coup, shoe = current_coup(after), current_shoe(after)
    assert (coup.phase, coup.completed) == (Phase.DEALING, None)
    assert [each.card for each in coup.cards] == list(cards("8S 2D KH 3C"))
    assert [each.face for each in shoe.told] == list(cards("8S 2D KH 3C"))
    assert shoe.cards == current_shoe(state).cards


def test_a_corrected_wager_is_in_what_stands() -> None:
    state = world_in(Phase.CLOSED).state
    many = tuple(wager(f"w{number}") for number in range(UNSUMMED))
    coup = replace(current_coup(state), wagers=by_id(many))
    coup = replace(coup, summed=coup.standing)
    dearer = replace(many[0], stake=700)
    event = WagerCorrected(coup=COUP, was=many[0], wager=dearer, reason="the slip")
    after = current_coup(fold(replace(state, coup=coup), event))
    assert after.phase is Phase.CLOSED
    assert tuple(after.wagers.values()) == (dearer, *many[1:])
    assert after.standing == add_wagers(WagerTotals(), (dearer, *many[1:]))


def test_a_corrected_rulebook_is_the_coups_and_not_the_tables() -> None:
    state = world_in(Phase.DEALING).state
    after = fold(state, BOOK)
    assert after.coup == replace(current_coup(state), rulebook="b", rulebook_hash="1")
    assert (after.rulebook, after.rulebook_hash) == (state.rulebook, state.rulebook_hash)


# ---- what can be corrected of a coup that is over ----


def over(phase: Phase, *settled_phases: int) -> TableState:
    """A table with one coup, which ended like this; each settlement is a first one."""
    state = world_in(phase).state
    settlements = tuple(again(1, each).settlement for each in settled_phases)
    coup = replace(current_coup(state), settlements=settlements)
    return replace(state, coup=coup, past=state.past.replace_last(coup))


LAWFUL = [
    (over(Phase.SETTLED, LAST_PHASE), again(2)),
    (over(Phase.SETTLED, LAST_PHASE), again(1, INITIAL_PHASE)),
    (over(Phase.SETTLED, INITIAL_PHASE, LAST_PHASE), again(2, INITIAL_PHASE)),
    (over(Phase.SETTLED, LAST_PHASE), VOID),
    (over(Phase.SETTLED, LAST_PHASE), WAGER),
    (over(Phase.SETTLED, LAST_PHASE), BOOK),
    (over(Phase.SETTLED, LAST_PHASE), hands("8S KH", "2D 3C")),
    (over(Phase.VOIDED, LAST_PHASE), hands("8S KH", "2D 3C")),
    (over(Phase.VOIDED, LAST_PHASE), again(2)),
    (over(Phase.VOIDED, INITIAL_PHASE), again(2, INITIAL_PHASE)),
    (over(Phase.VOIDED, INITIAL_PHASE), WAGER),
    (over(Phase.VOIDED, INITIAL_PHASE), BOOK),
    (over(Phase.VOIDED, INITIAL_PHASE), hands("8S KH", "2D 3C")),
    (over(Phase.SETTLED, LAST_PHASE), again(7, LAST_PHASE, OF_BEFORE)),  # only the log knows
    (over(Phase.SETTLED, LAST_PHASE), replace(VOID, coup=OF_BEFORE)),
    (over(Phase.SETTLED, LAST_PHASE), replace(VOID, coup=f"{SHOE}/9")),
]
LAWLESS = [
    (over(Phase.SETTLED, LAST_PHASE), again(1)),
    (over(Phase.SETTLED, LAST_PHASE), again(3)),
    (over(Phase.SETTLED, LAST_PHASE), again(2, INITIAL_PHASE)),
    (over(Phase.VOIDED), again(1)),  # it was never settled: there is nothing to issue again
    (over(Phase.VOIDED), hands("8S KH", "2D 3C")),
    (over(Phase.VOIDED), COMPLETED),
    (over(Phase.VOIDED, INITIAL_PHASE), COMPLETED),
    (over(Phase.VOIDED, INITIAL_PHASE), VOID),
    (over(Phase.VOIDED, LAST_PHASE), VOID),
    (over(Phase.VOIDED, LAST_PHASE), WAGER),
    (over(Phase.VOIDED, LAST_PHASE), BOOK),
    (over(Phase.SETTLED, LAST_PHASE), again(2, LAST_PHASE, f"{SHOE}/9")),
    (over(Phase.SETTLED, LAST_PHASE), again(2, LAST_PHASE, "")),
    (over(Phase.SETTLED, LAST_PHASE), replace(WAGER, coup="")),
]


@pytest.mark.parametrize(("state", "event"), LAWFUL, ids=lambda each: type(each).__name__)
def test_what_a_coup_allows_is_folded(state: TableState, event: TableEvent) -> None:
    assert fold(state, event).position == state.position + 1


@pytest.mark.parametrize(("state", "event"), LAWLESS, ids=lambda each: type(each).__name__)
def test_what_a_coup_does_not_allow_is_our_bug(state: TableState, event: TableEvent) -> None:
    words = f"position {state.position + 1}: {event.TYPE} of a coup that is over"
    with pytest.raises(OurBug, match=words):
        fold(state, event)


def test_an_event_of_a_coup_is_of_the_past_once_that_coup_is_over_or_is_not_the_last() -> None:
    assert {
        HandsCorrected, DealCompleted, WagerCorrected, RulebookCorrected, CoupSettled, CoupVoided
    } == PAST_COUP_EVENTS  # fmt: skip
    dealing = world_in(Phase.DEALING).state
    void = replace(VOID, coup=OF_BEFORE)
    assert fold(dealing, void).coup == dealing.coup
    assert fold(dealing, VOID).phase is Phase.VOIDED
    with pytest.raises(OurBug, match="in phase none"):
        fold(TableState(), VOID)


# ---- what changes ----


def test_a_coup_that_is_over_is_remembered_as_corrected_and_so_is_the_last_in_view() -> None:
    state = SETTLED.state
    corrected = fold(fold(state, hands("8S KH", "2D 3C")), replace(COMPLETED, player_total=8))
    coup = current_coup(corrected)
    assert [each.card for each in coup.cards] == list(cards("8S 2D KH 3C"))
    assert coup.completed is not None
    assert coup.completed.player_total == 8
    assert coup.summed == WagerTotals()
    assert find_past_coup(corrected, COUP) == coup
    assert find_past_coup(corrected, OF_BEFORE) is None
    assert corrected.totals == state.totals


def test_a_void_of_the_past_takes_the_coup_off_the_roads_and_moves_one_count() -> None:
    state = SETTLED.state
    assert [bead.winner for bead in current_shoe(state).roads.beads] == [Winner.PLAYER]
    void = fold(state, VOID)
    shoe = current_shoe(void)
    assert (len(shoe.roads.beads), shoe.voids) == (0, 1)
    assert (void.totals.coups, void.totals.voids) == (0, 1)
    assert current_coup(void).phase is Phase.VOIDED
    counts_again = replace(hands("9S KH", "2D 3C"), counts_again=True)
    counted = fold(fold(void, counts_again), COMPLETED)
    shoe = current_shoe(counted)
    assert ([bead.winner for bead in shoe.roads.beads], shoe.voids) == ([Winner.PLAYER], 0)
    assert (counted.totals.coups, counted.totals.voids) == (1, 0)


def test_corrections_of_an_earlier_shoes_coup_change_totals_and_leave_this_shoe() -> None:
    state = SETTLED.state
    void = fold(state, replace(VOID, coup=OF_BEFORE))
    assert (void.totals.coups, void.totals.voids) == (0, 1)
    counts_again = replace(hands("8S KH", "2D 3C", OF_BEFORE), counts_again=True)
    counted = fold(void, counts_again)
    assert counted.totals == state.totals
    for after in (void, counted):
        assert (after.shoe, after.coup, after.past) == (state.shoe, state.coup, state.past)


def test_the_totals_move_by_what_each_seat_differs() -> None:
    state = SETTLED.state
    event = again(
        2,
        LAST_PHASE,
        COUP,
        SeatDifference(seat=1, staked=100, paid=-50, commission=7),
        SeatDifference(seat=3, staked=-30, paid=20, commission=-2),
    )
    for each in (event, replace(event, coup=OF_BEFORE)):
        after, before = fold(state, each).totals, state.totals
        assert after == replace(
            before,
            staked=before.staked + 70,
            paid=before.paid - 30,
            commission=before.commission + 5,
        )


def test_a_coup_that_ends_when_the_next_shoe_lies_there_is_not_of_its_past() -> None:
    state = fold(world_in(Phase.DEALING).state, ShoeLoaded(shoe=NEXT, decks=8))
    void = fold(state, VOID)
    assert (void.phase, len(void.past)) == (Phase.VOIDED, 0)
    assert len(fold(world_in(Phase.DEALING).state, VOID).past) == 1


def test_the_past_keeps_no_sums_of_wagers_however_many_there_were() -> None:
    many = tuple(wager(f"w{number}") for number in range(2 * UNSUMMED))
    placed = fold(world_in(Phase.BETTING, wagers=False).state, WagersPlaced(coup=COUP, wagers=many))
    assert current_coup(placed).summed != WagerTotals()
    (over,) = fold(placed, VOID).past
    assert (tuple(over.wagers.values()), over.summed) == (many, WagerTotals())


# ---- a shoe's order ----

WAS = ("6S KH", "7D KC")  # dealt as 6S 7D KH KC
ORDERS = [
    ("6S7DKHKC", "8S KH", "7D KC", "8S7DKHKC"),
    ("2D6S7DKHKC9S", "8S KH", "7D KC", "2D8S7DKHKC9S"),
    ("2D6S7DKHKC9S", "5S KH 4D", "7D KC", "2D5S7DKHKC4D9S"),  # a card that was missed
    ("6S7DKHKC2D6S7DKHKC9S", "8S KH", "7D KC", "6S7DKHKC2D8S7DKHKC9S"),  # the last that is so
    # not in one run: what is still right stays where it is, what is new stands at the end
    ("6S2D7DKHKC", "8S KH", "7D KC", "2D7DKHKC8S"),
    ("6S2D7DKHKC", "8S KH 4D", "7D 9C 5H", "2D7DKH8S9C4D5H"),
    ("6S7DKH6S2DKCAC", "8S KH", "7D KC", "6S7DKH2DKCAC8S"),  # the last of two that are alike
    ("6S2D7DKHKC", "6S KH", "7D 6S", "6S2D7DKH6S"),  # there are two now
    ("2D7DKHKC", "8S KH", "7D KC", "2D7DKHKC8S"),  # its wrong face was never told
    ("", "8S KH", "7D KC", "8S"),
]


@pytest.mark.parametrize(("order", "player", "banker", "after"), ORDERS)
def test_corrected_cards_stand_in_their_shoes_order_where_the_others_stood(
    order: str, player: str, banker: str, after: str
) -> None:
    event = hands(player, banker, OF_BEFORE, was=WAS)
    audited = (("20261125-01", "6S7DKHKC"), (BEFORE, order))
    waiting = tuple(ShoeState(id=name, decks=8, order=text) for name, text in audited)
    state = replace(SETTLED.state, replaced=waiting)
    found = fold(state, event)
    assert found.replaced == (waiting[0], replace(waiting[1], order=after))
    assert found.shoe == state.shoe


def test_cards_of_a_coup_that_had_none_stand_at_the_end_and_have_left_the_shoe() -> None:
    state = over(Phase.VOIDED, LAST_PHASE)
    shoe = ShoeState(id=SHOE, decks=8, cards=6, order="2D3C", voids=1)
    event = replace(hands("9S KH", "8D KC", was=("", "")), counts_again=True)
    after = current_shoe(fold(replace(state, shoe=shoe), event))
    assert after == replace(shoe, cards=10, order="2D3C9S8DKHKC", voids=0)


def test_a_card_too_many_goes_back_to_the_count_of_its_shoe() -> None:
    state = SETTLED.state
    shoe = ShoeState(id=SHOE, decks=8, cards=5, order="6S7DKHKC4D")
    event = hands("9S KH", "7D KC", was=("6S KH 4D", "7D KC"))
    after = current_shoe(fold(replace(state, shoe=shoe), event))
    assert after == replace(shoe, cards=4, order="9S7DKHKC")
    assert [each.card for each in current_coup(fold(state, event)).cards] == [
        Card.S9, Card.D7, Card.HK, Card.CK
    ]  # fmt: skip
