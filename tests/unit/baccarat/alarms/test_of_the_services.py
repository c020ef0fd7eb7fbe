"""Alarms of log, bus, driver and cage: each is raised, its page is followed, and it is over.

A row yields what stands after it has broken something, and again after it has done what the page
says. What a page has people type at a machine, such as `systemctl`, is done by the row's own hand.
"""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from baccarat.cli.main import main
from baccarat.config.table import load_config
from baccarat.services.access import SiteAccess
from events.clock import rfc3339
from events.commands.consumers import Ack
from events.commands.coup import ConfirmResult
from events.log.store import EventLog
from events.mqtt.presence import PresencePublisher, Status, encode_status
from events.mqtt.process import Instant
from events.types.shoe_reports import DeviceResult, LinkUp, ShoeEvent
from table_core.process.consumer_health import ACK_OVERDUE_S
from table_core.process.table_process import RESULT_OVERDUE_S, TableProcess
from table_core.rulebooks.shipped import shipped_source
from table_core.rules.rulebook_file import parse_rulebook
from table_core.service.snapshots import inspect_log
from tests.support.alarm_pages import PAGES, part, pressed, typed
from tests.support.machine.commands import here
from tests.support.service.memory_log import START_NS
from tests.support.table.coups import NATURAL_NINE, ORDER, drawn, shoe_event
from tests.unit.table_core.process.test_adoption import FAULTY, in_force, started
from tests.unit.table_core.process.test_table_process import TOPICS, Bench, in_play, reports

Row = Iterator[set[str]]
SECOND: Final = 1_000_000


class Table(Bench):
    """A table whose driver is there, and which a test lets time pass at."""

    def __init__(self, **process: Any) -> None:
        super().__init__(**process)
        for event in reports():
            self.say(event)
        self.links(2)

    def beat(self, session: int, seconds: int = 1, behind_s: int = 0) -> None:
        """The driver's heartbeat, once a second."""
        for _ in range(seconds):
            self.passes(1)
            ts = rfc3339(self.log.now.utc_ns - behind_s * 1000 * SECOND)
            beat = Status(state="online", session=session, ts=ts)
            self.hand_over(TOPICS.status("shoe"), encode_status(beat))
            self.running["watch"].answer(result=False)

    def passes(self, seconds: int) -> None:
        self.log.now_us += seconds * SECOND

    @property
    def alarms(self) -> set[str]:
        self.process._state.kick()
        return {each["name"] for each in json.loads(self.publishes("state"))["alarms"]}


def driver_offline(_: Path) -> Row:
    table = Table()
    driver = PresencePublisher(TOPICS.status("shoe"), 1, START_NS)
    table.hand_over(driver.topic, driver.will.payload)
    yield table.alarms
    table.beat(2)  # its service is started
    yield table.alarms


def driver_not_trusted(_: Path) -> Row:
    table = Table()
    for session in (3, 7, 3):
        table.beat(session)
    yield table.alarms
    table.beat(3, seconds=11)  # the other is stopped: ten seconds after its last message
    yield table.alarms


def clock_difference(_: Path) -> Row:
    table = Table()
    table.beat(1, seconds=5, behind_s=10)
    yield table.alarms
    table.beat(1, seconds=5)  # both clocks are set: within five heartbeats
    yield table.alarms


def shoe_journal_lost(_: Path) -> Row:
    table = Table()
    for _second in range(3):
        table.beat(1)
        table.links(1)
    yield table.alarms
    table.passes(601)
    table.links(2)
    table.beat(1)  # it has caught up, and ten minutes have passed
    yield table.alarms


def log_unwritable(_: Path) -> Row:
    table = Table()
    table.log.refuses = True
    table.say(shoe_event(3, LinkUp()))
    yield table.alarms
    table.log.refuses = False  # there is room again
    table.say(shoe_event(3, LinkUp()))
    yield table.alarms


def log_unsound(folder: Path) -> Row:
    """The page's restore, with a copy that was made before the damage."""
    table, log = Table(), folder / "table.sqlite"
    shutil.copy("tests/corpus/0.1.0/table.sqlite", log)
    assert main(["log", "backup", str(log), str(folder / "copy.sqlite")]) == 0
    log.write_bytes(log.read_bytes().replace(b'"burn', b'"bern'))
    table.running["inspect"].answer(str(inspect_log(log)))
    yield table.alarms
    verify = [str(log) if word.endswith(".sqlite") else word for word in _words("log_unsound", 0)]
    assert main(verify) != 0
    assert "operate/backup-and-restore.md#restore" in part("log_unsound", "Mitigation")
    assert main(["log", "restore", "--replace", str(folder / "copy.sqlite"), str(log)]) == 0
    assert main(verify) == 0
    fresh = Table()  # the service starts on it
    fresh.running["inspect"].answer(inspect_log(log))
    yield fresh.alarms


def log_unsigned(folder: Path) -> Row:
    yield Table(unsigned=True).alarms
    assert "operate/keys.md#the-logs-key" in part("log_unsigned", "Mitigation")
    assert main(["keys", "new", str(folder / "table.key"), "--name", "harbour/b7"]) == 0
    config = _config(folder, '[checkpoints]\nkey = "table.key"\n')
    yield Table(unsigned=load_config(config).checkpoints.key is None).alarms


