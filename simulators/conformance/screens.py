"""A display under test: what its screen must show of a document. Pure."""

from typing import Any, Final

from msgspec import Struct

from events.errors import InputError, MalformedJson
from events.json_form import decode_json, decode_json_once

__all__ = ["Screen", "read_screen", "right_screen", "screen_difference"]


class Screen(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a display shows.

    Args:
        live: whether it presents the table as live; if not, nothing else counts.
        position: of the document that it shows.
        coup: the coup's id, or None.
        player: Player's cards in dealing order, null for a face that nobody has seen.
        banker: Banker's cards.
        player_total: Player's points, or None.
        banker_total: Banker's points, or None.
        winner: `player`, `banker` or `tie`, once there is one.
        beads: the bead plate.
        sign: the keys of the sign's lines.
        catching_up: whether it says that the table still reads what the shoe reported.
    """

    live: bool
    position: int = 0
    coup: str | None = None
    player: tuple[str | None, ...] = ()
    banker: tuple[str | None, ...] = ()
    player_total: int | None = None
    banker_total: int | None = None
    winner: str | None = None
    beads: tuple[str, ...] = ()
    sign: tuple[str, ...] = ()
    catching_up: bool = False


_FIELDS: Final = Screen.__struct_fields__[1:]


def read_screen(text: bytes) -> Screen:
    """Read what a display shows.

    Raises:
        InputError: it is no screen; names the fault.
    """
    try:
        return decode_json_once(text, Screen)
    except MalformedJson as error:
        raise InputError(f"the screen is not read: {error}") from error


def right_screen(document: bytes) -> Screen:
    """Return what a display must show of a `display` document while it is live."""
    said = decode_json(document, dict[str, Any])
    shoe, coup = said.get("shoe") or {}, said.get("coup") or {}
    cards: dict[str, list[str | None]] = {"player": [], "banker": []}
    for card in sorted(coup.get("cards", ()), key=lambda each: each["number"]):
        cards[card["hand"]].append(card["card"])
    return Screen(
        live=True,
        position=said["position"],
        coup=coup.get("id"),
        player=tuple(cards["player"]),
        banker=tuple(cards["banker"]),
        player_total=coup.get("player_total"),
        banker_total=coup.get("banker_total"),
        winner=coup.get("winner"),
        beads=tuple(shoe["roads"]["bead_plate"]) if shoe else (),
        sign=tuple(line["key"] for line in said["rulebook"]["says"]),
        catching_up=said["catching_up"],
    )


def screen_difference(right: Screen, theirs: Screen | None) -> str | None:
    """Return the first difference in a line, or None."""
    if theirs is None:
        return "it never wrote what it shows"
    if theirs.live != right.live:
        return f"its screen is {'live' if theirs.live else 'not live'}"
    for name in _FIELDS if right.live else ():
        is_, ought = getattr(theirs, name), getattr(right, name)
        if is_ != ought:
            return f"it shows {name} {_json(is_)}, right is {_json(ought)}"
    return None


def _json(value: object) -> str:
    return str(list(value)) if isinstance(value, tuple) else repr(value)
