"""Say of each rulebook that a record cites whether anybody but the record vouches for it.

A record cites a rulebook by the hash of its file, and brings the file along. So the record proves
by what rules it was judged, and not that the house has approved them.
"""

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Final

from baccarat.rulebooks.library import source_of
from table_core.rulebooks.shipped import shipped_sources

__all__ = ["known_rulebooks", "rulebook_line"]

_SHIPPED: Final = "shipped"
_GIVEN: Final = "given"


def known_rulebooks(names: Iterable[str] = ()) -> Mapping[str, str]:
    """Return who vouches for each rulebook, by hash: `shipped` with this build, or `given`.

    Args:
        names: files or ids that a person or a configuration gives, as `source_of` takes them.

    Raises:
        InputError: one cannot be read.
    """
    given = {sha256(source_of(name)).hexdigest(): _GIVEN for name in names}
    return given | {sha256(source).hexdigest(): _SHIPPED for source in shipped_sources()}


def rulebook_line(name: str, digest: str, known: Mapping[str, str]) -> str:
    """Return a line for a person about a rulebook that a record cites."""
    who = known.get(digest)
    told = "not known here: compare it with the rulebook that the house approved"
    if who is not None:
        told = "shipped with this build" if who == _SHIPPED else "as given"
    return f"rulebook {name}, SHA-256 {digest}: {told}"
