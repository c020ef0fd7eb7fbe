"""What if another card had come: by hands worked out on paper, and nothing is ever invented."""

import random

import pytest

from events.cards import Card, Hand, parse_card
from events.commands.cards import CorrectCard
from events.commands.coup import VoidCoup
from events.errors import InputError
from events.types.shoe_reports import DeviceResult
from events.types.table import CardDealt, CoupSettled
from table_core.decide.decision import DecisionContext
from table_core.history.what_if import WhatIf, parse_change, what_if
from table_core.rulebooks.shipped import load_rulebook
from table_core.rules.draw import Outcome, deal_cards
from table_core.rules.settlement import settle
from tests.support.table.coups import drawn, revealed
from tests.support.table.stories import KeptWorld

P, B = Hand.PLAYER, Hand.BANKER
RULES = load_rulebook("au-commission")
PLACES = ((P, 1), (B, 1), (P, 2), (B, 2), (P, 3), (B, 3))


def played(*cards: str, thirds: str = "", squeeze: bool = False) -> KeptWorld:
    """The coup of these cards, Banker's third marked where Player took none: `thirds="b"`."""
    world = KeptWorld()
    world.ready()
    world.open()
    world.bet((1, "player", 1000), (2, "banker", 2000), (3, "player_pair", 100))
    world.close()
    places = PLACES[:4] + (((B, 3),) if thirds == "b" else PLACES[4:])
    for (hand, number), card in zip(places, cards, strict=False):
        world.say(drawn(hand, number, None if squeeze else card))
    if squeeze:
        for (hand, number), card in zip(places, cards, strict=False):
            world.say(revealed(hand, number, card))
    completed = world.state.coup.completed if world.state.coup else None
    if completed:
        world.say(
            DeviceResult(
                winner=completed.winner.value,
                player_pair=completed.player[0].rank == completed.player[1].rank,
                banker_pair=completed.banker[0].rank == completed.banker[1].rank,
            )
        )
    return world


def position(world: KeptWorld, hand: Hand, number: int) -> int:
    return next(
        fact.position
        for fact in world.facts
        if isinstance(fact.event, CardDealt)
        and (fact.event.hand, fact.event.number) == (hand, number)
    )


def asked(world: KeptWorld, hand: Hand, number: int, card: str) -> WhatIf:
    changes = {position(world, hand, number): parse_card(card)}
    return what_if(world.record(), changes, RULES)


def paid(found: WhatIf) -> list[tuple[int | None, int | None, int | None]]:
    return [
        (
            wager.happened.paid if wager.happened else None,
            wager.instead.paid if wager.instead else None,
            wager.difference,
        )
        for wager in found.wagers
    ]


def test_another_card_with_the_same_drawing_stands_beside_what_happened() -> None:
    found = asked(played("9S", "2D", "KH", "3C"), B, 2, "7C")
    assert found.changes == ("Banker's second card: 7♣ instead of 3♣",)
    assert (found.happened.winner, found.instead.winner) == ("player", "tie")
    assert (found.happened.banker_total, found.instead.banker_total) == (5, 9)
    assert found.sequence == ()
    assert paid(found) == [(2000, 1000, -1000), (0, 2000, 2000), (0, 0, 0)]


def test_a_card_that_would_not_have_been_due_is_said_to_be_so() -> None:
    # Player 4 drew a five, Banker 3 a two. With an eight for its four Player has a natural.
    found = asked(played("4S", "3D", "KH", "QC", "5S", "2H"), P, 1, "8S")
    assert [card.value for card in found.instead.player] == ["8S", "KH"]
    assert found.instead.winner == "player"
    (said,) = found.sequence
    assert said.startswith("5♠ 2♥ (Player's third card, Banker's third card) would not")
    assert paid(found) == [(2000, 2000, 0), (0, 0, 0), (0, 0, 0)]


def test_a_card_that_nobody_drew_is_missing_and_never_invented() -> None:
    # A natural nine becomes 2 points: Player would have drawn, and nothing was drawn.
    found = asked(played("9S", "2D", "KH", "3C"), P, 1, "2S")
    assert found.instead.winner is None
    assert [card.value for card in found.instead.player] == ["2S", "KH"]
    (said,) = found.sequence
    assert said == (
        "Player's third card would have been due, and no card was drawn for it: "
        "how the coup would have ended cannot be said."
    )
    # What the end decides is not judged, and in this rulebook that is everything.
    assert paid(found) == [(2000, None, None), (0, None, None), (0, None, None)]


