"""A shoe from its first card to its audit: burn, cut card, copies of a face, repeated runs."""

import random
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.cards import Card, Hand
from events.commands.base import Command, Refusal
from events.commands.coup import OpenBetting, VoidCoup
from events.commands.shoe import Burn, CutCard, EndShoe, LoadShoe
from events.types.shoe_life import BurnRecorded, CutCardCame, ShoeAudited
from events.types.shoe_reports import (
    AnyReport,
    BurnCard,
    CardCarriedOver,
    CardOutOfGame,
    CardRevealed,
    CardUnreadable,
    DeviceResult,
    FirstCard,
    LinkOpen,
    LinkUp,
)
from events.types.shoe_reports import CutCardReported as CutCardReport
from events.types.table import AlarmRaised, CoupMisaligned, ShoeEnded
from table_core.decide.decision import DecisionContext
from table_core.rulebooks.shipped import shipped_source
from table_core.rules.rulebook_file import parse_rulebook
from table_core.state.coup import Phase
from table_core.state.shoe import ShoeState, fold_card_report, longest_run, times_seen
from tests.support.table.coups import NATURAL_NINE, SHOE, World, drawn, world_in

P, B = Hand.PLAYER, Hand.BANKER


def context(**procedure: str) -> DecisionContext:
    lines = "".join(f'{key} = "{value}"\n' for key, value in procedure.items())
    source = shipped_source("au-commission") + f"\n[procedure]\n{lines}".encode()
    return DecisionContext(table="t1", rulebook=parse_rulebook("au-commission.toml", source))


def new_shoe(**procedure: str) -> World:
    world = World(context(**procedure))
    world.say(LinkOpen(transport="pty:x"), LinkUp())
    world.must(LoadShoe(transaction="l", shoe=SHOE))
    return world


def play(world: World) -> None:
    world.open()
    world.close()
    world.deal(*NATURAL_NINE)
    world.say(DeviceResult(winner="player"))


def code(world: World, command: Command) -> str:
    refusal = world.ask(command)
    assert isinstance(refusal, Refusal)
    return refusal.code


def alarms(world: World) -> list[str]:
    return [alarm.name for alarm in world.state.alarms]


# ---- burn ----


@pytest.mark.parametrize(
    ("rule", "first", "expected"),
    [
        ("face_value", Card.SA, 1),
        ("face_value", Card.D7, 7),
        ("face_value", Card.HT, 10),
        ("face_value", Card.CK, 10),
        ("fixed:3", Card.CK, 3),
        ("none", Card.CK, 0),
    ],
)
def test_the_burn_follows_from_the_first_card_by_the_rulebooks_rule(
    rule: str, first: Card, expected: int
) -> None:
    world = new_shoe(burn=rule)
    world.say(FirstCard(face=first))
    made = world.say(*(BurnCard(left=left) for left in reversed(range(max(1, expected)))))
    (recorded,) = (event for event in made if isinstance(event, BurnRecorded))
    assert (recorded.exposed, recorded.expected, recorded.by) == (first, expected, "shoe")
    assert alarms(world) == ([] if expected == max(1, expected) else ["burn_mismatch"])


def test_a_burn_of_another_number_is_an_alarm() -> None:
    world = new_shoe()
    world.say(FirstCard(face=Card.D7), BurnCard(left=1), BurnCard(left=0))
    assert alarms(world) == ["burn_mismatch"]


def test_a_skipped_burn_is_told_until_a_person_says_what_became_of_it() -> None:
    world = new_shoe()
    play(world)
    play(world)
    assert alarms(world) == ["burn_missing"]
    assert code(world, Burn(transaction="b", cards=-1, reason="x")) == "invalid_burn"
    assert code(world, Burn(transaction="b", cards=1, reason=" ")) == "reason_required"
    recorded, _ = world.must(Burn(transaction="b", cards=0, reason="the dealer forgot it"))
    assert isinstance(recorded, BurnRecorded)
    assert (recorded.by, recorded.burned, recorded.reason) == ("person", 0, "the dealer forgot it")
    assert alarms(world) == []
    assert code(world, Burn(transaction="c", cards=0, reason="again")) == "burn_known"


