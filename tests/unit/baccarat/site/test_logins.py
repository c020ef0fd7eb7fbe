"""The record of logins, noted in the table's log: cut, put back or written again, it shows."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec
import pytest

from baccarat.cli.main import main
from baccarat.config.table import load_config
from baccarat.site.doctor import examine
from displays.auth.accounts import save_accounts
from displays.auth.login_record import LoginRecord
from displays.live import LiveState
from displays.process import DisplayProcess
from events.commands import NoteLogins
from events.log.store import EventLog
from events.mqtt.messages import Message
from events.mqtt.process import LogLine, Publish
from events.mqtt.request_client import RequestClient
from events.mqtt.topics import Topics
from events.types import LogAdopted, LoginsNoted
from table_core.rulebooks.shipped import load_rulebook
from table_core.service.table import Table
from tests.support.clock import FakeClock, ticking_clock
from tests.support.log.logs import events_in, keep
from tests.support.service.scripted import Scripted

TOPICS: Final = Topics("site", "t1")
ORIGIN: Final = "site/t1"
CONFIG: Final = """
site = "site"
table = "t1"
rulebook = "ez"
[shoe]
url = "pty:/run/shoe"
[displays]
users = "people.toml"
record = "logins.jsonl"
[data]
log = "t1.sqlite"
"""


class Floor:
    """A table, and a display that has it note the record of logins; the test is the broker."""

    def __init__(self, folder: Path, roles: frozenset[str] = frozenset({"console"})) -> None:
        self.config = folder / "t1.toml"
        self.config.write_text(CONFIG)
        save_accounts(folder / "people.toml", {})
        self.path = folder / "logins.jsonl"
        self.clock = FakeClock()
        self.record = LoginRecord(self.path, ORIGIN, self.clock)
        self.log = load_config(self.config).log_path
        self.events = EventLog.open(self.log, ORIGIN)
        self.table = Table(
            self.events, TOPICS, load_rulebook("ez"), ticking_clock(), roles={"console": roles}
        )
        self.begin()

    def begin(self) -> None:
        """Begin the display on the record as it is open."""
        self.shell = Scripted({})
        self.process = DisplayProcess(
            TOPICS,
            LiveState(FakeClock()),
            utc_ns=0,
            session=1,
            requests=RequestClient(TOPICS),
            logins=self.record.newest,
        )
        self.shell.run(*list(self.process.running())[2:])

    def log_in(self, *names: str) -> None:
        """Record logins, and let the display and the table do what follows."""
        for name in names:
            self.record.note("login", name)
        self.shell.passes(10)
        for sent in self.shell.of(Publish):
            command = msgspec.json.decode(sent.payload, type=NoteLogins)
            answer = self.table.ask("console", command, caught_up=True)
            topic = TOPICS.response("console")
            message = Message(topic, msgspec.json.encode(answer), retain=False)
            self.shell.run(self.process.subscriptions[topic](message))
        self.shell.done = [each for each in self.shell.done if not isinstance(each, Publish)]

    def restart(self) -> None:
        """Begin the display again, on the record as it is now."""
        self.record.close()
        self.record = LoginRecord(self.path, ORIGIN, self.clock)
        self.begin()

    @property
    def lines(self) -> list[bytes]:
        return self.path.read_bytes().splitlines(keepends=True)

    @property
    def noted(self) -> list[int]:
        return [each.entries for each in events_in(self.log) if isinstance(each, LoginsNoted)]


@pytest.fixture
def floor(tmp_path: Path) -> Iterator[Floor]:
    floor = Floor(tmp_path)
    floor.log_in()
    floor.log_in("ann", "bob")
    before = floor.path.read_bytes()
    floor.log_in("cleo")
    floor.log_in("dan")
    (tmp_path / "earlier").write_bytes(before)
    yield floor
    floor.events.close()


def test_the_table_notes_each_change_within_ten_seconds_and_none_twice(floor: Floor) -> None:
    floor.shell.passes(3600)
    floor.log_in()
    assert floor.noted == [1, 3, 4, 5]
    floor.restart()
    floor.log_in()
    floor.begin()
    floor.log_in()  # the display asks again, and the table has it already
    floor.log_in("eve")
    assert floor.noted == [1, 3, 4, 5, 6, 7]


def test_a_refused_note_is_said_and_asked_for_again(tmp_path: Path) -> None:
    floor = Floor(tmp_path, roles=frozenset())
    floor.log_in("ann")
    floor.log_in()
    assert floor.noted == []
    assert [each.event for each in floor.shell.of(LogLine)] == ["logins.not_noted"] * 2
    floor.events.close()


def said_of(floor: Floor, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Exit code and last line of the command, and the doctor's verdict."""
    code = main(["user", "record", str(floor.config)])
    text = capsys.readouterr().err.strip().splitlines()[-1]
    found = examine(load_config(floor.config), floor.config.parent / "none")
    return code, text, next(each.verdict for each in found if each.check == "login record")


def test_a_whole_record_agrees(floor: Floor, capsys: pytest.CaptureFixture[str]) -> None:
    code, text, doctor = said_of(floor, capsys)
    assert (code, doctor) == (0, "ok")
    assert text.endswith("the table's log agrees, 4 times")


def _cut(floor: Floor) -> None:
    floor.path.write_bytes(b"".join(floor.lines[:-1]))


