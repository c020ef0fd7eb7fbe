"""Cards that were not read, misread, missed, drawn in excess: each with its way out."""

import pytest

from events.cards import Card, Hand, Winner
from events.commands.base import Command
from events.commands.cards import (
    CorrectCard,
    EnterCard,
    MarkUnreadable,
    Realign,
    ResolveIrregularity,
)
from events.commands.coup import FreeHand, OpenBetting, VoidCoup
from events.commands.shoe import EndShoe
from events.types.irregularities import (
    CardCorrected,
    CardEntered,
    ExcessCardDrawn,
    ExcessCardResolved,
    IrregularityRecorded,
)
from events.types.shoe_life import ShoeAudited
from events.types.shoe_reports import (
    BurnCard,
    CardCarriedOver,
    CardOutOfGame,
    CardUnreadable,
    DeviceResult,
    LinkDown,
    LinkOpen,
    ReportLost,
)
from events.types.table import CoupMisaligned, CoupVoided, ResultDisputed
from table_core.decide.decision import DecisionContext
from table_core.rulebooks.shipped import shipped_source
from table_core.rules.rulebook_file import parse_rulebook
from table_core.state.coup import Phase
from tests.support.table.coups import COUP, cards, code, drawn, revealed, settled, stands, world_in

P, B = Hand.PLAYER, Hand.BANKER


def with_excess(policy: str) -> DecisionContext:
    source = shipped_source("au-commission") + f'\n[procedure]\nexcess = "{policy}"\n'.encode()
    return DecisionContext(table="t1", rulebook=parse_rulebook("au-commission.toml", source))


# ---- cards that were not read, or not rightly ----


def test_an_unreadable_card_is_entered_by_hand_and_the_coup_settles() -> None:
    world = world_in(Phase.CLOSED)
    world.deal("9S", "2D")
    world.say(CardUnreadable(hand=P, number=2), drawn(B, 2, "3C"))
    assert stands(world) is Phase.DEALING
    assert [alarm.name for alarm in world.state.alarms] == ["unreadable_card"]
    world.say(DeviceResult(winner="player"))  # it waits: a face is missing, no card is
    assert stands(world) is Phase.DEALING
    world.must(EnterCard(transaction="e", hand=P, number=2, face=Card.HK, reason="read by eye"))
    assert settled(world).settlement.player == cards("9S KH")
    assert world.state.alarms == ()
    assert world.state.coup is not None
    assert [card.source for card in world.state.coup.cards] == ["shoe", "shoe", "manual", "shoe"]


def test_an_unreadable_card_without_a_position_lies_where_one_was_due() -> None:
    world = world_in(Phase.CLOSED)
    world.deal("9S", "2D", "KH")
    world.say(CardUnreadable())
    world.must(EnterCard(transaction="e", hand=B, number=2, face=Card.C3, reason="by eye"))
    assert stands(world) is Phase.COMPLETE


def test_a_face_that_is_not_trusted_is_marked_and_entered_again() -> None:
    world = world_in(Phase.COMPLETE)
    world.must(MarkUnreadable(transaction="m", hand=B, number=1, reason="the print is smudged"))
    assert stands(world) is Phase.DEALING
    world.say(DeviceResult(winner="player"))
    assert stands(world) is Phase.DEALING
    world.must(EnterCard(transaction="e", hand=B, number=1, face=Card.D2, reason="looked"))
    assert settled(world).settlement.winner is Winner.PLAYER


def test_a_wrong_face_corrected_before_settlement_is_judged_again() -> None:
    world = world_in(Phase.COMPLETE)
    made = world.must(
        CorrectCard(transaction="c", hand=B, number=1, face=Card.D6, reason="it is a six")
    )
    assert isinstance(made[0], CardCorrected)
    assert (made[0].was, made[0].card) == (Card.D2, Card.D6)
    assert stands(world) is Phase.COMPLETE
    world.say(DeviceResult(winner="tie"))
    assert settled(world).settlement.winner is Winner.TIE


def test_a_correction_that_makes_a_drawn_card_wrong_misaligns() -> None:
    world = world_in(Phase.CLOSED)
    world.deal("2S", "3D", "3H", "3C")
    world.say(drawn(P, 3, "4S"))
    correction = CorrectCard(transaction="c", hand=P, number=1, face=Card.S4, reason="a four")
    *_, last = world.must(correction)
    assert isinstance(last, CoupMisaligned)  # Player stands on 7: the third card was not due
    assert "player drew a third card" in last.detail


