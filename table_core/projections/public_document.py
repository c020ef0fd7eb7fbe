"""The projection of the table for screens that anybody may see: the retained `display` document.

It is a part of the `state` document, named field by field: no wagers and their owners, no takings
of the house, no alarms, no reasons that people typed. A field that is not named here is not public.
Pure.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import msgspec

from table_core.kept_results import keep_newest
from table_core.projections.table_document import RulebookView, StateView

__all__ = ["encode_public_view"]

_WHOLE: Final = None  # the field with all that is in it


def _fields(names: str, **inner: Mapping[str, Any]) -> dict[str, Any]:
    return dict.fromkeys(names.split(), _WHOLE) | inner


_RULEBOOK: Final = _fields(
    "id hash title currency decimals table_maximum differential says",
    sign=_fields("game pay_scale lines generated"),
    bets=_fields("id pays minimum maximum step less"),
)
_PUBLIC: Final = _fields(
    "position table catching_up rulebook",
    shoe=_fields(
        "id decks coups cards ended last_coup side_wins",
        roads=_fields("big_road big_eye_boy small_road cockroach_pig bead_plate next"),
    ),
    coup=_fields(
        "id phase wagerless player_total banker_total natural winner",
        cards=_fields("hand number card rule"),
        rules=_fields("hand rule draws"),
    ),
    link=_fields("state locked"),
)


def encode_public_view(document: StateView) -> bytes:
    """Return the public part of the document as JSON."""
    return msgspec.json.encode(
        {**_only(document, _PUBLIC), "rulebook": _encode_rulebook(document.rulebook)}
    )


@keep_newest
def _encode_rulebook(rulebook: RulebookView) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(_only(rulebook, _RULEBOOK)))


def _only(value: Any, allowed: Mapping[str, Any]) -> Any:
    """Return the fields of a struct that are allowed, by their names in JSON."""
    if isinstance(value, tuple):
        return [_only(each, allowed) for each in value]
    attributes, found = _attributes(value.__class__), {}
    for name, inner in allowed.items():
        field = getattr(value, attributes[name])
        found[name] = field if inner is _WHOLE or field is None else _only(field, inner)
    return found


@cache
def _attributes(kind: type[Any]) -> dict[str, str]:
    """Return a struct's attributes by their names in JSON."""
    return dict(zip(kind.__struct_encode_fields__, kind.__struct_fields__, strict=True))
