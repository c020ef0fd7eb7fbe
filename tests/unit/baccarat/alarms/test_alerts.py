"""Alerts: each rings by its own rule, its page is followed, and it rings no more.

A row of a table yields the alerts that ring after it has broken something, and again after its
page. Rows of a property are readings: what the page has people do there, other tests do.
"""

import asyncio
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from baccarat.cli.main import main
from baccarat.property.metrics import property_metrics
from baccarat.site.machine_metrics import machine_metrics
from baccarat.site.metrics import TableHealth
from baccarat.site.pki import Pki
from events.clock import rfc3339
from events.mqtt.messages import Message
from events.mqtt.presence import Status, encode_status
from property.health.readings import ArchivedUpTo, Reading
from property.health.verdict import DATABASE_DISK, judge_property
from tests.support.alarm_pages import PAGES, follow, part, typed
from tests.support.brokers.tls_broker import quick_hashes
from tests.support.clock import FakeClock
from tests.support.machine.commands import here
from tests.support.property.alerts import firing_alerts
from tests.unit.baccarat.alarms.test_at_the_table import FOLLOWED as AT_THE_TABLE
from tests.unit.baccarat.alarms.test_of_the_property import FOLLOWED as OF_THE_PROPERTY
from tests.unit.baccarat.alarms.test_of_the_services import FOLLOWED as OF_THE_SERVICES
from tests.unit.baccarat.site.test_metrics import ACK, LINK, STATE

Judged = tuple[str, list[str]]
_CONFIG: Final = """
site = "harbour"
table = "b7"
rulebook = "ez"
[shoe]
url = "pty:/x"
[bus]
port = 1
ca = "pki/ca.pem"
cert = "pki/b7.pem"
key = "pki/b7.key"
"""


class Scrape:
    """What Prometheus would collect of a table that is well, until a row breaks something."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.clock = folder, FakeClock()
        self.health = TableHealth("b7", {}, self.clock)
        self.certificates: dict[str, Path] = {}
        self.kept, self.served = folder, True
        self.scraped = self.before = ""
        self.bus(1)
        self.state()

    @property
    def standing(self) -> set[str]:
        """The alerts that ring."""
        ours = machine_metrics("b7", self.certificates, time.time(), self.folder, (self.kept,))
        families = {each.name: each for each in (*self.health.metrics(), *ours)}
        self.scraped = _text(families.values()) if self.served else ""
        return firing_alerts(self.scraped, "Baccarat", self.before)

    def while_(self, minutes: int) -> None:
        """A rate's time begins here, as Prometheus has collected it."""
        self.later(60 * minutes)
        assert self.standing is not None
        self.before = self.scraped

    def settle(self, late_ms: int) -> None:
        """A settlement is heard so late."""
        at = rfc3339(self.clock.utc_ns() - late_ms * 1_000_000)
        self.health.on_settlement(msgspec.json.encode({"at": at}))

    def serve(self, runs: int) -> None:
        self.served = bool(runs)

    def bus(self, there: int) -> None:
        self.health.connected = bool(there)

    def later(self, seconds: int) -> None:
        self.clock.now_us += seconds * 1_000_000

    def state(self, changed: Any = ()) -> None:
        """The table publishes its state."""
        healthy: dict[str, Any] = {"alarms": [], "consumers": []}
        self.health.on_state(msgspec.json.encode(STATE | healthy | dict(changed)))

    def owes(self, seconds: int) -> None:
        """A consumer has not acknowledged a settlement for so long."""
        self.state({"consumers": [{"name": "c", "position": 8, "waiting_s": seconds}]})

    def link(self, changed: Any = ()) -> None:
        self.health.on_link(msgspec.json.encode(LINK | dict(changed)))

    def ack(self, seq: int) -> None:
        self.health.on_ack(msgspec.json.encode(ACK | {"seq": seq}))

    def beat(self, session: int, ahead_s: int = 0) -> None:
        """The table service says that it is there, a second later."""
        self.later(1)
        ts = rfc3339(self.clock.utc_ns() + ahead_s * 10**9)
        said = encode_status(Status(state="online", session=session, ts=ts))
        message = Message("bac/v1/a/b7/status/table", said, retain=False)
        asyncio.run(self.health.on_status(message))

    def clock_kept(self, by: int) -> None:
        """The page's `systemctl restart` makes the file that says so."""
        self.kept = self.folder if by else self.folder / "synchronized"

    def follow(self, alert: str) -> None:
        """Run the page's commands for `baccarat`, in the folder of this machine."""
        for command in typed(alert):
            words = command.replace("/etc/baccarat", str(self.folder)).split()
            assert here(*words[1:]).code == 0, command

    def certificate_of_ten_days(self) -> None:
        pki, folder = Pki(self.folder / "pki", datetime.now(UTC)), self.folder
        pki.begin("harbour", 3650)
        pki.issue("broker", ("localhost",), days=400)
        self.certificates = {"bus.cert": pki.issue("b7", days=10)}
        config = folder / "b7.toml"
        config.write_text(_CONFIG)
        made = ["config", "broker", "--kind", "mosquitto", "--pki", str(folder / "pki")]
        assert main([*made, "-o", str(folder / "broker"), str(config)]) == 0

    def backup_of_yesterday(self) -> None:
        (self.folder / "b7.newest").touch()
        os.utime(self.folder / "b7.newest", (time.time() - 86_400,) * 2)

    def back_up(self) -> None:
        """What the unit runs that the page starts."""
        log, program = self.folder / "table.sqlite", self.folder / "baccarat"
        log.write_bytes(Path("tests/corpus/0.1.0/table.sqlite").read_bytes())
        unit = typed("BaccaratBackupOld")[1].split()[-1].replace("@b7", "@")
        runs = re.search(
            r"^ExecStart=/opt/baccarat/(\S+)",
            Path("deploy/systemd", unit).read_text(),
            re.MULTILINE,
        )
        assert runs
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m baccarat "$@"\n')
        program.chmod(0o755)
        command: list[str | Path] = ["sh", f"deploy/{runs[1]}", log, self.folder, "b7"]
        env = {**os.environ, "BACCARAT": str(program)}
        subprocess.run(command, env=env, check=True, capture_output=True)

    def disk(self, size: str) -> None:
        """The log's disk has this size; a larger one is the page's enlarging."""
        place = self.folder / "disk"
        again = bool(self.health.disks)
        place.mkdir(exist_ok=True)
        self.health.disks = {"log": place}
        options = f"{'remount,' * again}size={size}"
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], check=True)


