"""What holds for every command, written once over their registry."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from msgspec.structs import replace

import events.commands
from events.commands import Command, Query, Refusal
from events.commands.registry import (
    COMMAND_NAMES,
    COMMANDS,
    DELEGATE,
    ROLES,
    ROW_OF,
    ROWS,
    Decider,
    Row,
)
from events.log.store import EventLog
from events.mqtt.topics import SEGMENT, Topics
from table_core.decide.authority import authorise
from table_core.decide.dispatch import HANDLERS, SUBJECTS, decide
from table_core.process.consumer_requests import ReadOnlyCommand
from table_core.process.table_writer import parse_command
from table_core.rulebooks.shipped import load_rulebook
from table_core.service.table import Table
from table_core.state.coup import Phase
from table_core.state.table import TableState
from tests.house.sources import texts
from tests.support.clock import ticking_clock
from tests.support.table.commands import BESIDE_PLAY, DECIDED, example
from tests.support.table.coups import CONTEXT, world_in

# Nothing at a table speaks against them.
ALWAYS = {"assign_dealer", "call_supervisor", "note_logins"}
STATES = {
    "empty": TableState(),
    **{phase.value: world_in(phase).state for phase in Phase if phase is not Phase.CONFIRMED},
}


def types_of_commands() -> set[type[Command]]:
    """Every type in `events.commands` that is a whole command, and not the root of some."""
    found = {
        kind
        for module in pkgutil.iter_modules(events.commands.__path__)
        for _, kind in inspect.getmembers(
            importlib.import_module(f"events.commands.{module.name}"), inspect.isclass
        )
        if issubclass(kind, Command)
    }
    return {kind for kind in found if not any(kind in other.__mro__[1:] for other in found)}


def named(row: Row) -> str:
    return row.name


def test_every_type_of_command_has_one_row_and_every_row_its_own_name_and_type() -> None:
    assert set(ROW_OF) == types_of_commands()
    assert len(ROWS) == len(ROW_OF) == len(COMMANDS) == len(COMMAND_NAMES)


@pytest.mark.parametrize(
    "decider", [each for each in Decider if each in {r.decider for r in DECIDED}]
)
def test_the_module_that_a_row_names_has_its_handler(decider: Decider) -> None:
    handlers = importlib.import_module(decider.value).HANDLERS
    assert set(handlers) == {row.type for row in ROWS if row.decider is decider}
    assert {kind: HANDLERS[kind] for kind in handlers} == dict(handlers)


def test_every_module_that_decides_is_named() -> None:
    assert {row.decider for row in ROWS} == set(Decider)
    assert {each.__name__ for each in SUBJECTS} == {row.decider.value for row in DECIDED}


@pytest.mark.parametrize("row", BESIDE_PLAY, ids=named)
def test_what_is_answered_beside_play_is_known_to_whoever_answers_it(row: Row) -> None:
    assert isinstance(example(row), ReadOnlyCommand)
    assert (row.decider is Decider.HISTORY) is issubclass(row.type, Query)
    assert importlib.util.find_spec(row.decider.value) is not None


def test_nothing_else_is_answered_beside_play() -> None:
    asked = {kind for kind in get_args(ReadOnlyCommand) if kind is not Query}
    asked |= {row.type for row in ROWS if issubclass(row.type, Query)}
    assert asked == {row.type for row in BESIDE_PLAY}


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_a_command_is_read_as_it_was_written_and_no_field_more(row: Row) -> None:
    assert re.fullmatch(SEGMENT, row.name)
    command = example(row)
    body = msgspec.json.encode(command)
    assert parse_command(row.name, body) == command
    assert parse_command(row.name, body[:-1] + b',"one_more":1}') != command


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_a_command_is_refused_to_each_role_that_may_not_ask_for_it(row: Row) -> None:
    assert row.roles
    assert row.roles <= ROLES
    for role in (*ROLES, "nobody"):
        refusal = authorise(frozenset({role}), example(row))
        assert (refusal is None) is (role in row.roles), role
        assert refusal is None or refusal.code == "not_allowed"


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_of_a_delegate_the_persons_roles_count_and_nobody_else_names_one(row: Row) -> None:
    delegate, command = frozenset({DELEGATE}), replace(example(row), actor="mary")
    for role in (*ROLES - {DELEGATE}, "nobody"):
        refusal = authorise(delegate, command, frozenset({role}))
        assert (refusal is None) is (role in row.roles), role
        alone = authorise(frozenset({role}), command)
        assert alone is not None
        assert alone.code == "not_a_delegate"


@pytest.mark.parametrize("row", DECIDED, ids=named)
def test_a_command_that_does_not_apply_is_refused_with_a_code_and_a_line(row: Row) -> None:
    refusals = {}
    for name, state in STATES.items():
        decision = decide(state, example(row), CONTEXT)
        if isinstance(decision, Refusal):
            assert re.fullmatch("[a-z][a-z_]*", decision.code), decision
            assert decision.text
            assert "\n" not in decision.text
            refusals[name] = decision
    assert bool(refusals) is (row.name not in ALWAYS), "in no state, or always: say so in ALWAYS"


def test_a_command_that_is_refused_appends_nothing(tmp_path: Path) -> None:
    """At a table without a shoe, for each role that there is."""
    users = {role: frozenset({role}) for role in ROLES}
    with EventLog.open(tmp_path / "table.sqlite", "site/t1") as log:
        clock, rulebook = ticking_clock(), load_rulebook("au-commission")
        table = Table(log, Topics("site", "t1"), rulebook, clock, roles=users)
        for row in DECIDED:
            for role in sorted(ROLES - row.roles):
                before, position = table.state, log.position
                answer = table.ask(role, example(row), caught_up=True)
                assert (answer.result, answer.code) == ("refused", "not_allowed")
                assert (table.state, log.position) == (before, position)


def test_the_access_page_names_the_roles_that_have_a_topic_to_ask_on() -> None:
    (said,) = re.findall(r"has one of the roles (.+?);", texts()["docs/reference/access.md"])
    assert set(re.findall(r"`(\w+)`", said)) == ROLES - {"display"}
