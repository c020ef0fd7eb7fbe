"""The editions in the archive: what events cite by its hash, as bytes, beside the events."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Final, NamedTuple

from psycopg import AsyncConnection

from property.archive.database import explained
from property.hub.subjects import EditionKind

__all__ = ["Edition", "store_editions"]

_STORE: Final = """
INSERT INTO property.edition (hash, kind, name, source) VALUES (%s, %s, %s, %s)
ON CONFLICT (hash, kind) DO NOTHING
"""


class Edition(NamedTuple):
    """An edition as it is archived.

    Args:
        kind: what it is.
        name: the id that it calls itself.
        source: its bytes.
    """

    kind: EditionKind
    name: str
    source: bytes


async def store_editions(
    url: str, connection: AsyncConnection, editions: Sequence[Edition]
) -> None:
    """Store editions; what is there already stays.

    Args:
        url: for messages.
        connection: to the archive.
        editions: which.

    Raises:
        ArchiveUnavailable: the database does not answer.
    """
    rows = [(sha256(each.source).hexdigest(), *each) for each in editions]
    with explained(url):
        async with connection.transaction(), connection.cursor() as cursor:
            await cursor.executemany(_STORE, rows)
