"""The doctor names each of many seeded faults, and what to do; a table that is well has none."""

import asyncio
import json
import os
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from baccarat.cli.main import main
from baccarat.config.table import load_config
from baccarat.site.doctor import examine_broker
from baccarat.site.pki import Pki
from events.clock import SystemClock, rfc3339
from events.log.store import EventLog
from events.mqtt.presence import Status, encode_status
from events.proof.chain import next_hash
from events.types import event_id
from table_core.rulebooks.shipped import shipped_source
from tests.support.brokers.brokers import Broker
from tests.support.brokers.certificates import pki_with
from tests.support.brokers.tls_broker import secured_broker
from tests.support.log.logs import json_bytes
from tests.support.machine.commands import at_work, here, run
from tests.support.machine.ports import free_port
from tests.support.machine.waiting import until_blocking
from tests.support.service.secured_table import SecuredTable, secured_table
from tests.support.service.small_table import TOPICS, SmallTable, small_table
from tests.support.shoe.shoe_line import ShoePort

_CONFIG: Final = """\
site = "harbour"
table = "b7"
rulebook = "au-commission"
[shoe]
url = "{shoe}"
[bus]
port = {port}
ca = "pki/ca.pem"
cert = "pki/b7.pem"
key = "pki/b7.key"
password_file = "secret"
username = "b7-core"
[checkpoints]
key = "signing.key"
[cage]
[users]
cage = ["cage"]
"""


class Machine(NamedTuple):
    """A table's machine on which nothing runs: its files, and a way to examine it."""

    folder: Path
    config: Path
    shoe: ShoePort

    def file(self, name: str) -> Path:
        return self.folder / name

    def change(self, old: str, new: str) -> None:
        """Edit the configuration."""
        text = self.config.read_text()
        assert old in text
        self.config.write_text(text.replace(old, new))


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    shoe = ShoePort(tmp_path / "shoe")
    config = tmp_path / "b7.toml"
    config.write_text(_CONFIG.format(shoe=shoe.url, port=free_port()))
    pki_with(tmp_path / "pki")
    (tmp_path / "secret").write_text("long enough\n")
    (tmp_path / "secret").chmod(0o600)
    assert main(["keys", "new", str(tmp_path / "signing.key"), "--name", "harbour/b7"]) == 0
    with EventLog.open(tmp_path / "table.sqlite", "harbour/b7"):
        pass
    yield Machine(tmp_path, config, shoe)
    shoe.unplug()


def examined(config: Path, *options: str, within: Sequence[str] = ()) -> dict[str, dict[str, str]]:
    """What the doctor says, by check."""
    words = ("doctor", config, "--json", *options)
    done = run(*words, within=within) if within else here(*words)
    said = json.loads(done.out)
    assert done.code == (0 if said["ok"] else 1)
    assert all(each["remedy"] for each in said["checks"] if each["verdict"] != "ok")
    return {each["check"]: each for each in said["checks"]}


def _copied_log(machine: Machine, change: Callable[[sqlite3.Connection], object]) -> None:
    """A log of another table's many events, changed behind everybody's back."""
    log = machine.folder / "table.sqlite"
    for path in machine.folder.glob("table.sqlite*"):
        path.unlink()
    shutil.copy("tests/corpus/0.1.0/table.sqlite", log)
    with closing(sqlite3.connect(log)) as db:
        triggers = db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        kept = [
            row[0] for row in db.execute("SELECT sql FROM sqlite_master WHERE type = 'trigger'")
        ]
        for (name,) in triggers:
            db.execute(f'DROP TRIGGER "{name}"')
        change(db)
        for sql in kept:
            db.execute(sql)
        db.commit()


def _issue(machine: Machine, days_ago: int) -> None:
    """A certificate for ten days."""
    then = datetime.now(UTC) - timedelta(days=days_ago)
    Pki(machine.folder / "pki", then).issue("b7", days=10, replace=True)


def _broken_chain(machine: Machine) -> None:
    change = "UPDATE event SET bytes = replace(bytes, 'burn', 'bern') WHERE position = 7"
    _copied_log(machine, lambda db: db.execute(change))


def _other_log(machine: Machine) -> None:
    _copied_log(machine, lambda _: None)
    machine.change('table = "b7"', 'table = "b8"')


def _clock_back(machine: Machine) -> None:
    """The log's last event is of an hour from now, and whole."""
    later = (datetime.now(UTC) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%S.000000000Z")

    def append(db: sqlite3.Connection) -> None:
        sql = "SELECT * FROM event WHERE type = 'alarm_raised' ORDER BY position LIMIT 1"
        _, kind, version, _, stored, _ = db.execute(sql).fetchone()
        sql = "SELECT position + 1, hash FROM event ORDER BY position DESC LIMIT 1"
        position, head = db.execute(sql).fetchone()
        said = json.loads(stored) | {"position": position, "at": later, "actor": "core"}
        said |= {"cause": "core/later", "event_id": event_id("core/later", 0)}
        new = json_bytes(said)
        row = (position, kind, version, later, new, next_hash(head, new))
        db.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?)", row)

    _copied_log(machine, append)


