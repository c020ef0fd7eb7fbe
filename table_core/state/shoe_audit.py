"""The audit of a shoe that has ended: what it held, and whether its order repeats an earlier one.

A false shuffle leaves a long run of an earlier shoe's order intact. The longest run in common is
reported with an upper bound of its chance: honest shuffles share runs of two or three cards.
"""

from collections.abc import Iterable
from fractions import Fraction
from typing import Final

from events.cards import Card
from events.types.shoe_life import RepeatedRun, ShoeAudited
from table_core.state.shoe import ShoeView

__all__ = ["audit_shoe", "longest_run"]

_FACES: Final = 52


def audit_shoe(shoe: ShoeView, earlier: Iterable[tuple[str, str]]) -> ShoeAudited:
    """What the end of `shoe` says.

    Args:
        shoe: as it ended.
        earlier: id and order of shoes before it.
    """
    faces = _faces(shoe.order)
    left = dict.fromkeys(Card, shoe.decks)
    for face in faces:
        left[Card(face)] -= 1
    runs = [run for name, order in earlier if (run := longest_run(faces, name, _faces(order)))]
    return ShoeAudited(
        shoe=shoe.id,
        decks=shoe.decks,
        seen=shoe.cards,
        known=len(faces),
        burned=shoe.burned + (shoe.exposed is not None) + shoe.discarded,
        carried=shoe.carried,
        coups=shoe.coups,
        voids=shoe.voids,
        left=left,
        repeated=max(runs, key=lambda run: run.length, default=None),
    )


def longest_run(faces: list[str], name: str, earlier: list[str]) -> RepeatedRun | None:
    """The longest run of faces in both, the first of equals; None when they share no card.

    The lengths of common runs are monotone (a run holds every shorter one), so the longest is
    found by doubling, since in honest shuffles it is short, and then by halving, with a table of
    the earlier shoe's runs of one length at a time.
    """
    longest, found = min(len(faces), len(earlier)), None
    length = 1
    while length <= longest and (places := _common(faces, earlier, length)) is not None:
        length, found = 2 * length, (length, *places)
    shortest, longest = length // 2 + 1, min(length - 1, longest)
    while shortest <= longest:
        length = (shortest + longest) // 2
        places = _common(faces, earlier, length)
        if places is None:
            longest = length - 1
        else:
            shortest, found = length + 1, (length, *places)
    if found is None:
        return None
    length, start, earlier_start = found
    pairs = (len(faces) - length + 1) * (len(earlier) - length + 1)
    chance = min(Fraction(1), Fraction(pairs, _FACES**length))
    return RepeatedRun(
        earlier=name,
        length=length,
        start=start,
        earlier_start=earlier_start,
        chance=f"{chance.numerator}/{chance.denominator}",
    )


def _common(faces: list[str], earlier: list[str], length: int) -> tuple[int, int] | None:
    places: dict[str, int] = {}
    for at in range(len(earlier) - length + 1):
        places.setdefault("".join(earlier[at : at + length]), at)
    for at in range(len(faces) - length + 1):
        there = places.get("".join(faces[at : at + length]))
        if there is not None:
            return at, there
    return None


def _faces(order: str) -> list[str]:
    return [order[at : at + 2] for at in range(0, len(order), 2)]
