"""The schemas that integrators get: generated, closed, complete, and true of what is read here."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft7Validator, Draft202012Validator
from jsonschema.protocols import Validator

from baccarat.cli.main import main
from baccarat.cli.schema import ASYNCAPI_FILE, BUNDLE_FILE, TYPES_FILE, document_text
from baccarat.contract import schemas
from baccarat.contract.asyncapi import CHANNELS, ROOT, document
from baccarat.contract.rules import FREE_TEXT, MOST, RULES
from baccarat.contract.samples import samples
from baccarat.contract.schemas import (
    EVENTS,
    MESSAGES,
    bundle,
    definitions,
    one_message,
    unruled_fields,
)
from displays.scoreboard.public_view import PublicState
from events.commands import Answer
from events.commands.registry import COMMANDS
from events.log.store import EventLog
from events.mqtt.presence import Status
from events.mqtt.topics import SEGMENT, Topics
from events.types import LinkStatus, ShoeAck, ShoeEvent, decode_data, decode_envelope
from events.types.registry import TABLE_EVENTS
from table_core.process.alarm_publisher import AlarmNotice
from table_core.process.publishers import public_bytes
from table_core.projections.table_document import StateView
from table_core.projections.wager_pages import WagerPage
from tests.house.sources import ROOT as TREE
from tests.house.sources import texts
from tests.support.log.corpus import folders
from tests.support.log.corpus_game import ORIGIN
from tests.support.log.logs import json_bytes

DEFINITIONS = definitions()
SAMPLES = samples(DEFINITIONS)
_EXAMPLE = re.compile(r"<!-- type: (\S+) -->\n```json\n(.*?)```", re.DOTALL)


# Read once: each message's validator follows its references in it.
BUNDLE = Draft202012Validator(bundle())


def validator(name: str) -> Validator:
    return BUNDLE.evolve(schema={"$ref": f"#/$defs/{name}"})


@pytest.mark.parametrize(("file", "made"), [(BUNDLE_FILE, bundle()), (ASYNCAPI_FILE, document())])
def test_the_committed_document_is_what_the_command_prints(file: str, made: dict[str, Any]) -> None:
    kept = (TREE / "docs/reference/schema" / file).read_text(encoding="utf-8")
    kind = "asyncapi" if file == ASYNCAPI_FILE else "json"
    # Not compared as texts: a difference of 200 KB is of no help.
    assert json.loads(kept) == json.loads(document_text(made)), (
        f"the types have changed: baccarat schema {kind} >docs/reference/schema/{file}"
    )
    assert kept == document_text(made)


@pytest.mark.parametrize(
    ("kind", "file"),
    [("json", BUNDLE_FILE), ("asyncapi", ASYNCAPI_FILE), ("types", TYPES_FILE)],
)
def test_the_command_prints_the_document(
    kind: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["schema", kind]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == ((TREE / "docs/reference/schema" / file).read_text(encoding="utf-8"), "")


@pytest.mark.sweep
def test_a_file_for_each_message_needs_no_other(tmp_path: Path) -> None:
    assert main(["schema", "json", "--dir", str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {
        BUNDLE_FILE,
        *(f"{name}.schema.json" for name in MESSAGES),
    }
    Draft202012Validator.check_schema(bundle())
    for name in MESSAGES:
        made = json.loads((tmp_path / f"{name}.schema.json").read_text(encoding="utf-8"))
        defined = made.get("$defs", {})
        assert defined == {name: DEFINITIONS[name] for name in defined}  # which are checked
        Draft202012Validator.check_schema(made | {"$defs": {}})
        for sample in SAMPLES[name]:
            Draft202012Validator(made).validate(sample)


def test_the_asyncapi_document_is_what_its_own_schema_takes() -> None:
    """The schema is the AsyncAPI Initiative's (npm @asyncapi/specs 6.11.1, 3.0.0-without-$id)."""
    path = TREE / "tests/vectors/asyncapi/3.0.0.json"
    official = Draft7Validator(json.loads(path.read_text(encoding="utf-8")))
    made = json.loads(document_text(document()))
    assert [error.message for error in official.iter_errors(made)] == []
    assert not official.is_valid(made | {"chanels": {}})