def _old_backup(machine: Machine) -> None:
    copy = machine.folder / "copies" / "b7-20261101T000000Z.sqlite"
    copy.parent.mkdir()
    copy.touch()
    before = time.time() - 86_400
    os.utime(copy, (before, before))


def _another_key(machine: Machine) -> None:
    """As a renewal leaves it where the key was copied before."""
    (machine.folder / "b7.key").write_bytes((machine.folder / "pki" / "b7.key").read_bytes())
    machine.change('key = "pki/b7.key"', 'key = "b7.key"')
    Pki(machine.folder / "pki", datetime.now(UTC)).renew("b7")


def _another_screens_key(machine: Machine) -> None:
    screens = '[displays]\ncert = "pki/b7.pem"\nkey = "pki/ca.key"\n[cage]\n'
    machine.change("[cage]\n", screens)


class _Fault(NamedTuple):
    """What is done to a machine that is well, the check that must name it, and in which words.

    Args:
        check: its name.
        says: a word of what it says.
        remedy: a word of what to do.
        seed: does it.
    """

    check: str
    says: str
    remedy: str
    seed: Callable[[Machine], object]


_UNSIGNED: Final = '[checkpoints]\nkey = "signing.key"\n'
_JOURNAL: Final = '[data]\njournal = "gone/journal"\n[checkpoints]'
_SCREENS: Final = '[displays]\nusers = "people.toml"\n[cage]\n'
_FAULTS: Final = {
    "config": _Fault(
        "configuration: site",
        "lower-case",
        "harbour",
        lambda on: on.change('site = "harbour"', 'site = "Harbour 1"'),
    ),
    "no users": _Fault(
        "configuration: displays.users",
        "people.toml",
        "change",
        lambda on: on.change("[cage]\n", _SCREENS),
    ),
    "no port": _Fault("shoe port", "does not exist", "shoe list", lambda on: on.shoe.link.unlink()),
    "open secret": _Fault(
        "bus.password_file",
        "read by others",
        "chmod 600",
        lambda on: on.file("secret").chmod(0o644),
    ),
    "empty secret": _Fault(
        "bus.password_file",
        "is empty",
        "write the password",
        lambda on: on.file("secret").write_text("\n"),
    ),
    "open key": _Fault(
        "signing key", "0644", "does not start", lambda on: on.file("signing.key").chmod(0o644)
    ),
    "no key": _Fault(
        "signing key", "No such file", "does not start", lambda on: on.file("signing.key").unlink()
    ),
    "unsigned": _Fault(
        "signing key", "no checkpoint is signed", "keys new", lambda on: on.change(_UNSIGNED, "")
    ),
    "expired": _Fault("bus.cert", "has expired", "site renew", lambda on: _issue(on, days_ago=20)),
    "ends soon": _Fault("bus.cert", "holds until", "site renew", lambda on: _issue(on, days_ago=0)),
    "another key": _Fault("broker", "b7.key is not the key of", "copied again", _another_key),
    "another screens' key": _Fault(
        "displays.key", "ca.key is not the key of", "made together", _another_screens_key
    ),
    "newer log": _Fault(
        "log",
        "newer",
        "leave the file",
        lambda on: _copied_log(on, lambda db: db.execute("PRAGMA user_version = 99")),
    ),
    "broken chain": _Fault("log", "position 7", "restore a verified backup", _broken_chain),
    "other log": _Fault("log", "is the log of", "not harbour/b8", _other_log),
    "no log at all": _Fault(
        "log",
        "table.sqlite",
        "backup",
        lambda on: on.file("table.sqlite").write_bytes(b"not a database" * 100),
    ),
    "clock back": _Fault("clock", "behind the log's newest event", "set it", _clock_back),
    "no broker": _Fault("broker", "refused", "start the broker", lambda _: "as it is"),
    "old backup": _Fault("backup", "24.0 hours", "timer", _old_backup),
    "no backup": _Fault("backup", "no copy", "timer", lambda on: on.file("copies").mkdir()),
    "no folder": _Fault(
        "disk of the journal",
        "gone/journal",
        "make it",
        lambda on: on.change("[checkpoints]", _JOURNAL),
    ),
}


