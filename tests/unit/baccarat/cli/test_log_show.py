"""`baccarat log show` and `stats`: what is stored, as it is stored, and counted right."""

import json
from collections import Counter
from pathlib import Path

import pytest

from baccarat.cli.main import main
from events.log.store import EventLog
from events.types import Stored, decode_envelope
from tests.support.log.closed_books import SITE_T1, Closed, closed
from tests.support.log.logs import forging, made
from tests.support.table.money_game import BOOKS

RULEBOOK = BOOKS["au-commission"]()


@pytest.fixture(scope="module")
def game(tmp_path_factory: pytest.TempPathFactory) -> Closed:
    return closed(tmp_path_factory.mktemp("log"), RULEBOOK, 31)


@pytest.fixture(scope="module")
def events(game: Closed) -> list[Stored]:
    with EventLog.open(game.path, SITE_T1) as log:
        return list(log.read())


def shown(capsys: pytest.CaptureFixture[str], *args: str) -> list[str]:
    assert main(["log", "show", *args]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    return said.out.splitlines()


def test_the_json_lines_are_the_stored_bytes(
    game: Closed, events: list[Stored], capsys: pytest.CaptureFixture[str]
) -> None:
    lines = shown(capsys, str(game.path), "--json")
    assert [line.encode() for line in lines] == [each.stored for each in events]


def test_a_part_a_type_and_a_coup_are_shown_alone(
    game: Closed, events: list[Stored], capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(game.path)
    part = shown(capsys, path, "--from", "5", "--to", "9", "--json")
    assert [json.loads(line)["position"] for line in part] == [5, 6, 7, 8, 9]
    types = shown(capsys, path, "--type", "coup_settled", "--type", "shoe_ended", "--json")
    wanted = [each for each in events if each.type in {"coup_settled", "shoe_ended"}]
    assert [line.encode() for line in types] == [each.stored for each in wanted]
    assert wanted
    coup = decode_envelope(wanted[0].stored).correlation
    of_coup = shown(capsys, path, "--coup", coup, "--json")
    assert len(of_coup) > 5
    assert {json.loads(line)["correlation"] for line in of_coup} == {coup}
    for option in (["--coup", "20300101-01/1"], ["--from", str(len(events) + 1)]):
        assert main(["log", "show", path, *option]) == 1
        answer = capsys.readouterr()
        assert (answer.out, len(answer.err.splitlines())) == ("", 1)


def test_a_line_for_people_names_position_time_who_and_what(
    game: Closed, events: list[Stored], capsys: pytest.CaptureFixture[str]
) -> None:
    lines = shown(capsys, str(game.path))
    assert len(lines) == len(events)
    for line, stored in zip(lines, events, strict=True):
        envelope = decode_envelope(stored.stored)
        position, at, actor, kind, data = line.split(maxsplit=4)
        assert (int(position), at, actor, kind) == (
            stored.position,
            envelope.at,
            envelope.actor,
            envelope.type,
        )
        assert data.encode() == bytes(envelope.data)


def test_the_stats_count_what_is_there(
    game: Closed, events: list[Stored], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["log", "stats", str(game.path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    types = Counter(each.type for each in events)
    assert found["types"] == types
    assert found["events"] == len(events)
    assert found["event_bytes"] == sum(len(each.stored) for each in events)
    assert found["bytes"] == game.path.stat().st_size
    assert (found["first"], found["last"]) == (events[0].at, events[-1].at)
    assert (found["shoes"], found["books"]) == (3, 2)
    assert found["coups"] == game.state.totals.coups + game.state.totals.voids
    assert found["voids"] == game.state.totals.voids
    assert found["settlements"] == types["coup_settled"]
    assert found["checkpoints"] == 0
    assert main(["log", "stats", str(game.path)]) == 0
    said = capsys.readouterr().out
    assert f"{len(events):,}" in said
    assert "coup_settled" in said


def test_the_stats_of_an_empty_log_are_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    EventLog.open(tmp_path / "table.sqlite", SITE_T1).close()
    assert main(["log", "stats", str(tmp_path / "table.sqlite"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["events"], found["first"], found["types"]) == (0, None, {})


def test_what_is_not_what_was_hashed_is_not_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = made(tmp_path)
    with forging(path) as db:
        db.execute("UPDATE event SET bytes = CAST(bytes || ' ' AS BLOB) WHERE position = 4")
    assert main(["log", "show", str(path), "--json"]) == 2
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 3
    assert "position 4: the hash chain breaks here" in said.err
