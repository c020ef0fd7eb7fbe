"""An archive of a million events, or of EVENTS: each answer in its time, and as a recount has it.

The recount reads the logs' JSON and knows neither SQL nor the archive's fold.
"""

import asyncio
import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from benchmarks.instruments.postgres import Postgres
from benchmarks.property.archive import ANSWER_MOST_MS, ask_all
from benchmarks.property.synthetic import (
    SyntheticSite,
    fill_archive,
    played_template,
    relation_bytes,
    site_events,
)
from property.archive.client import ArchiveClient
from property.archive.database import connect_archive, migrate
from property.archive.questions import ARCHIVE_QUERIES, parse_parameters
from property.archive.rebuild import rebuild

_EVENTS: Final = int(os.environ.get("EVENTS", "1000000"))
_TABLES: Final = 40
_DAYS: Final = 730
_PATRONS: Final = 2_000
_SLOWER: Final = 3.0  # of 20 million events: three seconds
_RUN: Final = 10


class _Lay(NamedTuple):
    """A patron's wagers in a coup."""

    table: str
    coup: str
    since: str
    until: str


class _Recount:
    """What is in the logs."""

    def __init__(self) -> None:
        self.coups = 0
        self.newest = ""
        self.win: Counter[tuple[str, str, str]] = Counter()
        self.of_patron: dict[str, list[_Lay]] = defaultdict(list)
        self.ties_with_9d: list[str] = []
        self.shoes: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)

    def hear(self, table: str, events: Iterator[dict[str, Any]]) -> None:
        opened, laid = "", dict[str, str]()
        for event in events:
            data = event["data"]
            self.newest = max(self.newest, event["at"])
            if event["type"] == "betting_opened":
                opened, laid = event["at"], {}
                self.coups += 1
            elif event["type"] == "wagers_placed":
                for wager in data["wagers"]:
                    laid.setdefault(wager["patron"], event["at"])
            elif event["type"] == "coup_settled" and data["settlement"]["phase"] == 2:
                self._settled(table, opened, event, laid)

    def _settled(
        self, table: str, opened: str, event: dict[str, Any], laid: dict[str, str]
    ) -> None:
        made, day = event["data"]["settlement"], event["at"][:10]
        for line in made["lines"]:
            lost = line["stake"] if line["result"] == "lose" else 0
            self.win[table, day, "handle"] += line["stake"]
            self.win[table, day, "win"] += lost - line["winnings"]
            self.win[table, day, "commission"] += line["commission"]
        for patron, at in laid.items():
            self.of_patron[patron].append(_Lay(table, made["coup"], at, event["at"]))
        cards = made["player"] + made["banker"]
        if made["winner"] == "tie" and "9D" in cards:
            self.ties_with_9d.append(f"{table} {made['coup']}")
        player, banker = made["player"], made["banker"]
        order = [*player[:1], *banker[:1], *player[1:2], *banker[1:2], *player[2:], *banker[2:]]
        shoe = made["coup"].split("/")[0]
        self.shoes[table, shoe] += [(opened, card) for card in order]

    def two_tables(self, since: str) -> Counter[str]:
        """How many pairs of coups each patron has at two tables at once."""
        found: Counter[str] = Counter()
        for patron, lays in self.of_patron.items():
            late = [lay for lay in lays if lay.until >= since]
            for a, b in combinations(late, 2):
                if a.table != b.table and a.since < b.until and b.since < a.until:
                    found[patron] += 1
        return found

    def runs(self, since: str) -> int:
        """How many places have cards in a row that are elsewhere too."""
        places: Counter[str] = Counter()
        for cards in self.shoes.values():
            for at in range(len(cards) - _RUN + 1):
                if cards[at][0] >= since:
                    places[" ".join(card for _, card in cards[at : at + _RUN])] += 1
        return sum(count for count in places.values() if count > 1)


@pytest.mark.soak
@pytest.mark.timeout(7_200)
def test_every_answer_is_in_time_and_right(postgres: Postgres, tmp_path: Path) -> None:
    url = postgres.database()
    migrate(url)
    template = played_template(tmp_path, 60)
    shoes = max(1, round(_EVENTS / _TABLES / len(template)))
    site = SyntheticSite(_TABLES, shoes, _DAYS, _PATRONS)
    asyncio.run(fill_archive(url, site, template, lambda _: None))
    sizes = relation_bytes(url)
    told = _Recount()
    for number in range(_TABLES):
        events = (json.loads(event.stored) for event in site_events(site, template, number))
        told.hear(f"harbour/t{number}", events)
    took = asyncio.run(ask_all(url))
    print(json.dumps({"coups": told.coups, "sizes": sizes, "ms": took}, indent=1))  # noqa: T201 - the soak's result
    most = ANSWER_MOST_MS * (1 if _EVENTS <= 1_000_000 else _SLOWER)
    assert {name: ms for name, ms in took.items() if ms > most} == {}
    asyncio.run(_compare(url, told))


async def _compare(url: str, told: _Recount) -> None:
    async with await ArchiveClient.open(url) as asker:

        async def ask(name: str, **given: str | None) -> list[dict[str, Any]]:
            question = ARCHIVE_QUERIES[name]
            found = await asker.ask(question, parse_parameters(question, given, every=True))
            return [dict(zip(found.columns, row, strict=True)) for row in found.rows]

        rows = await ask("win")
        sums = Counter[tuple[str, str, str]]()
        for row in rows:
            for name in ("handle", "win", "commission"):
                sums[f"{row['site']}/{row['table']}", str(row["day"]), name] += row[name]
        assert {k: v for k, v in sums.items() if v} == {k: v for k, v in told.win.items() if v}
        coups = [f"{r['site']}/{r['table']} {r['coup']}" for r in await ask("coups", patron="p-7")]
        assert sorted(coups) == sorted(f"{e.table} {e.coup}" for e in told.of_patron["p-7"])
        ties = await ask("coups", card="9D", result="tie")
        found = sorted(f"{row['site']}/{row['table']} {row['coup']}" for row in ties)
        assert found == sorted(told.ties_with_9d)
        (newest,) = (
            await asker.rows("SELECT max(at) - interval '31 days' FROM property.head")
        ).rows
        since = newest[0].isoformat().replace("+00:00", "Z")
        pairs = Counter(row["patron"] for row in await ask("two-tables"))
        assert pairs == told.two_tables(since)
        assert len(await ask("runs", cards=str(_RUN))) == told.runs(since)
    async with await connect_archive(url) as connection:
        await connection.execute("SET statement_timeout = 0")
        assert (await rebuild(url, connection, "harbour/t1", keep=False))[1] == []
