"""Leaves out of a history what its difference does not need: lines, coups, wagers."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tests.support.money_model.compare import Comparison, Difference
from tests.support.money_model.driver import texts
from tests.support.money_model.steps import Steps

_COUP: Final = re.compile(r"\b(\d+)/(\d+)\b")


def kind_of(found: Difference) -> str:
    """Return what a difference is about, whichever coup it was found in."""
    return found.what.partition(" of ")[0]


def replayed(lines: Sequence[str], game: str) -> Comparison:
    """Play a history that is known and compare after each line.

    Raises:
        Difference: the table and the model disagree.
    """
    comparison = Comparison(Steps(texts(game)))
    for line in lines:
        comparison.take(line)
    comparison.everything()
    return comparison


def shortest(found: Difference, game: str) -> Difference:
    """Return the same difference after the shortest history that was found for it."""
    best, before = found, len(found.lines) + 1
    while len(best.lines) < before:
        before = len(best.lines)
        best = _shorter(best, game)
    return best


def _shorter(best: Difference, game: str) -> Difference:
    for ways in (_without_coups, _without_lines, _with_fewer_wagers):
        tried = True
        while tried:
            tried = False
            for lines in ways(best.lines):
                again = _differs(lines, game, kind_of(best))
                if again is not None:
                    best, tried = again, True
                    break
    return best


def _differs(lines: Sequence[str], game: str, kind: str) -> Difference | None:
    try:
        replayed(lines, game)
    except Difference as found:
        return found if kind_of(found) == kind else None
    except Exception:  # noqa: BLE001 - a line left out can leave the rest without sense
        return None
    return None


def _without_lines(lines: Sequence[str]) -> Iterator[list[str]]:
    size = max(len(lines) // 2, 1)
    while size:
        for at in range(1, len(lines), size):
            yield [*lines[:at], *lines[at + size :]]
        size //= 2


def _without_coups(lines: Sequence[str]) -> Iterator[list[str]]:
    shoe, number, begun = 0, 0, list[tuple[int, int, int]]()
    for at, line in enumerate(lines):
        if line == "load":
            shoe, number = shoe + 1, 0
        elif line in {"open", "free"}:
            number += 1
            begun.append((at, shoe, number))
    ends = [*(at for at, _, _ in begun[1:]), len(lines)]
    for (at, its, gone), end in zip(begun, ends, strict=True):
        left = [line for line in lines[at:end] if line in {"load", "end"}]
        yield [
            _COUP.sub(lambda m: _renamed(m, its, gone), line)  # noqa: B023 - called here
            for line in (*lines[:at], *left, *lines[end:])
            if not re.search(rf"\b{its}/{gone}\b", line)
        ]


def _renamed(name: re.Match[str], shoe: int, gone: int) -> str:
    its, number = int(name[1]), int(name[2])
    return f"{its}/{number - (its == shoe and number > gone)}"


def _with_fewer_wagers(lines: Sequence[str]) -> Iterator[list[str]]:
    for at, line in enumerate(lines):
        word, _, wagers = line.partition(" ")
        each = wagers.split("; ")
        if word == "place" and len(each) > 1:
            for left_out in range(len(each)):
                fewer = "; ".join(each[:left_out] + each[left_out + 1 :])
                yield [*lines[:at], f"place {fewer}", *lines[at + 1 :]]
