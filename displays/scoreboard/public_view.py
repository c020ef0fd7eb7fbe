"""What of the `state` document the public may see: read tolerantly, written anew. Pure.

A display is older or newer than the table that it shows, so fields that it does not know are
passed over. What is not named here leaves the building for nobody: wagers and who placed them, the
house's takings, reasons that people typed.
"""

from typing import Final

import msgspec
from msgspec import Struct

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
    "PublicShoe",
    "PublicSign",
    "PublicState",
    "encode_public",
    "read_public",
]


class PublicCard(Struct, frozen=True, kw_only=True):
    """A card at its place; no face while the table has not seen it."""

    hand: str
    number: int
    card: str | None = None
    rule: str | None = None


class PublicRule(Struct, frozen=True, kw_only=True):
    """A row of the draw table as it was applied."""

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
    """What one more win would add to each derived road; empty where nothing."""

    big_eye_boy: str = ""
    small_road: str = ""
    cockroach_pig: str = ""


class PublicNext(Struct, frozen=True, kw_only=True):
    """What a win of either side now would add."""

    banker: PublicMarks = PublicMarks()
    player: PublicMarks = PublicMarks()


class PublicRoads(Struct, frozen=True, kw_only=True):
    """All roads as logical columns: the grid is the page's."""

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


class PublicLink(Struct, frozen=True, kw_only=True):
    """Whether the shoe can be heard."""

    state: str = ""
    locked: bool = False


class PublicSign(Struct, frozen=True, kw_only=True):
    """The texts that a sign must show."""

    game: str = ""
    pay_scale: str | None = None
    lines: tuple[str, ...] = ()


class PublicBet(Struct, frozen=True, kw_only=True):
    """A bet: what it pays to one, and its limits in minor units."""

    id: str
    pays: dict[str, str]
    minimum: int
    maximum: int | None = None
    step: int = 1


class PublicRulebook(Struct, frozen=True, kw_only=True):
    """The rules in force, and what limits all stakes of a coup, minor units."""

    id: str
    title: str = ""
    currency: str = ""
    sign: PublicSign = PublicSign()
    bets: tuple[PublicBet, ...] = ()
    table_maximum: int | None = None
    differential: int | None = None


class PublicState(Struct, frozen=True, kw_only=True):
    """The table at `position` as anybody in the room may see it."""

    position: int
    table: str
    rulebook: PublicRulebook
    shoe: PublicShoe | None = None
    coup: PublicCoup | None = None
    link: PublicLink = PublicLink()
    catching_up: bool = False


_decoder: Final = msgspec.json.Decoder(PublicState)
_encoder: Final = msgspec.json.Encoder()


def read_public(payload: bytes) -> PublicState | None:
    """The public part of a `state` message, or None when it holds none (junk, or cleared)."""
    try:
        return _decoder.decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def encode_public(state: PublicState) -> bytes:
    """The document for the page."""
    return _encoder.encode(state)
