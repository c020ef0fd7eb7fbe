"""A coup as a story: every event in words, every sum by figures from outside, nothing left out."""

import random
from itertools import pairwise
from typing import get_args

import pytest

from events.cards import Hand, parse_card
from events.commands.cards import CorrectCard, EnterCard, Realign
from events.commands.coup import VoidCoup
from events.types.shoe_reports import (
    AnyReport,
    CardUnreadable,
    DeviceResult,
    ErrorRaised,
    ReportLost,
)
from events.types.table import ShoeReported, TableEvent
from table_core.decide.decision import DecisionContext
from table_core.narrative.coup import CoupNarrative, narrate_coup
from table_core.narrative.formatting import amount, exact_amount, face, who
from table_core.narrative.shoe_reports import REPORT_WORDS, report_words
from table_core.narrative.timeline import TimelineLine, narrate_event
from table_core.replay.coup_events import LoggedEvent, Moment, moments
from table_core.state.table import TableState
from tests.support.cage.books import book
from tests.support.table.coups import COUP, drawn
from tests.support.table.money_game import BOOKS, Game, random_coup
from tests.support.table.stories import KeptWorld, disputed_and_corrected

P, B = Hand.PLAYER, Hand.BANKER


def third_card() -> KeptWorld:
    """Player 4 draws a five, Banker 3 therefore draws a two: 9 against 5."""
    world = KeptWorld(user="dealer")
    world.ready()
    world.open()
    world.bet((1, "player", 1000), (2, "banker", 2000))
    world.close()
    world.deal("4S", "3D", "KH", "QC")
    world.say(drawn(P, 3, "5S"), drawn(B, 3, "2H"), DeviceResult(winner="player"))
    return world


def lines(story: CoupNarrative, kind: str) -> list[TimelineLine]:
    return [line for line in story.lines if line.type == kind]


def only(story: CoupNarrative, kind: str) -> TimelineLine:
    (line,) = lines(story, kind)
    return line


def test_a_coup_is_told_from_its_opening_to_its_settlement() -> None:
    story = third_card().story()
    assert (story.coup, story.table, story.site, story.shoe) == (
        COUP,
        "t1",
        "sydney",
        "20261127-01",
    )
    assert story.lines[0].says == "Betting was opened."
    assert story.lines[0].who == "dealer"
    assert (story.player.total, story.banker.total, story.result) == (9, 5, "player")
    assert (story.phase, story.troubles, story.changes) == ("settled", (), ())
    assert [(seat.seat, seat.staked, seat.paid, seat.net) for seat in story.seats] == [
        (1, 1000, 2000, 1000),
        (2, 2000, 0, -2000),
    ]
    positions = [line.position for line in story.lines]
    assert positions == list(range(story.first, story.last + 1))


def test_a_third_card_says_its_rule_and_the_figures_that_led_to_it() -> None:
    story = third_card().story()
    rule = "Rule: Banker 3 draws, Player's third is no 8"
    *_, players, bankers = lines(story, "card_dealt")
    assert players.says == "5♠ lies as Player's third card."
    assert "Player draws on 0 to 5" in players.details[0]
    assert "Player has 4♠ K♥ = 4" in players.details[0]
    assert bankers.says == "2♥ lies as Banker's third card."
    assert "Banker 3 draws, Player's third is no 8" in bankers.details[0]
    assert story.rules == (
        "Player draws: 4 on two cards. Rule: Player draws on 0 to 5",
        f"Banker draws: 3 on two cards, and Player's third card counts 5. {rule}",
    )


def test_a_report_has_its_bytes_and_where_they_are() -> None:
    world = third_card()
    story = world.story()
    reports = [m.fact for m in world.record().moments if isinstance(m.fact.event, ShoeReported)]
    told = [line for line in story.lines if line.raw is not None]
    assert [line.position for line in told] == [fact.position for fact in reports]
    for line, fact in zip(told, reports, strict=True):
        assert isinstance(fact.event, ShoeReported)
        source = fact.event.source
        assert line.raw is not None
        assert (line.raw.journal, line.raw.seq, line.raw.offset, line.raw.hex) == (
            source.journal,
            source.seq,
            source.offset,
            source.raw,
        )
        assert line.who == "the shoe"


def test_what_follows_from_a_report_is_the_tables_doing() -> None:
    story = third_card().story()
    assert {line.who for line in lines(story, "card_dealt")} == {"the table"}
    assert only(story, "coup_settled").who == "the table"


def test_a_dispute_and_its_decision_name_who_and_why() -> None:
    story = disputed_and_corrected().story()
    disputed, confirmed = only(story, "result_disputed"), only(story, "result_confirmed")
    assert disputed.tone == "trouble"
    assert disputed.details == ("winner: the table says player, the shoe banker",)
    assert (confirmed.tone, confirmed.who) == ("decision", "supervisor")
    assert confirmed.details == ("reason: the cards are right",)
    assert disputed in story.troubles
    assert confirmed in story.troubles


