"""The demo's audit: what it calls lost and doubled, coup by coup, and the money beside it."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from baccarat.demo.counters import DemoStatistics, Receipt, audit
from events.cards import Card, Hand
from events.types import (
    AnyReport,
    BettingOpened,
    CardCarriedOver,
    CardCorrected,
    CardDealt,
    CardDisclosed,
    CardDrawn,
    CardEntered,
    CardMarkedUnreadable,
    CardOutOfGame,
    CoupMisaligned,
    CoupSettled,
    SeatDifference,
    Settlement,
    ShoeReported,
    TableEvent,
)
from simulators.device.printed_rules import outcome
from simulators.people.dealer_and_patrons import PlayedCoup
from simulators.shoe.player import DealtCoup
from tests.support.table.coups import cards, shoe_event

COUP = "20261127-01/1"
FELL = cards("9S 2D KH 3C")  # Player 9 against 5
PLACES = ((Hand.PLAYER, 1), (Hand.BANKER, 1), (Hand.PLAYER, 2), (Hand.BANKER, 2))


def played(phase: str = "settled", fell: Sequence[Card] = FELL, coup: str = COUP) -> PlayedCoup:
    dealt = DealtCoup(
        shoe="20261127-01",
        number=1,
        cards=tuple(fell),
        outcome=outcome(fell) if len(fell) == len(FELL) else None,
        last=False,
        decided_ns=0,
    )
    return PlayedCoup(coup=coup, phase=phase, dealt=dealt)


def said(report: AnyReport) -> ShoeReported:
    return ShoeReported(source=shoe_event(1, report))


def drawn(place: int, card: Card) -> list[TableEvent]:
    """A card told of by the shoe, and dealt."""
    hand, number = PLACES[place]
    return [
        said(CardDrawn(hand=hand, number=number, face=card)),
        CardDealt(coup=COUP, hand=hand, number=number, card=card),
    ]


def log(*cards_told: Card | None) -> list[TableEvent]:
    """A coup of which the shoe told these cards, None where it told nothing."""
    events: list[TableEvent] = [BettingOpened(coup=COUP, rulebook="r", rulebook_hash="h")]
    for place, card in enumerate(cards_told):
        events += drawn(place, card) if card else []
    return events


def entered(place: int, card: Card) -> CardEntered:
    hand, number = PLACES[place]
    return CardEntered(coup=COUP, hand=hand, number=number, card=card, reason="by eye")


def figures(events: Sequence[TableEvent], *coups: PlayedCoup) -> tuple[int, int]:
    found = audit(events, coups or (played(),))
    return found.lost, found.duplicates


def test_what_fell_is_what_is_in_the_log() -> None:
    assert figures(log(*FELL)) == (0, 0)


def test_a_card_that_is_not_in_the_log_is_lost_if_its_coup_settled() -> None:
    lacking = log(FELL[0], FELL[1], None, FELL[3])
    assert figures(lacking) == (1, 0)
    assert figures(lacking, played("voided")) == (0, 0)
    assert figures([], played()) == (4, 0)


def test_a_card_that_somebody_entered_is_not_lost() -> None:
    lacking = log(FELL[0], FELL[1], None, FELL[3])
    assert figures([*lacking, entered(2, FELL[2])]) == (0, 0)


def test_a_wrong_face_is_one_lost_and_one_doubled_until_it_is_corrected() -> None:
    wrong = log(FELL[0], FELL[1], FELL[2], Card.CQ)
    hand, number = PLACES[3]
    marked = CardMarkedUnreadable(coup=COUP, hand=hand, number=number, was=Card.CQ, reason="r")
    corrected = CardCorrected(
        coup=COUP, hand=hand, number=number, was=Card.CQ, card=FELL[3], reason="r"
    )
    assert figures(wrong) == (1, 1)
    assert figures([*wrong, marked]) == (1, 0)
    assert figures([*wrong, marked, entered(3, FELL[3])]) == (0, 0)
    assert figures([*wrong, corrected]) == (0, 0)


def test_two_cards_at_one_anothers_places_are_wrong_both() -> None:
    assert figures(log(FELL[0], FELL[3], FELL[2], FELL[1])) == (2, 2)


def test_faces_that_are_disclosed_later_count() -> None:
    events: list[TableEvent] = log()
    for (hand, number), card in zip(PLACES, FELL, strict=True):
        events.append(CardDealt(coup=COUP, hand=hand, number=number))
        events.append(CardDisclosed(coup=COUP, hand=hand, number=number, card=card))
    assert figures(events) == (0, 0)
    assert figures([event for event in events if not isinstance(event, CardDisclosed)]) == (4, 0)


@pytest.mark.parametrize("phase", ["settled", "voided"])
def test_a_card_that_the_shoe_told_of_twice_is_doubled_in_any_coup(phase: str) -> None:
    again = said(CardDrawn(hand=Hand.BANKER, number=2, face=FELL[3]))
    assert figures([*log(*FELL), again], played(phase)) == (0, 1)


def test_more_cards_than_fell_are_doubled_even_in_a_void_coup() -> None:
    assert figures(log(*FELL), played("voided", FELL[:2])) == (0, 4), "two at places, two told of"


def test_a_carried_over_card_counts_once_in_the_coup_it_lies_in() -> None:
    outside = said(CardOutOfGame(reason="drawn_outside_game"))
    hand, number = PLACES[0]
    carried = [
        said(CardCarriedOver(hand=hand, number=number, face=FELL[0])),
        CardDealt(coup="20261127-01/2", hand=hand, number=number, card=FELL[0]),
    ]
    following = BettingOpened(coup="20261127-01/2", rulebook="r", rulebook_hash="h")
    rest = [event for event in log(None, *FELL[1:]) if not isinstance(event, BettingOpened)]
    events = [*log(*FELL), outside, following, *carried, *rest]
    assert figures(events, played(), played(coup="20261127-01/2")) == (0, 0)


def test_misaligned_coups_are_counted_once_each() -> None:
    broken = CoupMisaligned(coup=COUP, reason="link_lost", detail="d")
    found = audit([*log(*FELL), broken, broken], [played()])
    assert (found.misaligned, found.lost, found.duplicates) == (1, 0, 0)


def settlement(phase: int, revision: int, staked: int, paid: int) -> Settlement:
    return Settlement(
        settlement_id=f"t1/{COUP}/{phase}/{revision}",
        coup=COUP,
        phase=phase,
        revision=revision,
        reverses=f"t1/{COUP}/{phase}/{revision - 1}" if revision > 1 else None,
        rulebook="r",
        rulebook_hash="h",
        player=FELL[::2],
        banker=FELL[1::2],
        player_total=9,
        banker_total=5,
        winner=outcome(FELL).winner if phase == 2 else None,
        lines=(),
        staked=staked,
        paid=paid,
        commission=0,
    )


def test_a_settlement_that_is_in_the_log_twice_is_doubled() -> None:
    last = CoupSettled(coup=COUP, settlement=settlement(2, 1, 100, 0))
    assert figures([*log(*FELL), last, last]) == (0, 1)


def test_money_counts_what_stands_and_not_what_was_taken_back() -> None:
    ledger = DemoStatistics()
    first, last = settlement(1, 1, 10, 60), settlement(2, 1, 50, 20)
    again = replace(settlement(1, 2, 10, 0), difference=(SeatDifference(seat=1, paid=-60),))
    # Long after its coup, and the stake along with it.
    corrected = replace(
        settlement(2, 2, 80, 20),
        difference=(SeatDifference(seat=1, staked=-20), SeatDifference(seat=2, staked=50)),
    )
    for position, each in enumerate((first, again, last, corrected), start=1):
        ledger.on_receipt(Receipt(settlement=each, position=position, booked_ns=position))
    assert (ledger.staked, ledger.paid, ledger.house) == (90, 20, 70)
    assert ledger.positions == [1, 2, 3, 4]


def test_latency_is_that_of_coups_that_went_by_themselves() -> None:
    ledger = DemoStatistics()
    last = settlement(2, 1, 50, 20)
    ledger.on_receipt(Receipt(settlement=last, position=1, booked_ns=7_000_000))
    ledger.on_coup(replace(played(), fault="noise"))
    ledger.on_coup(replace(played(), by_hand=True))
    assert ledger.latency().p50 is None
    ledger.on_coup(played())
    assert ledger.latency().p50 == 7.0
