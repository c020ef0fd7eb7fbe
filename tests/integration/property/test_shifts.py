"""Business days and shifts, over every time zone's changes of the clock."""

import zoneinfo
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from benchmarks.instruments.postgres import Postgres
from events.types import BettingOpened, CoupSettled
from property.archive.database import migrate
from property.archive.questions import ARCHIVE_QUERIES, parse_parameters
from tests.support.property.logs import entries_in, into_archive, played, write_log

MINUTE, QUARTER, DAY = timedelta(minutes=1), timedelta(minutes=15), timedelta(days=1)
FROM, UNTIL = datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 12, 31, tzinfo=UTC)


@pytest.fixture(scope="module")
def archive(postgres: Postgres) -> Iterator[psycopg.Connection]:
    url = postgres.database()
    migrate(url)
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


def changes(zone: zoneinfo.ZoneInfo) -> Iterator[datetime]:
    """Yield the instants, to the minute, from which a zone's clocks show another offset."""
    at = FROM
    while at < UNTIL:
        low, high = at, at + DAY
        if low.astimezone(zone).utcoffset() != high.astimezone(zone).utcoffset():
            while high - low > MINUTE:
                middle = low + (high - low) // 2 // MINUTE * MINUTE
                same = middle.astimezone(zone).utcoffset() == at.astimezone(zone).utcoffset()
                low, high = (middle, high) if same else (low, middle)
            yield high
        at += DAY


def business_day(
    zone: zoneinfo.ZoneInfo, changed: datetime, begins: time, moment: datetime
) -> date:
    """Return the day of the latest clock reading so far: before a change, it is the last one."""
    readings = (moment, min(moment, changed - MINUTE))
    latest = max(at.astimezone(zone).replace(tzinfo=None) for at in readings)
    return (latest - timedelta(hours=begins.hour, minutes=begins.minute)).date()


def test_a_day_once_begun_stays_begun_in_every_zone(archive: psycopg.Connection) -> None:
    known = {name for (name,) in archive.execute("SELECT name FROM pg_timezone_names")}
    shifts, asked = [], []
    seen: set[tuple[datetime, timedelta | None, timedelta | None]] = set()
    for name in sorted(zoneinfo.available_timezones() & known):
        zone = zoneinfo.ZoneInfo(name)
        for changed in changes(zone):
            before, after = (t.astimezone(zone) for t in (changed - MINUTE, changed))
            if (key := (changed, before.utcoffset(), after.utcoffset())) in seen:
                continue  # another name of the same clock
            seen.add(key)
            for late in (0, 30, 60):
                begins = (
                    (
                        min(before, after, key=lambda t: t.replace(tzinfo=None))
                        + timedelta(minutes=late)
                    )
                    .time()
                    .replace(second=0)
                )
                site = f"{name} {changed:%F} {late}"
                shifts.append((site, begins, name))
                asked += [
                    (site, moment, business_day(zone, changed, begins, moment))
                    for moment in (changed + n * QUARTER for n in range(-4, 12))
                ]
    assert len(seen) > 40
    archive.execute(
        "INSERT INTO property.shift (site, name, begins, zone) "
        "SELECT site, 'first', begins, zone "
        "FROM unnest(%s::text[], %s::time[], %s::text[]) AS _ (site, begins, zone)",
        [list(column) for column in zip(*shifts, strict=True)],
    )
    told = archive.execute(
        "SELECT site, moment, day FROM unnest(%s::text[], %s::timestamptz[]) AS _ (site, moment), "
        "LATERAL property.shift_at(site, moment)",
        [[site for site, _, _ in asked], [moment for _, moment, _ in asked]],
    ).fetchall()
    assert sorted(told) == sorted(asked)


