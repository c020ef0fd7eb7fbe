"""The projection of the table for screens that anybody may see: the retained `display` document.

It is a part of the `state` document, named field by field: no wagers and their owners, no takings
of the house, no alarms, no reasons that people typed. A field that is not named here is not public.
Pure.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from table_core.projections.table_document import StateView

__all__ = ["encode_public_view"]

_WHOLE: Final = None  # the field with all that is in it


def _fields(names: str, **inner: Mapping[str, Any]) -> dict[str, Any]:
    return dict.fromkeys(names.split(), _WHOLE) | inner


_PUBLIC: Final = _fields(
    "position table catching_up",
    rulebook=_fields(
        "id hash title currency decimals table_maximum differential says",
        sign=_fields("game pay_scale lines generated"),
        bets=_fields("id pays minimum maximum step less"),
    ),
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
        {
            name: _only(msgspec.to_builtins(getattr(document, name)), allowed)
            for name, allowed in _PUBLIC.items()
        }
    )


def _only(value: Any, allowed: Mapping[str, Any] | None) -> Any:
    if allowed is _WHOLE or value is None:
        return value
    if isinstance(value, dict):
        return {key: _only(value[key], inner) for key, inner in allowed.items() if key in value}
    return [_only(each, allowed) for each in value]
