"""Alarms of log, bus, driver and cage: each is raised, its page is followed, and it is over.

What a page has people do to a machine, such as starting a service, is done by the row's own hand.
"""

import json
import shutil
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from baccarat.config.table import load_config
from baccarat.services.access import SiteAccess
from events.clock import rfc3339
from events.commands import Ack, Command, ConfirmResult
from events.commands.registry import COMMAND_NAMES
from events.log.store import EventLog
from events.mqtt.presence import PresencePublisher, Status, encode_status
from events.mqtt.process import Instant
from events.types import DeviceResult, LinkUp
from table_core.narrative.formatting import Phrase
from table_core.narrative.table_texts import as_phrase
from table_core.process.table_process import TableProcess
from table_core.rulebooks.shipped import shipped_source
from table_core.rules.rulebook_file import parse_rulebook
from table_core.service.snapshots import inspect_log
from tests.support.alarm_pages import follow, part, pressed, typed
from tests.support.machine.commands import here
from tests.support.table.coups import NATURAL_NINE, ORDER, drawn, shoe_event
from tests.unit.table_core.process.test_adoption import FAULTY, in_force, started
from tests.unit.table_core.process.test_table_process import TOPICS, Bench, in_play, reports

_HEAD: Final = 'site = "s"\ntable = "t"\nrulebook = "au-commission"\n[shoe]\nurl = "pty:/x"\n'
_KEYS: Final = '[message_keys]\nfile = "secrets/t-core.messagekeys"\nmode = "required"\n'
_SECOND: Final = 1_000_000


class Table(Bench):
    """A table whose driver is there, in a folder with its configuration."""

    def __init__(self, folder: Path, **process: Any) -> None:
        super().__init__(**process)
        self.folder, self.config, self.log_file = folder, folder / "t.toml", folder / "t.sqlite"
        self.configure("")
        for event in reports():
            self.say(event)
        self.links(2)

    @property
    def standing(self) -> set[str]:
        self.process._state.kick()
        said = {
            each["name"]: each["text"] for each in json.loads(self.publishes("state"))["alarms"]
        }
        strange = {name for name, text in said.items() if not isinstance(as_phrase(text), Phrase)}
        assert strange <= {"log_unwritable"}  # the system's own words
        return {*said}

    def beat(self, session: int, behind_s: int = 0) -> None:
        """The driver's heartbeat, a second later."""
        self.later(1)
        ts = rfc3339(self.log.now.utc_ns - behind_s * 1000 * _SECOND)
        beat = Status(state="online", session=session, ts=ts)
        self.hand_over(TOPICS.status("shoe"), encode_status(beat))
        self.running["watch"].answer(result=False)

    def gone(self) -> None:
        """The driver's Will."""
        ts = rfc3339(self.log.now.utc_ns)
        will = Status(state="offline", session=1, ts=ts)
        self.hand_over(TOPICS.status("shoe"), encode_status(will))

    def later(self, seconds: int) -> None:
        self.log.now_us += seconds * _SECOND

    def report(self) -> None:
        self.say(shoe_event(3, LinkUp()))

    def disk(self, full: int) -> None:
        self.log.refuses = bool(full)

    def bytes_say(self, what: str | None) -> None:
        self.log.contradiction = what

    def deal(self) -> None:
        """A coup without the shoe's result."""
        in_play(self)
        cards = [drawn(*place, face) for place, face in zip(ORDER, NATURAL_NINE, strict=True)]
        for event in reports(*cards)[2:]:
            self.say(event)

    def settle(self) -> None:
        self.say(shoe_event(7, DeviceResult(winner="player")))
        self.publishes("settlement")

    def asks(self, user: str, command: Command) -> None:
        topic = TOPICS.request(user, COMMAND_NAMES[type(command)])
        self.hand_over(topic, msgspec.json.encode(command))

    def acknowledge(self) -> None:
        self.asks("cage", Ack(transaction="a", consumer="main", position=len(self.log.stored)))

    def confirm(self) -> None:
        assert pressed("result_overdue") == {"confirm_result"}
        self.asks("supervisor", ConfirmResult(transaction="c", reason="the round is ended"))

    def run(self, *words: object, code: int = 0) -> None:
        assert here(*words).code == code, words

    def configure(self, more: str) -> None:
        self.config.write_text(_HEAD + more)
        self.log.access = SiteAccess(load_config(self.config))()

    def make_keys(self) -> None:
        """By the section that the page leads to."""
        assert "operate/keys.md#message-keys" in part("bus_not_authenticated", "Mitigation")
        self.run("keys", "messages", self.config)
        self.configure(_KEYS)

    def trust_broker(self) -> None:
        assert '`mode = "trust-broker"`' in part("bus_not_authenticated", "Mitigation")
        self.configure('[message_keys]\nmode = "trust-broker"\n')

    def sign(self) -> None:
        """A key is made and named, and the service started with it."""
        assert "operate/keys.md#the-logs-key" in part("log_unsigned", "Mitigation")
        self.run("keys", "new", self.folder / "table.key", "--name", "s/t")
        self.configure('[checkpoints]\nkey = "table.key"\n')
        unsigned = load_config(self.config).checkpoints.key is None
        self.__init__(self.folder, unsigned=unsigned)  # type: ignore[misc] # it starts again

    def damage(self) -> None:
        """After a backup."""
        shutil.copy("tests/corpus/0.1.0/table.sqlite", self.log_file)
        self.run("log", "backup", self.log_file, self.folder / "copy.sqlite")
        self.log_file.write_bytes(self.log_file.read_bytes().replace(b'"burn', b'"bern'))
        self.running["inspect"].answer(inspect_log(self.log_file))

    def restore(self) -> None:
        """The log is verified, and the section followed that the page leads to."""
        verify = typed("log_unsound")[0].split()[1:-1]
        self.run(*verify, self.log_file, code=1)
        assert "operate/backup-and-restore.md#restore" in part("log_unsound", "Mitigation")
        self.run("log", "restore", "--replace", self.folder / "copy.sqlite", self.log_file)
        self.run(*verify, self.log_file)
        self.__init__(self.folder)  # type: ignore[misc] # it starts again
        self.running["inspect"].answer(inspect_log(self.log_file))


