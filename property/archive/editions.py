"""Stores editions in the archive: the documents, as bytes, that events cite by hash."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Final, NamedTuple

from psycopg import AsyncConnection

from property.archive.database import translate_archive_errors
from property.hub.subjects import EditionKind

__all__ = ["Edition", "store_editions"]

_STORE: Final = """
INSERT INTO property.edition (hash, kind, name, source) VALUES (%s, %s, %s, %s)
ON CONFLICT (hash, kind) DO NOTHING
"""


class Edition(NamedTuple):
    """An edition to archive.

    Args:
        kind: the kind of document.
        name: the id inside the document.
        source: the document's bytes.
    """

    kind: EditionKind
    name: str
    source: bytes


async def store_editions(
    url: str, connection: AsyncConnection, editions: Sequence[Edition]
) -> None:
    """Store editions; those already in the archive stay.

    Args:
        url: for error messages.
        connection: to the archive.
        editions: to store.

    Raises:
        ArchiveUnavailable: the database does not answer.
    """
    rows = [(sha256(each.source).hexdigest(), *each) for each in editions]
    with translate_archive_errors(url):
        async with connection.transaction(), connection.cursor() as cursor:
            await cursor.executemany(_STORE, rows)