def bus_not_authenticated(folder: Path) -> Row:
    config = _config(folder, "")
    table = Table(guarded=True)
    table.log.access = SiteAccess(load_config(config))()
    table.beat(1)
    yield table.alarms
    assert "operate/keys.md#message-keys" in part("bus_not_authenticated", "Mitigation")
    assert main(["keys", "messages", str(config)]) == 0
    keys = '[message_keys]\nfile = "secrets/t-core.messagekeys"\nmode = "required"\n'
    config.write_text(config.read_text() + keys)
    table.log.access = SiteAccess(load_config(config))()
    table.beat(1)
    yield table.alarms - {"driver_offline"}  # who has no key yet, says nothing that counts


def trust_broker(folder: Path) -> Row:
    """To go without on purpose."""
    table = Table(guarded=True)
    config = _config(folder, "")
    table.log.access = SiteAccess(load_config(config))()
    table.beat(1)
    yield table.alarms
    assert '`mode = "trust-broker"`' in part("bus_not_authenticated", "Mitigation")
    config.write_text(config.read_text() + '[message_keys]\nmode = "trust-broker"\n')
    table.log.access = SiteAccess(load_config(config))()
    table.beat(1)
    yield table.alarms


def message_forged(folder: Path) -> Row:
    config = _config(folder, "")
    assert main(["keys", "messages", str(config)]) == 0
    keys = '[message_keys]\nfile = "secrets/t-core.messagekeys"\nmode = "required"\n'
    config.write_text(config.read_text() + keys)
    table = Table(guarded=True)
    table.log.access = SiteAccess(load_config(config))()
    table.hand_over(TOPICS.shoe_event, msgspec.json.encode(shoe_event(3, LinkUp())))
    yield table.alarms
    table.passes(600)  # ten minutes after the last one
    yield table.alarms


def shoe_event_contradicted(_: Path) -> Row:
    table = Table()
    table.log.contradiction = "its bytes are those of 9S"
    table.say(shoe_event(3, LinkUp()))
    yield table.alarms
    table.log.contradiction = None  # both services are of one build again
    table.say(shoe_event(3, LinkUp()))
    yield table.alarms


def result_overdue(_: Path) -> Row:
    """A supervisor confirms the table's result, as the page says."""
    assert pressed("result_overdue") == {"confirm_result"}
    table = Table()
    _deal(table)
    for _second in range(RESULT_OVERDUE_S + 2):
        table.beat(1)
    yield table.alarms
    confirm = ConfirmResult(transaction="c", reason="the round is ended")
    table.hand_over(TOPICS.request("supervisor", "confirm_result"), msgspec.json.encode(confirm))
    yield table.alarms


def rulebook_faulty(folder: Path) -> Row:
    """The fault is named, put right in a new file, and the service started with it."""

    def stands(path: Path) -> set[str]:
        table = started(log, parse_rulebook(path.name, path.read_bytes()))
        process = TableProcess(table.writer, PresencePublisher(TOPICS.status("table"), 1, 0))
        return {each.name for each in process._faults(Instant(0, 0))}

    old, new = folder / "site.toml", folder / "site-2.toml"
    old.write_text(FAULTY)
    new.write_bytes(shipped_source("au-commission"))
    with EventLog.open(folder / "table.sqlite", "harbour/b7") as log:
        in_force(log)
        yield stands(old)
        (check,) = typed("rulebook_faulty")
        for path, code in ((old, 1), (new, 0)):
            assert here(*check.replace("FILE", str(path)).split()[1:]).code == code
        yield stands(new)


def settlement_unacknowledged(_: Path) -> Row:
    table = Table(consumers=["cage/main"])
    _settle(table)
    table.passes(ACK_OVERDUE_S + 1)
    yield table.alarms
    ack = Ack(transaction="a", consumer="main", position=len(table.log.stored))
    table.hand_over(TOPICS.request("cage", "ack"), msgspec.json.encode(ack))
    yield table.alarms  # the consumer was mended and has caught up


def _deal(table: Table) -> list[ShoeEvent]:
    """Four cards that end a coup; the shoe's result, which has not come."""
    in_play(table)
    cards = [drawn(*place, face) for place, face in zip(ORDER, NATURAL_NINE, strict=True)]
    *dealt, result = reports(*cards, DeviceResult(winner="player"))[2:]
    for event in dealt:
        table.say(event)
    return [result]


def _settle(table: Table) -> None:
    for event in _deal(table):
        table.say(event)
    table.publishes("settlement")


def _config(folder: Path, more: str) -> Path:
    path = folder / "b7.toml"
    head = 'site = "s"\ntable = "t"\nrulebook = "au-commission"\n[shoe]\nurl = "pty:/x"\n'
    path.write_text(head + more)
    return path


def _words(name: str, number: int) -> list[str]:
    return typed(name)[number].split()[1:]


ALARMS: Final[Mapping[str, Callable[[Path], Row]]] = {
    row.__name__: row
    for row in (
        driver_offline, driver_not_trusted, clock_difference, shoe_journal_lost, log_unwritable,
        log_unsound, log_unsigned, bus_not_authenticated, message_forged,
        settlement_unacknowledged, shoe_event_contradicted, result_overdue, rulebook_faulty,
    )
} | {"bus_not_authenticated: without": trust_broker}  # fmt: skip


@pytest.mark.parametrize("alarm", ALARMS)
def test_the_page_ends_the_alarm(alarm: str, tmp_path: Path) -> None:
    name = alarm.partition(":")[0]
    assert name in PAGES
    broken, mended = ALARMS[alarm](tmp_path)
    assert name in broken
    assert name not in mended
