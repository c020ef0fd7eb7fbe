"""A synthetic archive: many tables' shoes of coups of the demo's kind, over any length of time.

One shoe is played on the product's own table; every other is the same shoe with other times, names,
patrons and faces: each card becomes another of the same points, so results and money stay true.
"""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import psycopg

from benchmarks.table.stored import play_shoe
from events.clock import rfc3339
from events.errors import OurBug
from events.log.reader import reading
from events.proof.chain import next_hash, origin_hash
from property.archive.database import connect_archive
from property.archive.store import Archive
from property.hub.replicated_event import Head, ReplicatedEvent

__all__ = ["SyntheticSite", "fill_archive", "played_template", "relation_bytes", "site_events"]

_BEGIN_S: Final = 1_735_689_600  # 2025-01-01
_EVENT_MS: Final = 1_500
_BATCH: Final = 1_000
_BY_POINTS: Final = {
    points: [f"{rank}{suit}" for rank in ranks for suit in "SHDC"]
    for points, ranks in ((0, "TJQK"), (1, "A"), *((n, str(n)) for n in range(2, 10)))
}
_POINTS: Final = {card: points for points, cards in _BY_POINTS.items() for card in cards}
_SIZE: Final = """
SELECT c.relname, pg_total_relation_size(c.oid) FROM pg_class c JOIN pg_namespace n
    ON n.oid = c.relnamespace WHERE n.nspname = 'property' AND c.relkind = 'r'
"""


class SyntheticSite(NamedTuple):
    """What to make.

    Args:
        tables: how many tables.
        shoes: how many shoes each plays.
        days: over how many days.
        patrons: how many patrons there are; 0 for nobody's wagers.
    """

    tables: int
    shoes: int
    days: int
    patrons: int


def played_template(folder: Path, coups: int) -> list[dict[str, Any]]:
    """Play a shoe, and return its events decoded.

    Args:
        folder: for the log.
        coups: how many.
    """
    path = folder / "template.sqlite"
    play_shoe(path, coups, close=False)
    with reading(path) as log:
        return [msgspec.json.decode(stored) for _, stored, _ in log.bare()]


def site_events(
    site: SyntheticSite, template: Sequence[dict[str, Any]], table: int
) -> Iterator[ReplicatedEvent]:
    """Yield the events of one table's log.

    Args:
        site: what to make.
        template: from `played_template`.
        table: its number, from 0.
    """
    origin = f"harbour/t{table}"
    draw = random.Random(table)  # noqa: S311 - faces of a benchmark, the same in every run
    position, head = 0, origin_hash(origin)
    for shoe in range(site.shoes):
        day = shoe * site.days // site.shoes
        began_ms = (_BEGIN_S + day * 86_400 + table * 60 + shoe % 7 * 9_000) * 1_000
        change = _Change(origin, f"{20250101 + shoe}-01", site, draw)
        for number, event in enumerate(template):
            if shoe and event["type"] == "rulebook_adopted":
                continue
            position += 1
            at = rfc3339((began_ms + number * _EVENT_MS) * 1_000_000)
            stored = change.made(event, position, at)
            head = next_hash(head, stored)
            yield ReplicatedEvent(origin, position, stored, head)


class _Change:
    """Turns the template's events into those of another shoe."""

    def __init__(self, origin: str, shoe: str, site: SyntheticSite, draw: random.Random) -> None:
        self._origin = origin
        self._shoe = shoe
        self._draw = draw
        self._faces: dict[str, str] = {}
        self._seats = {
            seat: f"p-{draw.randrange(site.patrons)}" if site.patrons else None
            for seat in range(1, 10)
        }

    def made(self, event: dict[str, Any], position: int, at: str) -> bytes:
        if event["type"] == "betting_opened":
            self._faces = {}
        data = self._changed(event["data"])
        made = event | {"stream": self._origin, "position": position, "at": at, "data": data}
        made["correlation"] = self._text(event["correlation"])
        return msgspec.json.encode(made)

    def _changed(self, value: Any) -> Any:
        if isinstance(value, dict):
            found = {key: self._changed(each) for key, each in value.items()}
            if "stake" in value and "seat" in value and (who := self._seats.get(value["seat"])):
                found["patron"] = who
            return found
        if isinstance(value, list):
            return [self._changed(each) for each in value]
        return self._text(value) if isinstance(value, str) else value

    def _text(self, text: str) -> str:
        if text in _POINTS:
            if text not in self._faces:
                self._faces[text] = self._draw.choice(_BY_POINTS[_POINTS[text]])
            return self._faces[text]
        return text.replace("20261128-01", self._shoe)


async def fill_archive(
    url: str, site: SyntheticSite, template: Sequence[dict[str, Any]], advance: Any
) -> None:
    """Store a site's logs as a worker does.

    Args:
        url: of a migrated archive.
        site: what to make.
        template: from `played_template`.
        advance: told how many events are stored.
    """
    async with await connect_archive(url) as connection:
        archive = Archive(url, connection)
        for table in range(site.tables):
            head, batch = Head.beginning(f"harbour/t{table}"), list[ReplicatedEvent]()
            for event in site_events(site, template, table):
                batch.append(event)
                if len(batch) == _BATCH:
                    head = await _kept(archive, head, batch)
                    advance(_BATCH)
            await _kept(archive, head, batch)
            advance(len(batch))


async def _kept(archive: Archive, head: Head, batch: list[ReplicatedEvent]) -> Head:
    if not batch:
        return head
    plan, _ = await archive.keep({batch[0].origin: head}, batch, ())
    if plan.faults:
        raise OurBug(f"a synthetic log has a fault: {plan.faults}")
    head = batch[-1].head
    batch.clear()
    return head


def relation_bytes(url: str) -> dict[str, int]:
    """Return the bytes of each SQL table of the archive, with its indexes."""
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("VACUUM ANALYZE")
        return dict(db.execute(_SIZE).fetchall())
