"""The public projection of the `state` document: decodes and encodes only public fields. Pure.

A display may be older or newer than its table, so it ignores fields that it does not know. It
publishes no field that is not named here: no wagers and their owners, no takings of the house, no
reasons that people typed.
"""

from msgspec import Struct

from events.errors import MalformedJson
from events.json_form import decode_json

__all__ = [
    "PublicBet",
    "PublicCard",
    "PublicCell",
    "PublicCoup",
    "PublicLink",
    "PublicMarks",
    "PublicNext",
    "PublicRoads",
    "PublicRule",
    "PublicRulebook",
    "PublicSentence",
    "PublicShoe",
    "PublicSign",
    "PublicState",
    "read_public",
]


class PublicCard(Struct, frozen=True, kw_only=True):
    """A card at its place in a hand; no face before the table has seen it."""

    hand: str
    number: int
    card: str | None = None
    rule: str | None = None


class PublicRule(Struct, frozen=True, kw_only=True):
    """A row of the draw table that was applied."""

    hand: str
    rule: str
    draws: bool


class PublicCoup(Struct, frozen=True, kw_only=True):
    """The coup in progress, or the last one."""

    id: str
    phase: str
    wagerless: bool = False
    cards: tuple[PublicCard, ...] = ()
    player_total: int | None = None
    banker_total: int | None = None
    natural: bool = False
    winner: str | None = None
    rules: tuple[PublicRule, ...] = ()


class PublicCell(Struct, frozen=True, kw_only=True):
    """A cell of the big road, with the ties that fell on it."""

    winner: str
    ties: int = 0


class PublicMarks(Struct, frozen=True, kw_only=True):
    """The mark that one more win would add to each derived road; empty for none."""

    big_eye_boy: str = ""
    small_road: str = ""
    cockroach_pig: str = ""


class PublicNext(Struct, frozen=True, kw_only=True):
    """The marks that a win of either side would add now."""

    banker: PublicMarks = PublicMarks()
    player: PublicMarks = PublicMarks()


class PublicRoads(Struct, frozen=True, kw_only=True):
    """All roads as logical columns; the page lays out the grid."""

    big_road: tuple[tuple[PublicCell, ...], ...] = ()
    big_eye_boy: str = ""
    small_road: str = ""
    cockroach_pig: str = ""
    bead_plate: tuple[str, ...] = ()
    next: PublicNext = PublicNext()


class PublicShoe(Struct, frozen=True, kw_only=True):
    """The shoe on the table."""

    id: str
    decks: int
    coups: int
    cards: int
    ended: bool = False
    last_coup: int | None = None
    roads: PublicRoads = PublicRoads()
    side_wins: tuple[tuple[str, ...], ...] = ()


class PublicLink(Struct, frozen=True, kw_only=True):
    """The state of the link to the shoe."""

    state: str = ""
    locked: bool = False


class PublicSign(Struct, frozen=True, kw_only=True):
    """The texts that a sign must show."""

    game: str = ""
    pay_scale: str | None = None
    lines: tuple[str, ...] = ()
    generated: bool = False


class PublicSentence(Struct, frozen=True):
    """A sentence in no language: the key of its words, and what stands in it."""

    key: str
    values: dict[str, str | int | tuple[str, ...]] = {}


class PublicBet(Struct, frozen=True, kw_only=True):
    """A bet: its odds to one, the commission on it in per cent, its limits in minor units."""

    id: str
    pays: dict[str, str]
    minimum: int
    maximum: int | None = None
    step: int = 1
    less: str | None = None


class PublicRulebook(Struct, frozen=True, kw_only=True):
    """The rules in force, and the limits of all stakes of a coup, in minor units."""

    id: str
    hash: str = ""
    title: str = ""
    currency: str = ""
    decimals: int = 2
    sign: PublicSign = PublicSign()
    bets: tuple[PublicBet, ...] = ()
    table_maximum: int | None = None
    differential: int | None = None
    says: tuple[PublicSentence, ...] = ()


class PublicState(Struct, frozen=True, kw_only=True):
    """The table's public state at `position`."""

    position: int
    table: str
    rulebook: PublicRulebook
    shoe: PublicShoe | None = None
    coup: PublicCoup | None = None
    link: PublicLink = PublicLink()
    catching_up: bool = False


def read_public(payload: bytes) -> PublicState | None:
    """Return the public part of a `state` message, or None if it is invalid or empty."""
    try:
        return decode_json(payload, PublicState)
    except MalformedJson:
        return None
