"""A table's metrics: from what its services say, in the form that Prometheus collects."""

import os
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Literal

import msgspec
import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from baccarat.site.machine_metrics import machine_metrics
from baccarat.site.metrics import TableHealth
from baccarat.site.pki import Pki
from events.clock import rfc3339
from events.mqtt.messages import Message
from events.mqtt.presence import Status, encode_status
from tests.support.clock import FakeClock

STATE = {
    "position": 812,
    "catching_up": False,
    "totals": {"coups": 40, "voids": 1},
    "alarms": [{"name": "link_down", "text": "no port"}],
    "commission": {
        "debts": [
            {"currency": "AUD", "outstanding": 50, "uncollected": 0},
            {"currency": "AUD", "outstanding": 5, "uncollected": 20},
        ]
    },
    "consumers": [{"name": "cage/cage", "position": 800, "waiting_s": 7}],
}
LINK = {
    "state": "up",
    "last_frame_age_ms": 1500,
    "reports": 300,
    "rejected": 2,
    "opened": 1,
    "journal": "j2",
    "head": 9,
}
ACK = {"journal": "j2", "seq": 7}


def said(state: Literal["online", "offline"], session: int, ns: int, *, retain: bool) -> Message:
    """The table's status."""
    status = Status(state=state, session=session, ts=rfc3339(ns))
    return Message("bac/v1/a/b7/status/table", encode_status(status), retain=retain)


