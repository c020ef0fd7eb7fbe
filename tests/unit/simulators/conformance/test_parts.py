"""The kit's log, its faults and its judgement, without a bus."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from baccarat.contract.schemas import bundle
from cage.ledger.received_event import decode_published_event
from events.errors import InputError
from events.mqtt.topics import Topics
from simulators.conformance.book import (
    ConsumerBook,
    SeatSums,
    difference,
    likely_mistake,
    read_book,
    right_book,
)
from simulators.conformance.log import (
    FEWEST,
    SampleLog,
    make_sample_log,
    plan_deliveries,
    replay_losses,
)
from table_core.rulebooks.shipped import load_rulebook
from tests.support.cage.consumers import seats_of

TOPICS = Topics("lab", "t1")
SEEDS = range(8)


@cache
def feed(seed: int, settlements: int = FEWEST) -> SampleLog:
    return make_sample_log(seed, settlements, TOPICS, load_rulebook("nz-scale-one"))


def test_the_same_seed_makes_the_same_log() -> None:
    assert feed.__wrapped__(3) == feed(3)
    assert feed(4) != feed(3)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_log_has_corrections_voids_and_both_phases(seed: int) -> None:
    made = feed(seed)
    assert [event.position for event in made.events] == list(range(1, len(made.events) + 1))
    assert len(made.settlements) >= FEWEST
    assert {settlement.phase for settlement in made.settlements} == {1, 2}
    assert any(settlement.revision > 1 for settlement in made.settlements)
    results = [{line.result for line in each.lines} for each in made.settlements]
    assert {"void"} in results
    assert any(b'"type":"coup_voided"' in event.message for event in made.events)


@pytest.mark.parametrize("rulebook", ["ez", "au-commission", "mini-lucky8"])
def test_a_log_of_another_game(rulebook: str) -> None:
    made = make_sample_log(1, FEWEST, TOPICS, load_rulebook(rulebook))
    assert {settlement.rulebook for settlement in made.settlements} == {rulebook}


def test_a_long_log_goes_on_over_copies_too_many() -> None:
    """A correction makes a card of the shoe another one: the ninth copy comes."""
    made = feed(4, 400)
    assert len(made.settlements) >= 400
    assert any(b"too_many_copies" in event.message for event in made.events)


@pytest.mark.sweep
def test_each_message_is_what_the_schemas_say() -> None:
    event = Draft202012Validator(bundle() | {"$ref": "#/$defs/event"})
    state = Draft202012Validator(bundle() | {"$ref": "#/$defs/state"})
    made = feed(1)
    for position, document in made.states.items():
        shown = json.loads(document)
        state.validate(shown)
        assert shown["position"] == position
    for each in made.events:
        event.validate(json.loads(each.message))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_right_book_is_what_the_differences_come_to(seed: int) -> None:
    """Both ways that the guide gives: what is in force, and the sum of all changes."""
    settlements = feed(seed).settlements
    other = ConsumerBook(
        seats={seat: SeatSums(**sums) for seat, sums in seats_of(settlements).items()}
    )
    assert difference(right_book(settlements), other) is None
    assert right_book(reversed(settlements)).seats == right_book(settlements).seats
    assert right_book([*settlements, *settlements]) == right_book(settlements)


@pytest.mark.parametrize("seed", SEEDS)
def test_everything_goes_wrong_at_least_once_and_the_last_event_is_not_lost(seed: int) -> None:
    made = feed(seed)
    begin = len(made.events) // 4
    plan = plan_deliveries(made, begin, seed)
    assert {delivery.fault for delivery in plan} == {"", "twice", "lost", "again"}
    assert plan == plan_deliveries(made, begin, seed)
    news = [each.position for each in plan if each.topic == "event" and each.fault in {"", "lost"}]
    assert news == list(range(begin, len(made.events) + 1))
    assert not any(each.fault == "lost" for each in plan if each.position == len(made.events))
    assert len(made.events) not in replay_losses(made, seed)


Rows = list[tuple[int, int, int, int]]


def rows(lines: Any, *, token: int = 0, more: str = "", result: str = "") -> Rows:
    """Seat, staked, paid, commission of lines as they are published; perhaps read wrong."""
    return [
        (
            line["seat"],
            line["stake"] * (token if line.get("kind") == "promo" else 1),
            line["paid"] + line.get(more, 0),
            line["commission"],
        )
        for line in lines
        if line["result"] != result
    ]


def lines_of(settlements: Any, *, phase: int = 0) -> Any:
    reversed_ = {each.get("reverses") for each in settlements}
    return [
        line
        for each in settlements
        if each["settlement_id"] not in reversed_ and each["phase"] != phase
        for line in each["lines"]
    ]


def without_one(settlements: Any) -> Any:
    """All but one that nothing has corrected."""
    reversed_ = {each.get("reverses") for each in settlements}
    plain = [each for each in settlements if (each["phase"], each["revision"]) == (2, 1)]
    gone = next(each for each in plain if each["settlement_id"] not in reversed_)
    return [each for each in settlements if each != gone]


def changes(settlements: Any) -> Rows:
    told = [change for each in settlements for change in each.get("difference", ())]
    return [
        (each["seat"], *(each.get(name, 0) for name in ("staked", "paid", "commission")))
        for each in told
    ]


def every(settlements: Any) -> Rows:
    return [row for each in settlements for row in rows(each["lines"])]


def kept(events: Any, kind: str) -> Rows:
    told = [each["data"] for each in events if each["type"] == kind]
    return [(each["seat"], each["stake"], 0, 0) for data in told for each in data["refunds"]]


# What the kit says -> the book of such a consumer, of what was published and of its settlements.
PLANTED: dict[str, Callable[[Any, Any], Rows]] = {
    "it does not take back what a revision reverses": lambda _, s: every(s),
    "it leaves out revisions": lambda _, s: every(each for each in s if each["revision"] == 1),
    "it books a revision twice: as the reversal of a settlement and by its `difference`": (
        lambda _, s: rows(lines_of(s)) + changes(s)
    ),
    "it leaves out the settlements of phase 1": lambda _, s: rows(lines_of(s, phase=1)),
    "it leaves out the settlements of phase 2": lambda _, s: rows(lines_of(s, phase=2)),
    "it counts the stakes of promo tokens as money": lambda _, s: rows(lines_of(s), token=1),
    "it adds the commission to `paid`, which the house keeps": (
        lambda _, s: rows(lines_of(s), more="commission")
    ),
    "it leaves out wagers that lose": lambda _, s: rows(lines_of(s), result="lose"),
    "it leaves out wagers that push": lambda _, s: rows(lines_of(s), result="push"),
    "it leaves out wagers that are void": lambda _, s: rows(lines_of(s), result="void"),
    "it keeps the stakes that `wagers_voided` gives back": (
        lambda e, s: rows(lines_of(s)) + kept(e, "wagers_voided")
    ),
    "it keeps the stakes that `coup_voided` gives back": (
        lambda e, s: rows(lines_of(s)) + kept(e, "coup_voided")
    ),
    # The last settlement came twice on one topic, and another never on the other.
    "it books what comes twice, from settlement": lambda _, s: rows(lines_of([s[-1], *s])),
    "it books every message, from settlement, and takes back nothing": (
        lambda _, s: every([s[-1], *s])
    ),
    "it goes on behind a gap, on event": lambda _, s: rows(lines_of(without_one(s))),
}


@pytest.mark.parametrize("seed", SEEDS)
def test_each_mistake_is_named_by_the_book_that_it_makes(seed: int) -> None:
    """Whatever the seed, the game has all that a consumer can get wrong."""
    made = feed(seed)
    events = [json.loads(each.message) for each in made.events]
    told = [each["data"]["settlement"] for each in events if each["type"] == "coup_settled"]
    ours = made.settlements
    here = {each["settlement_id"] for each in without_one(told)}
    some = [each for each in ours if each.settlement_id in here]
    came = {"settlement": [ours[-1], *ours], "event": some}
    for says, book in PLANTED.items():
        seats: dict[str, list[int]] = {}
        for seat, *sums in book(events, told):
            old = seats.get(str(seat), [0, 0, 0])
            seats[str(seat)] = [one + other for one, other in zip(old, sums, strict=True)]
        names = ("staked", "paid", "commission")
        theirs = {seat: dict(zip(names, sums, strict=True)) for seat, sums in seats.items()}
        read = read_book(json.dumps({"seats": theirs}).encode())
        if difference(right_book(ours), read) is None:
            assert "push" in says, "only a push is left to chance"
            continue
        assert likely_mistake(read, ours, came, made.returned) == says
    wild = ConsumerBook(seats={"1": SeatSums(paid=1)})
    assert likely_mistake(wild, ours, came, made.returned) is None


def test_the_first_difference_is_named() -> None:
    right = ConsumerBook(
        seats={"1": SeatSums(staked=5, paid=7), "12": SeatSums(paid=1)}, settlements=("a", "b")
    )
    assert difference(right, right) is None
    assert difference(right, ConsumerBook(seats=right.seats | {"3": SeatSums()})) is None
    cases = {
        "seat 1: paid 8, right is 7": ConsumerBook(
            seats=right.seats | {"1": SeatSums(staked=5, paid=8)}
        ),
        "seat 12: paid 0, right is 1": ConsumerBook(seats={"1": SeatSums(staked=5, paid=7)}),
        "seat 3: staked 1, right is 0": ConsumerBook(seats=right.seats | {"3": SeatSums(staked=1)}),
        "settlement b is not in the book": ConsumerBook(seats={}, settlements=("a",)),
        "settlement c counts in the book, and is not in force": ConsumerBook(
            seats={}, settlements=("a", "c")
        ),
        "settlement a counts more than once in the book": ConsumerBook(
            seats={}, settlements=("a", "a", "b")
        ),
    }
    assert {said: difference(right, theirs) for said, theirs in cases.items()} == {
        said: said for said in cases
    }


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\xff",
        b"[]",
        b'{"seats": {"0": {}}}',
        b'{"seats": {"3\\n": {}}}',
        b'{"seats": {"3": {"paid": 1}, "3": {"paid": 2}}}',
        b'{"seats": {"3": {"paid": 1.5}}}',
        b'{"seats": {"3": {"pai": 1}}}',
        b'{"seats": {}, "more": 1}',
    ],
)
def test_what_is_no_book_is_refused(text: bytes) -> None:
    with pytest.raises(InputError, match="the book is not read"):
        read_book(text)


def test_commission_comes_in_the_version_of_either_release_and_both_are_read() -> None:
    read = [decode_published_event(each.message) for each in feed(3, 60).events]
    assert not [each.problem for each in read if each.problem]
    stored = [json.loads(each.stored) for each in read if each.stored]
    versions = {(each["type"], each["v"]) for each in stored if "amounts" in each["data"]}
    both = {("commission_accrued", v) for v in (1, 2)}
    assert both <= versions
    assert ("commission_reversed", 1) not in versions
