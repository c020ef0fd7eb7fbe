"""A shoe from its first card to its audit: burn, cut card, copies of a face, repeated runs."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.cards import Card, Hand
from events.types import (
    AnyReport,
    BurnCard,
    CardCarriedOver,
    CardOutOfGame,
    CardRevealed,
    CardUnreadable,
    FirstCard,
)
from table_core.state.shoe import ShoeState, fold_card_report, times_seen
from tests.support.table.coups import SHOE, drawn
from tests.support.table.histories import each_history

P = Hand.PLAYER

HISTORIES = """
the burn follows from the first card by the rulebook's rule
    * face_value AS 1  0
    * face_value 7D 7  6
    * face_value TH 10 9
    * face_value KC 10 9
    * fixed:3    KC 3  2
    rules au-commission procedure.burn={0}
    {new_shoe}
    shoe first_card {1}
    {3} x shoe burn_card left=1
    shoe burn_card left=0    -> burn_recorded: exposed={1} expected={2} by=shoe; alarms()=none
a burn where the house burns nothing is an alarm
    rules au-commission procedure.burn=none
    {new_shoe}
    shoe first_card KC
    shoe burn_card left=0    -> burn_recorded: exposed=KC expected=0 by=shoe
                             -> alarms()=burn_mismatch
a burn of another number is an alarm
    {new_shoe}
    shoe first_card 7D
    shoe burn_card left=1
    shoe burn_card left=0    -> alarms()=burn_mismatch
a skipped burn is told until a person says what became of it
    {new_shoe}
    {play}
    {play}                   -> alarms()=burn_missing
    burn cards=-1            -> refused invalid_burn
    burn cards=1 reason=" "  -> refused reason_required
    burn cards=0 reason=late -> burn_recorded: by=person burned=0 reason=late; alarms()=none
    burn cards=0             -> refused burn_known
where the house burns nothing nothing is missed
    rules au-commission procedure.burn=none
    {new_shoe}
    {play}                   -> alarms()=none

the cut card fixes the last coup: between coups, one more
    * shoe   "shoe cut_card"
    * person "cut_card place=between"
    {one_more}
    {1}                      -> cut_card_came: place=between by={0}
    {play}                   -> shoe.ended=true
    open_betting             -> refused shoe_ended
the cut card fixes the last coup: between coups, no more
    * shoe   "shoe cut_card"
    * person "cut_card place=between"
    {finish_only}
    {1}                      -> cut_card_came: place=between by={0}; shoe.ended=false
    open_betting             -> refused last_coup_played
    end_shoe                 -> shoe.ended=true
the cut card fixes the last coup: as the first card of one, that one
    * shoe   "shoe cut_card"             "{one_more}"
    * person "cut_card place=first_card" "{one_more}"
    * shoe   "shoe cut_card"             "{finish_only}"
    * person "cut_card place=first_card" "{finish_only}"
    {2}
    open
    close
    {1}                      -> cut_card_came: place=first_card by={0}
    deal 9S 2D KH 3C         -> shoe.ended=false
    result player            -> shoe.ended=true
    open_betting             -> refused shoe_ended
the cut card fixes the last coup: in mid-coup, one more
    * shoe   "shoe cut_card"
    * person "cut_card place=mid_coup"
    {one_more}
    open
    close
    deal 9S
    {1}                      -> cut_card_came: place=mid_coup by={0}
    B1 2D P2 KH B2 3C
    result player            -> shoe.ended=false
    {play}                   -> shoe.ended=true
    open_betting             -> refused shoe_ended
the cut card fixes the last coup: in mid-coup, no more
    * shoe   "shoe cut_card"
    * person "cut_card place=mid_coup"
    {finish_only}
    open
    close
    deal 9S
    {1}                      -> cut_card_came: place=mid_coup by={0}
    B1 2D P2 KH B2 3C
    result player            -> shoe.ended=true
    open_betting             -> refused shoe_ended
a void last coup ends the shoe too
    rules au-commission procedure.cut_card=finish_only
    {new_shoe}
    open
    close
    deal 9S
    shoe cut_card
    void_coup                -> made coup_voided shoe_ended shoe_audited
                             -> shoe_audited: coups=1 voids=1
the cut card comes once
    {new_shoe}
    shoe cut_card
    shoe cut_card            -> made nothing
    cut_card place=between   -> made nothing
