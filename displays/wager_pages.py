"""The wagers of a large coup, put together from the pages that the table sends. Pure."""

from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from events.errors import MalformedJson
from events.json_form import decode_json

__all__ = ["WagerPages"]

_MARK: Final = b'"sums":{'


class _Page(Struct, frozen=True):
    """A page, as far as a display reads it."""

    coup: str
    page: int
    wagers: list[Raw]


class _Sums(Struct, frozen=True):
    """How many pages there are."""

    pages: int = 0


class _Coup(Struct, frozen=True):
    """The coup of a state."""

    id: str
    sums: _Sums | None = None


class _State(Struct, frozen=True):
    """A state, as far as its wagers are concerned."""

    coup: _Coup | None = None


class WagerPages:
    """Keeps the newest of each page; a page that is late is sent again by the table."""

    def __init__(self) -> None:
        self._pages: dict[int, _Page] = {}

    def take(self, payload: bytes) -> bool:
        """Keep a page; return whether it is one."""
        try:
            page = decode_json(payload, _Page)
        except MalformedJson:
            return False
        self._pages[page.page] = page
        return True

    def filled(self, state: bytes) -> bytes:
        """Return a `state` with all wagers of its coup, or as it came if a page is not there."""
        if _MARK not in state:  # as nearly always
            return state
        coup = msgspec.json.decode(state, type=_State).coup
        if coup is None or coup.sums is None:
            return state
        pages = [self._pages.get(number) for number in range(1, coup.sums.pages + 1)]
        wagers = [wager for page in pages if page and page.coup == coup.id for wager in page.wagers]
        if any(page is None or page.coup != coup.id for page in pages):
            return state
        document: dict[str, Any] = msgspec.json.decode(state)
        document["coup"]["wagers"] = wagers
        return msgspec.json.encode(document)
