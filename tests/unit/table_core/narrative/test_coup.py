"""A coup as a story: every event in words, every sum by figures from outside, nothing left out."""

import random
from itertools import pairwise
from typing import get_args

import pytest

from events.cards import Hand, parse_card
from events.money import Currency
from events.types import (
    AnyReport,
    DeviceResult,
    ErrorRaised,
    ReportLost,
    ShoeReported,
    TableEvent,
)
from table_core.decide.decision import DecisionContext
from table_core.narrative.coup import narrate_coup
from table_core.narrative.formatting import amount, exact_amount, face, who
from table_core.narrative.shoe_reports import REPORT_WORDS, report_words
from table_core.narrative.timeline import TimelineLine, narrate_event
from table_core.replay.coup_events import LoggedEvent, Moment, moments
from table_core.state.table import TableState
from tests.support.cage.books import book
from tests.support.table.histories import Functions, each_history, play_history
from tests.support.table.money_game import BOOKS, Game, random_coup
from tests.support.table.stories import CORRECTED, DISPUTED, KeptWorld

P, B = Hand.PLAYER, Hand.BANKER


# Player 4 draws a five, Banker 3 therefore draws a two: 9 against 5.
THIRD_CARD = """in none
open
bet 1 player 1000, 2 banker 2000
close
deal 4S 3D KH QC 5S 2H
result player"""
HISTORIES = """
a coup is told from its opening to its settlement
    {third_card}             -> story().coup=20261127-01/1 story().table=t1 story().site=sydney
                             -> story().shoe=20261127-01 story().phase=settled
                             -> "story().lines.0.says=Betting was opened."
                             -> story().lines.0.who=supervisor
                             -> story().player.total=9 story().banker.total=5
                             -> story().result=player story().troubles=none
                             -> story().changes=none story().seats.seat=1,2
                             -> story().seats.staked=1000,2000 story().seats.paid=2000,0
                             -> story().seats.net=1000,-2000 gaps()=none
a third card says its rule and the figures that led to it
    {third_card}             -> "dealt(-2).says=5♠ lies as Player's third card."
                             -> "dealt(-2).details~Player draws on 0 to 5"
                             -> "dealt(-2).details~Player has 4♠ K♥ = 4"
                             -> "dealt(-1).says=2♥ lies as Banker's third card."
                             -> "dealt(-1).details~Banker 3 draws, Player's third is no 8"
                             -> "story().rules={players},{bankers}"
what follows from a report is the table's doing
    {third_card}             -> "dealt(0).who=the table" "dealt(-1).who=the table"
                             -> "only(coup_settled).who=the table"
a dispute and its decision name who and why
    {disputed}               -> only(result_disputed).tone=trouble
                             -> "only(result_disputed).details={differ}"
                             -> only(result_confirmed).tone=decision
                             -> only(result_confirmed).who=supervisor
                             -> "only(result_confirmed).details=reason: the cards are right"
                             -> story().troubles.type~result_disputed
                             -> story().troubles.type~result_confirmed
a correction is told before and after with each seat's difference
    # Seat 1: Player won 1,000 on 1,000, and on a tie gets its stake back. Seat 2: nothing, and on
    # a tie its 2,000 back and 8 to 1 on 100 with the stake.
    {disputed}               -> story().changes.who=supervisor story().changes.reason=camera
                             -> "story().changes.was=Player 9♠ K♥ = 9, Banker 2♦ 3♣ = 5: Player"
                             -> "story().changes.now=Player 9♠ K♥ = 9, Banker 2♦ 7♣ = 9: a tie"
                             -> story().changes.0.seats.seat=1,2
                             -> story().changes.0.seats.before=2000,0
                             -> story().changes.0.seats.after=1000,2900
                             -> story().changes.0.seats.difference=-1000,2900
                             -> story().changes.0.seats.owed=-1000,2900
                             -> story().changes.0.difference=1900
                             -> story().settlements.in_force=false,true
                             -> story().settlements.1.reverses=t1/20261127-01/1/2/1
                             -> story().settlements.0.id=t1/20261127-01/1/2/1
                             -> story().result=tie story().banker.total=9
                             -> story().seats.paid=1000,2900 only(hands_corrected).tone=decision
a corrected stake is told with what the seat owes for it
    # A tie pays 8 to 1: 900 come back for the 100 that seat 1 had laid besides.
    {disputed}
    correct_wager coup=01/1 to="1 tie 100" reason=left -> story().changes.1.seats.seat=1,2
                             -> story().changes.1.seats.difference=900,0
                             -> story().changes.1.seats.staked_before=1000,2100
                             -> story().changes.1.seats.staked_after=1100,2100
                             -> story().changes.1.seats.owed=800,0
a correction long after belongs to its coup and the coups between do not
    {disputed}               -> story().last=26
    open
    close
    deal 9S 2D KH 3C
    result player            -> story().last=26
    correct_card coup=01/1 B2 3C reason=right -> story().changes.reason=camera,right
                             -> story().result=player story().seats.paid=2000,0 behind(26)=41
a void coup says why and what went back
    in none
    open
    bet 3 player 700
    void_coup reason="a chip fell" -> story().phase=voided "story().reason=a chip fell"
                             -> story().result=none
                             -> "only(coup_voided).details={went_back}"
                             -> story().seats.staked=700 story().seats.paid=700
                             -> story().seats.net=0
a coup that nobody opened begins with its card's report
    in none
    deal 9S 2D KH 3C         -> story().lines.0.type=shoe_reported story().lines.1.tone=trouble
                             -> "story().lines.1.says={nobody}"
what the shoe still says of a void round belongs to it
    in none
    open
    close
    deal 9S 2D
    void_coup
    P2 KH
    result player
    open                     -> "story().lines.-2.says={drew}"
                             -> "story().lines.-1.says=The shoe's own result: Player."
an unreadable card and the hand that entered it
    in none
    open
    close
    deal 9S 2D KH
    shoe card_unreadable B2
    shoe error_raised code=card_jam latched=true
    enter_card B2 3C         -> "trouble(The shoe reports an error: card jam.).who=the shoe"
                             -> "trouble(The shoe reports an error: card jam.).tone=trouble"
                             -> "trouble({entered}).who=supervisor"
                             -> "trouble({entered}).tone=decision"
a broken continuity and who vouched for the cards
    in none
    open
    close
    deal 9S 2D KH 3C
    shoe report_lost expected=5 got=7
    realign                  -> "story().troubles.says={lost},{unvouched},{vouched}"
"""
STEPS = {
    "third_card": THIRD_CARD,
    "disputed": f"{DISPUTED}\n{CORRECTED} reason=camera",
    "players": "Player draws: 4 on two cards. Rule: Player draws on 0 to 5",
    "bankers": (
        "Banker draws: 3 on two cards, and Player's third card counts 5. "
        "Rule: Banker 3 draws, Player's third is no 8"
    ),
    "differ": "winner: the table says player, the shoe banker",
    "went_back": "reason: a chip fell,seat 3: 7.00 goes back",
    "nobody": "The coup began with a card; nobody had opened betting.",
    "drew": "The shoe drew K♥ for Player's second card.",
    "entered": "3♣ was entered by hand as Banker's second card.",
    "lost": "A report of the shoe never arrived: number 5 was due, and 7 came.",
    "unvouched": "The cards cannot be vouched for: nothing is paid until a person decides.",
    "vouched": "A person vouches for the cards as they stand here; the coup goes on.",
}


