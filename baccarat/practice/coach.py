"""What the coach asks of the person who deals, and what was right of it afterwards. Pure."""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from events.cards import Card

__all__ = ["LESSONS", "Fact", "Lesson", "Remark", "Task", "draw_task", "judge"]

_BETS: Final = ("player", "banker", "tie")
_SEATS: Final = range(1, 10)
_PATRONS: Final = 4


class Fact(Struct, frozen=True):
    """An event of the table's log: its type and its data."""

    type: str
    data: Mapping[str, Any]


class Lesson(Struct, frozen=True):
    """Something that goes wrong in a coup.

    Args:
        fault: of the shoe, by its name; None where the shoe works.
        says: what the coach tells when it happens.
    """

    fault: str | None
    says: str


LESSONS: Final[Mapping[str, Lesson]] = {
    "plain": Lesson(None, ""),
    "unread": Lesson(
        "unreadable_card",
        "If the shoe does not read a card, the supervisor (you, too) enters its face.",
    ),
    "excess": Lesson(
        "overdraw_carried",
        "If a card too many comes, leave it; the coup is held until you say whether it was seen.",
    ),
    "dispute": Lesson(
        "wrong_result",
        "If the shoe names another winner, look at the cards: confirm the table's result, or void.",
    ),
    "late": Lesson(None, "After you have called no more bets, a patron lays another 25 on Tie."),
}
"""Lesson by name."""


class Task(Struct, frozen=True, kw_only=True):
    """One coup to deal.

    Args:
        lesson: its name.
        wagers: seat, bet and stake in minor units that the patrons lay.
    """

    lesson: str
    wagers: tuple[tuple[int, str, int], ...]


class Remark(Struct, frozen=True):
    """What the coach says of a coup that is over: whether it was right, and why."""

    right: bool
    text: str


def draw_task(rng: random.Random, number: int, chips: Sequence[int]) -> Task:
    """Return the task of the coup of this number, from 0; every other one has a lesson.

    Args:
        rng: chooses.
        number: of the coup.
        chips: the table's values, minor units.
    """
    names = [name for name in LESSONS if name != "plain"]
    lesson = names[number // 2 % len(names)] if number % 2 else "plain"
    seats = rng.sample(_SEATS, rng.randint(1, _PATRONS))
    wagers = tuple((seat, rng.choice(_BETS), rng.choice(chips)) for seat in sorted(seats))
    return Task(lesson=lesson, wagers=wagers)


def judge(task: Task, facts: Sequence[Fact], cards: Mapping[str, Card]) -> tuple[Remark, ...]:
    """Return what was right and what was not in a coup that is over.

    Args:
        task: what was asked.
        facts: the coup's events, in order.
        cards: the faces that really lay, by place: `player 1`.
    """
    return (*_wagers(task, facts), *_closing(facts), *_OF_LESSON[task.lesson](facts, cards))


def _wagers(task: Task, facts: Sequence[Fact]) -> Iterator[Remark]:
    stood: dict[str, tuple[int, str, int]] = {}
    for fact in facts:
        if fact.type == "wagers_placed":
            for each in fact.data["wagers"]:
                stood[each["id"]] = (each["seat"], each["bet"], each["stake"])
        elif fact.type == "wagers_withdrawn":
            for name in fact.data["wagers"]:
                stood.pop(name, None)
    missing = Counter(task.wagers) - Counter(stood.values())
    more = Counter(stood.values()) - Counter(task.wagers)
    if not missing and not more:
        yield Remark(True, "Every wager is on record as it was laid.")
    for seat, bet, _ in missing:
        yield Remark(False, f"Seat {seat} laid on {bet.title()}: that wager is not on record.")
    for seat, bet, _ in more:
        yield Remark(False, f"Seat {seat} has a wager on {bet.title()} that nobody laid.")


def _closing(facts: Sequence[Fact]) -> Iterator[Remark]:
    by = [fact.data["by"] for fact in facts if fact.type == "betting_closed"]
    if by == ["dealer"]:
        yield Remark(True, "You called no more bets before the first card.")
    elif by:
        yield Remark(False, "The first card closed betting: call no more bets before you draw.")


def _plain(facts: Sequence[Fact], _: Mapping[str, Card]) -> Iterator[Remark]:
    if _has(facts, "coup_voided"):
        yield Remark(False, "Nothing was wrong with this coup, and it was voided.")


def _unread(facts: Sequence[Fact], cards: Mapping[str, Card]) -> Iterator[Remark]:
    entered = [fact.data for fact in facts if fact.type == "card_entered"]
    for each in entered:
        really = cards.get(f"{each['hand']} {each['number']}")
        right = really is not None and each["card"] == really.value
        if right:
            yield Remark(True, f"The unread card was entered as it lay: {each['card']}.")
        else:
            lay = really.value if really else "another card"
            yield Remark(False, f"{each['card']} was entered, and {lay} lay there.")
    if not entered and _has(facts, "card_unread"):
        yield Remark(False, "The card lay open: enter its face, rather than void the coup.")


def _excess(facts: Sequence[Fact], _: Mapping[str, Card]) -> Iterator[Remark]:
    if _has(facts, "excess_card_resolved"):
        yield Remark(True, "The card too many was put on record, and play went on.")
    elif _has(facts, "excess_card_drawn"):
        yield Remark(False, "The card too many was not resolved: say whether it was seen.")


def _dispute(facts: Sequence[Fact], _: Mapping[str, Card]) -> Iterator[Remark]:
    if not _has(facts, "result_disputed"):
        return
    confirmed = any(f.type == "result_confirmed" and f.data["by"] == "person" for f in facts)
    yield (
        Remark(True, "The cards were right, and you confirmed the table's result.")
        if confirmed
        else Remark(False, "The cards were right: confirm the table's result, do not void.")
    )


def _late(facts: Sequence[Fact], _: Mapping[str, Card]) -> Iterator[Remark]:
    closed = next((n for n, fact in enumerate(facts) if fact.type == "betting_closed"), len(facts))
    if any(fact.type in {"wagers_placed", "wager_corrected"} for fact in facts[closed:]):
        yield Remark(False, "The late wager was taken: hand it back.")
    else:
        yield Remark(True, "The late wager was not taken.")


def _has(facts: Sequence[Fact], name: str) -> bool:
    return any(fact.type == name for fact in facts)


_OF_LESSON: Final = {
    "plain": _plain,
    "unread": _unread,
    "excess": _excess,
    "dispute": _dispute,
    "late": _late,
}