def test_where_the_house_burns_nothing_nothing_is_missed() -> None:
    world = new_shoe(burn="none")
    play(world)
    assert alarms(world) == []


# ---- cut card and last coup ----

# policy | where it comes | how many coups are played after the one it came in (or behind)
LAST = """
one_more    between     1
one_more    first_card  0
one_more    mid_coup    1
finish_only between     0
finish_only first_card  0
finish_only mid_coup    0
"""


@pytest.mark.parametrize(
    ("policy", "place", "more"), [row.split() for row in LAST.strip().splitlines()]
)
@pytest.mark.parametrize("by", ["shoe", "person"])
def test_the_cut_card_fixes_the_last_coup(policy: str, place: str, more: str, by: str) -> None:
    world = new_shoe(cut_card=policy)
    world.say(FirstCard(face=Card.SA), BurnCard(left=0))
    play(world)
    if place != "between":
        world.open()
        world.close()
    if place == "mid_coup":
        world.deal(*NATURAL_NINE[:1])
    if by == "shoe":
        (*_, came) = world.say(CutCardReport())
    else:
        (came,) = world.must(CutCard(transaction="c", place=place))  # type: ignore[arg-type]  # a word of the table above
    assert isinstance(came, CutCardCame)
    assert (came.place, came.by) == (place, by)
    if place == "mid_coup":
        world.say(drawn(B, 1, "2D"), drawn(P, 2, "KH"), drawn(B, 2, "3C"))
    elif place == "first_card":
        world.deal(*NATURAL_NINE)
    if place != "between":
        world.say(DeviceResult(winner="player"))
    for _ in range(int(more)):
        assert world.state.shoe is not None
        assert not world.state.shoe.ended
        play(world)
    refused = code(world, OpenBetting(transaction="o"))
    assert refused == ("last_coup_played" if place == "between" and more == "0" else "shoe_ended")
    world.ask(EndShoe(transaction="e"))
    assert world.state.shoe is not None
    assert world.state.shoe.ended


def test_a_void_last_coup_ends_the_shoe_too() -> None:
    world = new_shoe(cut_card="finish_only")
    world.open()
    world.close()
    world.deal(*NATURAL_NINE[:1])
    world.say(CutCardReport())
    *_, ended, audited = world.must(VoidCoup(transaction="v", reason="misdeal"))
    assert isinstance(ended, ShoeEnded)
    assert isinstance(audited, ShoeAudited)
    assert (audited.coups, audited.voids) == (1, 1)


def test_the_cut_card_comes_once() -> None:
    world = new_shoe()
    world.say(CutCardReport())
    assert len(world.say(CutCardReport())) == 1
    assert world.must(CutCard(transaction="c", place="between")) == []


@pytest.mark.parametrize("place", ["first_card", "mid_coup"])
def test_a_dealer_reports_the_cut_card_where_it_can_have_come(place: str) -> None:
    world = world_in(Phase.NONE)
    assert code(world, CutCard(transaction="c", place=place)) == "wrong_place"  # type: ignore[arg-type]  # both are places
    world.open()
    assert code(world, CutCard(transaction="d", place="between")) == "wrong_place"


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


@pytest.mark.parametrize("decks", [4, 6, 8])
@pytest.mark.parametrize("before", ["over", "betting", "closed"])
def test_one_copy_too_many_is_an_alarm_and_holds_the_coup(decks: int, before: str) -> None:
    world = World()
    world.say(LinkOpen(transport="pty:x"), LinkUp())
    world.must(LoadShoe(transaction="l", shoe=SHOE, decks=decks))
    world.say(*(BurnCard(face=Card.D4, left=decks - n) for n in range(decks)))
    assert "too_many_copies" not in alarms(world)
    if before != "over":
        world.open()
    if before == "closed":
        world.close()
    made = world.say(drawn(P, 1, "4D"))
    assert "too_many_copies" in alarms(world)
    assert any(isinstance(e, CoupMisaligned) and e.reason == "too_many_copies" for e in made)
    assert world.state.phase is Phase.MISALIGNED
    assert "4D" not in "".join(e.text for e in made if isinstance(e, AlarmRaised))