def lines_of(world: KeptWorld, kind: str) -> list[TimelineLine]:
    return [line for line in world.story().lines if line.type == kind]


def only(world: KeptWorld, kind: str) -> TimelineLine:
    (line,) = lines_of(world, kind)
    return line


def trouble(world: KeptWorld, says: str) -> TimelineLine:
    (line,) = (line for line in world.story().troubles if line.says == says)
    return line


def positions(world: KeptWorld) -> list[int]:
    return [line.position for line in world.story().lines]


ASKED: Functions = {
    "story": lambda world, _: world.story(),
    "dealt": lambda world, index: lines_of(world, "card_dealt")[int(index)],
    "only": only,
    "trouble": trouble,
    "gaps": lambda world, _: [b for a, b in pairwise(positions(world)) if b != a + 1],
    "behind": lambda world, last: next(at for at in positions(world) if at > int(last)),
}


test_a_coup_as_a_story = each_history(HISTORIES, KeptWorld, ASKED, **STEPS)


def test_a_report_has_its_bytes_and_where_they_are() -> None:
    world = play_history(THIRD_CARD.splitlines(), KeptWorld)
    assert isinstance(world, KeptWorld)
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
    told = narrate_event(Moment(TableState(), fact, TableState()), Currency("AUD", 2))
    assert told.says == "Something unheard of."
    assert told.details == ("coup: x/1", "seat: 7")


@pytest.mark.sweep
@pytest.mark.parametrize("name", BOOKS)
def test_random_games_are_told_whole_and_each_event_once(name: str) -> None:
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
    world = play_history(THIRD_CARD.splitlines(), KeptWorld)
    assert isinstance(world, KeptWorld)
    seen = list(moments(world.facts))
    assert seen[0].before == TableState()
    assert seen[-1].after == world.state
    assert all(one.after is next_.before for one, next_ in pairwise(seen))


def test_words_for_people() -> None:
    aud, jpy, kwd = Currency("AUD", 2), Currency("JPY", 0), Currency("KWD", 3)
    assert [amount(n, aud) for n in (0, 5, 123456, -50)] == ["0.00", "0.05", "1,234.56", "-0.50"]
    assert (amount(1500, jpy), amount(1500, kwd)) == ("1,500", "1.500")
    assert (exact_amount(1782, 100, aud), exact_amount(300, 3, aud)) == ("0.1782", "1.00")
    assert (face(None), face(parse_card("TD"))) == ("a card face down", "10♦")
    assert (who("shoe"), who("core"), who("anna"), who("pit:d-17")) == (
        "the shoe",
        "the table",
        "anna",
        "d-17 (through pit)",
    )
