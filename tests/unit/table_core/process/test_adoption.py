"""A rulebook with a fault is not adopted; one in force plays on, and an alarm names the fault."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from baccarat.cli.main import main
from baccarat.config.table import load_config
from baccarat.site.doctor import examine
from events.errors import ConfigError
from events.log.store import EventLog
from events.mqtt.presence import PresencePublisher
from events.mqtt.process import Instant
from events.mqtt.topics import Topics
from events.types import RulebookAdopted
from table_core.process.table_process import TableProcess
from table_core.rulebooks.shipped import load_rulebook
from table_core.rules.rulebook import Rulebook
from table_core.rules.rulebook_file import parse_rulebook
from table_core.service.table import Table
from tests.support.cage.books import source
from tests.support.clock import FakeClock
from tests.unit.table_core.test_commands_and_reports import ROLES_OF

TOPICS = Topics("harbour", "b7")
FAULTY = source("au-commission", "id=site").replace('win = "8"', 'win = "10"')
FAULT = "bets.tie.pays: the house keeps -4.67 %, below the floor of 0.00 %"
CONFIG = """
site = "harbour"
table = "b7"
rulebook = "site.toml"
[shoe]
url = "pty:/run/shoe"
[data]
log = "table.sqlite"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With a rulebook in which a tie pays 10 to 1, and a configuration that names it."""
    (tmp_path / "site.toml").write_text(FAULTY, "utf-8")
    (tmp_path / "b7.toml").write_text(CONFIG, "utf-8")
    return tmp_path


@pytest.fixture
def log(folder: Path) -> Iterator[EventLog]:
    with EventLog.open(folder / "table.sqlite", "harbour/b7") as opened:
        yield opened


def started(log: EventLog, rulebook: Rulebook) -> Table:
    return Table(log, TOPICS, rulebook, FakeClock(), roles=ROLES_OF)


def faulty() -> Rulebook:
    return parse_rulebook("site.toml", FAULTY.encode())


def in_force(log: EventLog) -> None:
    """Cite the faulty rulebook, as a build has done that did not check it."""
    table = started(log, load_rulebook("au-commission"))
    cited = RulebookAdopted(rulebook="site", rulebook_hash=faulty().hash, currency="AUD")
    table.perform(table.writer._append([cited], actor="core", cause="core/test"))


def checked(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str], list[str]]:
    """The exit code of `config check`, its errors and its warnings."""
    capsys.readouterr()
    code = main(["config", "check", str(folder / "b7.toml"), "--json"])
    told = json.loads(capsys.readouterr().out)
    errors, warnings = (
        [each["reason"] for each in told.get(k, [])] for k in ("errors", "warnings")
    )
    return code, errors, warnings


def doctors(folder: Path) -> list[tuple[str, str]]:
    """What the doctor finds of the rulebook and of limits."""
    found = examine(load_config(folder / "b7.toml"), folder)
    return [(each.check, each.verdict) for each in found if each.check in {"rulebook", "limits"}]


def test_it_is_not_adopted_and_the_first_fault_is_said(
    folder: Path, log: EventLog, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ConfigError, match="edge_below_floor") as refused:
        started(log, faulty())
    assert FAULT in str(refused.value)
    assert "1 more" in str(refused.value)
    assert not [*log.read()]
    code, errors, warnings = checked(folder, capsys)
    assert (code, len(errors), warnings) == (2, 2, [])
    assert errors[0].startswith(f"edge_below_floor: {FAULT}")
    assert doctors(folder) == [
        ("rulebook", "fail"),
        ("rulebook", "fail"),
        *[("limits", "warn")] * 2,
    ]


def test_in_force_it_plays_on_with_an_alarm(
    folder: Path, log: EventLog, capsys: pytest.CaptureFixture[str]
) -> None:
    in_force(log)
    before = [*log.read()]
    table = started(log, faulty())
    assert [*log.read()] == before
    process = TableProcess(table.writer, PresencePublisher(TOPICS.status("table"), 1, 0))
    [alarm] = [each for each in process._faults(Instant(0, 0)) if each.name == "rulebook_faulty"]
    assert FAULT in alarm.text
    code, errors, warnings = checked(folder, capsys)
    assert (code, errors, len(warnings)) == (0, [], 2)
    assert FAULT in warnings[0]
    assert doctors(folder) == [
        ("rulebook", "warn"),
        ("rulebook", "warn"),
        *[("limits", "warn")] * 2,
    ]


def test_a_table_whose_stakes_are_bounded_is_told_of_its_minimum_alone(folder: Path) -> None:
    text = CONFIG.replace("site.toml", "au-commission") + "[limits]\ntable_maximum = 100000\n"
    (folder / "b7.toml").write_text(text, "utf-8")
    assert doctors(folder) == [("rulebook", "ok"), ("limits", "warn")]


def test_the_alarm_ends_with_the_rulebook(log: EventLog) -> None:
    in_force(log)
    assert started(log, faulty()).writer.rulebook_faults
    assert not started(log, load_rulebook("au-commission")).writer.rulebook_faults
    with pytest.raises(ConfigError, match="edge_below_floor"):
        started(log, faulty())