@pytest.mark.parametrize(
    ("zone", "begins", "first", "names"),
    [
        # Sydney's clocks go from 03:00 back to 02:00 at 16:00 UTC.
        ("Australia/Sydney", "02:30", "2026-04-04T14:30Z", "early early late late late late late"),
        ("Australia/Sydney", "02:00", "2026-04-04T14:30Z", "early late late late late late late"),
        # New York's from 02:00 to 03:00 at 07:00 UTC: 02:30 does not come, and begins at 03:00.
        ("America/New_York", "02:30", "2026-03-08T06:00Z", "early early late late late late late"),
    ],
)
def test_a_shift_once_begun_stays_begun(
    archive: psycopg.Connection, zone: str, begins: str, first: str, names: str
) -> None:
    site = f"{zone} {begins}"
    for name, at in (("early", "20:00"), ("late", begins)):
        shift = (site, name, at, zone)
        archive.execute("INSERT INTO property.shift VALUES (%s, %s, %s, %s)", shift)
    told = archive.execute(
        "SELECT shift FROM generate_series(0, 6) AS n, "
        "LATERAL property.shift_at(%s, %s::timestamptz + n * interval '30 minutes') ORDER BY n",
        (site, first),
    ).fetchall()
    assert " ".join(name for (name,) in told) == names


def test_a_shift_of_an_unknown_zone_is_refused_when_it_is_written(
    archive: psycopg.Connection,
) -> None:
    with pytest.raises(psycopg.Error, match='time zone "Mars/Base" not recognized'):
        archive.execute(
            "INSERT INTO property.shift VALUES ('north', 'early', '06:00', 'Mars/Base')"
        )


# A site for each change of the clock: its zone, the moment of the change, and a day's beginning.
SITES = {
    "sydney-back": ("Australia/Sydney", "2026-04-04T16:00Z", time(2, 30)),
    "sydney-forward": ("Australia/Sydney", "2026-10-03T16:00Z", time(2, 30)),
    "york-forward": ("America/New_York", "2026-03-08T07:00Z", time(0)),
    "york-back": ("America/New_York", "2026-11-01T06:00Z", time(1, 30)),
}


def test_every_question_of_a_day_has_what_the_logs_have_on_it(
    postgres: Postgres, tmp_path: Path
) -> None:
    """A day of 23 hours, a day of 25, and the days before and after them."""
    logs, wanted, url = [], dict[str, Counter[tuple[Any, ...]]](), postgres.database()
    for seed, (site, (name, change, begins)) in enumerate(SITES.items()):
        changed, path = datetime.fromisoformat(change), tmp_path / f"{site}.sqlite"
        events = played(seed, 30)
        every_s = 72 * 3600 // len(events)
        first = changed - timedelta(hours=36)
        write_log(path, f"{site}/t1", events, every_s=every_s, begin_s=int(first.timestamp()))
        logs.append(path)
        for entry in entries_in(path):
            at = datetime.fromisoformat(entry.at)
            day = business_day(zoneinfo.ZoneInfo(name), changed, begins, at)
            if isinstance(entry.data, BettingOpened):
                wanted.setdefault("coups", Counter())[site, day, entry.data.coup] += 1
            elif isinstance(entry.data, CoupSettled):
                made = entry.data.settlement
                lines = Counter(
                    {(site, day, made.coup, made.phase, made.revision): len(made.lines)}
                )
                wanted.setdefault("wagers", Counter()).update(+lines)
    into_archive(url, *logs)
    found = {name: Counter[tuple[Any, ...]]() for name in wanted}
    totals, sums = dict[Any, int](), Counter[Any]()
    with psycopg.connect(url, row_factory=dict_row) as db:
        for site, (name, _, begins) in SITES.items():
            db.execute(
                "INSERT INTO property.shift VALUES (%s, 'day', %s, %s)", (site, begins, name)
            )
        for site, day in sorted({key[:2] for each in wanted.values() for key in each}):

            def ask(name: str, day: date = day, site: str = site) -> list[dict[str, Any]]:
                question = ARCHIVE_QUERIES[name]
                given = parse_parameters(
                    question, {"day": str(day), "table": f"{site}/t1"}, every=True
                )
                return db.execute(question.sql.encode(), given).fetchall()

            found["coups"].update((site, day, row["coup"]) for row in ask("coups"))
            for row in ask("wagers"):
                key = (site, day, row["coup"], row["phase"], row["revision"])
                found["wagers"][key] += row["sign"] > 0
                lost = row["stake"] * (row["result"] == "lose" and row["kind"] != "promo")
                sums[site, day] += row["sign"] * (lost - row["winnings"])
            for row in ask("win"):
                totals[site, row["day"]] = row["win"]
    assert found == wanted
    assert totals == {key: sums[key] for key in totals}
    assert {key for key, won in sums.items() if won} <= totals.keys()
    assert len(totals) >= 3 * len(SITES)
