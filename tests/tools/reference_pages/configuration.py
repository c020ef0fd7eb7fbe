"""The page of the configuration: every key of both files, from the types that read them."""

from types import UnionType
from typing import Any, get_args

import msgspec
from msgspec import NODEFAULT, Struct
from msgspec.structs import FieldInfo, fields

from baccarat.config.form import TABLE, TableConfig
from baccarat.config.keys import Form
from baccarat.config.property_form import PROPERTY, PropertyConfig
from tests.tools.reference_pages.markdown import table


def table_keys() -> str:
    """The keys of a table's file, a section a heading."""
    return _sections(TABLE, TableConfig)


def property_keys() -> str:
    """The keys of a property's file."""
    return _sections(PROPERTY, PropertyConfig)


def _sections(form: Form[Any], kind: type[Struct]) -> str:
    by_section: dict[str, list[tuple[str, ...]]] = {}
    for name, key in form.keys.items():
        where, _, last = name.rpartition(".")
        if not key.says:  # [users], which holds names of the site's own
            continue
        row = (f"`{last}`", key.says, _kept(_field(kind, name)), f"`{key.example}`")
        by_section.setdefault(where, []).append(row)
    head = ("key", "meaning", "default", "example")
    return "\n".join(
        (f"### {where}\n\n{form.sections[where]}\n\n" if where else "") + table(head, rows)
        for where, rows in by_section.items()
    )


def _field(kind: type[Struct], name: str) -> FieldInfo:
    first, _, rest = name.partition(".")
    found = next(field for field in fields(kind) if field.name == first)
    if not rest:
        return found
    options = get_args(found.type) if isinstance(found.type, UnionType) else (found.type,)
    inner = next(each for each in options if isinstance(each, type) and issubclass(each, Struct))
    return _field(inner, rest)


def _kept(field: FieldInfo) -> str:
    """Return what holds where a key is absent, and the range of a number."""
    kind: Any = msgspec.inspect.type_info(field.type)
    number = next((each for each in getattr(kind, "types", (kind,)) if hasattr(each, "ge")), None)
    span = f"; {number.ge:,} to {number.le:,}" if number and number.le is not None else ""
    if field.required:
        return f"required{span}"
    if field.default in (NODEFAULT, None, "", (), {}):
        return f"none{span}"
    value = str(field.default).lower() if isinstance(field.default, bool) else field.default
    return (f"`{list(value)}`" if isinstance(value, tuple) else f"`{value}`") + span
