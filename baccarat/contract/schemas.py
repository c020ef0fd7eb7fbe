"""Generate the JSON Schemas of every message on the bus from the types that read and write them.

The types say which fields exist; `baccarat.contract.rules` says which values they may have.
A message has only named fields, so a schema that is older than a table reports a new field.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from functools import cache
from typing import Any, Final

import msgspec
from msgspec import Struct

from baccarat.contract.rules import FREE_TEXT, MOST, ONE_LINE, RULES, Schema
from baccarat.history.evidence_from_log import CoupProved
from displays.scoreboard.public_view import PublicState
from events.commands import Answer, WagerRequest, shoe
from events.commands.registry import COMMANDS
from events.commands.text_lengths import COMMAND_LENGTHS
from events.mqtt.presence import Status
from events.types import (
    CoupSettled,
    Envelope,
    LinkStatus,
    ShoeAck,
    ShoeEvent,
    TableEvent,
    shoe_reports,
)
from events.types.earlier import UPCASTS
from events.types.registry import KINDS
from table_core.history.queries import CoupsFound
from table_core.process.alarm_publisher import AlarmNotice
from table_core.process.previews import CoupOnRecord, RequestOnRecord
from table_core.process.publishers import SEALED
from table_core.projections.table_document import StateView
from table_core.projections.wager_pages import WagerPage

__all__ = [
    "DIALECT",
    "EVENTS",
    "MESSAGES",
    "REF",
    "bundle",
    "definitions",
    "event_name",
    "known_types",
    "one_message",
    "summary_of",
    "unruled_fields",
]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
REF: Final = "#/$defs/"
# Types that were renamed since: the name and title under which each was first published.
_PUBLISHED: Final[Mapping[type[Struct], tuple[str, str]]] = {
    shoe.CutCard: ("events.commands.CutCard", "CutCard"),
    shoe_reports.CutCardReported: ("events.shoe.CutCard", "CutCard"),
}
_DOCUMENTS: Final[dict[str, type[Struct]]] = {
    "state": StateView,
    "wagers": WagerPage,
    "display": PublicState,
    "shoe.event": ShoeEvent,
    "shoe.ack": ShoeAck,
    "link.shoe": LinkStatus,
    "status": Status,
    "alarm": AlarmNotice,
    "answer": Answer,
}
_SHOWN: Final = (CoupOnRecord, RequestOnRecord, CoupsFound, CoupProved)
# The told form of a coup is that of `baccarat replay --json`, for people to read.
_NARRATIVES: Final[tuple[Schema, ...]] = (
    {
        "description": "`tell_coup`: the coup's story, how it lay at each step, its wagers.",
        "type": "object",
        "required": ["story", "steps", "wagers"],
    },
    {
        "description": "`what_if`: the coup beside what it would have been.",
        "type": "object",
        "required": ["coup", "changes", "happened", "instead", "sequence", "wagers"],
    },
)
_CHECKPOINT: Final[Schema] = {
    "title": "Checkpoint",
    "description": "A signed checkpoint of the log, as text: C2SP tlog-checkpoint.",
    "type": "string",
    "pattern": "^[a-z0-9_-]+/[a-z0-9_-]+\\n(0|[1-9][0-9]{0,15})\\n[A-Za-z0-9+/]{43}=\\n(.+\\n)*\\n"
    "(\u2014 \\S+ [A-Za-z0-9+/]+=*\\n)+$",
    "examples": [
        f"harbour/b7\n20\n{'A' * 43}=\n\n\u2014 harbour/b7 Vm0q3{'A' * 83}=\n",
    ],
}


def event_name(kind: type[TableEvent]) -> str:
    """Return the name of the message that carries events of this type and version."""
    return f"event.{kind.TYPE}.v{kind.VERSION}"


EVENTS: Final = {event_name(kind): kind for kind in (*KINDS, *(upcast.shape for upcast in UPCASTS))}
"""Each type of event in every version, by its message: a log is published as it was stored."""
MESSAGES: Final = (
    "event",
    *EVENTS,
    "settlement",
    *_DOCUMENTS,
    "checkpoint",
    *(f"request.{name}" for name in COMMANDS),
)
"""The definitions that are whole messages."""


def bundle() -> Schema:
    """Return one document with every definition; a message's schema is `#/$defs/<message>`."""
    return {
        "$schema": DIALECT,
        "$id": "urn:baccarat-table:bus:v1",
        "title": "The messages of a baccarat table, version 1 of its topics",
        "description": "Take a message's schema from $defs: "
        + ", ".join(name for name in MESSAGES if not name.startswith("event."))
        + ".",
        "$defs": definitions(),
    }