def test_what_the_first_four_cards_decide_is_judged_all_the_same() -> None:
    rules = load_rulebook("nz-scale-one")
    world = KeptWorld(DecisionContext(table="t1", rulebook=rules))
    world.ready()
    world.open()
    world.bet((1, "player", 1000), (1, "perfect_pairs", 500))
    world.close()
    world.deal("9S", "2D", "KH", "3C")
    world.say(DeviceResult(winner="player"))
    changes = {position(world, P, 1): Card.SK}
    found = what_if(world.record(), changes, rules)
    assert found.instead.winner is None
    # King of spades and king of hearts: mixed, pays 5.
    assert paid(found) == [(2000, None, None), (0, 3000, 3000)]


def test_a_third_card_of_one_hand_may_become_the_others() -> None:
    # Player stood on 6, Banker 5 drew a four: 9. Had Player 5, it would have drawn that four.
    world = played("6S", "2D", "KH", "3C", "4D", thirds="b")
    found = asked(world, P, 1, "5S")
    assert [card.value for card in found.instead.player] == ["5S", "KH", "4D"]
    assert [card.value for card in found.instead.banker] == ["2D", "3C"]
    assert found.sequence[0] == (
        "The card drawn as Banker's third card would have been Player's third card."
    )
    # Banker 5 draws on a four: that card is missing.
    assert found.instead.winner is None
    assert found.sequence[1].startswith("Banker's third card would have been due")


def test_a_report_its_card_and_its_disclosure_are_the_same_question() -> None:
    world = played("9S", "2D", "KH", "3C")
    at = position(world, B, 2)
    assert what_if(world.record(), {at: Card.C7}, RULES) == what_if(
        world.record(), {at - 1: Card.C7}, RULES
    )
    hidden = played("9S", "2D", "KH", "3C", squeeze=True)
    told = [f.position for f in hidden.facts if f.event.TYPE == "card_disclosed"]
    found = what_if(hidden.record(), {told[-1]: Card.C7}, RULES)
    assert found.changes == ("Banker's second card: 7♣ instead of 3♣",)


def test_two_cards_at_once() -> None:
    world = played("9S", "2D", "KH", "3C")
    changes = {position(world, P, 1): Card.S8, position(world, B, 1): Card.D6}
    found = what_if(world.record(), changes, RULES)
    assert (found.instead.player_total, found.instead.banker_total) == (8, 9)
    assert found.instead.winner == "banker"


def test_a_void_coup_can_be_asked_about_and_has_settled_nothing() -> None:
    world = KeptWorld()
    world.ready()
    world.open()
    world.bet((1, "player", 1000))
    world.close()
    world.deal("9S", "2D", "KH", "3C")
    world.must(VoidCoup(transaction="v", reason="r"))
    found = asked(world, B, 2, "7C")
    assert paid(found) == [(None, 1000, None)]


def test_nothing_happens_to_the_record() -> None:
    world = played("9S", "2D", "KH", "3C")
    before = world.record()
    asked(world, B, 2, "7C")
    assert world.record() == before


