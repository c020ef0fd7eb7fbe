"""What is left in a shoe: how many copies of each face. Pure.

The file form is a JSON object, a card to its count: `{"9D": 8, "TH": 7}`. A face that is not named
is gone from the shoe.
"""

import json
from typing import Final

from events.cards import Card, parse_card
from events.errors import InputError

__all__ = ["DECKS", "full_shoe", "read_composition"]

DECKS: Final = (4, 6, 8)
"""How many decks a shoe can begin with."""
_MAX_CARD_TEXT: Final = 8  # the longest way to write a card has three characters


def full_shoe(decks: int) -> dict[Card, int]:
    """A shoe of so many decks of 52 from which nothing was dealt."""
    return dict.fromkeys(Card, decks)


def read_composition(name: str, source: bytes, decks: int) -> dict[Card, int]:
    """Read what is left in a shoe.

    Args:
        name: the file's name, for messages.
        source: its bytes.
        decks: how many the shoe began with, and so the most copies of a face.

    Raises:
        InputError: it is not of the form above, or there are more cards than can be; one line.
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
    """An object's members as they stand; a dictionary would lose all but the last of a name."""