def _text(families: Iterable[Metric]) -> str:
    class All(Collector):
        def collect(self) -> Iterable[Metric]:
            return families

    registry = CollectorRegistry(auto_describe=False)
    registry.register(All())
    return generate_latest(registry).decode()


# `NAME: what breaks it -> what the page says`.
_ROWS: Final = """
MetricsAbsent: serve 0 -> serve 1
BusDown: bus 0 -> bus 1
ServiceDown: beat 1; later 20 -> beat 2; state
ServiceDown: beat 3; beat 7; beat 3 -> 11 x beat 3; state
ClockDiffers: 5 x beat 1, 10 -> 5 x beat 1
LinkDown: link {"state": "down"} -> link
LinkQuality: link; while_ 5; link {"rejected": 40} -> while_ 5; link {"rejected": 41}
LinkQuality: link; while_ 5; link {"short_copies": 90} -> while_ 5; link {"short_copies": 91}
SettlementSlow: 100 x settle 9; while_ 15; 2 x settle 700 -> while_ 15; 50 x settle 9
ShoeEventsWaiting: link; ack 7 -> ack 9
Alarm: state {"alarms": [{"name": "link_down", "text": "no port"}]} -> state
SettlementUnacknowledged: owes 61 -> state
CatchingUp: state {"catching_up": true} -> state
StateOld: later 16 -> state
CertificateEnds: certificate_of_ten_days -> follow "BaccaratCertificateEnds"
BackupOld: backup_of_yesterday -> back_up
ClockUnkept: clock_kept 0 -> clock_kept 1
DiskLow: disk "1m" -> disk "3g"
"""
_CASES: Final = [row.split(": ", 1) for row in _ROWS.strip().splitlines()]
_OF_PROCESSES: Final = {"BackupOld", "DiskLow"}