@pytest.mark.parametrize("fault", _FAULTS.values(), ids=_FAULTS)
def test_a_fault_is_named(machine: Machine, fault: _Fault) -> None:
    fault.seed(machine)
    found = examined(machine.config, "--backups", str(machine.folder / "copies"))[fault.check]
    assert found["verdict"] in {"fail", "warn"}
    assert fault.says in found["says"]
    assert fault.remedy in found["remedy"]


def test_a_warning_comes_once(machine: Machine) -> None:
    checks = json.loads(here("doctor", machine.config, "--json").out)["checks"]
    said = [each["says"] for each in checks if each["verdict"] == "warn"]
    assert any(each.startswith("no maximum on") for each in said)
    assert len(said) == len(set(said))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
@pytest.mark.parametrize(
    ("options", "says"), [("size=1m", "1 MB free"), ("size=1m,ro", "read-only")]
)
def test_a_disk_that_takes_nothing_is_named(machine: Machine, options: str, says: str) -> None:
    place = machine.folder / "small"
    place.mkdir()
    machine.change("[checkpoints]", '[data]\njournal = "small"\n[checkpoints]')
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], check=True)
    try:
        found = examined(machine.config)
    finally:
        subprocess.run(["umount", place], check=True)
    assert found["disk of the journal"]["verdict"] == "fail"
    assert says in found["disk of the journal"]["says"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a folder to somebody else")
def test_a_rulebook_that_the_tables_service_may_not_read_is_named(machine: Machine) -> None:
    """Its user is whoever the log's folder belongs to; the suite's own folders are closed to it."""
    rules = machine.folder / "harbour.toml"
    rules.write_bytes(shipped_source("au-commission"))
    machine.change('rulebook = "au-commission"', 'rulebook = "harbour.toml"')
    assert examined(machine.config)["file harbour.toml"]["verdict"] == "ok"

    os.chown(machine.folder, 65534, 65534)
    said = examined(machine.config)["file harbour.toml"]
    assert said["verdict"] == "fail"
    assert "is closed to nobody" in said["says"]
    assert "let nobody into" in said["remedy"]


def test_a_port_that_another_program_has_is_named(machine: Machine) -> None:
    with at_work("shoe", "capture", machine.shoe.link, machine.folder / "x.raw") as other:
        until_blocking(lambda: examined(machine.config)["shoe port"]["verdict"] == "fail", "held")
        said = examined(machine.config)["shoe port"]
    assert f"in use by process {other.pid}" in said["says"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a port to somebody else")
def test_a_port_that_we_may_not_open_is_named(machine: Machine) -> None:
    """Root that may not override permissions stands for a service's user: all else is root's."""
    line = machine.shoe.link.resolve()
    os.chown(line, 65534, 65534)
    line.chmod(0o600)
    bound = "--bounding-set=-dac_override,-dac_read_search"
    found = examined(machine.config, within=("setpriv", bound))
    assert found["shoe port"]["verdict"] == "fail"
    assert "permission denied" in found["shoe port"]["says"]
    assert "nogroup" in found["shoe port"]["says"] + found["shoe port"]["remedy"]


@pytest.fixture(params=["mosquitto", "nats"])
def running(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SecuredTable]:
    with (
        secured_broker(tmp_path, request.param, ("b7", "b8")) as broker,
        secured_table(broker, tmp_path) as found,
    ):
        more = '[displays]\nusername = "b7-display"\npassword_file = "broker/secrets/b7-display"\n'
        more += '[cage]\nusername = "b7-cage"\npassword_file = "broker/secrets/b7-cage"\n'
        found.config.write_text(found.config.read_text() + more)
        yield found


def test_a_table_that_runs_is_examined_through_each_login(running: SecuredTable) -> None:
    found = examined(running.config)
    well = {name for name, each in found.items() if each["verdict"] == "ok"}
    logins = {"login of bus", "login of shoe", "login of displays", "login of cage"}
    assert logins | {"broker", "service table", "service shoe", "shoe link"} <= well
    # A dead cage, and screens that nobody has started.
    assert found["service cage"]["says"] == "was never heard"
    assert found["service display"]["verdict"] == "fail"


def test_a_wrong_password_is_named(running: SecuredTable) -> None:
    (running.folder / "broker/secrets/b7-display").write_text("guessed\n")
    found = examined(running.config)
    assert found["login of displays"]["verdict"] == "fail"
    assert "refused" in found["login of displays"]["says"]


def test_a_missing_access_rule_is_named(running: SecuredTable) -> None:
    """The login of metrics may hear the state, and ask for nothing: it is no console's."""
    text = running.config.read_text()
    wrong = text.replace("b7-cage", "b7-metrics")
    running.config.write_text(wrong)
    found = examined(running.config)
    assert found["login of cage"]["verdict"] == "fail"
    assert "b7-metrics" in found["login of cage"]["says"]


def test_a_ca_that_did_not_issue_the_brokers_certificate_is_named(running: SecuredTable) -> None:
    running.config.write_text(running.config.read_text().replace("pki/ca.pem", "foreign/ca.pem"))
    found = examined(running.config)
    assert "not believed" in found["broker"]["says"]


def test_noise_on_the_line_is_named(running: SecuredTable) -> None:
    """As a wrong baud rate makes it."""

    def told() -> dict[str, str] | None:
        running.shoe.say(bytes(range(128, 256)) * 4)
        link = examined(running.config)["shoe link"]
        return link if link["verdict"] != "ok" else None

    said = until_blocking(told, "the driver tells of noise")
    assert "baud" in said["says"] + said["remedy"]


CONFIG = """\
site = "site"
table = "t1"
rulebook = "au-commission"
[shoe]
url = "pty:{shoe}"
[bus]
port = {port}
[cage]
"""


async def test_a_table_that_is_just_starting_is_asked_again(broker: Broker, tmp_path: Path) -> None:
    """Its first question was lost: nobody had subscribed to it yet."""
    path = tmp_path / "t1.toml"
    path.write_text(CONFIG.format(shoe=tmp_path / "shoe", port=broker.port))
    asked: list[str] = []

    async def answer(user: str, command: str, body: bytes) -> dict[str, Any] | None:
        assert (user, command) == ("cage", "replay")
        asked.append(json.loads(body)["transaction"])
        return {"transaction": asked[-1], "result": "accepted"} if len(asked) > 1 else None

    async with small_table(broker.port, answer) as table:
        there = Status(state="online", session=1, ts=rfc3339(SystemClock().utc_ns()))
        await table.publish(TOPICS.status("table"), encode_status(there), retain=True)
        for topic in (TOPICS.state, TOPICS.link_shoe):
            await table.publish(topic, b"{}", retain=True)
        found, _ = await examine_broker(load_config(path))
    (cage,) = [each for each in found if each.check == "login of cage"]
    assert cage.verdict == "ok", cage
    assert len(set(asked)) == 1 < len(asked)


async def test_a_heartbeat_that_came_late_is_no_clock_that_is_behind(
    mosquitto: Broker, tmp_path: Path
) -> None:
    """The doctor listens on: a later heartbeat shows that the clocks agree."""
    path = tmp_path / "t1.toml"
    path.write_text(CONFIG.format(shoe=tmp_path / "shoe", port=mosquitto.port))
    asked: list[str] = []

    async def answer(_user: str, _command: str, body: bytes) -> dict[str, Any] | None:
        asked.append(json.loads(body)["transaction"])
        return {"transaction": asked[-1], "result": "accepted"} if len(asked) > 1 else None

    async def beat(table: SmallTable) -> None:
        while True:
            late_ns = 0 if len(asked) > 1 else 4 * 10**9
            written = rfc3339(SystemClock().utc_ns() - late_ns)
            status = encode_status(Status(state="online", session=1, ts=written))
            for service in ("table", "shoe", "cage"):
                await table.publish(TOPICS.status(service), status)
            await asyncio.sleep(0.2)

    async with small_table(mosquitto.port, answer) as table:
        for topic in (TOPICS.state, TOPICS.link_shoe):
            await table.publish(topic, b"{}", retain=True)
        beating = asyncio.create_task(beat(table))
        found, _ = await examine_broker(load_config(path))
        beating.cancel()
    services = {each.check: each.says for each in found if each.check.startswith("service")}
    assert services == dict.fromkeys(("service table", "service shoe", "service cage"), "is there")


async def test_a_service_that_died_with_its_broker_is_not_there(
    mosquitto: Broker, tmp_path: Path
) -> None:
    """Its last word was kept and says that it is online; nothing newer comes."""
    path = tmp_path / "t1.toml"
    path.write_text(CONFIG.format(shoe=tmp_path / "shoe", port=mosquitto.port))

    async def silent(*_: object) -> None:
        return None

    async with small_table(mosquitto.port, silent) as table:
        for service, state in (("table", "online"), ("shoe", "online"), ("cage", "offline")):
            said = Status(state=state, session=9, ts="2026-11-28T00:00:00.000000000Z")  # type: ignore[arg-type] # one of the two
            await table.publish(TOPICS.status(service), encode_status(said), retain=True)
        found, has_driver = await examine_broker(load_config(path))
    gone = {each.check: (each.verdict, each.says) for each in found if "service" in each.check}
    since = ("fail", "is gone since 2026-11-28T00:00:00Z")
    assert gone == {"service table": since, "service shoe": since, "service cage": since}
    assert not has_driver
