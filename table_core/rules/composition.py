"""The composition of a shoe: how many copies of each face are left. Pure.

The file is a JSON object that maps a card to its count: `{"9D": 8, "TH": 7}`. The shoe has no copy
left of a face that is not named.
"""

import json
from typing import Final

from events.cards import Card, parse_card
from events.errors import InputError

__all__ = ["DECKS", "full_shoe", "read_composition"]

DECKS: Final = (4, 6, 8)
"""The numbers of decks that a shoe can begin with."""
_MAX_CARD_TEXT: Final = 8  # the longest way to write a card has three characters


def full_shoe(decks: int) -> dict[Card, int]:
    """Return a full shoe of so many decks of 52."""
    return dict.fromkeys(Card, decks)


def read_composition(name: str, source: bytes, decks: int) -> dict[Card, int]:
    """Read the composition of a shoe from a file.

    Args:
        name: the file's name, for messages.
        source: the file's bytes.
        decks: how many the shoe began with, and so the maximum copies of a face.

    Raises:
        InputError: it is not of the form above, or holds too many cards; one line.
    """
    try:
        named = json.loads(source.decode(), object_pairs_hook=_Pairs)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: not a JSON document: {error}") from error
    if not isinstance(named, _Pairs):
        raise InputError(f'{name}: write an object of cards and counts, such as {{"9D": 8}}')
    shoe: dict[Card, int] = {}
    for text, count in named:
        card = _card(name, text)
        if card in shoe:
            raise InputError(f"{name}: {card} is there twice; write each card once")
        if type(count) is not int or not 0 <= count <= decks:
            raise InputError(
                f"{name}: {card}: {count!r:.40} is no count; "
                f"of {decks} decks 0 to {decks} copies can be left"
            )
        shoe[card] = count
    return shoe


def _card(name: str, text: str) -> Card:
    try:
        return parse_card(text if len(text) <= _MAX_CARD_TEXT else f"{text[:_MAX_CARD_TEXT]}...")
    except InputError as error:
        raise InputError(f"{name}: {error}") from error


class _Pairs(list[tuple[str, object]]):
    """The members of a JSON object in order; a dictionary would drop all but the last of a name."""
