"""Cards, places, money and people in words, for timelines and pages that strangers read. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from events.cards import Card, Hand, total
from events.money import Currency
from events.types.table import DrawRule, TableEvent
from table_core.replay.coup_events import Moment
from table_core.rules.draw import NATURAL

__all__ = [
    "DRAW_WORDS",
    "EventWords",
    "Tone",
    "WordsOf",
    "amount",
    "card_name",
    "decided",
    "exact_amount",
    "explain",
    "face",
    "faces",
    "hand_name",
    "list_fields",
    "place_name",
    "plain_words",
    "who",
]

Tone = Literal["plain", "card", "money", "trouble", "decision"]
"""The subject of a line: in `trouble` something went wrong, in a `decision` a person decided."""


class EventWords(Struct, frozen=True):
    """An event in words.

    Args:
        says: the event as a sentence.
        details: further lines.
        tone: its subject.
    """

    says: str
    details: tuple[str, ...] = ()
    tone: Tone = "plain"


WordsOf = Callable[[Any, Moment, Currency], EventWords]
"""Makes the words of one type of event from the event, the moment around it, and the currency."""


def plain_words(says: Callable[[Any], str], tone: Tone = "plain") -> WordsOf:
    """Return a function for an event that one sentence describes completely."""
    return lambda event, _, __: EventWords(says(event), (), tone)


def decided(says: Callable[[Any], str]) -> WordsOf:
    """Return a function for a person's decision: one sentence, and the reason."""
    return lambda event, _, __: EventWords(says(event), (f"reason: {event.reason}",), "decision")


def list_fields(event: TableEvent, _: Moment, __: Currency) -> EventWords:
    """Return the words of an event that has no function of its own: its name and all its fields."""
    details = tuple(
        f"{name.replace('_', ' ')}: {msgspec.to_builtins(getattr(event, name))}"
        for name in event.__struct_fields__
    )
    return EventWords(f"{event.TYPE.replace('_', ' ').capitalize()}.", details)


_SUITS: Final = {"S": "♠", "H": "♥", "D": "♦", "C": "♣"}
_SUIT_NAMES: Final = {"S": "spades", "H": "hearts", "D": "diamonds", "C": "clubs"}
_RANK_NAMES: Final = {
    "A": "ace", "2": "two", "3": "three", "4": "four", "5": "five", "6": "six", "7": "seven",
    "8": "eight", "9": "nine", "T": "ten", "J": "jack", "Q": "queen", "K": "king",
}  # fmt: skip
_ORDINALS: Final = {1: "first", 2: "second", 3: "third"}
_FINE: Final = 4  # extra decimals of an amount that is shown before it is rounded
_OWN: Final = {"shoe": "the shoe", "core": "the table"}


def face(card: Card | None) -> str:
    """Return a face as it is printed, `10♦`; a card without one is face down."""
    if card is None:
        return "a card face down"
    return f"{'10' if card.rank == 'T' else card.rank}{_SUITS[card.suit]}"


def card_name(card: Card) -> str:
    """Return a card's spoken name: `ten of diamonds`."""
    return f"{_RANK_NAMES.get(card.rank, card.rank)} of {_SUIT_NAMES[card.suit]}"


def faces(cards: Iterable[Card | None]) -> str:
    """Return a row of cards; `-` where there is none."""
    return " ".join("??" if card is None else face(card) for card in cards) or "-"


def hand_name(hand: Hand) -> str:
    """Return `Player` or `Banker`."""
    return hand.value.capitalize()


def place_name(hand: Hand, number: int) -> str:
    """Return the name of a place: `Player's first card`."""
    return f"{hand_name(hand)}'s {_ORDINALS.get(number, str(number))} card"


def amount(minor: int, currency: Currency) -> str:
    """Return minor units as people write them: 123456 AUD is `1,234.56`, 500 JPY is `500`."""
    decimals = currency.decimals
    sign, (whole, part) = "-" if minor < 0 else "", divmod(abs(minor), 10**decimals)
    return f"{sign}{whole:,}.{part:0{decimals}}" if decimals else f"{sign}{whole:,}"


