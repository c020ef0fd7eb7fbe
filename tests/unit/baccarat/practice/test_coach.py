"""What the coach says of a coup: a history a line, and what was right of it."""

import random

import pytest

from baccarat.practice.coach import LESSONS, Fact, Task, draw_task, judge
from events.cards import Card

CHIPS = (100, 500, 2_500)
TASK = ((3, "banker", 2_500), (5, "tie", 500))
CARDS = {"player 1": Card.S9, "banker 2": Card.HK}
FACTS = {
    "placed": Fact(
        "wagers_placed",
        {
            "wagers": [
                {"id": "a", "seat": 3, "bet": "banker", "stake": 2_500},
                {"id": "b", "seat": 5, "bet": "tie", "stake": 500},
            ]
        },
    ),
    "more": Fact("wagers_placed", {"wagers": [{"id": "c", "seat": 1, "bet": "tie", "stake": 1}]}),
    "back": Fact("wagers_withdrawn", {"wagers": ["b"]}),
    "closed": Fact("betting_closed", {"by": "dealer"}),
    "by_card": Fact("betting_closed", {"by": "first_card"}),
    "unread": Fact("card_unread", {"hand": "banker", "number": 2}),
    "entered": Fact("card_entered", {"hand": "banker", "number": 2, "card": "KH"}),
    "misentered": Fact("card_entered", {"hand": "banker", "number": 2, "card": "KS"}),
    "excess": Fact("excess_card_drawn", {}),
    "resolved": Fact("excess_card_resolved", {"seen": True}),
    "disputed": Fact("result_disputed", {}),
    "confirmed": Fact("result_confirmed", {"by": "person"}),
    "void": Fact("coup_voided", {}),
}

# lesson, facts -> the remarks that are right, and the first words of those that are not
ROWS = """
plain   placed closed                        -> 2 |
plain   placed by_card                       -> 1 | The first card closed betting
plain   placed back closed                   -> 1 | Seat 5 laid on Tie
plain   placed more closed                   -> 1 | Seat 1 has a wager
plain   placed closed void                   -> 2 | Nothing was wrong
unread  placed closed unread entered         -> 3 |
unread  placed closed unread misentered      -> 2 | KS was entered
unread  placed closed unread void            -> 2 | The card lay open
excess  placed closed excess resolved        -> 3 |
excess  placed closed excess void            -> 2 | The card too many was not resolved
dispute placed closed disputed confirmed     -> 3 |
dispute placed closed disputed void          -> 2 | The cards were right
late    placed closed                        -> 3 |
late    placed closed more                   -> 1 | Seat 1 has a wager ; The late wager was taken
"""


@pytest.mark.parametrize("row", ROWS.strip().splitlines())
def test_a_coup_is_judged_by_what_the_log_has(row: str) -> None:
    happened, _, expected = row.partition("->")
    lesson, *names = happened.split()
    right, _, wrong = expected.partition("|")
    remarks = judge(Task(lesson=lesson, wagers=TASK), [FACTS[name] for name in names], CARDS)
    assert sum(remark.right for remark in remarks) == int(right)
    said = [remark.text for remark in remarks if not remark.right]
    starts = [text.strip() for text in wrong.split(";") if text.strip()]
    assert len(said) == len(starts)
    assert all(text.startswith(start) for text, start in zip(said, starts, strict=True))


def test_every_other_coup_has_a_lesson_and_each_comes() -> None:
    tasks = [draw_task(random.Random(1), number, CHIPS) for number in range(8)]
    assert [task.lesson for task in tasks[::2]] == ["plain"] * 4
    assert {task.lesson for task in tasks} == LESSONS.keys()
    assert all(1 <= len(task.wagers) <= 4 for task in tasks)
