"""`make reference`: write what is derived: of the documents, and the counts of full shoes.

Between `<!-- made: NAME -->` and `<!-- made: end -->` a document holds a table that is made here;
docs/reference/schema is what `baccarat schema` prints, and `table_core/odds/full_shoes.py` what is
counted. Tests compare them with what would be made now.
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, Struct
from msgspec.structs import FieldInfo, fields

from baccarat.cli.schema import ASYNCAPI_FILE, BUNDLE_FILE, document_text
from baccarat.contract.asyncapi import document
from baccarat.contract.schemas import bundle, summary_of
from baccarat.site.identities import identities_of
from events.commands.base import Command
from events.commands.registry import DELEGATE, ROLES, ROWS
from events.commands.text_lengths import COMMAND_LENGTHS
from events.mqtt.topics import Topics
from table_core.odds.house_edge import count_categories
from table_core.rules.rulebook_file import DECKS
from table_core.rules.wagers import BET_KINDS
from tests.house.sources import ROOT

__all__ = ["command_table", "full_shoe_rows", "length_table", "made_again", "role_table"]

_BLOCK: Final = re.compile(r"(<!-- made: (\w+) -->\n).*?(<!-- made: end -->)", re.DOTALL)
_SHARED: Final = {field.name for field in fields(Command)}
_MOST_CHOICES: Final = 8


def command_table() -> str:
    """The commands: what each does, its fields, and the roles that may ask for it."""
    rows = [
        (f"`{row.name}`", summary_of(row.type), _fields(row.type), _roles(row.roles))
        for row in ROWS
    ]
    return _table(("command", "does", "fields", "roles"), rows)


def role_table() -> str:
    """What each role may ask for that has a topic to ask on and speaks for itself."""
    rows = [
        (f"`{role}`", ", ".join(f"`{row.name}`" for row in ROWS if role in row.roles))
        for role in sorted(ROLES - {DELEGATE})
        if _asks(role)
    ]
    return _table(("role", "may ask for"), rows)


def length_table() -> str:
    """The most characters of each field of a command that holds free text."""
    lengths = COMMAND_LENGTHS
    rows = [(str(most), fields) for most, fields in _by_length(lengths.by_field)]
    return _table(("most characters", "fields"), [*rows, (str(lengths.other), "every other")])


def _by_length(bounds: Mapping[str, int]) -> Iterator[tuple[int, str]]:
    for most in sorted(set(bounds.values())):
        names = sorted(name for name, bound in bounds.items() if bound == most)
        yield most, ", ".join(f"`{name}`" for name in names)


def _asks(role: str) -> bool:
    logins = identities_of(Topics("site", "table"), {"somebody": (role,)})
    return any("/request/somebody/" in topic for login in logins for topic in login.says)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(cells)} |\n".replace("|  |", "| |") for cells in (head, *rows)]
    return "".join([lines[0], f"|{'---|' * len(head)}\n", *lines[1:]])


def _roles(roles: frozenset[str]) -> str:
    return "every role" if roles == ROLES else ", ".join(sorted(roles))


def _fields(kind: type[Struct]) -> str:
    """The fields that must be said, then those that may be left out."""
    own = [field for field in fields(kind) if field.name not in _SHARED]
    hints = get_type_hints(kind)
    said = [_field(field, hints[field.name]) for field in own if field.required]
    left = [_field(field, hints[field.name]) for field in own if not field.required]
    return "; ".join(
        part for part in (", ".join(said), "optional " + ", ".join(left) if left else "") if part
    )


def _field(field: FieldInfo, hint: Any) -> str:
    default = () if field.default in (NODEFAULT, None, "", (), False) else (field.default,)
    choices = _choices(hint)
    if choices:
        told = ", ".join(f"`{each}`" for each in dict.fromkeys((*default, *choices)))
        return f"{field.encode_name} ({told})"
    inner = next((each for each in _parts(hint) if _is_struct(each)), None)
    items = "list of " if any(get_origin(each) is tuple for each in _parts(hint)) else ""
    if inner is not None:
        return f"{field.encode_name} ({items}{_fields(inner)})"
    if items:
        return f"{field.encode_name} (list)"
    return f"{field.encode_name} ({default[0]})" if default else field.encode_name


def _parts(hint: Any) -> Iterator[Any]:
    yield hint
    if get_origin(hint) in (Union, UnionType, tuple):
        for each in get_args(hint):
            yield from _parts(each)


def _is_struct(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Struct)


def _choices(hint: Any) -> tuple[str, ...]:
    found: list[str] = []
    for each in _parts(hint):
        if get_origin(each) is Literal:
            found += map(str, get_args(each))
        elif isinstance(each, type) and issubclass(each, Enum):
            found += [str(member.value) for member in each]
    return tuple(found) if len(found) <= _MOST_CHOICES else ()


_MADE: Final[dict[str, Callable[[], str]]] = {
    "commands": command_table,
    "lengths": length_table,
    "roles": role_table,
}


def made_again(text: str) -> str:
    """A document with each made block as it would be made now."""
    return _BLOCK.sub(lambda block: f"{block[1]}{_MADE[block[2]]()}{block[3]}", text)


def full_shoe_rows() -> str:
    """The rows of `table_core.odds.full_shoes`, counted."""
    rows = []
    for bet, kind in BET_KINDS.items():
        for index, variant in enumerate(kind.judges):
            name = f"{bet}:{variant}" if index else bet
            found = [count_categories(bet, variant, decks) for decks in DECKS]
            for categories in sorted(set().union(*found)):
                deals = " ".join(str(each[categories]) for each in found)
                rows.append(f"{name} {'+'.join(categories)} {deals}")
    return "\n".join(rows)


def _main() -> None:
    counts = ROOT / "table_core" / "odds" / "full_shoes.py"
    before = counts.read_text(encoding="utf-8")
    head, _, _ = before.partition('= """\n')
    _, _, tail = before.rpartition('"""')
    _write(counts, f'{head}= """\n{full_shoe_rows()}\n"""{tail}')
    for path in sorted((ROOT / "docs").rglob("*.md")):
        _write(path, made_again(path.read_text(encoding="utf-8")))
    for name, made in ((BUNDLE_FILE, bundle()), (ASYNCAPI_FILE, document())):
        _write(ROOT / "docs/reference/schema" / name, document_text(made))


def _write(path: Path, text: str) -> None:
    if path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"reference: {path.relative_to(ROOT)} written\n")


if __name__ == "__main__":
    _main()
