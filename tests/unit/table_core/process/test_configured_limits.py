"""Limits from the configuration: said once, between coups, and never over what people set since."""

from pathlib import Path

import pytest

from baccarat.config.errors import ConfigFaults
from baccarat.config.table import load_config
from events.commands import LoadShoe, OpenBetting, PlaceWager, SetLimits, VoidCoup, WagerRequest
from events.log.store import EventLog
from events.mqtt.topics import Topics
from events.types import BetLimits, LimitsSet, LinkOpen, LinkUp, decode_envelope
from table_core.rulebooks.shipped import load_rulebook
from table_core.service.table import Table
from tests.support.clock import FakeClock
from tests.support.table.coups import SHOE, shoe_event
from tests.unit.baccarat.config.test_table import GOOD, written
from tests.unit.table_core.test_commands_and_reports import ROLES_OF, ask

A = LimitsSet(table_maximum=1000)
B = LimitsSet(
    bets=(BetLimits(bet="banker", minimum=50, per="seat", table_maximum=900),),
    differential=700,
    patron_maximum=800,
    seat_maximum=600,
)
PEOPLES = SetLimits(transaction="mine", table_maximum=400)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table.sqlite"


def start(path: Path, limits: LimitsSet | None, *, coup: bool = False) -> Table:
    """A table as its service starts it; the log is closed with the test's process."""
    log = EventLog.open(path, "site/t1")
    table = Table(log, Topics("site", "t1"), load_rulebook("ez"), FakeClock(), roles=ROLES_OF)
    table.configure_limits(limits)
    if coup:
        table.hear(shoe_event(1, LinkOpen(transport="pty:x")))
        table.hear(shoe_event(2, LinkUp()))
        assert ask(table, "dealer", LoadShoe(transaction="l", shoe=SHOE)).result == "accepted"
        assert ask(table, "dealer", OpenBetting(transaction="o")).result == "accepted"
    return table


def stop(table: Table) -> None:
    table.log.close()


def told(path: Path) -> list[tuple[str, int]]:
    """Who set limits, and at which position."""
    with EventLog.open(path, "site/t1") as log:
        found = [decode_envelope(each.stored) for each in log.read()]
    return [(each.actor, each.position) for each in found if each.type == "limits_set"]


def test_what_the_configuration_says_is_in_the_log_once(path: Path) -> None:
    for _ in range(3):
        table = start(path, A)
        assert table.state.limits == A
        stop(table)
    assert [who for who, _ in told(path)] == ["core"]


def test_a_new_start_leaves_what_a_supervisor_has_set(path: Path) -> None:
    table = start(path, A)
    assert ask(table, "supervisor", PEOPLES).result == "accepted"
    stop(table)
    table = start(path, A)
    assert table.state.limits == LimitsSet(table_maximum=400)
    stop(table)


def test_a_changed_configuration_holds_and_so_does_the_one_before_when_it_comes_back(
    path: Path,
) -> None:
    for limits in (A, B, A):
        table = start(path, limits)
        assert table.state.limits == limits
        stop(table)
    assert len(told(path)) == 3


def test_a_configuration_without_limits_leaves_them_and_an_empty_one_takes_them_away(
    path: Path,
) -> None:
    for limits, stands in ((A, A), (None, A), (LimitsSet(), LimitsSet())):
        table = start(path, limits)
        assert table.state.limits == stands
        stop(table)


def test_in_mid_coup_it_waits_for_the_coups_end(path: Path) -> None:
    stop(start(path, A, coup=True))
    table = start(path, B)
    assert table.state.limits == A
    table.perform(table.writer.append_due_limits())
    wagers = (WagerRequest(seat=1, bet="banker", stake=20),)  # below what B asks for
    placed = ask(table, "wagers", PlaceWager(transaction="w", wagers=wagers))
    assert placed.result == "accepted"
    assert ask(table, "supervisor", VoidCoup(transaction="v", reason="seen")).result == "accepted"
    table.perform(table.writer.append_due_limits())
    assert table.state.limits == B
    table.perform(table.writer.append_due_limits())
    stop(table)
    assert len(told(path)) == 2


def test_a_log_that_is_not_trusted_gets_no_limits(path: Path) -> None:
    stop(start(path, None, coup=True))
    table = start(path, None)
    table.writer.start_lockdown("seen elsewhere")
    table.configure_limits(A)
    assert table.state.limits == LimitsSet()
    stop(table)
    assert told(path) == []


LIMITS = """
[limits]
differential = 700
patron_maximum = 800
seat_maximum = 600
[limits.bets.banker]
minimum = 50
per = "seat"
table_maximum = 900
"""


def test_the_file_says_them_by_bet(tmp_path: Path) -> None:
    config = load_config(written(tmp_path, GOOD + LIMITS))
    assert config.limits is not None
    assert config.limits.as_event() == B
    assert load_config(written(tmp_path, GOOD)).limits is None


@pytest.mark.parametrize(
    ("more", "key", "says"),
    [
        ("table_maximum = 0", "limits.table_maximum", ">= 1"),
        ("table_maximum = 10.5", "limits.table_maximum", "int"),
        ("minimum = 5", "limits.minimum", "no such key"),
        ("bets = { banker = { least = 5 } }", "limits.bets.banker.least", "no such key"),
        ("bets = { banker = { minimum = '5' } }", "limits.bets.banker.minimum", "int"),
        ("bets = { banker = { per = 'hand' } }", "limits.bets.banker.per", "'hand'"),
        ("patron_maximum = 0", "limits.patron_maximum", ">= 1"),
        ("bets = { bankr = { minimum = 5 } }", "limits", "'bankr' is not in rulebook"),
        ("bets = { tie = { minimum = 9, maximum = 8 } }", "limits", "below minimum"),
    ],
)
def test_a_limit_that_cannot_be_is_a_fault_with_its_key(
    tmp_path: Path, more: str, key: str, says: str
) -> None:
    with pytest.raises(ConfigFaults) as caught:
        load_config(written(tmp_path, f"{GOOD}\n[limits]\n{more}\n[bus]\nport = 0"))
    faults = {each.key: each for each in caught.value.faults}
    assert faults.keys() == {key, "bus.port"}
    assert says in faults[key].reason
    assert faults[key].example or says == "no such key"
