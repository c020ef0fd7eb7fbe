"""Archives of older schema versions; before 0006 one kept a row an event, by month."""

from pathlib import Path

import psycopg
from sqlalchemy import create_engine, make_url, text

from events.types import decode_envelope
from property.archive.database import MIGRATIONS
from property.hub.subjects import split_origin
from tests.support.property.logs import carried_in

_EVENT = """
INSERT INTO property.event
    (site, "table", position, type, version, at, actor, bytes, data, hash, month)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
"""


def migrate_to(url: str, version: str) -> None:
    """Make an archive of an older schema version, without events, in an empty database."""
    engine = create_engine(make_url(url).set(drivername="postgresql+psycopg"))
    with engine.begin() as connection:
        connection.execute(text("CREATE SCHEMA property"))
        MIGRATIONS.upgrade(connection, version)
    engine.dispose()


def make_older_archive(url: str, *logs: Path) -> None:
    """Make one of these logs in an empty database."""
    migrate_to(url, "0005")
    with psycopg.connect(url) as db:
        for log in logs:
            for each in carried_in(log):
                made = decode_envelope(each.stored)
                month = f"{made.at[:7]}-01"
                key = (*split_origin(each.origin), each.position)
                db.execute("SELECT property.make_month(%s::date)", (month,))
                db.execute(
                    _EVENT,
                    (*key, made.type, made.v, made.at, made.actor, each.stored,
                     bytes(made.data).decode(), each.hash, month),
                )  # fmt: skip
            db.execute(
                "INSERT INTO property.head VALUES (%s, %s, %s, %s, now(), now())",
                (*split_origin(each.origin), each.position, each.hash),
            )
