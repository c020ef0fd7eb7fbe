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
from collections.abc import Callable, Iterable, Iterator
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
from property.health.verdict import judge_property
from tests.support.alarm_pages import PAGES, part, typed
from tests.support.brokers.tls_broker import quick_hashes
from tests.support.clock import FakeClock
from tests.support.machine.commands import here
from tests.support.property.alerts import firing_alerts
from tests.unit.baccarat.alarms.test_at_the_table import FOLLOWED as AT_THE_TABLE
from tests.unit.baccarat.alarms.test_of_the_services import ALARMS
from tests.unit.baccarat.site.test_metrics import ACK, LINK, STATE

Row = Iterator[set[str]]
Judged = tuple[str, list[str]]


class Scrape:
    """What Prometheus would collect of a table that is well, until a row breaks something."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.clock = folder, FakeClock()
        self.health = TableHealth("b7", {}, self.clock)
        self.health.connected = True
        self.certificates: dict[str, Path] = {}
        self.kept = folder
        self.state()

    def state(self, **changed: Any) -> None:
        """The table publishes its state."""
        healthy: dict[str, Any] = {"alarms": [], "consumers": []}
        self.health.on_state(msgspec.json.encode(STATE | healthy | changed))

    def beat(self, session: int = 1, ahead_s: int = 0, *, state: Any = "online") -> None:
        """The table service says that it is there, a second later."""
        self.clock.now_us += 1_000_000
        ts = rfc3339(self.clock.utc_ns() + ahead_s * 10**9)
        said = encode_status(Status(state=state, session=session, ts=ts))
        message = Message("bac/v1/a/b7/status/table", said, retain=False)
        asyncio.run(self.health.on_status(message))

    @property
    def ringing(self) -> set[str]:
        ours = machine_metrics("b7", self.certificates, time.time(), self.folder, (self.kept,))
        families = {each.name: each for each in (*self.health.metrics(), *ours)}
        return firing_alerts(_text(families.values()), "Baccarat")


def _text(families: Iterable[Metric]) -> str:
    class All(Collector):
        def collect(self) -> Iterable[Metric]:
            return families

    registry = CollectorRegistry(auto_describe=False)
    registry.register(All())
    return generate_latest(registry).decode()


def metrics_absent(of: Scrape) -> Row:
    yield firing_alerts("", "Baccarat")
    yield of.ringing  # the service runs, and Prometheus reaches it


def bus_down(of: Scrape) -> Row:
    of.health.on_disconnect()
    yield of.ringing
    of.health.connected = True  # the broker was started; the services reconnect by themselves
    yield of.ringing


def service_down(of: Scrape) -> Row:
    of.beat()
    of.clock.now_us += 20_000_000
    yield of.ringing
    of.beat(2)  # started
    of.state()
    yield of.ringing


def two_of_one_name(of: Scrape) -> Row:
    for session in (3, 7, 3):
        of.beat(session)
    yield of.ringing
    for _ in range(11):  # the other is stopped
        of.beat(3)
    of.state()
    yield of.ringing


def clock_differs(of: Scrape) -> Row:
    for _ in range(5):
        of.beat(ahead_s=10)
    yield of.ringing
    for _ in range(5):  # both are set: within five heartbeats
        of.beat()
    yield of.ringing


def link_down(of: Scrape) -> Row:
    of.health.on_link(msgspec.json.encode(LINK | {"state": "down"}))
    yield of.ringing
    of.health.on_link(msgspec.json.encode(LINK))
    yield of.ringing


def shoe_events_waiting(of: Scrape) -> Row:
    of.health.on_link(msgspec.json.encode(LINK))
    of.health.on_ack(msgspec.json.encode(ACK))
    yield of.ringing
    of.health.on_ack(msgspec.json.encode(ACK | {"seq": LINK["head"]}))
    yield of.ringing


def alarm(of: Scrape) -> Row:
    of.state(alarms=[{"name": "link_down", "text": "no port"}])
    yield of.ringing
    of.state()
    yield of.ringing


def settlement_unacknowledged(of: Scrape) -> Row:
    of.state(consumers=[{"name": "cage/cage", "position": 800, "waiting_s": 61}])
    yield of.ringing
    of.state(consumers=[{"name": "cage/cage", "position": 812, "waiting_s": None}])
    yield of.ringing


def catching_up(of: Scrape) -> Row:
    of.state(catching_up=True)
    yield of.ringing
    of.state()
    yield of.ringing


def state_old(of: Scrape) -> Row:
    of.clock.now_us += 16_000_000
    yield of.ringing
    of.state()
    yield of.ringing


def disk_low(of: Scrape) -> Row:
    if os.geteuid() != 0:
        pytest.skip("only root may mount")
    disk = of.folder / "disk"
    disk.mkdir()
    of.health.disks = {"log": disk}
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], check=True)
    try:
        yield of.ringing
        subprocess.run(["mount", "-o", "remount,size=3g", disk], check=True)  # it is enlarged
        yield of.ringing
    finally:
        subprocess.run(["umount", disk], check=True)


def certificate_ends(of: Scrape) -> Row:
    pki, folder = Pki(of.folder / "pki", datetime.now(UTC)), of.folder
    pki.begin("harbour", 3650)
    pki.issue("broker", ("localhost",), days=400)
    of.certificates = {"bus.cert": pki.issue("b7", days=10)}
    config = folder / "b7.toml"
    config.write_text(
        'site = "harbour"\ntable = "b7"\nrulebook = "ez"\n[shoe]\nurl = "pty:/x"\n'
        '[bus]\nport = 1\nca = "pki/ca.pem"\ncert = "pki/b7.pem"\nkey = "pki/b7.key"\n'
    )
    with quick_hashes():
        made = ["config", "broker", "--kind", "mosquitto", "--pki", str(folder / "pki")]
        assert main([*made, "-o", str(folder / "broker"), str(config)]) == 0
        yield of.ringing
        shows, renews = typed("BaccaratCertificateEnds")
        for command in (shows, renews):
            words = command.replace("/etc/baccarat", str(folder)).split()[1:]
            assert here(*words).code == 0, command
        yield of.ringing


def backup_old(of: Scrape) -> Row:
    log, newest = of.folder / "table.sqlite", of.folder / "b7.newest"
    log.write_bytes(Path("tests/corpus/0.1.0/table.sqlite").read_bytes())
    newest.touch()
    os.utime(newest, (time.time() - 86_400,) * 2)
    yield of.ringing
    _, starts, _verify = typed("BaccaratBackupOld")
    unit = re.fullmatch(r"systemctl start (baccarat-backup@)b7(\.service)", starts)
    assert unit
    text = Path("deploy/systemd", unit[1] + unit[2]).read_text().replace("%i", "b7")
    runs = re.search(
        r"^ExecStart=/opt/baccarat/(\S+) /var/lib/\S+ /var/backups/\S+ b7$", text, re.MULTILINE
    )
    assert runs
    program = of.folder / "baccarat"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m baccarat "$@"\n')
    program.chmod(0o755)
    subprocess.run(
        ["sh", f"deploy/{runs[1]}", log, of.folder, "b7"],
        env={**os.environ, "BACCARAT": str(program)}, check=True, capture_output=True,
    )  # fmt: skip
    yield of.ringing


def clock_unkept(of: Scrape) -> Row:
    of.kept = of.folder / "synchronized"
    yield of.ringing
    of.kept.touch()  # as the service does that the page starts again
    yield of.ringing


_ROWS: Final[dict[str, Callable[[Scrape], Row]]] = {
    "MetricsAbsent": metrics_absent,
    "BusDown": bus_down,
    "ServiceDown": service_down,
    "ServiceDown: two": two_of_one_name,
    "ClockDiffers": clock_differs,
    "LinkDown": link_down,
    "ShoeEventsWaiting": shoe_events_waiting,
    "Alarm": alarm,
    "SettlementUnacknowledged": settlement_unacknowledged,
    "CatchingUp": catching_up,
    "StateOld": state_old,
    "DiskLow": disk_low,
    "CertificateEnds": certificate_ends,
    "BackupOld": backup_old,
    "ClockUnkept": clock_unkept,
}
_ALERTS: Final = {f"Baccarat{row.partition(':')[0]}" for row in _ROWS}


_OF_PROCESSES: Final = {"DiskLow", "BackupOld"}


@pytest.mark.parametrize(
    "alert",
    [pytest.param(row, marks=[pytest.mark.process] * (row in _OF_PROCESSES)) for row in _ROWS],
)
def test_the_page_ends_the_alert(alert: str, tmp_path: Path) -> None:
    rows = _ROWS[alert](Scrape(tmp_path))
    name = f"Baccarat{alert.partition(':')[0]}"
    assert [name in ringing for ringing in rows] == [True, False]
    metric = re.search(r"`(baccarat_\w+)", part(name, "Clears when"))
    rule = Path("deploy/prometheus/alerts.yml").read_text().split(f"- alert: {name}\n")[1]
    assert metric
    assert metric[1] in rule.split("for:")[0], "what the page watches is what the rule watches"


_B7: Final = "harbour/b7"
_NOW_S: Final = time.time()
_DAY_S: Final = 86_400
_WELL: Final = ArchivedUpTo(position=50, at_s=_NOW_S)
_WORKER: Final = Reading(kind="worker", name="db-1", age_s=2)
_BEHIND: Final = ArchivedUpTo(position=47, at_s=_NOW_S - 30)


def _word(age_s: float = 2) -> Reading:
    return Reading(
        kind="table", name=_B7, state="running", position=50, due=48, at_s=_NOW_S, age_s=age_s
    )


def _judged(archived: ArchivedUpTo, *readings: Reading, database: str = "") -> Judged:
    given = [_WORKER, _word(), *readings]
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


# Pages that no test follows, with what a test of them needs.
_NOT_FOLLOWED: Final = {
    "BaccaratLinkQuality": "a rate over five minutes",
    "BaccaratSettlementSlow": "a rate over fifteen minutes",
    **dict.fromkeys(
        (
            "gap", "fork", "forged", "foreign", "unreadable", "uplink", "uplink_silent",
            "order_of_another_table", "pay_scale", "witness",
        ),
        "a hub and an archive; the commands are tried in tests/integration/property",
    ),
}  # fmt: skip


def test_every_page_is_followed_or_says_why_not() -> None:
    followed = AT_THE_TABLE | {name.partition(":")[0] for name in ALARMS}
    followed |= _ALERTS | {f"BaccaratProperty{name}" for name in _PROPERTY}
    assert followed.isdisjoint(_NOT_FOLLOWED)
    assert followed | _NOT_FOLLOWED.keys() == PAGES.keys()