def test_every_reference_of_the_asyncapi_document_leads_somewhere() -> None:
    made = document()
    targets = list(_references(made))
    for target in targets:
        node = made
        for step in target.removeprefix("#/").split("/"):
            node = node[step]
    assert len(targets) > 500


def _references(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref":
                yield value
            else:
                yield from _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)


def test_the_channels_are_the_topics() -> None:
    topics = Topics("{site}", "{table}")
    assert topics.root == ROOT
    assert topics.wagers(7) == f"{ROOT}/wagers/7"
    assert {f"{ROOT}/{channel.topic}" for channel in CHANNELS.values()} == {
        topics.status("{service}"),
        topics.shoe_event,
        topics.shoe_ack,
        topics.link_shoe,
        topics.event,
        topics.settlement,
        topics.state,
        topics.wager_pages.replace("+", "{page}"),
        topics.display,
        topics.checkpoint,
        topics.alarm,
        topics.request("{user}", "{command}"),
        topics.response("{user}"),
        topics.replayed("{user}"),
    }
    patterns = {each["x-pattern"] for each in document()["components"]["parameters"].values()}
    assert patterns == {f"^{SEGMENT.pattern.removesuffix(chr(92) + 'Z')}$"}


def test_the_retained_topics_are_those_that_the_bus_page_names() -> None:
    rows = re.findall(
        r"^\| `([^`]+)` \| [^|]+ \| (yes|no) \|", texts()["docs/reference/topics.md"], re.MULTILINE
    )
    said = {topic.replace("<", "{").replace(">", "}"): kept == "yes" for topic, kept in rows}
    assert {channel.topic: channel.retained for channel in CHANNELS.values()} == said


def test_every_event_type_and_every_command_is_a_message() -> None:
    for kind, version in TABLE_EVENTS:
        assert f"event.{kind}.v{version}" in MESSAGES
    assert {name for name in MESSAGES if name.startswith("request.")} == {
        f"request.{name}" for name in COMMANDS
    }
    assert {name for channel in CHANNELS.values() for name in channel.messages} == set(MESSAGES) - {
        "event"
    }


def test_every_text_has_a_rule_or_is_said_to_be_free() -> None:
    assert list(unruled_fields(DEFINITIONS)) == []


def test_every_rule_is_of_a_field_that_there_is() -> None:
    fields = {"hash"}
    for name, schema in DEFINITIONS.items():
        for field in schema.get("properties", {}):
            fields |= {field, f"{name.rpartition('.')[2]}.{field}"}
    assert (RULES.keys() | FREE_TEXT) - fields == set()


def test_every_object_is_closed_and_every_integer_bounded() -> None:
    for name, schema in DEFINITIONS.items():
        if "properties" in schema:
            assert schema["additionalProperties"] is False, name
    for node in _nodes(DEFINITIONS):
        if node.get("type") == "integer" and "enum" not in node:
            assert -MOST <= node["minimum"] <= node["maximum"] <= MOST


def _nodes(node: object) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for value in (
        node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    ):
        yield from _nodes(value)


READERS: dict[str, type] = {
    "state": StateView,
    "wagers": WagerPage,
    "display": PublicState,
    "shoe.event": ShoeEvent,
    "shoe.ack": ShoeAck,
    "link.shoe": LinkStatus,
    "status": Status,
    "alarm": AlarmNotice,
    "answer": Answer,
    **{f"request.{name}": kind for name, kind in COMMANDS.items()},
}