def known_types() -> Schema:
    """Return each type of event with its versions, and the names of the commands."""
    events: dict[str, list[int]] = {}
    for kind in EVENTS.values():
        events.setdefault(kind.TYPE, []).append(kind.VERSION)
    return {
        "events": {name: sorted(events[name]) for name in sorted(events)},
        "commands": sorted(COMMANDS),
    }


def one_message(name: str) -> Schema:
    """Return the schema of one message with only the definitions that it needs."""
    every = definitions()
    needed: dict[str, Schema] = {}
    waiting = [name]
    while waiting:
        found = waiting.pop()
        if found not in needed:
            needed[found] = every[found]
            waiting += _references(every[found])
    own = needed.pop(name)
    head: Schema = {"$schema": DIALECT, "$id": f"urn:baccarat-table:bus:v1:{name}"}
    return head | own | ({"$defs": dict(sorted(needed.items()))} if needed else {})


def _references(node: object) -> Iterator[str]:
    if isinstance(node, Mapping):
        if isinstance(target := node.get("$ref"), str):
            yield target.removeprefix(REF)
        for value in node.values():
            yield from _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)


@cache
def definitions() -> dict[str, Schema]:
    """Return every definition by name: messages in small letters, types as in the source."""
    types = [Envelope, *EVENTS.values(), *COMMANDS.values(), *_DOCUMENTS.values(), *_SHOWN]
    references, made = _published(
        *msgspec.json.schema_components(types, ref_template=REF + "{name}")
    )
    names = {
        kind: str(ref["$ref"]).removeprefix(REF)
        for kind, ref in zip(types, references, strict=True)
    }
    found = {name: _with_rules(name, schema) for name, schema in made.items()}
    for name in (*(names[kind] for kind in COMMANDS.values()), WagerRequest.__name__):
        its = found[name]["properties"]
        its.update(
            {field: _one_line(schema, COMMAND_LENGTHS.of(field)) for field, schema in its.items()}
        )
    found |= _events(found.pop(names[Envelope]), names)
    found |= {
        message: {"$ref": f"{REF}{names[kind]}"}
        for message, kind in (
            *_DOCUMENTS.items(),
            *((f"request.{name}", kind) for name, kind in COMMANDS.items()),
        )
    }
    found["Answer"]["properties"]["shown"] = _shown(names)
    found["checkpoint"] = deepcopy(_CHECKPOINT)
    return dict(sorted(found.items()))


def _published(
    references: tuple[Schema, ...], made: dict[str, Schema]
) -> tuple[tuple[Schema, ...], dict[str, Schema]]:
    """Give definitions the names that integrators know, even where their types have moved."""
    text = msgspec.json.encode((references, made)).decode()
    for kind, (theirs, title) in _PUBLISHED.items():
        made_title = f'"title":"{kind.__name__}"'
        text = text.replace(f'{REF}{kind.__name__}"', f'{REF}{theirs}"')
        text = text.replace(f'"{kind.__name__}":{{{made_title}', f'"{theirs}":{{"title":"{title}"')
    return msgspec.json.decode(text, type=tuple[tuple[Schema, ...], dict[str, Schema]])


def _events(envelope: Schema, names: Mapping[object, str]) -> dict[str, Schema]:
    """Return the envelope, and a message for each type of event that travels in it."""
    envelope["properties"]["data"] = {"description": "The event; null where it is sealed."}
    del envelope["properties"]["salt"]  # which is stored only
    envelope["properties"]["hash"] = _with_rule("Envelope", "hash", {"type": "string"})
    envelope["required"].append("hash")
    found: dict[str, Schema] = {"Envelope": envelope}
    for message, kind in EVENTS.items():
        sealed = kind.TYPE in SEALED
        data = {"type": "null"} if sealed else {"$ref": f"{REF}{names[kind]}"}
        found[message] = {
            "description": summary_of(kind),
            "allOf": [
                {"$ref": f"{REF}Envelope"},
                {
                    "type": "object",
                    "properties": {
                        "type": {"const": kind.TYPE},
                        "v": {"const": kind.VERSION},
                        "data": data,
                    },
                },
            ],
        }
    found["event"] = {
        "description": "Any event of the log in its envelope.",
        "oneOf": [{"$ref": f"{REF}{message}"} for message in EVENTS],
    }
    found["settlement"] = {"$ref": f"{REF}{event_name(CoupSettled)}"}
    return found