# `NAME: what breaks it -> what the page says`.
_ROWS: Final = """
driver_offline: gone -> beat 2
driver_not_trusted: beat 3; beat 7; beat 3 -> 11 x beat 3
clock_difference: 5 x beat 1, 10 -> 5 x beat 1
shoe_journal_lost: beat 1; links 1; beat 1; links 1; beat 1; links 1 -> later 601; links 2; beat 1
log_unwritable: disk 1; report -> disk 0; report
log_unsound: damage -> restore
log_unsigned: beat 1 -> sign
bus_not_authenticated: beat 1 -> make_keys; beat 1
bus_not_authenticated: beat 1 -> trust_broker; beat 1
message_forged: make_keys; report -> later 600
shoe_event_contradicted: bytes_say "9S"; report -> bytes_say null; report
settlement_unacknowledged: deal; settle; later 61 -> acknowledge
result_overdue: deal; 32 x beat 1 -> confirm
"""
_CASES: Final = [row.split(": ", 1) for row in _ROWS.strip().splitlines()]
_PROCESS: Final[dict[str, dict[str, Any]]] = {
    "log_unsigned": {"unsigned": True},
    "bus_not_authenticated": {"guarded": True},
    "message_forged": {"guarded": True},
    "settlement_unacknowledged": {"consumers": ["cage/main"]},
}
FOLLOWED: Final = {name for name, _ in _CASES} | {"rulebook_faulty"}


@pytest.mark.parametrize(("name", "row"), _CASES)
def test_the_page_ends_the_alarm(name: str, row: str, tmp_path: Path) -> None:
    broken, mended = follow(row, Table(tmp_path, **_PROCESS.get(name, {})))
    assert name in broken
    assert name not in mended


def test_the_page_ends_the_alarm_of_a_faulty_rulebook(tmp_path: Path) -> None:
    """The fault is named, put right in a new file, and the service started with it."""
    files = {tmp_path / "site.toml": FAULTY.encode()}
    files[tmp_path / "site-2.toml"] = shipped_source("au-commission")
    (check,) = typed("rulebook_faulty")
    with EventLog.open(tmp_path / "table.sqlite", "harbour/b7") as log:
        in_force(log)
        for faulty, (path, source) in zip((1, 0), files.items(), strict=True):
            path.write_bytes(source)
            assert here(*check.replace("FILE", str(path)).split()[1:]).code == faulty
            table = started(log, parse_rulebook(path.name, source))
            process = TableProcess(table.writer, PresencePublisher(TOPICS.status("table"), 1, 0))
            names = [each.name for each in process._faults(Instant(0, 0))]
            assert names.count("rulebook_faulty") == faulty
