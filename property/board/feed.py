"""Updates the property board from the archive, by polling a few times a second.

A poll reads the heads, one small row a table, so its cost does not grow with the archive. The row
says at which position the newest event is that the table's picture shows.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from events.clock import Clock
from events.errors import ArchiveError
from events.structured_log import structlog
from property.archive.client import ArchiveClient
from property.archive.readings import read_readings
from property.board.state import CoupRow, PropertyBoard, roads_of
from property.health.verdict import PropertyHealth, judge_property
from property.hub.subjects import split_origin

__all__ = ["BoardUpdater"]

_LOOK_S: Final = 0.05
_AGAIN_S: Final = 1.0
# Shortest time between two pictures of a table: one that catches up settles coups by the hundred.
_PICTURE_US: Final = 500_000
# A board without a successful poll for this long is not live.
_STALE_US: Final = 3_000_000
# Time between two judgements of the parts.
_JUDGE_US: Final = 1_000_000
# The parts without which no event comes.
_CARRIES: Final = frozenset({"database", "worker", "stream"})
# The poll reads the feeds' alarms with the heads; they are as few.
_HEADS: Final = """
SELECT h.site || '/' || h."table", h.position, h.state, h.at, coalesce(s.shown, 0),
    ARRAY(SELECT f.kind FROM property.feed_alarm f
        WHERE f.site = h.site AND f."table" = h."table" AND f.cleared_at IS NULL ORDER BY 1)
FROM property.head h LEFT JOIN property.state s ON s.table_id = h.id
"""
_LIVE: Final = """
SELECT s.document ->> 'shoe', s.document ->> 'link',
    ARRAY(SELECT jsonb_object_keys(coalesce(s.document -> 'alarms', '{}')) ORDER BY 1)
FROM property.head h JOIN property.state s ON s.table_id = h.id
WHERE h.site = %s AND h."table" = %s
"""
_COUPS: Final = """
SELECT c.coup, c.winner, c.void, c.player, c.banker, c.player_total, c.banker_total,
    c.player_pair, c.banker_pair, c.dealer
FROM property.head h JOIN property.state s ON s.table_id = h.id
JOIN property.coup c ON c.table_id = h.id
    AND c.position > coalesce((s.document ->> 'shoe_position')::bigint, 9223372036854775807)
WHERE h.site = %(site)s AND h."table" = %(table)s
ORDER BY c.position
"""

_log: Final = structlog.get_logger()


class BoardUpdater:
    """Keeps a board up to date while `run` runs.

    Args:
        url: the archive's.
        clock: for the board's age.

    Attributes:
        board: the board that it updates.
        health: the property as it was last judged; None before.
    """

    def __init__(self, url: str, clock: Clock) -> None:
        self.board = PropertyBoard()
        self._url = url
        self._clock = clock
        self._polled_us: int | None = None
        self._shown: dict[str, int] = {}
        self._due: set[str] = set()
        self._drawn_us: dict[str, int] = {}
        self._wake: set[Callable[[], None]] = set()
        self._judge_us = 0
        self.health: PropertyHealth | None = None

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake` at every change, until the caller calls the returned function."""
        self._wake.add(wake)
        return lambda: self._wake.discard(wake)

    @property
    def live(self) -> bool:
        """Whether every table's picture is what the table has, as far as anybody can know."""
        return self.reason == ""

    @property
    def reason(self) -> str:
        """Why the board is not live: `archive`, `parts` or `tables`; empty where it is."""
        if self._polled_us is None or self._clock.mono_us() - self._polled_us >= _STALE_US:
            return "archive"
        if self.health is None or any(
            each.kind in _CARRIES and each.grave for each in self.health.findings
        ):
            return "parts"
        return "" if all(each.live for each in self.health.tables.values()) else "tables"

    @property
    def well(self) -> bool:
        """Whether nothing is wrong with any part; the page names what is."""
        return self.live and self.health is not None and self.health.well

    @property
    def change(self) -> int:
        """The number of the board's newest change."""
        return self.board.change

    def news(self, since: int) -> bytes:
        """Return the board's changes after change `since`, as JSON."""
        return self.board.news(since)

    async def run(self) -> None:
        """Update the board for ever; retry while the archive is unavailable."""
        said = ""
        while True:
            try:
                async with await ArchiveClient.open(self._url) as asker:
                    while True:
                        await self.look(asker)
                        await self._judge(asker)
                        said = ""
                        await asyncio.sleep(_LOOK_S)
            except ArchiveError as error:
                if str(error) != said:
                    said = str(error)
                    _log.warning("board.archive_away", reason=said)
                await asyncio.sleep(_AGAIN_S)

    async def look(self, asker: ArchiveClient) -> None:
        """Poll the archive once."""
        before = self.board.change
        found = await asker.rows(_HEADS)
        for table, position, state, at, shown, alarms in found.rows:
            if self._shown.get(table, -1) < shown:
                self._due.add(table)
            self._shown[table] = shown
            pulse = {"position": position, "at": at, "feed": state, "feed_alarms": alarms}
            self.board.pulse(table, pulse)
        for table in tuple(self._due):
            if self._clock.mono_us() >= self._drawn_us.get(table, 0) + _PICTURE_US:
                self._due.discard(table)
                self.board.picture(table, await _picture(asker, table))
                self._drawn_us[table] = self._clock.mono_us()
        self._polled_us = self._clock.mono_us()
        if self.board.change != before:
            for wake in tuple(self._wake):
                wake()

    async def _judge(self, asker: ArchiveClient) -> None:
        """Judge the property's parts now and then."""
        now_us = self._clock.mono_us()
        if now_us < self._judge_us:
            return
        self._judge_us = now_us + _JUDGE_US
        tables, readings = await read_readings(asker)
        self.health = judge_property(tables, readings, self._clock.utc_ns() / 1e9)
        before = self.board.change
        for name, pulse in self.health.tables.items():
            lag = {"lag": pulse.lag_events, "lag_s": round(pulse.lag_s)} if not pulse.live else {}
            way = {"live": pulse.live, "way": pulse.state}
            self.board.way(name, way | lag)
        self.board.findings(
            [each._asdict() for each in self.health.findings if each.kind != "table"]
        )
        if self.board.change != before:
            for wake in tuple(self._wake):
                wake()


async def _picture(asker: ArchiveClient, table: str) -> dict[str, Any]:
    site, name = split_origin(table)
    live = await asker.rows(_LIVE, (site, name))
    shoe, link, alarms = live.rows[0] if live.rows else (None, None, [])
    found = await asker.rows(_COUPS, {"site": site, "table": name})
    coups = [CoupRow(*row[:-1]) for row in found.rows]
    last = next((coup for coup in reversed(coups) if coup.winner and not coup.void), None)
    return {
        "shoe": shoe,
        "link": link,
        "alarms": alarms,
        "dealer": found.rows[-1][-1] if found.rows else None,
        "coups": len(coups),
        "last": last._asdict() if last else None,
        **roads_of(coups),
    }
