"""What is told of each reading: tables of parts, states and ages, and what must be said of them."""

from typing import Any

import pytest

from property.health.readings import ArchivedUpTo, Reading
from property.health.verdict import DATABASE_DISK, LATE_S, ORDER_ALARM, judge_property

NOW_S = 1_800_000_000.0
DAY_S = 86_400.0
B7 = "harbour/b7"
WORKER = Reading(kind="worker", name="db-1", age_s=2)
WORD = Reading(kind="table", name=B7, state="running", position=50, due=48, at_s=NOW_S, age_s=2)


def read(kind: Any, name: str = "x", **found: Any) -> Reading:
    return Reading(kind=kind, name=name, **found)


DISK = Reading(kind="disk", name=DATABASE_DISK, free=0.5, age_s=170)

# A reading beside a worker's, and the code that is told of it, with ! where it is grave.
PARTS: list[tuple[Reading, str]] = [
    (read("node", state="on"), ""),
    (read("node", state="behind"), "behind!"),
    (read("node", state="off"), "no_jetstream!"),
    (read("node", error="does not answer"), "away!"),
    (read("node", state="on", age_s=LATE_S + 1), "silent!"),
    (read("node", state="on", at_s=NOW_S + 22 * DAY_S), ""),
    (read("node", state="on", at_s=NOW_S + 20 * DAY_S), "ends"),
    (read("node", state="on", at_s=NOW_S - 1), "ends!"),
    (read("certificate", at_s=NOW_S + 1), "ends"),
    (read("certificate", at_s=NOW_S), "ends!"),
    (read("certificate", error="no such file"), "away!"),
    (read("stream", error="takes nothing"), "away!"),
    (read("stream", free=0.5), ""),
    (read("stream"), ""),
    (read("stream", free=0.09), "low"),
    (read("stream", free=0.01), "full!"),
    (read("disk", free=0.10), ""),
    (read("disk", free=0.0), "full!"),
    (read("worker", age_s=LATE_S + 1), "silent!"),
    (read("witness", state="running", age_s=LATE_S), ""),
    (read("witness", state="running", age_s=LATE_S + 0.1), "silent!"),
    (read("witness", state="ended", age_s=1e6), ""),
    (read("witness", state="running", ends_s=NOW_S), "ends!"),
    (read("witness", state="ended", ends_s=NOW_S), ""),
    (read("backup", at_s=NOW_S - 25 * 3600), ""),
    (read("backup", at_s=NOW_S - 27 * 3600), "old!"),
    (read("backup"), "old!"),
    (read("backup", at_s=NOW_S - 3600, age_s=3600), ""),
]


@pytest.mark.parametrize(("reading", "code"), PARTS)
def test_a_part_is_told_by_its_reading(reading: Reading, code: str) -> None:
    health = judge_property({}, [WORKER, DISK, reading], NOW_S)
    told = [f"{each.code}{'!' * each.grave}" for each in health.findings]
    assert told == ([code] if code else [])
    assert health.well is not code.endswith("!")
    kinds = {reading.kind, "certificate"}
    assert all(each.step and each.text and each.kind in kinds for each in health.findings)