def test_a_correction_can_resolve_a_disputed_result() -> None:
    world = world_in(Phase.CLOSED)
    world.deal("9S", "2D", "KH", "3C")
    *_, disputed = world.say(DeviceResult(winner="banker"))
    assert isinstance(disputed, ResultDisputed)
    world.must(
        CorrectCard(transaction="c", hand=P, number=1, face=Card.H2, reason="the shoe misread")
    )
    assert stands(world) is Phase.DEALING
    world.say(drawn(P, 3, "AD"))
    assert stands(world) is Phase.SETTLED  # Banker 5 against 3 stands on an ace: they agree
    assert settled(world).settlement.winner is Winner.BANKER


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (EnterCard(transaction="x", hand=P, number=1, face=Card.D4, reason="r"), "card_known"),
        (EnterCard(transaction="x", hand=B, number=2, face=Card.D4, reason="r"), "not_due"),
        (EnterCard(transaction="x", hand=B, number=1, face=Card.D4, reason=" "), "reason_required"),
        (CorrectCard(transaction="x", hand=B, number=1, face=Card.D4, reason="r"), "no_such_card"),
        (CorrectCard(transaction="x", hand=P, number=1, face=Card.S9, reason="r"), "same_card"),
        (
            CorrectCard(transaction="x", hand=P, number=1, face=Card.D4, reason=""),
            "reason_required",
        ),
        (MarkUnreadable(transaction="x", hand=B, number=1, reason="r"), "no_such_card"),
        (MarkUnreadable(transaction="x", hand=P, number=1, reason=""), "reason_required"),
        (ResolveIrregularity(transaction="x", kind="other", reason=" "), "reason_required"),
        (ResolveIrregularity(transaction="x", kind="who", reason="r"), "unknown_irregularity"),
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(
    command: Command, expected: str
) -> None:
    world = world_in(Phase.DEALING)
    before = world.state
    assert code(world, command) == expected
    assert world.state == before


def test_a_face_that_the_shoe_cannot_hold_is_not_entered() -> None:
    world = world_in(Phase.DEALING)
    world.say(*(BurnCard(face=Card.D4, left=20 - n) for n in range(8)))
    for command in (
        EnterCard(transaction="e", hand=B, number=1, face=Card.D4, reason="r"),
        CorrectCard(transaction="c", hand=P, number=1, face=Card.D4, reason="r"),
    ):
        assert code(world, command) == "too_many_copies"


# ---- misaligned coups ----


def test_a_misaligned_coup_is_completed_by_hand_and_realigned() -> None:
    world = world_in(Phase.DEALING)
    world.say(ReportLost(expected="3", got="5"), drawn(P, 2, "KH"), drawn(B, 2, "3C"))
    world.say(DeviceResult(winner="player"))
    assert stands(world) is Phase.MISALIGNED  # a later result alone never heals it
    for place, face in (((B, 1), Card.D2), ((P, 2), Card.HK), ((B, 2), Card.C3)):
        entered = world.must(
            EnterCard(
                transaction=f"e-{face}", hand=place[0], number=place[1], face=face, reason="by eye"
            )
        )
        assert [type(event) for event in entered] == [CardEntered]
    world.must(Realign(transaction="r", reason="cards checked with surveillance"))
    assert settled(world).settlement.player == cards("9S KH")


def test_a_realigned_coup_goes_on_where_it_stood() -> None:
    world = world_in(Phase.DEALING)
    world.say(LinkDown(reason="unplugged"), LinkOpen(transport="pty:x"))
    world.must(Realign(transaction="r", reason="no card was drawn meanwhile"))
    assert stands(world) is Phase.DEALING
    world.say(drawn(B, 1, "2D"), drawn(P, 2, "KH"), drawn(B, 2, "3C"))
    world.say(DeviceResult(winner="player"))
    assert stands(world) is Phase.SETTLED


# ---- the excess card ----


def test_a_hidden_excess_card_is_the_next_coups_first_card_and_counts_once() -> None:
    world = world_in(Phase.COMPLETE)
    _, excess, _ = world.say(CardOutOfGame(reason="drawn_outside_game"))
    assert isinstance(excess, ExcessCardDrawn)
    world.say(DeviceResult(winner="player"))
    assert stands(world) is Phase.HELD  # nothing settles while it is open
    resolved, *_ = world.must(
        ResolveIrregularity(transaction="r", kind="excess_card", seen=False, reason="face down")
    )
    assert isinstance(resolved, ExcessCardResolved)
    assert resolved.outcome == "carried"
    assert stands(world) is Phase.SETTLED
    world.open()
    world.close()
    drawn_before = world.state.shoe.cards if world.state.shoe else 0
    world.say(CardCarriedOver(hand=P, number=1, face=Card.S9))
    assert stands(world) is Phase.DEALING
    assert world.state.shoe is not None
    assert (world.state.shoe.cards, world.state.shoe.carried) == (drawn_before, 1)
    world.say(drawn(B, 1, "2D"), drawn(P, 2, "KH"), drawn(B, 2, "3C"))
    world.say(DeviceResult(winner="player"))
    assert stands(world) is Phase.SETTLED


