"""An example of every message, generated from its schema; by hand where figures must agree."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from baccarat.contract.rules import Schema
from baccarat.contract.schemas import EVENTS, MESSAGES, REF, event_name
from events.cards import Card, Winner
from events.commands import Answer
from events.types import CoupSettled, Settlement, SettlementLine

__all__ = ["samples"]

# A key that any of our maps may have: a schedule's row, a command, a face.
_KEYS: Final = {
    "pays": "win",
    "refusals": "open_betting",
    "left": "9D",
    "faces": "9D",
    "values": "bets",
    "spoken": "the shoe link is down",
}


def samples(definitions: Mapping[str, Schema]) -> dict[str, list[Any]]:
    """Return examples by message; the schema and the product's own reader accept each."""
    made = {name: [_sample(definitions, {"$ref": REF + name})] for name in MESSAGES}
    settled = made[event_name(CoupSettled)][0] | {
        "correlation": _SETTLED.coup,
        "data": _as_json(_SETTLED),
    }
    return made | {
        "event": [sample for name in EVENTS for sample in made[name][:1]][:1],
        event_name(CoupSettled): [settled],
        "settlement": [settled],
        "answer": [_as_json(answer) for answer in _ANSWERS],
    }


def _as_json(message: msgspec.Struct) -> Any:
    return msgspec.json.decode(msgspec.json.encode(message))


def _sample(definitions: Mapping[str, Schema], schema: Schema, field: str = "") -> Any:
    """Return a value that the schema accepts, with all of its fields."""
    if "$ref" in schema:
        return _sample(definitions, definitions[schema["$ref"].removeprefix(REF)], field)
    for key in ("examples", "enum"):
        if key in schema:
            return schema[key][0]
    if "const" in schema:
        return schema["const"]
    if "allOf" in schema:
        parts = [_sample(definitions, part, field) for part in schema["allOf"]]
        return {name: value for part in parts for name, value in part.items()}
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return _sample(definitions, _preferred_choice(schema[key]), field)
    return _plain(definitions, schema, field)


def _plain(definitions: Mapping[str, Schema], schema: Schema, field: str) -> Any:
    kind = schema.get("type")
    if kind == "object" and "properties" in schema:
        return {name: _sample(definitions, its, name) for name, its in schema["properties"].items()}
    if kind == "object":
        return {_KEYS[field]: _sample(definitions, schema["additionalProperties"])}
    if kind == "array":
        return [_sample(definitions, schema["items"], field)]
    return {"string": "as people write", "boolean": False, "integer": schema.get("minimum")}.get(
        str(kind)
    )


def _preferred_choice(choices: list[Schema]) -> Schema:
    """Return a drawn card among a shoe's reports, else the first choice that is not null."""
    drawn = [choice for choice in choices if choice.get("$ref", "").endswith("/CardDrawn")]
    return (drawn or [choice for choice in choices if choice.get("type") != "null"])[0]


_ANSWERS: Final = (
    Answer(transaction="w-901", result="accepted", position=7),
    Answer(
        transaction="w-902",
        result="refused",
        code="betting_closed",
        text="no wager in phase dealing",
    ),
)
_SETTLED: Final = CoupSettled(
    coup="20261127-02/1",
    settlement=Settlement(
        settlement_id="b7/20261127-02/1/2/1",
        coup="20261127-02/1",
        phase=2,
        revision=1,
        rulebook="nz-scale-one",
        rulebook_hash="f5924a7ce939a424e2bc7f54cb25ceef36789f6c03a9610e212c02e7c5779290",
        player=(Card.D9, Card.S9),
        banker=(Card.HK, Card.C6),
        player_total=8,
        banker_total=6,
        winner=Winner.PLAYER,
        lines=(
            SettlementLine(
                wager="wagers/w-901/2",
                seat=7,
                bet="player",
                patron="p-58c1",
                result="win",
                category="win",
                odds="1/1",
                stake=10_000,
                winnings=10_000,
                commission=0,
                paid=20_000,
            ),
        ),
        staked=10_000,
        paid=20_000,
        commission=0,
    ),
)