@given(st.lists(st.sampled_from(list(Card)), max_size=60))
def test_copies_are_counted_face_by_face(faces: list[Card]) -> None:
    shoe = ShoeState(id=SHOE, decks=8)
    for face in faces:
        shoe = fold_card_report(shoe, drawn(P, 1, face.value))
    counted = {face: times_seen(shoe, face) for face in Card}
    assert {face: n for face, n in counted.items() if n} == Counter(faces)


# ---- the audit ----


def test_the_audit_accounts_for_every_card() -> None:
    world = new_shoe()
    world.say(FirstCard(face=Card.SA), BurnCard(face=Card.C4, left=0))
    play(world)
    ended, audited = world.must(EndShoe(transaction="e", reason="end of the day"))
    assert isinstance(ended, ShoeEnded)
    assert isinstance(audited, ShoeAudited)
    assert (audited.seen, audited.known, audited.burned) == (6, 6, 2)
    assert sum(audited.left.values()) == 8 * 52 - 6
    gone = {face.value for face, count in audited.left.items() if count == 7}
    assert gone == {"AS", "4C", *NATURAL_NINE}
    assert audited.repeated is None


def test_a_shoe_that_repeats_a_long_run_of_an_earlier_one_is_told_with_its_chance() -> None:
    rng = random.Random(5)
    first = [rng.choice(list(Card)).value for _ in range(400)]
    second = [rng.choice(list(Card)).value for _ in range(400)]
    second[100:112] = first[37:49]
    run = longest_run(second, "20261126-01", first)
    assert run is not None
    assert (run.length, run.start, run.earlier_start) == (12, 100, 37)
    assert Fraction(run.chance) == Fraction(389 * 389, 52**12)


def test_honest_shoes_share_short_runs_only() -> None:
    rng = random.Random(6)
    shoes = [rng.sample([c.value for c in Card for _ in range(8)], 416) for _ in range(2)]
    run = longest_run(shoes[0], "x", shoes[1])
    assert run is not None
    assert run.length <= 4
    assert Fraction(run.chance) > Fraction(1, 100)


_FEW = st.lists(st.sampled_from(["AS", "2S", "3S"]), max_size=25)


@given(_FEW, _FEW)
def test_the_longest_run_is_the_one_that_a_plain_search_finds(
    one: list[str], two: list[str]
) -> None:
    best = 0
    for i in range(len(one)):
        for j in range(len(two)):
            length = 0
            while (
                i + length < len(one)
                and j + length < len(two)
                and one[i + length] == two[j + length]
            ):
                length += 1
            best = max(best, length)
    run = longest_run(one, "x", two)
    assert (run.length if run else 0) == best
    if run:
        ours = one[run.start : run.start + run.length]
        assert ours == two[run.earlier_start : run.earlier_start + run.length]


def test_the_next_shoe_is_held_against_the_last() -> None:
    world = new_shoe()
    for _ in range(3):
        play(world)
    world.must(EndShoe(transaction="e1"))
    world.must(LoadShoe(transaction="l2", shoe="20261127-02"))
    for _ in range(3):
        play(world)
    *_, audited = world.must(EndShoe(transaction="e2"))
    assert isinstance(audited, ShoeAudited)
    assert audited.repeated is not None
    assert (audited.repeated.earlier, audited.repeated.length) == (SHOE, 12)


# ---- roads ----


def test_settled_coups_are_on_the_roads_and_void_ones_are_not() -> None:
    world = new_shoe()
    play(world)
    world.open()
    world.must(VoidCoup(transaction="v", reason="misdeal"))
    play(world)
    assert heights(world) == [2]
    world.must(EndShoe(transaction="e"))
    world.must(LoadShoe(transaction="l2", shoe="20261127-02"))
    assert heights(world) == []


def heights(world: World) -> list[int]:
    assert world.state.shoe is not None
    return list(world.state.shoe.roads.heights)
