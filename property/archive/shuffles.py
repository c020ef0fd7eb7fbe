"""Compares the orders of shoes across tables, and raises an alarm where no shuffle explains them.

One process of the property does it at a time, by an advisory lock. It needs no SQL table of its
own: the coups are in the archive, and so is each alarm. A process that takes over compares the
newest shoes again and finds the alarms that were raised before.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from psycopg import AsyncConnection

from events.errors import ArchiveError, ArchiveUnavailable
from events.structured_log import structlog
from property.archive.database import connect_archive, migrate, translate_archive_errors
from property.background_tasks import TaskBackoff
from property.health.verdict import ORDER_ALARM

__all__ = ["ExamineOrder", "ShuffleWatch", "watch_shuffles"]

_log = structlog.get_logger()
ExamineOrder = Callable[[str, Sequence[tuple[str, str]], Sequence[tuple[str, str]]], str | None]
"""Returns the alarm's text, or None. Takes a shoe's name, id and cards of each of its coups, and
name and cards of other shoes. Cards are a text of two letters each, in dealing order."""
_LOCK: Final = 0x62616373  # "bacs" in ASCII; the archive's other locks have other classes
_EVERY_S: Final = 10.0
_REST_S: Final = 1.0  # after a comparison, which keeps the archive waiting for a seventh of that
_DAYS: Final = 7
_SHOES_MOST: Final = 2_000
# In play a shoe is compared again each time that so many more cards have come.
_CARDS_BETWEEN: Final = 104
_COUPS: Final = """
SELECT c.site, c."table", c.shoe, c.coup, c.position, c.player, c.banker
FROM property.head h
LEFT JOIN unnest(%s::text[], %s::text[], %s::bigint[]) AS known (site, "table", position)
    ON (known.site, known."table") = (h.site, h."table")
JOIN property.coup c ON (c.site, c."table") = (h.site, h."table")
    AND c.position > coalesce(known.position, 0)
WHERE h.position > coalesce(known.position, 0)
    AND c.opened_at >= (SELECT max(at) FROM property.head) - make_interval(days => %s)
    AND cardinality(c.player) > 0
ORDER BY c.opened_at, c.site, c."table", c.position
"""
# A shoe is named once, also after a person has cleared its alarm.
_ALARM: Final = """
INSERT INTO property.feed_alarm AS f (site, "table", kind, position, reason)
SELECT %(site)s, %(table)s, %(kind)s, %(position)s, %(reason)s WHERE NOT EXISTS (
    SELECT FROM property.feed_alarm a WHERE a.site = %(site)s AND a."table" = %(table)s
        AND a.kind = %(kind)s AND strpos(a.reason, %(shoe)s) > 0
)
ON CONFLICT (site, "table", kind) WHERE cleared_at IS NULL
    DO UPDATE SET position = excluded.position, reason = excluded.reason || '; ' || f.reason
"""


async def watch_shuffles(url: str, examine: ExamineOrder, stop: asyncio.Event) -> None:
    """Compare until `stop` is set; retry while the database is unavailable or refuses.

    Args:
        url: the archive's.
        examine: judges an order.
        stop: ends it.
    """
    pause = TaskBackoff()
    while not stop.is_set():
        try:
            await asyncio.to_thread(migrate, url)
            connection = await connect_archive(url)
            try:
                await _watch(ShuffleWatch(url, connection, examine), stop)
            finally:
                await connection.close()
        except (ArchiveError, ArchiveUnavailable) as error:
            _log.warning("shuffles_wait", reason=str(error))
            await pause.wait(stop)


async def _watch(watch: "ShuffleWatch", stop: asyncio.Event) -> None:
    leads = False
    while not stop.is_set():
        leads = leads or await watch.leads()
        compared = leads and await watch.look()
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), _REST_S if compared else _EVERY_S)


class _ShoeKey(NamedTuple):
    site: str
    table: str
    shoe: str

    @property
    def name(self) -> str:
        return f"{self.site}/{self.table} {self.shoe}"


class _Coup(NamedTuple):
    id: str
    position: int
    cards: str


class ShuffleWatch:
    """Compares shoes as their coups are archived.

    Args:
        url: for error messages.
        connection: to the archive.
        examine: judges an order.
    """

    def __init__(self, url: str, connection: AsyncConnection, examine: ExamineOrder) -> None:
        self._url = url
        self._connection = connection
        self._examine = examine
        self._shoes: dict[_ShoeKey, list[_Coup]] = {}
        self._newest: dict[tuple[str, str], _ShoeKey] = {}
        self._examined: dict[_ShoeKey, int] = {}

    async def leads(self) -> bool:
        """Report whether no other process compares, and let none do so while this connection lives.

        Raises:
            ArchiveUnavailable: the database does not answer.
        """
        ((leads,),) = await self._ask("SELECT pg_try_advisory_lock(%s, 0)", (_LOCK,))
        return bool(leads)

    async def look(self) -> bool:
        """Read the coups that are new, and compare a shoe that is over or has gone on.

        Return whether there was one.

        Raises:
            ArchiveUnavailable: the database does not answer.
        """
        for site, table, shoe, coup, position, *hands in await self._ask(_COUPS, self._known()):
            key = _ShoeKey(site, table, shoe)
            self._examined.setdefault(key, 0)
            self._shoes.setdefault(key, []).append(_Coup(coup, position, _in_dealing_order(*hands)))
            self._newest[site, table] = key
        for key in list(self._shoes)[:-_SHOES_MOST]:
            if key not in self._newest.values():
                del self._shoes[key], self._examined[key]
        due = next(self._due(), None)
        if due is not None:
            await self._compare(due)
        return due is not None

    def _known(self) -> tuple[Any, ...]:
        newest = [(*of, self._shoes[key][-1].position) for of, key in self._newest.items()]
        return (*map(list, zip(*newest, strict=True)), _DAYS) if newest else ([], [], [], _DAYS)

    def _due(self) -> Iterator[_ShoeKey]:
        for key, coups in self._shoes.items():
            more = sum(len(each.cards) // 2 for each in coups) - self._examined[key]
            over = self._newest[key.site, key.table] != key
            if more >= _CARDS_BETWEEN or (over and more):
                yield key

    async def _compare(self, key: _ShoeKey) -> None:
        """Compare a shoe with those of other tables; its own table compares it with the rest."""
        coups = self._shoes[key]
        others = [
            (other.name, "".join(each.cards for each in told))
            for other, told in self._shoes.items()
            if (other.site, other.table) != (key.site, key.table)
        ]
        dealt = [(each.id, each.cards) for each in coups]
        text = await asyncio.to_thread(self._examine, key.name, dealt, others)
        if text is not None:
            given = {
                "site": key.site, "table": key.table, "kind": ORDER_ALARM,
                "position": coups[-1].position, "reason": text, "shoe": f"shoe {key.name}:",
            }  # fmt: skip
            with translate_archive_errors(self._url):
                await self._connection.execute(_ALARM, given)
        self._examined[key] = sum(len(each.cards) // 2 for each in coups)

    async def _ask(self, query: str, given: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        with translate_archive_errors(self._url):
            cursor = await self._connection.execute(query, given)
            return await cursor.fetchall()


def _in_dealing_order(player: Sequence[str], banker: Sequence[str]) -> str:
    """Return the cards of a coup as they were dealt: by turns, Player first."""
    turns = range(max(len(player), len(banker)))
    return "".join(hand[turn] for turn in turns for hand in (player, banker) if turn < len(hand))