@pytest.mark.parametrize(
    ("alert", "row"),
    [
        pytest.param(alert, row, marks=[pytest.mark.process] * (alert in _OF_PROCESSES))
        for alert, row in _CASES
    ],
)
def test_the_page_ends_the_alert(alert: str, row: str, tmp_path: Path) -> None:
    if alert == "DiskLow" and os.geteuid() != 0:
        pytest.skip("only root may mount")
    name, of = f"Baccarat{alert}", Scrape(tmp_path)
    try:
        with quick_hashes():
            broken, mended = follow(row, of)
    finally:
        for place in of.health.disks.values():
            for _ in range(2):
                subprocess.run(["umount", place], check=False, capture_output=True)
    assert name in broken
    assert name not in mended
    metric = re.search(r"`(?:rate\()?(baccarat_\w+)", part(name, "Clears when"))
    rule = Path("deploy/prometheus/alerts.yml").read_text().split(f"- alert: {name}\n")[1]
    assert metric
    assert metric[1] in rule.split("for:")[0], "what the page watches is what the rule watches"


_B7: Final = "harbour/b7"
_NOW_S: Final = time.time()
_DAY_S: Final = 86_400
_WELL: Final = ArchivedUpTo(position=50, at_s=_NOW_S)
_WORKER: Final = Reading(kind="worker", name="db-1", age_s=2)
_DISK: Final = Reading(kind="disk", name=DATABASE_DISK, free=0.5, age_s=2)
_BEHIND: Final = ArchivedUpTo(position=47, at_s=_NOW_S - 30)


def _word(age_s: float = 2) -> Reading:
    return Reading(
        kind="table", name=_B7, state="running", position=50, due=48, at_s=_NOW_S, age_s=age_s
    )


def _judged(archived: ArchivedUpTo, *readings: Reading, database: str = "") -> Judged:
    given = [_WORKER, _DISK, _word(), *readings]
    health = judge_property({_B7: archived}, given, _NOW_S, database)
    return _text(property_metrics(health, given)), [each.step for each in health.findings]


def _part(kind: Any, **found: Any) -> Judged:
    return _judged(_WELL, Reading(kind=kind, name="x", **found))


# What breaks it, and what shows that it is over.
_PROPERTY: Final[dict[str, tuple[Judged, Judged]]] = {
    "Absent": (("", []), _judged(_WELL)),
    "Unwell": (_part("node", state="off"), _part("node", state="on")),
    "PartDown": (_judged(_WELL, database="refused"), _judged(_WELL)),
    "NodeDown": (_part("node", error="does not answer"), _part("node", state="on")),
    "WitnessSilent": (
        _part("witness", state="running", age_s=13),
        _part("witness", state="running", age_s=1),
    ),
    "FeedStopped": (
        _judged(ArchivedUpTo(position=50, alarms={"fork": "another hash"})),
        _judged(_WELL),
    ),
    "TableSilent": (_judged(_WELL, _word(age_s=13)), _judged(_WELL)),
    "TableBehind": (_judged(_BEHIND), _judged(_WELL)),
    "DiskLow": (_part("stream", free=0.09), _part("stream", free=0.5)),
    "CertificateEnds": (
        _part("certificate", at_s=_NOW_S + 20 * _DAY_S),
        _part("certificate", at_s=_NOW_S + 200 * _DAY_S),
    ),
    "BackupOld": (
        _part("backup", at_s=_NOW_S - 27 * 3600),
        _part("backup", at_s=_NOW_S - 3600),
    ),
}


@pytest.mark.parametrize("alert", _PROPERTY)
def test_an_alert_of_the_property_rings_and_its_step_is_the_pages(alert: str) -> None:
    (broken, steps), (mended, _) = _PROPERTY[alert]
    name = f"BaccaratProperty{alert}"
    assert name in firing_alerts(broken)
    assert name not in firing_alerts(mended)
    programs = {
        each for step in steps for each in re.findall(r"`((?:baccarat|systemctl) \w+)", step)
    }
    page = PAGES[name].read_text("utf-8")
    assert alert in {"Absent", "Unwell"} or all(each in page for each in programs), programs


# Pages that are followed where an archive is.
_AT_THE_ARCHIVE: Final = (
    *("gap", "fork", "forged", "foreign", "unreadable", "uplink", "order_of_another_table"),
)


def test_every_page_is_followed() -> None:
    alerts = {alert for alert, _ in _CASES} | {f"Property{name}" for name in _PROPERTY}
    followed = AT_THE_TABLE | OF_THE_SERVICES | OF_THE_PROPERTY | set(_AT_THE_ARCHIVE)
    assert followed | {f"Baccarat{alert}" for alert in alerts} == PAGES.keys()
    archive = Path("tests/integration/property")
    told = [(archive / f"{name}.py").read_text() for name in ("test_alarm_pages", "test_shuffles")]
    assert [name for name in _AT_THE_ARCHIVE if f'"{name}"' not in "".join(told)] == []