@pytest.mark.parametrize("name", MESSAGES)
def test_an_example_is_taken_by_its_schema_and_by_the_products_own_reader(name: str) -> None:
    assert SAMPLES[name]
    for sample in SAMPLES[name]:
        validator(name).validate(sample)
        if name in READERS:
            msgspec.json.decode(json.dumps(sample), type=READERS[name], strict=True)
        elif name != "checkpoint":
            fields = {key: value for key, value in sample.items() if key != "hash"}
            envelope = decode_envelope(json_bytes(fields))
            sealed = sample["data"] is None
            assert sealed or sample["type"] == decode_data(envelope).TYPE


@pytest.mark.parametrize("name", [name for name in MESSAGES if name != "checkpoint"])
def test_a_field_that_is_not_named_is_refused(name: str) -> None:
    check = validator(name)
    assert not check.is_valid(SAMPLES[name][0] | {"one_more": 1})
    for field in SAMPLES[name][0].keys() & {"position", "transaction", "journal", "session"}:
        less = {key: value for key, value in SAMPLES[name][0].items() if key != field}
        assert check.is_valid(less) is (name == "answer" and field == "position")


def test_what_the_types_do_not_say_is_refused_by_the_schemas() -> None:
    settled: dict[str, Any] = SAMPLES["settlement"][0]

    def with_settlement(**changed: object) -> dict[str, Any]:
        settlement = settled["data"]["settlement"] | changed
        return settled | {"data": settled["data"] | {"settlement": settlement}}

    check = validator("settlement")
    assert check.is_valid(with_settlement())
    for wrong in (
        with_settlement(paid=2**53),
        with_settlement(paid=20_000.5),
        with_settlement(paid=-1),
        with_settlement(player=["9D", "1S"]),
        with_settlement(player_total=10),
        with_settlement(settlement_id="b7/20261127-02/1/3/1"),
        with_settlement(winner="nobody"),
        settled | {"at": "2026-11-27T20:32:19Z"},
        settled | {"at": "2026-11-27T20:32:19.550508112+01:00"},
        settled | {"hash": "12"},
        settled | {"stream": "Harbour/b7"},
        settled | {"v": 2},
        settled | {"type": "coup_voided"},
        settled | {"position": 0},
    ):
        assert not check.is_valid(wrong), wrong
    request = SAMPLES["request.place_wager"][0]
    assert not validator("request.place_wager").is_valid(request | {"transaction": "x" * 129})
    assert not validator("request.place_wager").is_valid(request | {"transaction": ""})


def test_a_sealed_event_with_its_contents_is_refused() -> None:
    sealed = SAMPLES["event.shoe_reported.v1"][0]
    assert sealed["data"] is None
    opened = sealed | {"data": {"source": SAMPLES["shoe.event"][0]}}
    assert validator("event").is_valid(sealed)
    assert not validator("event").is_valid(opened)


def test_the_examples_of_the_documents_are_taken() -> None:
    checked = 0
    for path, text in texts().items():
        for kind, example in _EXAMPLE.findall(text) if path.endswith(".md") else ():
            name = {"envelope": "event", "settlement": "Settlement"}.get(
                kind, kind.replace("request/", "request.")
            )
            if name in DEFINITIONS:
                validator(name).validate(json.loads(example))
                checked += 1
    assert checked >= 8


def test_every_event_of_the_corpus_is_what_its_schema_says(tmp_path: Path) -> None:
    """A log with every type that there is, as the table would publish it."""
    checks: dict[str, Validator] = {}
    for folder in folders():
        path = Path(shutil.copy(folder / "table.sqlite", tmp_path / f"{folder.name}.sqlite"))
        with EventLog.open(path, ORIGIN) as log:
            published = [json.loads(public_bytes(stored)) for stored in log.read(1)]
        for said in published:
            name = f"event.{said['type']}.v{said['v']}"
            checks.setdefault(name, validator(name)).validate(said)
    assert set(EVENTS) <= checks.keys()


def test_one_message_brings_no_definition_that_it_does_not_need() -> None:
    assert set(one_message("request.withdraw_wager")["$defs"]) == {"WithdrawWager"}
    assert "StateView" not in one_message("settlement")["$defs"]
    assert one_message("state")["$schema"] == schemas.DIALECT