def collected(health: TableHealth) -> dict[str, float]:
    """Every sample, as a collector reads it."""
    registry = CollectorRegistry(auto_describe=False)

    class All(Collector):
        def collect(self):  # type: ignore[no-untyped-def]  # noqa: ANN202 - prometheus-client's own
            return health.metrics()

    registry.register(All())
    text = generate_latest(registry).decode()
    return {
        f"{sample.name}{sorted(sample.labels.items())}": sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(0, now_us=5_000_000)


@pytest.fixture
def health(tmp_path: Path, clock: FakeClock) -> TableHealth:
    return TableHealth("b7", {"log": tmp_path, "gone": tmp_path / "nowhere"}, clock)


def test_nothing_is_made_up_before_anything_is_heard(health: TableHealth) -> None:
    found = collected(health)
    assert found.pop("baccarat_disk_free_bytes[('disk', 'log'), ('table', 'b7')]") > 0
    assert found.pop("baccarat_clock_synchronized[('table', 'b7')]") in {0, 1}
    assert found == {"baccarat_bus_connected[('table', 'b7')]": 0}


def test_the_machine_tells_of_certificates_backup_and_clock(tmp_path: Path) -> None:
    Pki(tmp_path, datetime(2026, 1, 1, tzinfo=UTC)).begin("harbour", 100)
    (tmp_path / "b7.newest").touch()
    os.utime(tmp_path / "b7.newest", (1000, 1000))
    files = {"bus.ca": tmp_path / "ca.pem", "bus.cert": tmp_path / "gone.pem"}

    def found(table: str, synchronised: Path) -> dict[str, float]:
        families = machine_metrics(table, files, 4600.0, tmp_path, (synchronised,))
        return {sample.name: sample.value for each in families for sample in each.samples}

    kept = found("b7", tmp_path)
    ends = datetime.fromtimestamp(kept["baccarat_certificate_expires_timestamp_seconds"], UTC)
    assert ends.date() == date(2026, 4, 11)
    assert kept["baccarat_backup_age_seconds"] == 3600
    assert kept["baccarat_clock_synchronized"] == 1
    unkept = found("b8", tmp_path / "gone")
    assert "baccarat_backup_age_seconds" not in unkept
    assert unkept["baccarat_clock_synchronized"] == 0


async def test_what_services_say_is_told(health: TableHealth, clock: FakeClock) -> None:
    await health.on_connect()
    health.on_state(msgspec.json.encode(STATE))
    health.on_link(msgspec.json.encode(LINK))
    await health.on_status(said("online", 1, health.clock.utc_ns(), retain=True))
    clock.now_us = 8_000_000
    found = collected(health)
    table = "[('table', 'b7')]"
    assert found["baccarat_bus_connected" + table] == 1
    assert found["baccarat_state_age_seconds" + table] == 3
    assert found["baccarat_log_position_total" + table] == 812
    assert found["baccarat_coups_total" + table] == 40
    assert found["baccarat_link_frame_age_seconds" + table] == 1.5
    assert found["baccarat_link_rejected_total" + table] == 2
    assert found["baccarat_link_state[('state', 'up'), ('table', 'b7')]"] == 1
    assert found["baccarat_link_state[('state', 'down'), ('table', 'b7')]"] == 0
    assert found["baccarat_alarm[('alarm', 'link_down'), ('table', 'b7')]"] == 1
    consumer = "[('consumer', 'cage/cage'), ('table', 'b7')]"
    assert found["baccarat_consumer_waiting_seconds" + consumer] == 7
    assert found["baccarat_consumer_behind_events" + consumer] == 12
    for part, amount in (("outstanding", 55), ("uncollected", 20)):
        owed = f"[('currency', 'AUD'), ('part', '{part}'), ('table', 'b7')]"
        assert found[f"baccarat_commission_owed{owed}"] == amount
    service = "[('service', 'table'), ('table', 'b7')]"
    assert found["baccarat_service_online" + service] == 1
    assert found["baccarat_service_beat_age_seconds" + service] == 3


async def test_a_service_is_there_by_its_own_words_and_not_by_those_of_another_run(
    health: TableHealth,
) -> None:
    def found() -> tuple[float, float]:
        every, service = collected(health), "[('service', 'table'), ('table', 'b7')]"
        return (
            every["baccarat_service_online" + service],
            every["baccarat_service_beat_age_seconds" + service],
        )

    now = health.clock.utc_ns()
    await health.on_status(said("online", 7, now - 600 * 10**9, retain=True))
    assert found() == (0, 600), "it died with its broker ten minutes ago"
    await health.on_status(said("online", 1, now, retain=False))
    assert found() == (1, 0)
    await health.on_status(said("offline", 7, now, retain=False))
    assert found() == (1, 0), "a late Will"
    await health.on_status(said("offline", 1, now, retain=False))
    assert found() == (0, 0)


@pytest.mark.parametrize("junk", [b"", b"\xff", b"[1]", b"{", b"[" * 100_000])
async def test_junk_changes_nothing(health: TableHealth, junk: bytes) -> None:
    before = collected(health)
    health.on_state(junk)
    health.on_link(junk)
    await health.on_status(Message("x/status/table", junk, retain=False))
    after = collected(health)
    disk = "baccarat_disk_free_bytes[('disk', 'log'), ('table', 'b7')]"
    assert before.keys() == after.keys()
    assert {k: v for k, v in before.items() if k != disk} == {
        k: v for k, v in after.items() if k != disk
    }
    health.on_ack(junk)
    health.on_settlement(junk)
    assert collected(health).keys() == before.keys()


@pytest.mark.parametrize(
    ("ack", "waiting"),
    [(ACK, 2), ({"journal": "j2", "seq": 9}, 0), ({"journal": "j1", "seq": 400}, 9), ({}, None)],
)
def test_what_the_driver_keeps_until_the_table_has_it(
    health: TableHealth, ack: dict[str, object], waiting: int | None
) -> None:
    health.on_link(msgspec.json.encode(LINK))
    health.on_ack(msgspec.json.encode(ack))
    assert collected(health).get("baccarat_shoe_events_waiting[('table', 'b7')]") == waiting


def test_how_late_settlements_are_heard_is_counted_by_the_commits_stamp(
    health: TableHealth, clock: FakeClock
) -> None:
    clock.now_us = 1_000_000_000_000_000 + 30_000  # 2001-09-09T01:46:40.03Z
    for stamp in ("40.026000000", "40.000000000", "36.030000000", "40.990000000"):
        at = f"2001-09-09T01:46:{stamp}Z"
        health.on_settlement(msgspec.json.encode({"type": "coup_settled", "at": at}))
    name = "baccarat_settlement_heard_seconds"
    found = collected(health)
    # 4 ms, 30 ms, 4 s; and one of a clock that was set back meanwhile.
    expected = {"0.001": 1, "0.005": 2, "0.025": 2, "0.05": 3, "2.5": 3, "10.0": 4, "+Inf": 4}
    assert {
        le: found[f"{name}_bucket[('le', '{le}'), ('table', 'b7')]"] for le in expected
    } == expected
    assert found[f"{name}_sum[('table', 'b7')]"] == pytest.approx(4.034, abs=1e-5)