# A table's newest word, how far it is archived, and: live, state, lag, codes.
TABLES: dict[str, tuple[Reading | None, ArchivedUpTo, tuple[bool, str, int | None, list[str]]]] = {
    "all of it": (WORD, ArchivedUpTo(position=50, at_s=NOW_S), (True, "running", 0, [])),
    "an older build's word names no event": (
        read("table", B7, state="running", position=50),
        ArchivedUpTo(position=50),
        (True, "running", 0, []),
    ),
    "what is on its way is not behind": (
        WORD,
        ArchivedUpTo(position=48, at_s=NOW_S - 3),
        (True, "running", 2, []),
    ),
    "what was due by its word before is": (
        WORD,
        ArchivedUpTo(position=47, at_s=NOW_S - 30),
        (False, "running", 3, ["behind"]),
    ),
    "its uplink's certificate has ended": (
        read("table", B7, state="running", position=50, ends_s=NOW_S - 1),
        ArchivedUpTo(position=50),
        (True, "running", 0, ["ends"]),
    ),
    "never heard": (None, ArchivedUpTo(position=50), (False, "silent", None, ["silent"])),
    "not heard for long": (
        Reading(kind="table", name=B7, state="running", position=50, age_s=LATE_S + 1),
        ArchivedUpTo(position=50),
        (False, "silent", 0, ["silent"]),
    ),
    "ended in order": (
        read("table", B7, state="ended", age_s=1e6),
        ArchivedUpTo(position=50),
        (True, "ended", 0, []),
    ),
    "stopped": (
        read("table", B7, state="stopped", error="fork: another"),
        ArchivedUpTo(position=50),
        (False, "stopped", 0, ["stopped"]),
    ),
    "stopped, and the archive knows": (
        read("table", B7, state="stopped", error="fork: another"),
        ArchivedUpTo(position=50, alarms={"uplink": "fork: another"}),
        (False, "stopped", 0, ["uplink"]),
    ),
    "two stories": (
        WORD,
        ArchivedUpTo(position=50, alarms={"fork": "another hash"}),
        (False, "running", 0, ["fork"]),
    ),
    "nonsense on its subject": (
        WORD,
        ArchivedUpTo(position=50, alarms={"nonsense": "no header"}),
        (True, "running", 0, ["nonsense"]),
    ),
    "a shoe in another table's order": (
        WORD,
        ArchivedUpTo(position=50, alarms={ORDER_ALARM: "shoe harbour/b7 20261127-01: ..."}),
        (True, "running", 0, [ORDER_ALARM]),
    ),
}


@pytest.mark.parametrize(("word", "archived", "told"), TABLES.values(), ids=TABLES)
def test_a_table_is_live_by_its_words_and_not_by_its_last_picture(
    word: Reading | None,
    archived: ArchivedUpTo,
    told: tuple[bool, str, int | None, list[str]],
) -> None:
    health = judge_property({B7: archived}, [WORKER, DISK, *([word] if word else [])], NOW_S)
    pulse = health.tables[B7]
    codes = [each.code for each in health.findings]
    assert (pulse.live, pulse.state, pulse.lag_events, codes) == told
    assert health.well is (codes == [])


def test_lag_in_seconds_is_between_the_newest_events_own_times() -> None:
    health = judge_property({B7: ArchivedUpTo(position=47, at_s=NOW_S - 30)}, [WORKER, WORD], NOW_S)
    assert health.tables[B7].lag_s == 30
    assert "3 events behind, 30 s" in health.findings[0].text


def test_without_the_database_nothing_is_well_and_no_table_live() -> None:
    health = judge_property({B7: ArchivedUpTo(position=1)}, [WORKER, WORD], NOW_S, "refused")
    assert [(each.kind, each.code) for each in health.findings] == [("database", "away")]
    assert not health.tables[B7].live


def test_the_grave_comes_first_and_what_carries_before_what_is_carried() -> None:
    readings = [
        DISK,
        read("certificate", at_s=NOW_S + 1),
        read("table", B7, state="running", age_s=99),
        read("node", error="gone"),
    ]
    health = judge_property({}, readings, NOW_S)
    assert [each.kind for each in health.findings] == ["worker", "node", "table", "certificate"]


# The newest report of PostgreSQL's disk, and what is told.
DATABASE_DISKS: list[tuple[list[Reading], list[str]]] = [
    ([], ["unknown"]),
    ([read("disk", "db-1", free=0.5)], ["unknown"]),
    ([DISK], []),
    ([read("disk", DATABASE_DISK, free=0.5, age_s=181)], ["silent!"]),
    ([read("disk", DATABASE_DISK, free=0.09, age_s=60)], ["low"]),
    ([read("disk", DATABASE_DISK, free=0.01, age_s=60)], ["full!"]),
]


@pytest.mark.parametrize(("readings", "codes"), DATABASE_DISKS)
def test_the_databases_disk_is_never_well_by_silence(
    readings: list[Reading], codes: list[str]
) -> None:
    health = judge_property({}, [WORKER, *readings], NOW_S)
    told = [f"{each.code}{'!' * each.grave}" for each in health.findings if each.kind == "disk"]
    assert told == codes
