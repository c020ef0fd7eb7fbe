"""Commands about chips as lines of text: `fill F-1 2500x10`, `close 100x150 2500x50`.

`-` is no slip, `_` an empty number; `drop!` counts again with a reason, `correct?` has none.
"""

import re
from typing import Any, Final

import msgspec

from events.commands import Command, Refusal
from events.commands.registry import COMMANDS
from events.types import Pieces
from tests.support.table.coups import World

SIGNED: Final = ("s-1", "d-4")
"""Who signs, unless somebody else is named."""


def _chips(words: list[str]) -> tuple[Pieces, ...]:
    rows = (re.fullmatch(r"(-?\d+)x(-?\d+)", word) for word in words)
    return tuple(Pieces(int(row[1]), int(row[2])) for row in rows if row)


def chip_command(line: str, transaction: str, **more: Any) -> Command:
    """What a line says; `more` fields go before."""
    name, *words = line.split()
    reason = "" if name in {"drop", "correct?"} else "a note stuck to the lid"
    asked: dict[str, Any] = {"transaction": transaction, "signed": SIGNED}
    match name.strip("!?"):
        case "open":
            asked |= {"float_id": words[0], "currency": "AUD", "chips": _chips(words[1:])}
            full = "open_float"
        case "fill" | "credit" as full:
            asked |= {"slip": words[0].replace("_", ""), "chips": _chips(words[1:])}
        case "drop":
            full, box = "count_drop", words[1].replace("_", "")
            asked |= {"float_id": words[0], "box": box, "notes": _chips(words[2:])}
            asked["reason"] = reason
        case "correct":
            full, slip = "correct_chips", words[2].replace("-", "", words[2] == "-")
            asked |= {"float_id": words[0], "move": words[1], "slip": slip}
            asked |= {"chips": _chips(words[3:]), "reason": reason}
        case other:
            full = {"count": "count_chips", "close": "close_float"}[other]
            asked["chips"] = _chips(words)
    return msgspec.convert(msgspec.to_builtins(asked | more), COMMANDS[full])


def played(lines: list[str]) -> World:
    """A table at which the lines were said: `line > +` makes an event, `line > code` none."""
    world = World()
    for number, line in enumerate(lines):
        said, _, outcome = line.partition(" > ")
        before = world.state
        made = world.ask(chip_command(said, f"t-{number}"))
        if outcome == "+":
            assert isinstance(made, list), (line, made)
            assert len(made) == 1
        else:
            assert isinstance(made, Refusal), line
            assert (made.code, bool(made.text)) == (outcome, True), line
            assert world.state == before
    return world
