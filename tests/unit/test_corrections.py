"""A coup put right after its settlement: reversed and issued again, and nothing else moves."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from events.cards import Card, Hand, Winner
from events.commands import (
    Command,
    CorrectCard,
    CorrectHands,
    CorrectRulebook,
    CorrectWager,
    EndShoe,
    LoadShoe,
    VoidCoup,
    WagerRequest,
)
from events.correction import HandsCorrected, RulebookCorrected, WagerCorrected
from events.irregularity import IrregularityRecorded
from events.money import MAX_STAKE
from events.shoe import DeviceResult
from events.shoe_life import ShoeAudited
from events.table import (
    CoupSettled,
    CoupVoided,
    DealCompleted,
    SeatDifference,
    Settlement,
    ShoeLoaded,
)
from table_core.coup import Phase
from table_core.draft import Context
from table_core.fold import fold_all
from table_core.rulebook import Rulebook
from table_core.shoe_state import times_seen
from table_core.state import TableState
from table_core.stores import load_rulebook
from tests.support.books import book
from tests.support.coups import CONTEXT, COUP, SHOE, World, cards, code, drawn

P, B = Hand.PLAYER, Hand.BANKER
PLAYER, BANKER = cards("9S KH"), cards("2D 3C")


def played(
    context: Context = CONTEXT,
    *,
    player: tuple[Card, ...] = PLAYER,
    banker: tuple[Card, ...] = BANKER,
    bets: tuple[tuple[int, str, int], ...] = ((1, "player", 1000), (2, "banker", 2000)),
    world: World | None = None,
) -> World:
    """A table on which a coup with these hands was settled."""
    if world is None:
        world = World(context)
        world.ready()
    world.open()
    if bets:
        world.bet(*bets)
    world.close()
    deal(world, player, banker)
    assert world.state.phase is Phase.SETTLED
    return world


def deal(world: World, player: tuple[Card, ...], banker: tuple[Card, ...]) -> None:
    world.deal(*(card.value for card in (player[0], banker[0], player[1], banker[1])))
    for hand, its in ((P, player), (B, banker)):
        world.say(*(drawn(hand, 3, card.value) for card in its[2:]))
    coup = world.state.coup
    assert coup is not None
    if coup.completed is not None and world.state.phase is Phase.COMPLETE:
        world.say(
            DeviceResult(
                winner=coup.completed.winner.value,
                player_pair=player[0].rank == player[1].rank,
                banker_pair=banker[0].rank == banker[1].rank,
            )
        )


def hands(player: str, banker: str, coup: str = COUP) -> CorrectHands:
    return CorrectHands(
        transaction="h", coup=coup, player=cards(player), banker=cards(banker), reason="camera 4"
    )


def face(hand: Hand, number: int, card: Card, coup: str | None = COUP) -> CorrectCard:
    return CorrectCard(
        transaction="f", hand=hand, number=number, face=card, reason="camera 4", coup=coup
    )


def wager(to: WagerRequest | None, name: str | None = None, coup: str = COUP) -> CorrectWager:
    return CorrectWager(transaction="w", coup=coup, wager=name, to=to, reason="the slip says so")


def settlements(world: World) -> list[Settlement]:
    return [event.settlement for event in world.log if isinstance(event, CoupSettled)]


def first_wager(world: World) -> str:
    return settlements(world)[-1].lines[0].wager


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


# ---- wagers ----


def test_a_wrong_stake_is_corrected_and_only_its_seat_differs() -> None:
    world = played()
    made = world.must(wager(WagerRequest(seat=1, bet="player", stake=4000), first_wager(world)))
    event = made[0]
    assert isinstance(event, WagerCorrected)
    assert event.was is not None
    assert event.wager == replace(event.was, stake=4000)
    assert settlements(world)[-1].difference == (SeatDifference(seat=1, staked=3000, paid=6000),)
    assert (world.state.totals.staked, world.state.totals.paid) == (6000, 8000)


def test_a_wager_on_another_seat_and_bet_moves_both_seats() -> None:
    world = played()
    name = first_wager(world)
    world.must(wager(WagerRequest(seat=7, bet="tie", stake=500), name))
    last = settlements(world)[-1]
    assert last.difference == (
        SeatDifference(seat=1, staked=-1000, paid=-2000),
        SeatDifference(seat=7, staked=500),
    )
    assert last.lines[0].wager == name


def test_a_wager_that_was_left_out_is_added_late() -> None:
    world = played()
    world.must(wager(WagerRequest(seat=3, bet="player", stake=100, patron="p-9")))
    last = settlements(world)[-1]
    assert last.difference == (SeatDifference(seat=3, staked=100, paid=200),)
    assert (last.lines[-1].wager, last.lines[-1].patron) == ("dealer/w/0", "p-9")


def test_a_wager_that_did_not_stand_is_taken_out() -> None:
    world = played()
    world.must(wager(None, first_wager(world)))
    assert settlements(world)[-1].difference == (SeatDifference(seat=1, staked=-1000, paid=-2000),)
    assert (world.state.totals.staked, world.state.totals.paid) == (2000, 0)


def test_a_limit_that_a_late_wager_breaks_is_recorded_and_it_is_paid_in_full() -> None:
    world = played()
    breach = world.must(wager(WagerRequest(seat=1, bet="banker", stake=100)))[1]
    assert isinstance(breach, IrregularityRecorded)
    assert breach.kind == "limit_breach"
    assert "the patron has player already" in breach.reason
    assert settlements(world)[-1].lines[-1].stake == 100


# ---- rulebooks ----


def other(rulebook: Rulebook, coup: str = COUP) -> CorrectRulebook:
    return CorrectRulebook(
        transaction="r",
        coup=coup,
        rulebook=rulebook.id,
        rulebook_hash=rulebook.hash,
        reason="the sign said even money",
    )


def test_a_wrong_rulebook_is_judged_again_by_the_right_one() -> None:
    even = load_rulebook("au-even-money")
    context = replace(CONTEXT, library=(even,))
    bets = ((1, "banker", 1000),)
    world = played(context, player=cards("7S KH"), banker=cards("8D KC"), bets=bets)
    made = world.must(other(even))
    assert isinstance(made[0], RulebookCorrected)
    last = settlements(world)[-1]
    assert (last.rulebook, last.rulebook_hash) == (even.id, even.hash)
    assert last.difference == (SeatDifference(seat=1, paid=50, commission=-50),)
    assert world.state.commission.accrued == world.state.commission.reversed_ == 50
    assert world.state.commission.collected == 0
    assert code(world, other(even)) == "changes_nothing"
    world.must(other(CONTEXT.rulebook))
    assert settlements(world)[-1].lines == settlements(world)[0].lines


def test_wagers_move_to_the_phase_in_which_the_right_rulebook_settles_them() -> None:
    first = book("au-even-money", "bets.player_pair.phase=1")
    context = replace(CONTEXT, library=(first,))
    bets = ((1, "player_pair", 100), (2, "player", 100))
    world = played(context, player=cards("9S 9H"), banker=cards("2D 5C"), bets=bets)
    assert [each.phase for each in settlements(world)] == [2]
    world.must(other(first))
    two, one = settlements(world)[1:]  # it leaves the last phase, and comes to the first
    assert [(each.phase, each.revision) for each in (one, two)] == [(1, 1), (2, 2)]
    assert [line.bet for line in (*one.lines, *two.lines)] == ["player_pair", "player"]
    assert one.difference == (SeatDifference(seat=1, staked=100, paid=1200),)
    assert two.difference == (SeatDifference(seat=1, staked=-100, paid=-1200),)
    assert (world.state.totals.staked, world.state.totals.paid) == (200, 1400)


# ---- void, and counting again ----


@pytest.mark.parametrize("policy", ["keep", "reverse_all"])
def test_a_void_after_the_settlement_gives_the_stakes_back_less_what_was_paid(policy: str) -> None:
    rules = book("nz-scale-one", f"procedure.void_after_phase_one={policy}")
    bets = ((1, "player", 1000), (1, "perfect_pairs", 500), (2, "banker", 2000))
    context = Context(table="t1", rulebook=rules)
    world = played(context, player=cards("9S 9D"), banker=cards("7D KC"), bets=bets)
    assert world.state.totals.paid == 3000 + 2000
    made = world.must(VoidCoup(transaction="v", coup=COUP, reason="a card of another shoe"))
    assert isinstance(made[0], CoupVoided)
    assert made[0].refunds == ()
    standing = {each.phase: each for each in settlements(world)}
    assert standing[2].difference == (
        SeatDifference(seat=1, paid=-1000),
        SeatDifference(seat=2, paid=2000),
    )
    assert {line.result for line in standing[2].lines} == {"void"}
    kept = policy == "keep"
    assert standing[1].revision == (1 if kept else 2)
    totals, shoe = world.state.totals, world.state.shoe
    assert shoe is not None
    assert (totals.coups, totals.voids, shoe.voids, len(shoe.roads.beads)) == (0, 1, 1, 0)
    assert totals.house == (-2500 if kept else 0)
    for command in (
        VoidCoup(transaction="v", coup=COUP, reason="again"),
        face(P, 1, Card.D8),
        wager(None, standing[2].lines[0].wager),
    ):
        assert code(world, command) == "coup_void"
    world.must(hands("9S 9D", "7D KC"))
    totals, shoe = world.state.totals, world.state.shoe
    assert shoe is not None
    assert (totals.paid, totals.coups, totals.voids) == (5000, 1, 0)
    assert (shoe.voids, len(shoe.roads.beads)) == (0, 1)
    assert world.state.phase is Phase.SETTLED


# ---- refusals change nothing ----

REFUSED: dict[str, tuple[str, Callable[[World], Command]]] = {
    "another card was due": ("incomplete_coup", lambda _: face(P, 1, Card.S2)),
    "a hand of one card": ("incomplete_coup", lambda _: hands("9S", "2D")),
    "no cards": ("incomplete_coup", lambda _: hands("", "")),
    "a third behind a natural": ("excess_card", lambda _: hands("9S KH 2C", "2D 3C")),
    "a third for the hand that stands": ("excess_card", lambda _: hands("6S KH 2C", "2D 3C")),
    "a fourth card": ("excess_card", lambda _: hands("2S KH 2C 3C", "2D 3C")),
    "one hand only": ("excess_card", lambda _: hands("9S KH 2C 4C", "")),
    "the same face": ("same_card", lambda _: face(P, 1, Card.S9)),
    "the same hands": ("changes_nothing", lambda _: hands("9S KH", "2D 3C")),
    "a card that never lay": ("no_such_card", lambda _: face(P, 3, Card.S9)),
    "another coup": ("unknown_coup", lambda _: face(P, 1, Card.S8, f"{SHOE}/9")),
    "no coup at all": ("unknown_coup", lambda _: hands("9S KH", "2D 3C", "nonsense")),
    "a coup that is not named": ("nothing_to_correct", lambda _: face(P, 1, Card.S8, None)),
    "another wager": ("unknown_wager", lambda _: wager(None, "dealer/t-99/0")),
    "nothing about a wager": ("changes_nothing", lambda _: wager(None)),
    "the same wager": (
        "changes_nothing",
        lambda world: wager(WagerRequest(seat=1, bet="player", stake=1000), first_wager(world)),
    ),
    "no such bet": ("unknown_bet", lambda _: wager(WagerRequest(seat=1, bet="ante", stake=10))),
    "a bet of another rulebook": (
        "not_offered",
        lambda _: wager(WagerRequest(seat=1, bet="dragon7", stake=10)),
    ),
    "no stake": ("invalid_stake", lambda _: wager(WagerRequest(seat=1, bet="tie", stake=0))),
    "no seat": ("invalid_seat", lambda _: wager(WagerRequest(seat=100, bet="tie", stake=0))),
    "no reference": (
        "invalid_patron",
        lambda _: wager(WagerRequest(seat=1, bet="tie", stake=100, patron="")),
    ),
    "more than a coup takes": (
        "table_maximum",
        lambda _: wager(WagerRequest(seat=1, bet="tie", stake=MAX_STAKE)),
    ),
    "a rulebook that is not at hand": ("unknown_rulebook", lambda _: other(load_rulebook("ez"))),
    "a rulebook by another name": (
        "unknown_rulebook",
        lambda _: replace(other(CONTEXT.rulebook), rulebook="ez"),
    ),
    "the same rulebook": ("changes_nothing", lambda _: other(CONTEXT.rulebook)),
    "a void of no coup": (
        "unknown_coup",
        lambda _: VoidCoup(transaction="v", reason="r", coup=f"{SHOE}/2"),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_and_changes_nothing(name: str) -> None:
    world = played()
    before, events = world.state, len(world.log)
    expected, command = REFUSED[name]
    assert code(world, command(world)) == expected
    assert world.state is before
    assert len(world.log) == events


@pytest.mark.parametrize("reason", ["", "  "])
def test_a_correction_without_a_reason_is_refused(reason: str) -> None:
    world = played(player=cards("6S KH"), banker=cards("7D KC"))
    assert code(world, replace(face(P, 1, Card.S8), reason=reason)) == "reason_required"
    assert code(world, replace(hands("8S KH", "7D KC"), reason=reason)) == "reason_required"
    assert code(world, replace(wager(None, first_wager(world)), reason=reason)) == "reason_required"
    assert code(world, replace(other(load_rulebook("ez")), reason=reason)) == "reason_required"
    void = VoidCoup(transaction="v", coup=COUP, reason=reason)
    assert code(world, void) == "reason_required"


def test_a_ninth_copy_of_a_face_is_refused() -> None:
    world = played(player=cards("9S 9S"), banker=cards("2D KC"), bets=())
    for _ in range(3):
        played(player=cards("9S 9S"), banker=cards("2D KC"), bets=(), world=world)
    assert world.state.shoe is not None
    assert times_seen(world.state.shoe, Card.S9) == 8
    assert code(world, hands("9S 9S", "9S KC")) == "too_many_copies"
    world.must(hands("9S KC", "9S 2D"))  # the same copies, in other places
    assert times_seen(world.state.shoe, Card.S9) == 8


def test_a_coup_void_before_its_settlement_is_not_corrected() -> None:
    world = World()
    world.ready()
    world.open()
    world.bet((1, "player", 1000))
    world.must(VoidCoup(transaction="v", reason="misdeal"))
    for command in (hands("9S KH", "2D 3C"), face(P, 1, Card.S9)):
        assert code(world, command) == "coup_void"


def test_the_coup_in_progress_keeps_its_rulebook() -> None:
    world = World()
    world.ready()
    world.open()
    assert code(world, other(load_rulebook("ez"))) == "coup_in_progress"


# ---- shoes of before ----


def recalled(world: World, shoe: str = SHOE) -> TableState:
    """The table as it left a shoe: what a shell reads from the log for the decision."""
    state, there = TableState(), False
    for event in world.log:
        if isinstance(event, ShoeLoaded):
            there = event.shoe == shoe
        if there or str(getattr(event, "coup", None)).startswith(f"{shoe}/"):
            state = fold_all(state, [event])
    return state


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