def test_a_correction_is_told_before_and_after_with_each_seats_difference() -> None:
    story = disputed_and_corrected().story()
    (change,) = story.changes
    assert (change.who, change.reason) == ("supervisor", "camera 4 shows a king")
    assert change.was == "Player 9♠ K♥ = 9, Banker 2♦ 3♣ = 5: Player"
    assert change.now == "Player 9♠ K♥ = 9, Banker 2♦ 7♣ = 9: a tie"
    # Seat 1: Player won 1,000 on 1,000, and on a tie gets its stake back. Seat 2: nothing, and on
    # a tie its 2,000 back and 8 to 1 on 100 with the stake.
    assert [(s.seat, s.before, s.after, s.difference) for s in change.seats] == [
        (1, 2000, 1000, -1000),
        (2, 0, 2900, 2900),
    ]
    assert change.difference == 1900
    first, second = story.settlements
    assert (first.in_force, second.in_force, second.reverses) == (False, True, first.id)
    assert (story.result, story.banker.total) == ("tie", 9)
    assert [(seat.seat, seat.paid) for seat in story.seats] == [(1, 1000), (2, 2900)]
    assert only(story, "hands_corrected").tone == "decision"


def test_a_correction_long_after_belongs_to_its_coup_and_the_coups_between_do_not() -> None:
    world = disputed_and_corrected()
    last = world.facts[-1].position
    world.open()
    world.close()
    world.deal("9S", "2D", "KH", "3C")
    world.say(DeviceResult(winner="player"))
    assert world.story().last == last
    wager = CorrectCard(
        transaction="c", coup=COUP, hand=B, number=2, face=parse_card("3C"), reason="it was right"
    )
    world.must(wager)
    story = world.story()
    assert [change.reason for change in story.changes] == ["camera 4 shows a king", "it was right"]
    between = [line.position for line in story.lines if line.position > last]
    assert between[0] > last + 5
    assert (story.result, [seat.paid for seat in story.seats]) == ("player", [2000, 0])


def test_a_void_coup_says_why_and_what_went_back() -> None:
    world = KeptWorld()
    world.ready()
    world.open()
    world.bet((3, "player", 700))
    world.must(VoidCoup(transaction=world.transaction(), reason="a chip fell into the shoe"))
    story = world.story()
    assert (story.phase, story.reason, story.result) == (
        "voided",
        "a chip fell into the shoe",
        None,
    )
    assert only(story, "coup_voided").details == (
        "reason: a chip fell into the shoe",
        "seat 3: 7.00 goes back",
    )
    assert [(seat.staked, seat.paid, seat.net) for seat in story.seats] == [(700, 700, 0)]


def test_a_coup_that_nobody_opened_begins_with_its_cards_report() -> None:
    world = KeptWorld()
    world.ready()
    world.deal("9S", "2D", "KH", "3C")
    story = world.story()
    assert story.lines[0].type == "shoe_reported"
    assert story.lines[1].says == "The coup began with a card; nobody had opened betting."
    assert story.lines[1].tone == "trouble"


def test_what_the_shoe_still_says_of_a_void_round_belongs_to_it() -> None:
    world = KeptWorld()
    world.ready()
    world.open()
    world.close()
    world.deal("9S", "2D")
    world.must(VoidCoup(transaction=world.transaction(), reason="r"))
    world.say(drawn(P, 2, "KH"), DeviceResult(winner="player"))
    world.open()
    assert [line.says for line in world.story().lines[-2:]] == [
        "The shoe drew K♥ for Player's second card.",
        "The shoe's own result: Player.",
    ]


def test_an_unreadable_card_and_the_hand_that_entered_it() -> None:
    world = KeptWorld()
    world.ready()
    world.open()
    world.close()
    world.deal("9S", "2D", "KH")
    world.say(CardUnreadable(hand=B, number=2), ErrorRaised(code="card_jam", latched=True))
    world.must(
        EnterCard(transaction="e", hand=B, number=2, face=parse_card("3C"), reason="read it")
    )
    story = world.story()
    told = [(line.who, line.tone, line.says) for line in story.troubles]
    assert ("the table", "trouble", "The shoe reports an error: card jam.") not in told
    assert ("the shoe", "trouble", "The shoe reports an error: card jam.") in told
    assert ("supervisor", "decision", "3♣ was entered by hand as Banker's second card.") in told


