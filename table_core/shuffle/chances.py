"""Upper bounds of the probability that an honest shuffle shows an order by chance. Pure.

An honest shuffle makes every order of the shoe's cards equally likely. A *group* is a number of
cards in a row that lie in a row in a source too, such as an earlier shoe. The bound is that of
factorial moments. Let `T` be the largest number of groups that share no card, and `r <= T`. Then at
least `C(T, r)` choices of `r` such groups match, so by Markov's inequality

    P(T >= t)  <=  (expected number of matching choices of r groups) / C(t, r).

There are at most `(cards * sources)^r / r!` choices of `r` places together with their places in the
source. To find the probability of one choice, uncover its cards one after the other: each must have
one given face, of which at most `decks` copies remain among the cards that are still covered. Where
the source is an earlier part of the same shoe, its cards are uncovered as well (`uncovered` 2).

The bound holds for the whole shoe. So it holds for every part of it too, and looking at a shoe
again and again while it is played needs no other one.
"""

from fractions import Fraction
from functools import cache
from math import comb
from typing import Final

__all__ = ["FACES", "FALSE_ALARM", "chance_of_groups", "exponent"]

FACES: Final = 52
FALSE_ALARM: Final = Fraction(1, 10_000)
"""The probability of a false alarm in a shoe: a table plays fewer than 10,000 shoes in a year."""
# A bound by more groups at once is hardly better, and takes longer.
_MOST_AT_ONCE: Final = 60


@cache
def chance_of_groups(
    decks: int, groups: int, length: int, *, sources: int, searches: int, uncovered: int = 1
) -> Fraction:
    """Return an upper bound of the probability of so many groups in an honest shuffle.

    Args:
        decks: of the shoe.
        groups: that share no card.
        length: of a group, in cards; all are at least as long.
        sources: the number of places in the source where a group may begin.
        searches: the number of searches made, each of which might find as much (union bound).
        uncovered: the cards that each card of a group uncovers: 2 where the source is in the shoe.
    """
    cards = decks * FACES
    best = expected = Fraction(1)
    for chosen in range(1, min(groups, _MOST_AT_ONCE, (cards - 1) // (uncovered * length)) + 1):
        expected *= Fraction(cards * sources, chosen)
        for before in range((chosen - 1) * length, chosen * length):
            copies = decks - before // FACES if uncovered == 1 else decks
            expected *= Fraction(copies, cards - uncovered * (before + 1) + 1)
        best = min(best, expected / comb(groups, chosen))
    return min(Fraction(1), best * searches)


def exponent(chance: Fraction) -> int:
    """Return the largest `n` for which the chance is at most 1 in ten to the power of `n`."""
    return len(str(chance.denominator // chance.numerator)) - 1