def exact_amount(numerator: int, denominator: int, currency: Currency) -> str:
    """Return an amount before rounding, with four decimals more than the currency has."""
    if numerator % denominator == 0:
        return amount(numerator // denominator, currency)
    decimals = currency.decimals + _FINE
    whole, part = divmod(numerator * 10**_FINE // denominator, 10**decimals)
    return f"{whole:,}.{part:0{decimals}}".rstrip("0")


def who(actor: str) -> str:
    """Return the name of an envelope's actor: `the shoe`, `dealer`, `d-17 (through pit)`."""
    user, through, person = actor.partition(":")
    return f"{person} (through {user})" if through else _OWN.get(actor, actor)


_TWO: Final = 2
_INITIAL: Final = "initial"
_NATURAL: Final = "natural"
DRAW_WORDS: Final = {
    "initial": "two cards to each hand",
    "natural": "a natural: no more cards",
    "player_0_5_draws": "Player draws on 0 to 5",
    "player_6_7_stands": "Player stands on 6 and 7",
    "banker_player_stood_0_5_draws": "Player stood: Banker draws on 0 to 5",
    "banker_player_stood_6_7_stands": "Player stood: Banker stands on 6 and 7",
    "banker_0_2_draws": "Banker draws on 0 to 2",
    "banker_3_draws_unless_8": "Banker 3 draws, Player's third is no 8",
    "banker_3_stands_on_8": "Banker 3 stands, Player's third is an 8",
    "banker_4_draws_on_2_7": "Banker 4 draws, Player's third is 2 to 7",
    "banker_4_stands_on_0_1_8_9": "Banker 4 stands, Player's third is 0, 1, 8 or 9",
    "banker_5_draws_on_4_7": "Banker 5 draws, Player's third is 4 to 7",
    "banker_5_stands_on_0_3_8_9": "Banker 5 stands, Player's third is 0 to 3, 8 or 9",
    "banker_6_draws_on_6_7": "Banker 6 draws, Player's third is 6 or 7",
    "banker_6_stands_on_0_5_8_9": "Banker 6 stands, Player's third is 0 to 5, 8 or 9",
    "banker_7_stands": "Banker stands on 7",
}


def explain(
    rules: Iterable[DrawRule], player: Sequence[Card], banker: Sequence[Card]
) -> tuple[str, ...]:
    """Return why each hand drew a third card or did not: the totals, and the row they select.

    Args:
        rules: as they were applied; those of the first four cards are left out.
        player: Player's cards.
        banker: Banker's.
    """
    hands = {Hand.PLAYER: player, Hand.BANKER: banker}
    naturals = [
        f"{hand.value.capitalize()}'s {total(cards[:_TWO])}"
        for hand, cards in hands.items()
        if total(cards[:_TWO]) in NATURAL
    ]
    return tuple(
        f"{rule.hand.value.capitalize()} {'draws' if rule.draws else 'takes no third card'}: "
        + (_natural(naturals) if rule.rule == _NATURAL else _figures(rule, hands, player))
        for rule in rules
        if rule.rule != _INITIAL
    )


def _natural(naturals: Sequence[str]) -> str:
    verb = "is a natural and ends" if len(naturals) == 1 else "are naturals and end"
    return f"{' and '.join(naturals)} on two cards {verb} the deal"


def _figures(rule: DrawRule, hands: Mapping[Hand, Sequence[Card]], player: Sequence[Card]) -> str:
    had = f"{total(hands[rule.hand][:_TWO])} on two cards"
    if rule.hand is Hand.BANKER and len(player) > _TWO:
        had += f", and Player's third card counts {player[_TWO].points}"
    return f"{had}. Rule: {DRAW_WORDS.get(rule.rule, rule.rule)}"