def test_a_seen_excess_card_is_shown_in_a_dummy_coup_without_wagers() -> None:
    world = world_in(Phase.HELD)
    world.say(DeviceResult(winner="player"))
    world.must(
        ResolveIrregularity(transaction="r", kind="excess_card", seen=True, reason="face up")
    )
    assert code(world, OpenBetting(transaction="o")) == "dummy_coup_due"
    world.must(FreeHand(transaction="f"))
    assert world.state.coup is not None
    assert world.state.coup.wagerless
    world.say(CardCarriedOver(hand=P, number=1, face=Card.S9))
    world.say(drawn(B, 1, "2D"), drawn(P, 2, "KH"), drawn(B, 2, "3C"))
    world.say(DeviceResult(winner="player"))
    assert world.state.totals.coups == 2
    world.open()


def test_by_policy_every_excess_card_is_burned() -> None:
    world = world_in(Phase.HELD, context=with_excess("burn"))
    resolved, *_ = world.must(
        ResolveIrregularity(transaction="r", kind="excess_card", seen=True, reason="face up")
    )
    assert isinstance(resolved, ExcessCardResolved)
    assert resolved.outcome == "burned"
    world.say(CardOutOfGame(reason="overdrawn", face=Card.D4), DeviceResult(winner="player"))
    assert stands(world) is Phase.SETTLED
    world.open()
    world.must(VoidCoup(transaction="v", reason="end of the day"))
    *_, audited = world.must(EndShoe(transaction="e", reason="end of the day"))
    # Seen: the exposed card, the burned one behind it, four of the coup, and the excess card.
    assert isinstance(audited, ShoeAudited)
    assert (audited.seen, audited.burned, audited.carried) == (7, 3, 0)


def test_a_shoe_that_takes_out_a_card_that_was_to_be_carried_over_is_an_alarm() -> None:
    world = world_in(Phase.HELD)
    world.must(ResolveIrregularity(transaction="r", kind="excess_card", seen=False, reason="r"))
    world.say(CardOutOfGame(reason="overdrawn", face=Card.D4))
    assert [alarm.name for alarm in world.state.alarms] == ["excess_card", "excess_card_mismatch"]
    world.say(DeviceResult(winner="player"))
    assert stands(world) is Phase.SETTLED


def test_by_policy_an_excess_card_voids_the_coup() -> None:
    world = world_in(Phase.HELD, context=with_excess("void"))
    voided, *_ = world.must(
        ResolveIrregularity(transaction="r", kind="excess_card", seen=False, reason="overdraw")
    )
    assert isinstance(voided, CoupVoided)
    assert sum(refund.stake for refund in voided.refunds) == 3500


def test_a_card_drawn_to_a_third_place_when_none_is_due_holds_the_coup() -> None:
    world = world_in(Phase.COMPLETE)
    world.say(drawn(B, 3, "5D"))
    assert stands(world) is Phase.HELD
    refused = ResolveIrregularity(transaction="r", kind="excess_card", reason="overdraw")
    assert code(world, refused) == "seen_required"


def test_a_carried_card_that_does_not_come_misaligns() -> None:
    world = world_in(Phase.HELD)
    world.say(DeviceResult(winner="player"))
    world.must(ResolveIrregularity(transaction="r", kind="excess_card", seen=False, reason="r"))
    world.open()
    *_, last = world.say(drawn(P, 1, "4D"))
    assert isinstance(last, CoupMisaligned)
    assert last.reason == "carried_card_missing"


def test_a_card_drawn_for_player_in_error_while_bankers_third_is_due_is_bankers() -> None:
    world = world_in(Phase.CLOSED)
    world.deal("6S", "2D", "KH", "3C")  # Player stands on 6, Banker draws on 5
    _, recorded, dealt, *_ = world.say(drawn(P, 3, "9D"))
    assert recorded == IrregularityRecorded(
        coup=COUP,
        kind="card_to_wrong_hand",
        reason="drawn for Player in error while Banker's third was due",
    )
    assert dealt.hand is B  # type: ignore[attr-defined]  # a CardDealt
    assert stands(world) is Phase.COMPLETE


def test_in_a_squeeze_an_unread_third_is_judged_when_it_is_entered() -> None:
    world = world_in(Phase.CLOSED)
    world.say(*(drawn(hand, n) for hand, n in ((P, 1), (B, 1), (P, 2), (B, 2))))
    world.say(CardUnreadable(hand=B, number=3))
    faces = (("6S", P, 1), ("2D", B, 1), ("KH", P, 2), ("3C", B, 2))
    world.say(*(revealed(hand, n, face) for face, hand, n in faces))
    world.say(DeviceResult(winner="player"))
    assert stands(world) is Phase.DEALING
    world.must(EnterCard(transaction="e", hand=B, number=3, face=Card.DT, reason="by eye"))
    assert settled(world).settlement.banker == cards("2D 3C TD")
