"""Cards, places, money and people in words, for timelines and pages that strangers read. Pure.

The words are English. A text made of `Phrase`s can be said in another language: `spoken` tells how
it was put together.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from string import Formatter
from typing import Any, Final, Literal, Self

import msgspec
from msgspec import Struct, structs

from events.cards import Card, Hand, total
from events.money import Currency
from events.types import DrawRule, TableEvent
from table_core.replay.coup_events import Moment
from table_core.rules.draw import NATURAL

__all__ = [
    "DRAW_WORDS",
    "EventWords",
    "Phrase",
    "Spoken",
    "Tone",
    "WordsOf",
    "amount",
    "card_name",
    "decided",
    "draw_rule",
    "exact_amount",
    "explain",
    "face",
    "faces",
    "hand_name",
    "list_fields",
    "place_name",
    "plain_words",
    "reason",
    "spoken",
    "who",
]


class Phrase(str):
    """An English text that remembers its template and the values in it.

    A value is a text, another phrase, or a row of them, which is shown with commas.
    """

    template: str
    values: Mapping[str, object]
    __slots__ = ("template", "values")

    def __new__(cls, template: str, /, **values: object) -> Self:
        """Fill the template."""
        shown = {name: _shown(value) for name, value in values.items()}
        made = super().__new__(cls, template.format(**shown))
        made.template, made.values = template, values
        return made


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


class Spoken(Struct, frozen=True):
    """How a text was put together.

    Args:
        template: in English, with the names of the values in braces.
        values: each a text or a row of texts, which may be templates with values themselves.
    """

    template: str
    values: dict[str, str | tuple[str, ...]] = {}


def spoken(value: Any, into: dict[str, Spoken]) -> Any:
    """Return a copy with plain texts in place of phrases; note each phrase's template by its text.

    Args:
        value: a struct, a tuple, a phrase, or what holds no phrase.
        into: receives the phrases, and those within them.
    """
    if isinstance(value, Phrase):
        values = {name: spoken(each, into) for name, each in value.values.items()}
        into[str(value)] = Spoken(
            value.template,
            {n: v if isinstance(v, tuple) else str(v) for n, v in values.items()},
        )
        return str(value)
    if isinstance(value, tuple):
        return tuple(spoken(each, into) for each in value)
    if isinstance(value, Struct):
        return structs.replace(
            value, **{name: spoken(each, into) for name, each in structs.asdict(value).items()}
        )
    return value


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


def plain_words(says: str | Callable[[Any], str], tone: Tone = "plain") -> WordsOf:
    """Return a function for an event that one sentence describes completely.

    Args:
        says: makes the sentence of the event; or its template, with names of the event's fields.
        tone: of the line.
    """
    return lambda event, _, __: EventWords(_sentence(says, event), (), tone)


def _sentence(says: str | Callable[[Any], str], event: Any) -> str:
    if not isinstance(says, str):
        return says(event)
    names = [name for _, name, _, _ in Formatter().parse(says) if name]
    return Phrase(says, **{name: getattr(event, name) for name in names})


def decided(says: str | Callable[[Any], str]) -> WordsOf:
    """Return a function for a person's decision: one sentence, and the reason."""
    return lambda event, _, __: EventWords(
        _sentence(says, event), (reason(event.reason),), "decision"
    )


def reason(given: str) -> Phrase:
    """Return the line that gives a person's reason."""
    return Phrase("reason: {reason}", reason=given)


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
        return Phrase("a card face down")
    return f"{'10' if card.rank == 'T' else card.rank}{_SUITS[card.suit]}"


def card_name(card: Card) -> str:
    """Return a card's spoken name: `ten of diamonds`."""
    return Phrase(
        f"{{rank}} of {_SUIT_NAMES[card.suit]}", rank=Phrase(_RANK_NAMES.get(card.rank, card.rank))
    )


def faces(cards: Iterable[Card | None]) -> str:
    """Return a row of cards; `-` where there is none."""
    return " ".join("??" if card is None else face(card) for card in cards) or "-"


def hand_name(hand: Hand) -> str:
    """Return `Player` or `Banker`."""
    return Phrase(hand.value.capitalize())


def place_name(hand: Hand, number: int) -> str:
    """Return the name of a place: `Player's first card`."""
    return Phrase(f"{hand_name(hand)}'s {_ORDINALS.get(number, str(number))} card")


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
    if through:
        return Phrase("{person} (through {user})", person=person, user=user)
    return Phrase(_OWN[actor]) if actor in _OWN else actor


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
        (hand, total(cards[:_TWO]))
        for hand, cards in hands.items()
        if total(cards[:_TWO]) in NATURAL
    ]
    return tuple(
        Phrase(
            "{hand} draws: {why}" if rule.draws else "{hand} takes no third card: {why}",
            hand=hand_name(rule.hand),
            why=_natural(naturals) if rule.rule == _NATURAL else _figures(rule, hands, player),
        )
        for rule in rules
        if rule.rule != _INITIAL
    )


def _natural(naturals: Sequence[tuple[Hand, int]]) -> Phrase:
    (hand, points), *both = naturals
    if not both:
        says = "{hand}'s {points} on two cards is a natural and ends the deal"
        return Phrase(says, hand=hand_name(hand), points=points)
    says = "Player's {player} and Banker's {banker} on two cards are naturals and end the deal"
    return Phrase(says, player=points, banker=both[0][1])


def _figures(
    rule: DrawRule, hands: Mapping[Hand, Sequence[Card]], player: Sequence[Card]
) -> Phrase:
    had, row = total(hands[rule.hand][:_TWO]), draw_rule(rule.rule)
    if rule.hand is Hand.BANKER and len(player) > _TWO:
        says = "{had} on two cards, and Player's third card counts {third}. Rule: {rule}"
        return Phrase(says, had=had, third=player[_TWO].points, rule=row)
    return Phrase("{had} on two cards. Rule: {rule}", had=had, rule=row)


def draw_rule(rule: str) -> str:
    """Return a row of the draw table in words; the id of one that has none."""
    return Phrase(DRAW_WORDS[rule]) if rule in DRAW_WORDS else rule
