"""A coup put right after its settlement: reversed and issued again, and nothing else moves."""

from msgspec.structs import replace

from events.cards import Card, Winner
from events.commands.coup import VoidCoup
from events.commands.shoe import EndShoe, LoadShoe
from events.types.corrections import HandsCorrected
from events.types.shoe_life import ShoeAudited
from events.types.shoe_reports import DeviceResult
from events.types.table import CoupSettled, DealCompleted, SeatDifference
from table_core.fold.dispatch import fold_all
from table_core.state.coup import Phase
from table_core.state.shoe import times_seen
from table_core.state.table import TableState
from tests.support.table.coups import COUP, SHOE, cards, code, drawn
from tests.support.table.settled_coups import (
    B,
    P,
    face,
    first_wager,
    hands,
    played,
    recalled,
    settlements,
    wager,
)

# ---- cards ----


def test_a_wrong_face_reverses_the_settlement_and_issues_the_next() -> None:
    world = played(player=cards("6S KH"), banker=cards("7D KC"))
    corrected, completed, settled, *_ = world.must(face(P, 1, Card.S7))
    assert corrected == HandsCorrected(
        coup=COUP,
        was_player=cards("6S KH"),
        was_banker=cards("7D KC"),
        player=cards("7S KH"),
        banker=cards("7D KC"),
        reason="camera 4",
    )
    assert isinstance(completed, DealCompleted)
    assert completed.winner is Winner.TIE
    assert isinstance(settled, CoupSettled)
    first, second = settlements(world)
    assert settled.settlement is second
    assert (second.revision, second.reverses) == (2, first.settlement_id)
    # Before: 1,000 lost, 2,000 won at 19/20 net. After: both push.
    assert [line.paid for line in first.lines] == [0, 3900]
    assert [line.paid for line in second.lines] == [1000, 2000]
    assert second.difference == (
        SeatDifference(seat=1, paid=1000),
        SeatDifference(seat=2, paid=-1900, commission=-100),
    )
    totals = world.state.totals
    assert (totals.staked, totals.paid, totals.commission) == (3000, 3000, 0)
    assert (totals.coups, totals.voids) == (1, 0)
    assert world.state.commission.reconciles


def test_a_missed_card_is_put_in() -> None:
    world = played(player=cards("6S KH"), banker=cards("7D KC"), bets=((1, "player", 1000),))
    before = world.state.shoe
    world.must(hands("5S KH 4D", "7D KC"))  # the five was read as a six, its third never told of
    last = settlements(world)[-1]
    assert (last.player, last.player_total, last.winner) == (cards("5S KH 4D"), 9, Winner.PLAYER)
    assert last.difference == (SeatDifference(seat=1, paid=2000),)
    shoe, coup = world.state.shoe, world.state.coup
    assert before is not None
    assert shoe is not None
    assert coup is not None
    assert shoe.cards == before.cards + 1
    assert shoe.order.endswith("5S7DKHKC4D")
    assert [(dealt.number, dealt.source) for dealt in coup.hand(P)] == [
        (1, "manual"),
        (2, "shoe"),
        (3, "manual"),
    ]


def test_a_card_that_lay_in_the_other_hand_is_moved() -> None:
    world = played(player=cards("5S KH 4D"), banker=cards("7D KC"), bets=((1, "banker", 1000),))
    assert settlements(world)[-1].winner is Winner.PLAYER
    world.must(hands("7S KH", "5D KC 4D"))
    coup = world.state.coup
    assert coup is not None
    assert [dealt.hand for dealt in coup.cards] == [P, B, P, B, B]
    last = settlements(world)[-1]
    assert (last.player_total, last.banker_total, last.winner) == (7, 9, Winner.BANKER)
    assert last.difference == (SeatDifference(seat=1, paid=1950, commission=50),)


def test_a_second_correction_takes_back_the_first() -> None:
    world = played(player=cards("6S KH"), banker=cards("7D KC"))
    for card in (Card.S7, Card.S8, Card.S6):
        assert code(world, face(P, 1, Card.S2)) == "incomplete_coup"
        world.must(face(P, 1, card))
    ids = [each.settlement_id for each in settlements(world)]
    assert [each.revision for each in settlements(world)] == [1, 2, 3, 4]
    assert [each.reverses for each in settlements(world)] == [None, *ids[:-1]]
    assert settlements(world)[-1].lines == settlements(world)[0].lines
    totals = world.state.totals
    assert (totals.staked, totals.paid, totals.commission) == (3000, 3900, 100)


