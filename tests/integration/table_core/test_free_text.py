"""Texts that no log is to hold: refused at the table's door, whatever command brings them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from baccarat.contract.samples import samples
from baccarat.contract.schemas import definitions
from events.clock import SystemClock
from events.commands import AssignDealer, LoadShoe
from events.commands.registry import COMMANDS
from events.log.store import EventLog
from table_core.process.table_writer import parse_command
from table_core.rulebooks.shipped import load_rulebook
from table_core.service.table import Table
from tests.support.service.table_service import ROLES, TOPICS, Table1, attended
from tests.support.table.coups import SHOE
from tests.support.table.hostile import places, spoilt_body

SAMPLES = samples(definitions())


def bodies() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(command, field, body): each free text of each command, with a NUL in it."""
    for name in COMMANDS:
        (body,) = SAMPLES[f"request.{name}"]
        for path in places(body):
            made = spoilt_body(body, path, "\0")
            if isinstance(parse_command(name, msgspec.json.encode(made)), COMMANDS[name]):
                yield name, ".".join(map(str, path)), made


def test_every_command_has_a_free_text() -> None:
    found = [(name, field) for name, field, _ in bodies()]
    assert {name for name, _ in found} == set(COMMANDS)
    for each in (
        ("place_wager", "wagers.0.patron"),
        ("correct_wager", "to.patron"),
        ("void_coup", "reason"),
        ("fill", "slip"),
        ("fill", "reference"),
        ("count_drop", "signed.0"),
        ("assign_dealer", "dealer"),
        ("assign_dealer", "supervisor"),
        ("open_betting", "transaction"),
        ("close_betting", "actor"),
        ("preview", "body.reason"),
        ("load_shoe", "shoe"),
        ("ack", "consumer"),
        ("set_limits", "bets.0.bet"),
    ):
        assert each in found


async def test_a_nul_in_any_text_of_any_command_is_refused(table: Table1, tmp_path: Path) -> None:
    async with attended(table, tmp_path):
        position = table.states[-1].position
        for number, (name, field, body) in enumerate(bodies()):
            transaction = body["transaction"] = f"{number}" + "\0" * (field == "transaction")
            topic = TOPICS.request("supervisor", name)
            answer = await table.send("supervisor", topic, msgspec.json.encode(body), transaction)
            assert (answer.code, answer.result) == ("invalid_text", "refused"), (name, field)
            assert "holds U+0000; use one line of text without controls" in str(answer.text)
        assert table.states[-1].position == position


REFERENCES = [
    ("d" * 128, None),
    ("d" * 129, "invalid_text"),
    ("re\u0301", "invalid_text"),
    ("r\u00e9", None),
    ("d-1\n", "invalid_text"),
    ("d-1\t", "invalid_text"),
    ("d-1\x7f", "invalid_text"),
    ("d-1\x85", "invalid_text"),
    ("d-1\u2028", "invalid_text"),
    ("d-1\u202e7", "invalid_text"),
    ("d-1\u2066", "invalid_text"),
    ("d-1\ud800", "invalid_text"),
    ("发牌员一", None),
]


async def test_what_a_dealers_reference_may_be(table: Table1, tmp_path: Path) -> None:
    topic = TOPICS.request("supervisor", "assign_dealer")
    async with attended(table, tmp_path):
        for number, (text, code) in enumerate(REFERENCES):
            body = json.dumps({"transaction": f"a-{number}", "dealer": text})
            answer = await table.send("supervisor", topic, body.encode(), f"a-{number}")
            assert answer.code == code, text.encode("unicode_escape")


async def test_a_reason_of_megabytes_is_refused_by_field_length_and_bound(
    table: Table1, tmp_path: Path
) -> None:
    async with attended(table, tmp_path):
        topic = TOPICS.request("supervisor", "realign")
        body = json.dumps({"transaction": "r-1", "reason": "x" * 3_500_000})
        answer = await table.send("supervisor", topic, body.encode(), "r-1")
        said = "reason: has 3,500,000 characters; use 500 at the most"
        assert (answer.code, answer.text) == ("invalid_text", said)
        long = json.dumps({"transaction": "r" * 129, "from": 1})
        topic = TOPICS.request("supervisor", "replay")
        answer = await table.send("supervisor", topic, long.encode(), "r" * 129)
        assert answer.code == "invalid_transaction"


async def test_a_body_that_reads_two_ways_is_refused(table: Table1, tmp_path: Path) -> None:
    topic = TOPICS.request("supervisor", "assign_dealer")
    body = b'{"transaction": "a-1", "dealer": "d-1", "dealer": "d-2"}'
    async with attended(table, tmp_path):
        answer = await table.send("supervisor", topic, body, "a-1")
        assert (answer.code, answer.text) == (
            "invalid_request",
            "the key 'dealer' is there twice; write it once",
        )


async def test_what_was_accepted_before_such_texts_were_refused_is_still_known(
    table: Table1, tmp_path: Path
) -> None:
    """By a table of before: its door took anything, and so its log holds it."""
    command = AssignDealer(transaction="a-1", dealer="d-1\0", supervisor="s" * 1_000)
    with EventLog.open(tmp_path / "table.sqlite", "site/t1") as log:
        rulebook = load_rulebook("au-commission")
        before = Table(log, TOPICS, rulebook, SystemClock(), roles=ROLES)
        accepted = before.ask("supervisor", command, caught_up=True)
    assert accepted.result == "accepted"
    async with attended(table, tmp_path):
        again = await table.ask("supervisor", command)
        assert (again.result, again.position) == ("exists", accepted.position)
        other = AssignDealer(transaction="a-2", dealer="d-1\0")
        assert (await table.ask("supervisor", other)).code == "invalid_text"
        known = await table.ask("supervisor", AssignDealer(transaction="a-1", dealer="d-2"))
        assert known.code == "exists_with_different_dealer"
        await table.must("dealer", LoadShoe(transaction="l", shoe=SHOE))