def _shown(names: Mapping[object, str]) -> Schema:
    """Return the schema of an answer's `shown`: a coup on record, or the events of a preview."""
    foreseen = [
        {
            "type": "object",
            "properties": {
                "type": {"const": kind.TYPE},
                "v": {"const": kind.VERSION},
                "data": {"type": "null"}
                if kind.TYPE in SEALED
                else {"$ref": f"{REF}{names[kind]}"},
            },
            "required": ["type", "v", "data"],
            "additionalProperties": False,
        }
        for kind in KINDS
    ]
    preview = {
        "type": "object",
        "properties": {
            "events": {"type": "array", "items": {"oneOf": foreseen}},
            "digest": {
                "description": "of what the command would do; its `previewed` repeats it",
                "type": "string",
                "pattern": "^[0-9a-f]{64}$",
            },
        },
        "required": ["events", "digest"],
        "additionalProperties": False,
    }
    typed = [{"$ref": f"{REF}{names[kind]}"} for kind in (*_SHOWN, StateView)]
    return {
        "description": "What a command that changes nothing asked to see.",
        "anyOf": [*typed, preview, *deepcopy(_NARRATIVES), {"type": "null"}],
    }


def summary_of(kind: type) -> str:
    """Return the first paragraph of a type's docstring, in one line."""
    return _first_paragraph(kind.__doc__ or "")


def _first_paragraph(docstring: str) -> str:
    return " ".join(docstring.partition("\n\n")[0].split())


def _with_rules(name: str, schema: Mapping[str, Any]) -> Schema:
    """Add the rules of its fields to a type's schema, and close it to unnamed fields."""
    done = deepcopy(dict(schema))
    text = str(done.get("description", ""))
    done["description"] = _first_paragraph(text)
    if "properties" not in done:
        return done
    done["additionalProperties"] = False
    said = dict(_arguments(text))
    for field, its in done["properties"].items():
        ruled = _with_rule(name, field, its)
        if field in said and "$ref" not in ruled:
            ruled = {"description": said[field], **ruled}
        done["properties"][field] = ruled
    return done


_ARGUMENT: Final = re.compile(r"^ {8}(\w+): (.*(?:\n {12}.*)*)", re.MULTILINE)


def _arguments(docstring: str) -> Iterator[tuple[str, str]]:
    for found in _ARGUMENT.finditer(docstring):
        yield found[1], " ".join(found[2].split())


def _with_rule(owner: str, field: str, schema: Mapping[str, Any]) -> Schema:
    """Add the field's rule to its schema in each place where it is a bare text or integer."""
    # msgspec emits OpenAPI's keyword: JSON Schema does not know it, and each choice names its own
    # kind.
    schema = {key: value for key, value in schema.items() if key != "discriminator"}
    owner = owner.rpartition(".")[2]
    rule = RULES.get(f"{owner}.{field}", RULES.get(field, {}))
    return _rule_applied(schema, rule)


def _rule_applied(schema: Mapping[str, Any], rule: Schema) -> Schema:
    done = dict(schema)
    for key in ("items", "additionalProperties"):
        if isinstance(its := done.get(key), dict):
            done[key] = _rule_applied(its, rule)
    if isinstance(its := done.get("anyOf"), list):
        done["anyOf"] = [_rule_applied(each, rule) for each in its]
    if "enum" in done:
        return done
    if "type" in done and done["type"] == rule.get("type"):
        return done | deepcopy(rule)
    if done.get("type") == "integer":
        return {"minimum": 0, "maximum": MOST} | done
    return done


def _one_line(schema: Schema, most: int) -> Schema:
    """Limit each text without a pattern to one line, for what people and programs request."""
    if schema.get("type") == "string":
        if schema.keys() & {"enum", "pattern"}:
            return schema
        return {"maxLength": most} | schema | {"pattern": ONE_LINE}
    done = dict(schema)
    if isinstance(its := done.get("items"), dict):
        done["items"] = _one_line(its, most)
    if isinstance(its := done.get("anyOf"), list):
        done["anyOf"] = [_one_line(each, most) for each in its]
    return done


def unruled_fields(found: Mapping[str, Schema] | None = None) -> Iterable[str]:
    """Yield fields with a text that has no rule and is not listed as free; there should be none."""
    for name, schema in (found or definitions()).items():
        for field, its in schema.get("properties", {}).items():
            known = {field, f"{name.rpartition('.')[2]}.{field}"} & (RULES.keys() | FREE_TEXT)
            if not known and any(_bare_texts(its)):
                yield f"{name}.{field}"


def _bare_texts(schema: object) -> Iterator[bool]:
    if isinstance(schema, Mapping):
        if schema.get("type") == "string" and not schema.keys() & {"enum", "pattern"}:
            yield True
        for value in schema.values():
            yield from _bare_texts(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _bare_texts(value)
