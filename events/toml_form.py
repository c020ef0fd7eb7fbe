"""Read a TOML file, convert a table of it to its type strictly, and report every mistake.

msgspec stops at the first mistake, so each key is converted by itself, and so is each entry of a
table of codes.
"""

import codecs
import tomllib
from collections.abc import Callable
from functools import cache
from types import UnionType
from typing import Annotated, Any, Final, TypeVar, get_args, get_origin

import msgspec
from msgspec import Struct
from msgspec.structs import FieldInfo

__all__ = ["FileFault", "fields_of", "read_table", "read_tree"]

_T = TypeVar("_T", bound=Struct)
_MOST_TEXT: Final = 300


class FileFault(Struct, frozen=True):
    """A fault of a rulebook or wire profile that can be read.

    Args:
        where: the key in the file, such as `bets.tie.pays.win`; `file` for the whole.
        code: its stable name.
        text: what is wrong, on one line.
        remedy: what would be right, on one line.
    """

    where: str
    code: str
    text: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.where}: {self.text}; {self.remedy}"

    @classmethod
    def of(cls, where: str, code: str, text: str, remedy: str) -> "FileFault":
        """Return a fault whose texts fit on a line, whatever the file holds."""
        return cls(where, code, *(" ".join(each.split())[:_MOST_TEXT] for each in (text, remedy)))


def read_tree(source: bytes) -> dict[str, Any]:
    """Parse a TOML file's bytes into a tree, before anything in the tree is checked.

    Raises:
        ValueError: the bytes are not TOML; says where and why.
    """
    if source.startswith(codecs.BOM_UTF8):
        raise ValueError("it begins with a byte order mark; save it as UTF-8 without one")
    try:
        return tomllib.loads(source.decode())
    except UnicodeDecodeError as error:
        line = source.count(b"\n", 0, error.start) + 1
        raise ValueError(f"line {line} is no UTF-8; save the file as UTF-8") from error
    except RecursionError as error:
        raise ValueError("too many lists or tables within one another") from error


@cache
def fields_of(kind: type[Struct]) -> tuple[FieldInfo, ...]:
    """Return the fields of a type, whose annotations are evaluated once a process."""
    return msgspec.structs.fields(kind)


def read_table(
    kind: type[_T], table: object, where: str, complain: Callable[[str], None]
) -> _T | None:
    """Convert a table to its type.

    Args:
        kind: the type; its fields are the table's keys.
        table: the value in the file.
        where: the table's key, for messages; empty for the whole file.
        complain: called with each mistake.

    Returns:
        The value, or None if there was a mistake.
    """
    if not isinstance(table, dict):
        complain(f"{where}: a table [{where}] belongs here")
        return None
    fields = {field.encode_name: field for field in fields_of(kind)}
    wrong = False
    for key in table:
        if key not in fields:
            complain(f"{_path(where, key)}: no such key; there are {', '.join(fields)}")
            wrong = True
    values: dict[str, Any] = {}
    for key, field in fields.items():
        if key in table:
            found = _read(field.type, table[key], _path(where, key), complain)
            wrong = wrong or found is None
            values[field.name] = found
        elif field.required:
            complain(f"{_path(where, key)} is missing")
            wrong = True
    return None if wrong else kind(**values)


def _read(kind: Any, value: object, where: str, complain: Callable[[str], None]) -> object | None:
    # A section that may be absent is `Section | None`; here it is present.
    for option in get_args(kind) if isinstance(kind, UnionType) else (kind,):
        if isinstance(option, type) and issubclass(option, Struct):
            return read_table(option, value, where, complain)
    plain = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    if get_origin(plain) is dict and isinstance(value, dict):
        return _entries(plain, value, where, complain)
    try:
        read: object = msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        complain(f"{where}: {error}".replace(" - at `$`", ""))
        return None
    return read


def _entries(
    kind: Any, table: dict[str, object], where: str, complain: Callable[[str], None]
) -> dict[object, object] | None:
    """Convert a table with any number of entries; TOML has text keys only."""
    key_kind, value_kind = get_args(kind)
    found: dict[object, object] = {}
    for text, value in table.items():
        read = _read(value_kind, value, _path(where, text), complain)
        try:
            key = msgspec.convert(text, key_kind, strict=False)
        except msgspec.ValidationError:
            complain(f"{_path(where, text)}: the key is to be a number")
            continue
        if read is not None:
            found[key] = read
    return found if len(found) == len(table) else None


def _path(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key