def test_a_broken_continuity_and_who_vouched_for_the_cards() -> None:
    world = KeptWorld()
    world.ready()
    world.open()
    world.close()
    world.deal("9S", "2D", "KH", "3C")
    world.say(ReportLost(expected="5", got="7"))
    world.must(Realign(transaction="r", reason="compared with the camera"))
    told = [line.says for line in world.story().troubles]
    assert told == [
        "A report of the shoe never arrived: number 5 was due, and 7 came.",
        "The cards cannot be vouched for: nothing is paid until a person decides.",
        "A person vouches for the cards as they stand here; the coup goes on.",
    ]


def test_without_the_rulebooks_file_the_recorded_figures_are_told() -> None:
    world = KeptWorld(DecisionContext(table="t1", rulebook=book("au-commission", "unit=5")))
    world.ready()
    world.open()
    world.bet((1, "player", 1000))
    world.close()
    world.deal("9S", "2D", "KH", "3C")
    world.say(DeviceResult(winner="player"))
    story = narrate_coup(world.record(), origin="sydney/t1", rulebooks={})
    assert (story.currency, story.rulebook_title) == ("", "")
    (settled,) = story.settlements
    assert settled.wagers[0].sums == (
        "10.00 at 1 to 1 = 10.00; won 10.00",
        "stake back 10.00 + won 10.00 = paid 20.00",
    )


# ---- words for everything ----


def test_every_report_of_the_shoe_has_a_sentence() -> None:
    assert set(REPORT_WORDS) == set(get_args(AnyReport))
    assert report_words(ErrorRaised(code="card_jam", latched=True)).endswith("card jam.")
    assert report_words(ReportLost(expected="line", got="broken_line")) == (
        "A line of the shoe could not be taken (broken line). It may have been a card."
    )


class Unheard(TableEvent, frozen=True, kw_only=True):
    TYPE = "something_unheard_of"
    coup: str = "x/1"
    seat: int = 7


def test_an_event_without_words_is_told_field_by_field() -> None:
    """Whatever type is added, its line leaves nothing out."""
    fact = LoggedEvent(
        position=1, at="t", actor="core", cause="c", correlation="", digest="", event=Unheard()
    )
    told = narrate_event(Moment(TableState(), fact, TableState()), "AUD")
    assert told.says == "Something unheard of."
    assert told.details == ("coup: x/1", "seat: 7")


@pytest.mark.parametrize("name", BOOKS)
def test_random_games_are_told_whole_and_their_money_is_the_settlements(name: str) -> None:
    rng = random.Random(f"story {name}")
    game = Game(BOOKS[name](), seed=rng.randrange(10**6))
    kept = KeptWorld.__new__(KeptWorld)
    for _ in range(12):
        game.play(random_coup(rng))
    facts = facts_of(game.world.log)
    kept.facts, kept.context = facts, game.world.context
    coups = dict.fromkeys(fact.correlation for fact in facts if fact.correlation)
    assert len(coups) >= 12
    told: set[int] = set()
    for coup in coups:
        story = kept.story(coup)
        positions = {line.position for line in story.lines}
        assert {fact.position for fact in facts if fact.correlation == coup} <= positions
        assert not positions & told, "an event is told in two coups"
        told |= positions
        assert all(line.says for line in story.lines)
        in_force = [each for each in story.settlements if each.in_force]
        staked = sum(w.stake for each in in_force for w in each.wagers)
        paid = sum(w.paid for each in in_force for w in each.wagers)
        if story.phase == "settled":
            assert (staked, paid) == (
                sum(seat.staked for seat in story.seats),
                sum(seat.paid for seat in story.seats),
            )
        for change in story.changes:
            assert change.difference == sum(seat.difference for seat in change.seats)


def facts_of(log: list[TableEvent]) -> list[LoggedEvent]:
    return [
        LoggedEvent(
            position=position,
            at="2026-11-27T21:40:07.000000000Z",
            actor="core",
            cause=f"core/{position}",
            correlation=str(getattr(event, "coup", None) or ""),
            digest="",
            event=event,
        )
        for position, event in enumerate(log, start=1)
    ]


def test_moments_hold_the_table_before_and_after() -> None:
    world = third_card()
    seen = list(moments(world.facts))
    assert seen[0].before == TableState()
    assert seen[-1].after == world.state
    assert all(one.after is next_.before for one, next_ in pairwise(seen))


def test_words_for_people() -> None:
    assert [amount(n, "AUD") for n in (0, 5, 123456, -50)] == ["0.00", "0.05", "1,234.56", "-0.50"]
    assert (amount(1500, "JPY"), amount(1500, "KWD")) == ("1,500", "1.500")
    assert (exact_amount(1782, 100, "AUD"), exact_amount(300, 3, "AUD")) == ("0.1782", "1.00")
    assert (face(None), face(parse_card("TD"))) == ("a card face down", "10♦")
    assert (who("shoe"), who("core"), who("anna"), who("pit:d-17")) == (
        "the shoe",
        "the table",
        "anna",
        "d-17 (through pit)",
    )