def test_a_coup_that_was_corrected_is_asked_about_as_it_is_on_record_now() -> None:
    world = played("9S", "2D", "KH", "3C")
    coup = world.state.coup
    assert coup is not None
    world.must(
        CorrectCard(transaction="c", coup=coup.id, hand=B, number=2, face=Card.C7, reason="r")
    )
    found = asked(world, P, 1, "8S")
    assert [card.value for card in found.happened.banker] == ["2D", "7C"]
    assert (found.happened.winner, found.instead.winner) == ("tie", "banker")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("21", "write POSITION=FACE"),
        ("=9D", "write POSITION=FACE"),
        ("x=9D", "write POSITION=FACE"),
        ("0=9D", "write POSITION=FACE"),
        ("-1=9D", "write POSITION=FACE"),
        ("21=", "is not a card"),
        ("21=1D", "is not a card"),
        ("21=9D=8S", "is not a card"),
    ],
)
def test_nonsense_is_refused_in_a_line(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_change(text)


def test_a_change_is_read() -> None:
    assert parse_change("21=9D") == (21, Card.D9)
    assert parse_change(" 21=10h") == (21, Card.HT)


def test_positions_without_a_card_are_refused_and_the_cards_are_named() -> None:
    world = played("9S", "2D", "KH", "3C")
    opened = world.record().moments[0].fact.position
    cards = ", ".join(str(position(world, *place)) for place in PLACES[:4])
    for at in (opened, world.facts[-1].position):
        with pytest.raises(InputError, match=rf"tells no face of a card; .* {cards}"):
            what_if(world.record(), {at: Card.D9}, RULES)
    with pytest.raises(InputError, match=f"position 1 does not belong to coup .*; .* {cards}"):
        what_if(world.record(), {1: Card.D9}, RULES)


def test_the_same_card_is_no_question() -> None:
    with pytest.raises(InputError, match="Banker's second card is 3C already"):
        asked(played("9S", "2D", "KH", "3C"), B, 2, "3C")


def test_a_card_that_a_person_corrected_is_asked_for_where_it_was_corrected() -> None:
    world = played("9S", "2D", "KH")
    world.must(CorrectCard(transaction="c", hand=P, number=2, face=Card.HQ, reason="r"))
    corrected = world.facts[-1].position
    world.say(drawn(B, 2, "3C"), DeviceResult(winner="player"))
    with pytest.raises(InputError, match=f"was told of again at {corrected}"):
        asked(world, P, 2, "9D")
    found = what_if(world.record(), {corrected: Card.D9}, RULES)
    assert found.changes == ("Player's second card: 9♦ instead of Q♥",)


def test_a_ninth_copy_of_a_face_cannot_have_come() -> None:
    world = KeptWorld()
    world.ready()
    for _ in range(2):
        world.open()
        world.close()
        world.deal("9S", "9S", "9S", "9S")
        world.say(DeviceResult(winner="tie", player_pair=True, banker_pair=True))
    coup = world.state.coup
    assert coup is not None
    world.open()
    world.close()
    world.deal("9C", "2D", "KH", "3C")
    world.say(DeviceResult(winner="player"))
    third = world.state.coup
    assert third is not None
    at = max(f.position for f in world.facts if isinstance(f.event, CardDealt))
    with pytest.raises(InputError, match="all 8 copies of 9S have left the shoe"):
        what_if(world.record(third.id), {at: Card.S9}, RULES)


def test_any_change_of_any_coup_is_what_the_printed_rules_make_of_the_row() -> None:
    """The row of cards is dealt by `deal_cards`, which other tests hold against the seeds."""
    seed = 20261128
    rng, cards = random.Random(seed), list(Card)
    for _ in range(150):
        row = [rng.choice(cards) for _ in range(6)]
        while not isinstance(deal_cards(row), Outcome):
            row.pop()
        world = dealt(row)
        places = [
            (f.event.hand, f.event.number) for f in world.facts if isinstance(f.event, CardDealt)
        ]
        index = rng.randrange(len(row))
        other = [*row[:index], rng.choice([c for c in cards if c is not row[index]])]
        other += row[index + 1 :]
        found = asked(world, *places[index], other[index].value)
        short = next(
            (n for n in range(4, len(other)) if isinstance(deal_cards(other[:n]), Outcome)), 6
        )
        expected = deal_cards(other[:short])
        if isinstance(expected, Outcome):
            assert found.instead.winner == expected.winner.value, (seed, row, other)
            assert (found.instead.player, found.instead.banker) == (
                expected.player,
                expected.banker,
            )
            assert bool(found.sequence) == (len(other) > short or moved(places, expected))
            lines = settle(RULES, expected, world.record().wagers)
            assert [w.instead.paid for w in found.wagers if w.instead] == [x.paid for x in lines]
        else:
            assert expected == "incomplete_coup"
            assert found.instead.winner is None
            assert found.sequence[-1].endswith("cannot be said.")
        settled = [f.event for f in world.facts if isinstance(f.event, CoupSettled)]
        assert [w.happened.paid for w in found.wagers if w.happened] == [
            line.paid for event in settled for line in event.settlement.lines
        ]


def dealt(row: list[Card]) -> KeptWorld:
    outcome = deal_cards(row)
    assert isinstance(outcome, Outcome)
    third = "b" if len(outcome.player) == 2 and len(outcome.banker) == 3 else ""
    return played(*(card.value for card in row), thirds=third)


def moved(places: list[tuple[Hand, int]], expected: Outcome) -> bool:
    thirds = [(P, 3)] * (len(expected.player) == 3) + [(B, 3)] * (len(expected.banker) == 3)
    return places[4 : 4 + len(thirds)] != thirds
