"""What if another card had come: by hands worked out on paper, and nothing is ever invented."""

import random

import pytest

from events.cards import Card, Hand, parse_card
from events.commands import CorrectCard
from events.errors import InputError
from events.types import CardDealt, CoupSettled, DeviceResult
from table_core.history.what_if import WhatIf, parse_change, what_if
from table_core.rulebooks.shipped import load_rulebook
from table_core.rules.draw import Outcome, deal_cards
from table_core.rules.settlement import settle
from tests.support.table.coups import drawn, revealed
from tests.support.table.histories import Functions, each_history
from tests.support.table.stories import KeptWorld

P, B = Hand.PLAYER, Hand.BANKER
RULES = load_rulebook("au-commission")
PLACE_NAMES = ("P1", "B1", "P2", "B2", "P3", "B3")
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


HISTORIES = """
another card with the same drawing stands beside what happened
    {bets}
    deal 9S 2D KH 3C
    result player            -> "what(B2 7C).changes=Banker's second card: 7♣ instead of 3♣"
                             -> "what(B2 7C).happened.winner=player"
                             -> "what(B2 7C).happened.banker_total=5"
                             -> "what(B2 7C).instead.winner=tie"
                             -> "what(B2 7C).instead.banker_total=9"
                             -> "what(B2 7C).sequence=none"
                             -> "paid(B2 7C)=2000,1000,-1000,0,2000,2000,0,0,0"
a card that would not have been due is said to be so
    # Player 4 drew a five, Banker 3 a two. With an eight for its four Player has a natural.
    {bets}
    deal 4S 3D KH QC 5S 2H
    result player            -> "what(P1 8S).instead.player=8S,KH"
                             -> "what(P1 8S).instead.winner=player"
                             -> "what(P1 8S).sequence~5♠ 2♥ ({thirds}) would not"
                             -> "paid(P1 8S)=2000,2000,0,0,0,0,0,0,0"
a card that nobody drew is missing and never invented
    # A natural nine becomes 2 points: Player would have drawn, and nothing was drawn.
    # What the end decides is not judged, and in this rulebook that is everything.
    {bets}
    deal 9S 2D KH 3C
    result player            -> "what(P1 2S).instead.winner=none" "what(P1 2S).instead.player=2S,KH"
                             -> "what(P1 2S).sequence={missing}"
                             -> "paid(P1 2S)=2000,none,none,0,none,none,0,none,none"
what the first four cards decide is judged all the same
    rules nz-scale-one
    in none
    open
    bet 1 player 1000, 1 perfect_pairs 500
    close
    deal 9S 2D KH 3C
    # King of spades and king of hearts: mixed, pays 5.
    result player            -> "what(P1 KS).instead.winner=none"
                             -> "paid(P1 KS)=2000,none,none,0,3000,3000"
a third card of one hand may become the other's
    # Player stood on 6, Banker 5 drew a four: 9. Had Player 5, it would have drawn that four, and
    # Banker 5 draws on a four: that card is missing.
    {bets}
    deal 6S 2D KH 3C
    B3 4D
    result banker            -> "what(P1 5S).instead.player=5S,KH,4D"
                             -> "what(P1 5S).instead.banker=2D,3C" "what(P1 5S).instead.winner=none"
                             -> "what(P1 5S).sequence.0={others}"
                             -> "what(P1 5S).sequence.1~Banker's third card would have been due"
two cards at once
    {bets}
    deal 9S 2D KH 3C
    result player            -> "what(P1 8S B1 6D).instead.player_total=8"
                             -> "what(P1 8S B1 6D).instead.banker_total=9"
                             -> "what(P1 8S B1 6D).instead.winner=banker"
a void coup can be asked about and has settled nothing
    in none
    open
    bet 1 player 1000
    close
    deal 9S 2D KH 3C
    void_coup                -> "paid(B2 7C)=none,1000,none"
a coup that was corrected is asked about as it is on record now
    {bets}
    deal 9S 2D KH 3C
    result player
    correct_card coup=01/1 B2 7C -> "what(P1 8S).happened.banker=2D,7C"
                             -> "what(P1 8S).happened.winner=tie"
                             -> "what(P1 8S).instead.winner=banker"
"""
STEPS = {
    "bets": "in none\nopen\nbet 1 player 1000, 2 banker 2000, 3 player_pair 100\nclose",
    "thirds": "Player's third card, Banker's third card",
    "others": "The card drawn as Banker's third card would have been Player's third card.",
    "missing": (
        "Player's third card would have been due, and no card was drawn for it: "
        "how the coup would have ended cannot be said."
    ),
}


def what(world: KeptWorld, changes: str) -> WhatIf:
    """What would have been, by places and other cards."""
    words = changes.split()
    asked = {
        position(world, *PLACES[PLACE_NAMES.index(place)]): parse_card(face)
        for place, face in zip(words[::2], words[1::2], strict=True)
    }
    return what_if(world.record(), asked, world.context.rulebook)


ASKED: Functions = {
    "what": what,
    "paid": lambda world, changes: [each for row in paid(what(world, changes)) for each in row],
}


test_what_if_another_card_had_come = each_history(HISTORIES, KeptWorld, ASKED, **STEPS)


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


def test_nothing_happens_to_the_record() -> None:
    world = played("9S", "2D", "KH", "3C")
    before = world.record()
    asked(world, B, 2, "7C")
    assert world.record() == before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("21", "write POSITION=FACE"),
        ("=9D", "write POSITION=FACE"),
        ("x=9D", "write POSITION=FACE"),
        ("0=9D", "write POSITION=FACE"),
        ("٢=9D", "write POSITION=FACE"),
        (f"{'9' * 5000}=9D", "write POSITION=FACE"),
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
