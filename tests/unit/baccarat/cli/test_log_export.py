"""`baccarat log export`: a reader who knows only docs/reference/log-export.md finds it whole."""

import json
from base64 import b64decode
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from baccarat.cli.main import main
from events.log.reader import reading
from tests.support.log.closed_books import chain
from tests.support.log.logs import forging, made
from tests.support.table.evidence import played
from tests.support.table.money_game import BOOKS

KINDS = ("format", "edition", "position", "checkpoint", "end")


def exported(log: Path) -> list[dict[str, Any]]:
    target = log.with_name("log.jsonl")
    assert main(["log", "export", str(log), "-o", str(target)]) == 0
    return [json.loads(line) for line in target.read_text("utf-8").splitlines()]


def root(leaves: Sequence[bytes]) -> bytes:
    """RFC 6962, section 2.1, as it is written there."""
    if len(leaves) < 2:
        return sha256(b"\0" + leaves[0] if leaves else b"").digest()
    half = 1 << (len(leaves) - 1).bit_length() - 1
    return sha256(b"\1" + root(leaves[:half]) + root(leaves[half:])).digest()


def follow(lines: list[dict[str, Any]]) -> list[bytes]:
    """Return the stored bytes, once everything that the page promises of the lines holds."""
    header, *body, trailer = lines
    stored: list[bytes] = []
    editions: set[str] = set()
    head, checkpoints = sha256(header["origin"].encode()).digest(), 0
    for line in body:
        match next(iter(line)):
            case "position":
                data = b64decode(line["bytes"], validate=True)
                head = sha256(b"bac/event/1" + head + len(data).to_bytes(8, "big") + data).digest()
                stored.append(data)
                said = json.loads(data)
                assert (line["position"], line["hash"]) == (len(stored), head.hex())
                assert (said["position"], said["stream"]) == (len(stored), header["origin"])
                source = said["data"].get("source", {})
                cited = {said["data"].get("rulebook_hash"), source.get("profile_hash")}
                assert cited - {None} <= editions
            case "edition":
                assert line["hash"] not in editions
                editions.add(line["hash"])
                if line["text"] is not None:
                    assert sha256(line["text"].encode()).hexdigest() == line["hash"]
                    assert line["content"]["id"]
            case "checkpoint":
                origin, size, signed = line["checkpoint"].split("\n")[:3]
                assert (origin, int(size)) == (header["origin"], len(stored))
                assert b64decode(signed) == root(stored)
                checkpoints += 1
            case kind:
                pytest.fail(f"a line of the kind {kind}")
    assert header["format"] == "baccarat-log/1"
    assert header["events"] == trailer["end"] == len(stored)
    assert (trailer["checkpoints"], trailer["root"]) == (checkpoints, root(stored).hex())
    return stored


def test_a_signed_log_is_exported_with_its_checkpoints_and_rulebooks(tmp_path: Path) -> None:
    path = played(tmp_path / "table.sqlite", coups=3)
    lines = exported(path)
    with reading(path) as log:
        assert follow(lines) == [each.stored for each in log.read()]
        assert [line["checkpoint"].encode() for line in lines if "checkpoint" in line] == [
            note for _, note in log.checkpoints()
        ]
    assert {next(iter(line)) for line in lines} == set(KINDS)


def test_closed_files_are_exported_with_the_log(tmp_path: Path) -> None:
    files = chain(tmp_path, BOOKS["au-commission"](), 5)
    assert follow(exported(files.path)) == [stored for _, stored, _ in files.rows]


def test_an_edition_that_is_nowhere_kept_is_named_without_its_text(tmp_path: Path) -> None:
    path = played(tmp_path / "table.sqlite", coups=1)
    (line,) = [line for line in exported(path) if line.get("edition") == "profile"]
    assert line == {"edition": "profile", "hash": "0" * 64, "text": None, "content": None}


def test_a_damaged_log_is_not_exported_and_leaves_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, target = made(tmp_path), tmp_path / "log.jsonl"
    with forging(path) as db:
        db.execute("UPDATE event SET hash = x'00' WHERE position = 4")
    target.write_text(before := '{"format":"baccarat-log/1"}\n')
    assert main(["log", "export", str(path), "-o", str(target)]) == 1
    assert "position 4" in capsys.readouterr().err
    assert target.read_text() == before
