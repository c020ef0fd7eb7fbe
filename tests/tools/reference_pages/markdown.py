"""Markdown from types: tables, and the fields of a struct with their types and meanings."""

import inspect
import json
import re
from collections.abc import Iterator, Sequence
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, Struct
from msgspec.structs import FieldInfo, fields

_KINDS: Final = 3  # a union of so many is a report, which docs/shoe/profiles.md describes
_CARDS: Final = 52
_PLAIN: Final = {str: "text", int: "integer", bool: "true or false", float: "number"}


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Return a table of Markdown."""
    lines = [f"| {' | '.join(cells)} |\n".replace("|  |", "| |") for cells in (head, *rows)]
    return "".join([lines[0], f"|{'---|' * len(head)}\n", *lines[1:]])


def payload(kind: str, message: object) -> str:
    """Return an example of a message that a test reads."""
    return f"<!-- type: {kind} -->\n```json\n{json.dumps(message, ensure_ascii=False)}\n```\n"


def parts_of(hint: Any) -> Iterator[Any]:
    """Yield a type and the types that it is made of."""
    yield hint
    if get_origin(hint) in (Union, UnionType, tuple):
        for each in get_args(hint):
            yield from parts_of(each)


def choices_of(hint: Any) -> tuple[str, ...]:
    """Return the values that a type lists."""
    found: list[str] = []
    for each in parts_of(hint):
        if get_origin(each) is Literal:
            found += map(str, get_args(each))
        elif isinstance(each, type) and issubclass(each, Enum):
            found += [str(member.value) for member in each]
    return tuple(dict.fromkeys(found))


def structs_in(kind: type[Struct]) -> Iterator[type[Struct]]:
    """Yield the types of the objects that a message holds, without those it does not name."""
    for hint in get_type_hints(kind).values():
        for each in parts_of(hint):
            if isinstance(each, type) and issubclass(each, Struct):
                yield each
                yield from structs_in(each)


def fields_table(kind: type[Struct], *, besides: frozenset[str] = frozenset()) -> str:
    """Return the table of a message's fields; `besides` are described elsewhere."""
    rows = field_rows(kind, besides)
    return table(("field", "type", "meaning"), rows) if rows else ""


def field_rows(kind: type[Struct], besides: frozenset[str]) -> list[tuple[str, ...]]:
    """Return a row for each field: its name, type and default, and meaning."""
    hints = get_type_hints(kind)
    said = _arguments(kind)
    return [
        (f"`{field.encode_name}`", _type(field, hints[field.name]), said.get(field.name, ""))
        for field in fields(kind)
        if field.name not in besides
    ]


def _type(field: FieldInfo, hint: Any) -> str:
    text = _named(hint)
    if field.required:
        return text
    default = field.default
    if default in (NODEFAULT, None, "", (), False):
        return f"{text}, optional"
    return f"{text}, default `{default}`"


def _named(hint: Any) -> str:
    args = [each for each in get_args(hint) if each is not NoneType]
    if get_origin(hint) in (Union, UnionType):
        names = " or ".join(dict.fromkeys(map(_named, args)))
        return names if len(args) < _KINDS else "object"
    if get_origin(hint) in (tuple, dict):
        return f"list of {_named(args[0])}" if get_origin(hint) is tuple else "map"
    if listed := choices_of(hint):
        return "`" + "`, `".join(listed) + "`" if len(listed) < _CARDS else "card"
    if isinstance(hint, type) and issubclass(hint, Struct):
        return f"[{hint.__name__}](#{hint.__name__.lower()})"
    return _PLAIN.get(hint, getattr(hint, "__name__", "object").lower())


def _arguments(kind: type) -> dict[str, str]:
    """Return what a type's docstring says of each field, its parents' included."""
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        name = ""
        _, _, args = (inspect.cleandoc(each.__doc__ or "")).partition("Args:\n")
        for line in args.splitlines():
            if match := re.match(r"^ {4}([\w, `]+): (.*)$", line):
                name = match[1]
                found |= dict.fromkeys(re.findall(r"\w+", name), match[2])
            elif line.startswith("        "):
                for key in re.findall(r"\w+", name):
                    found[key] += f" {line.strip()}"
            else:
                break
    return {name: _sentence(text) for name, text in found.items()}


def _sentence(text: str) -> str:
    return re.sub(r"\bNone\b", "null", text[:1].upper() + text[1:])