def test_an_earlier_coup_is_corrected_while_another_is_being_dealt() -> None:
    world = played(player=cards("6S KH"), banker=cards("7D KC"))
    world.open()
    world.bet((1, "tie", 700))
    world.close()
    world.deal("9S", "2D")
    before = world.state
    world.must(face(P, 1, Card.S8))
    after = world.state
    assert after.coup == before.coup
    assert (after.link, after.alarms, after.limits) == (before.link, before.alarms, before.limits)
    assert after.totals.paid - before.totals.paid == 2000 - 3900
    assert after.shoe is not None
    assert times_seen(after.shoe, Card.S8) == 1
    assert times_seen(after.shoe, Card.S6) == 0
    assert after.shoe.order.endswith("8S7DKHKC9S2D")
    world.say(drawn(P, 2, "KH"), drawn(B, 2, "3C"), DeviceResult(winner="player"))
    assert world.state.phase is Phase.SETTLED
    assert world.state.totals.coups == 2


def test_the_roads_are_laid_anew_from_the_corrected_coup_on() -> None:
    rest = (("9S KH", "2D 3C"), ("2H KD", "9C KS"), ("7S KH", "7D KC"))
    corrected, never_wrong = (
        played(player=cards(first), banker=cards("7D KC"), bets=()) for first in ("6S KH", "8S KH")
    )
    for world in (corrected, never_wrong):
        for player, banker in rest:
            played(player=cards(player), banker=cards(banker), bets=(), world=world)
    assert corrected.state.shoe is not None
    assert never_wrong.state.shoe is not None
    assert corrected.state.shoe.roads.heights == (1, 1, 1)
    corrected.must(face(P, 1, Card.S8))
    after = corrected.state.shoe
    assert after.roads == never_wrong.state.shoe.roads
    assert len(after.roads.heights) == 2
    assert after.order == never_wrong.state.shoe.order


def test_the_audit_of_a_shoe_that_has_ended_follows() -> None:
    world = played(player=cards("6S KH"), banker=cards("7D KC"))
    world.must(EndShoe(transaction="e"))
    made = world.must(face(P, 1, Card.S8))
    audits = [event for event in world.log if isinstance(event, ShoeAudited)]
    assert made[-1] is audits[-1]
    assert [audit.left[Card.S6] for audit in audits] == [7, 8]
    assert [audit.left[Card.S8] for audit in audits] == [8, 7]
    assert world.state.shoe is not None
    assert dict(world.state.orders)[SHOE] == world.state.shoe.order


# ---- shoes of before ----


def test_a_coup_of_an_earlier_shoe_is_corrected_with_what_the_log_recalls() -> None:
    world = played(player=cards("6S KH"), banker=cards("7D KC"))
    played(bets=((1, "tie", 100),), world=world)
    world.must(EndShoe(transaction="e"))
    world.must(LoadShoe(transaction="l", shoe="20261127-02"))
    played(bets=((3, "tie", 300),), world=world)
    assert code(world, face(P, 1, Card.S8)) == "unknown_coup"
    for revision, card, paid in ((2, Card.S8, 2000), (3, Card.S6, 3900)):
        world.context = replace(world.context, recalled=recalled(world))
        before = world.state
        world.must(face(P, 1, card))
        last = settlements(world)[-1]
        assert (last.coup, last.revision) == (COUP, revision)
        assert world.state.totals.paid == paid
        assert (world.state.coup, world.state.shoe) == (before.coup, before.shoe)
        assert dict(world.state.orders)[SHOE].count(card.value) == 1
    world.context = replace(world.context, recalled=recalled(world))
    assert code(world, face(P, 1, Card.S6)) == "same_card"
    world.must(VoidCoup(transaction="v", coup=COUP, reason="r"))
    assert (world.state.totals.coups, world.state.totals.voids) == (2, 1)
    world.context = replace(world.context, recalled=recalled(world))
    world.must(hands("6S KH", "7D KC"))
    assert (world.state.totals.coups, world.state.totals.voids) == (3, 0)


def test_the_last_coup_in_view_follows_though_the_next_shoe_is_loaded() -> None:
    world = played(player=cards("6S KH"), banker=cards("7D KC"))
    world.must(EndShoe(transaction="e"))
    world.must(LoadShoe(transaction="l", shoe="20261127-02"))
    world.context = replace(world.context, recalled=recalled(world))
    world.must(face(P, 1, Card.S8))
    coup, shoe = world.state.coup, world.state.shoe
    assert coup is not None
    assert coup.completed is not None
    assert coup.completed.winner is Winner.PLAYER
    assert shoe is not None
    assert (shoe.cards, len(shoe.roads.beads)) == (0, 0)


# ---- replay ----


def test_every_cut_of_a_corrected_log_folds_to_the_same_table() -> None:
    world = played(player=cards("6S KH"), banker=cards("7D KC"))
    world.must(face(P, 1, Card.S8))
    played(world=world)
    world.must(VoidCoup(transaction="v", coup=COUP, reason="r"))
    world.must(hands("6S KH", "7D KC"))
    world.must(wager(None, first_wager(world)))
    whole = fold_all(TableState(), world.log)
    assert whole == world.state
    for cut in range(len(world.log)):
        assert fold_all(fold_all(TableState(), world.log[:cut]), world.log[cut:]) == whole