a dealer reports the cut card where it can have come
    * first_card
    * mid_coup
    in none
    cut_card place={0}       -> refused wrong_place
    open
    cut_card place=between   -> refused wrong_place

one copy too many is an alarm and holds the coup
    * 4 deal deal
    * 6 deal deal
    * 8 deal deal
    * 4 open deal
    * 6 open deal
    * 8 open deal
    * 4 open close
    * 6 open close
    * 8 open close
    rules au-commission decks={0}
    empty
    shoe link_open transport=pty:x
    shoe link_up
    load_shoe shoe=01 decks={0}
    {0} x shoe burn_card 4D left=1 -> alarms()!~too_many_copies
    {1}
    {2}
    P1 4D                    -> misaligned; coup_misaligned: reason=too_many_copies
                             -> alarms()~too_many_copies; alarm(too_many_copies)!~4D

the audit accounts for every card
    {burned_shoe}
    {play}
    end_shoe                 -> made shoe_ended shoe_audited
                             -> shoe_audited: seen=6 known=6 burned=2
                             -> gone(01)=2D,3C,4C,9S,AS,KH
settled coups are on the roads and void ones are not
    {new_shoe}
    {play}
    open
    void_coup
    {play}                   -> shoe.roads.heights=2
    end_shoe
    load_shoe shoe=02        -> shoe.roads.heights=none
"""
LOADED = "empty\nshoe link_open transport=pty:x\nshoe link_up\nload_shoe shoe=01"
PLAY = "open\nclose\ndeal 9S 2D KH 3C\nresult player"
BURNED = f"{LOADED}\nshoe first_card AS\nshoe burn_card left=0"
STEPS = {
    "new_shoe": LOADED,
    "burned_shoe": f"{LOADED}\nshoe first_card AS\nshoe burn_card 4C left=0",
    "play": PLAY,
    "one_more": f"rules au-commission procedure.cut_card=one_more\n{BURNED}\n{PLAY}",
    "finish_only": f"rules au-commission procedure.cut_card=finish_only\n{BURNED}\n{PLAY}",
}


test_a_shoe_from_its_first_card_to_its_audit = each_history(HISTORIES, **STEPS)


# ---- what left the shoe ----


@pytest.mark.parametrize(
    ("reports", "cards", "faces"),
    [
        ([drawn(P, 1, "4D")], 1, "4D"),
        ([drawn(P, 1), CardRevealed(hand=P, number=1, face=Card.D4)], 1, "4D"),
        ([CardUnreadable(hand=P, number=1)], 1, ""),
        ([FirstCard(face=Card.SA), BurnCard(face=Card.D4), BurnCard()], 3, "AS4D"),
        # An overdrawn card that is burned: drawn outside, taken out.
        (
            [
                CardOutOfGame(reason="drawn_outside_game"),
                CardOutOfGame(reason="overdrawn", face=Card.D4),
            ],
            1,
            "4D",
        ),
        # ... and one that is carried over, its face told early or late.
        (
            [
                CardOutOfGame(reason="drawn_outside_game", face=Card.D4),
                CardCarriedOver(hand=P, number=1, face=Card.D4),
            ],
            1,
            "4D",
        ),
        (
            [
                CardOutOfGame(reason="drawn_outside_game"),
                CardCarriedOver(hand=P, number=1, face=Card.D4),
            ],
            1,
            "4D",
        ),
        ([CardCarriedOver(hand=P, number=1, face=Card.D4)], 1, "4D"),
    ],
)
def test_every_card_counts_once_whatever_became_of_it(
    reports: list[AnyReport], cards: int, faces: str
) -> None:
    shoe = ShoeState(id=SHOE, decks=8)
    for report in reports:
        shoe = fold_card_report(shoe, report)
    assert (shoe.cards, shoe.order) == (cards, faces)


@given(st.lists(st.sampled_from(list(Card)), max_size=60))
def test_copies_are_counted_face_by_face(faces: list[Card]) -> None:
    shoe = ShoeState(id=SHOE, decks=8)
    for face in faces:
        shoe = fold_card_report(shoe, drawn(P, 1, face.value))
    counted = {face: times_seen(shoe, face) for face in Card}
    assert {face: n for face, n in counted.items() if n} == Counter(faces)
