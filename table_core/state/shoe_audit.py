"""Audits a shoe that has ended: its composition, and any repeat of an earlier order. Pure.

A false shuffle leaves a long run of an earlier shoe's order intact. The audit reports the longest
common run with an upper bound of its probability: honest shuffles share runs of two or three cards.
"""

from collections.abc import Iterable
from fractions import Fraction
from typing import Final

from events.cards import Card
from events.types.shoe_life import RepeatedRun, ShoeAudited
from table_core.state.shoe import ShoeState

__all__ = ["audit_shoe", "longest_run"]

_FACES: Final = 52


def audit_shoe(shoe: ShoeState, earlier: Iterable[tuple[str, str]]) -> ShoeAudited:
    """Return the audit of a shoe that has ended.

    Args:
        shoe: at its end.
        earlier: id and order of earlier shoes.
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
    """Return the longest run of faces in both, the first of equals; None where they share no card.

    A run contains every shorter one, so common lengths are monotone. The longest is found by
    doubling, since it is short in honest shuffles, and then by halving. Each step builds a table of
    the earlier shoe's runs of one length.
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