def _rewound(floor: Floor) -> None:
    floor.path.write_bytes((floor.path.parent / "earlier").read_bytes())


def _rewritten(floor: Floor, *names: str) -> None:
    """Another name in the first line, and every hash made again: nothing in the file shows it."""
    floor.path.unlink(missing_ok=True)
    forger = LoginRecord(floor.path, ORIGIN, FakeClock())
    for name in names or ("eve", "bob", "cleo", "dan"):
        forger.note("login", name)
    forger.close()


def _rewritten_beside_the_true_one(floor: Floor) -> None:
    floor.path.rename(floor.path.with_name("logins.jsonl.1"))
    _rewritten(floor, "eve", "mallory", "dan")
    floor.restart()
    floor.log_in("fay")


def _gone(floor: Floor) -> None:
    floor.path.unlink()


def _cut_and_gone_on(floor: Floor) -> None:
    _rewound(floor)
    floor.restart()
    floor.log_in("eve", "fay", "gil")
    floor.log_in()


def _cut_within_a_line(floor: Floor) -> None:
    """A torn line, after which the display begins again by itself."""
    floor.path.write_bytes(b"".join(floor.lines[:-1]) + floor.lines[-1][:20])
    floor.restart()
    for aside in floor.path.parent.glob("*.unsound-*"):
        aside.unlink()


@pytest.mark.parametrize(
    ("forge", "entry", "mended"),
    [(_cut, 5, True), (_rewound, 4, True), (_rewritten, 3, True), (_gone, 1, True),
     (_cut_and_gone_on, 4, False), (_cut_within_a_line, 5, True),
     (_rewritten_beside_the_true_one, 3, False)],
    ids=lambda each: getattr(each, "__name__", ""),
)  # fmt: skip
def test_what_is_cut_rewound_or_rewritten_is_named(
    floor: Floor,
    forge: Callable[[Floor], None],
    entry: int,
    capsys: pytest.CaptureFixture[str],
    *,
    mended: bool,
) -> None:
    """A true file beside it only explains; in its place it must have what was noted since, too."""
    whole = floor.path.read_bytes()
    forge(floor)
    code, text, doctor = said_of(floor, capsys)
    assert (code, doctor) == (1, "fail")
    assert f"cut off or written again before entry {entry}, which the log has at" in text
    floor.path.with_name("logins.jsonl.whole").write_bytes(whole)  # from a backup
    code, text, doctor = said_of(floor, capsys)
    assert (code, doctor) == (1, "fail")
    assert text.endswith("logins.jsonl.whole")
    floor.path.write_bytes(whole)
    assert said_of(floor, capsys)[::2] == ((0, "ok") if mended else (1, "fail"))


def test_a_person_who_adopts_the_log_answers_for_what_is_lost(
    floor: Floor, capsys: pytest.CaptureFixture[str]
) -> None:
    _rewound(floor)
    keep(floor.events, [LogAdopted(size=1, chain="00", reason="first_start")])
    assert said_of(floor, capsys)[0] == 1
    keep(floor.events, [LogAdopted(size=1, chain="00", by="Jo Ng", reason="the disk is lost")])
    code, text, doctor = said_of(floor, capsys)
    assert (code, doctor) == (0, "ok")
    assert text.endswith("the table's log agrees, 0 times")


def _record_in(floor: Floor, *steps: tuple[float, str]) -> None:
    """Record logins with the screens stopped, each so many seconds later; then start them."""
    for seconds, name in steps:
        floor.clock.passes(seconds)
        floor.record.note("login", name)
    floor.restart()
    floor.log_in()


def test_what_a_kill_leaves_is_no_doubt(floor: Floor, capsys: pytest.CaptureFixture[str]) -> None:
    _record_in(floor, (3600, "eve"), (20, "fay"))
    assert said_of(floor, capsys)[::2] == (0, "ok")


@pytest.mark.parametrize(
    ("steps", "doubt"),
    [([(3600, "eve"), (21, "fay")], "the table had not noted entries 6 to 7 when the screens"),
     ([(-3600, "eve")], "entry 6 is 3600 s older than the one before it")],
)  # fmt: skip
def test_what_somebody_may_have_added_is_a_doubt_until_a_person_adopts_the_log(
    floor: Floor,
    steps: list[tuple[float, str]],
    doubt: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _record_in(floor, *steps)
    assert main(["user", "record", str(floor.config)]) == 0
    assert doubt in capsys.readouterr().err
    assert said_of(floor, capsys)[2] == "warn"
    keep(floor.events, [LogAdopted(size=1, chain="00", by="Jo Ng", reason="we know of it")])
    assert said_of(floor, capsys)[2] == "ok"


def test_a_configuration_that_names_no_record_any_more_is_a_fault(
    floor: Floor, capsys: pytest.CaptureFixture[str]
) -> None:
    floor.config.write_text(CONFIG.replace('record = "logins.jsonl"\n', ""))
    code, text, doctor = said_of(floor, capsys)
    assert (code, doctor) == (1, "fail")
    assert "displays.record names no file, and the table's log has 5 entries at" in text
    floor.config.write_text(CONFIG.split("[displays]")[0] + '[data]\nlog = "t1.sqlite"\n')
    assert said_of(floor, capsys)[::2] == (1, "fail")
    keep(floor.events, [LogAdopted(size=1, chain="00", by="Jo Ng", reason="screens without")])
    assert main(["user", "record", str(floor.config)]) == 2
