"""`baccarat shoe decode` with every profile: captures typed by hand, bare and in a journal."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from events.clock import SystemClock
from shoe_driver.journal.files import Journal
from shoe_driver.journal.records import Record, RecordKind
from shoe_driver.profiles.catalogue import profile_text

COMMAND = (sys.executable, "-m", "baccarat", "shoe", "decode", "--json")

# Each typed from the page, and what it means by the page.
CAPTURES: dict[str, tuple[bytes, list[dict[str, Any]]]] = {
    "enq-bcc": (
        bytes.fromhex("05 30 53 03 36 3005 31 44 81 B8 03 34 4605 31 44 81 B8 03 34 46"),
        [
            {"kind": "shoe_booted"},
            {"kind": "card_drawn", "hand": "player", "number": 1, "face": "8S"},
        ],
    ),
    "text-line": (
        b"[Manual Burn Cards]<Card:H3>\r\n[Game]<Card:4S>\r\n[Game]<Game>\r\n[Game]<Card:10D>\r\n",
        [
            {"kind": "mode_changed", "mode": "Manual Burn Cards"},
            {"kind": "burn_card", "face": "3H"},
            {"kind": "mode_changed", "mode": "Game"},
            {"kind": "card_drawn", "face": "4S"},
            {"kind": "card_unreadable"},
            {"kind": "card_drawn", "face": "TD"},
        ],
    ),
    "text-line-scan": (
        b"0001\r\n0001\r\n00520\r\n0052\r\n",
        [
            {"kind": "card_drawn", "face": "AS"},
            {"kind": "card_drawn", "face": "AS"},
            {"kind": "card_unreadable"},
            {"kind": "card_drawn", "face": "KC"},
        ],
    ),
    "ref-crc": (
        bytes.fromhex(
            "00 05 01 01 02 A7 01 01 01 01 02 0C 03 A1 F8 00"
            "00 05 01 14 02 A7 02 02 01 08 17 70 02 01 3B 42 AF 00"  # number 2 before number 1
            "00 05 01 0F 02 A7 02 01 01 04 17 70 04 01 01 04 01 A0 1F 00"
            "00 05 01 10 02 A7 02 01 01 08 13 88 02 11 18 03 F4 00"
            "00 05 01 10 02 A7 02 01 01 08 13 88 02 11 18 03 F4 00"
        ),
        [
            {"kind": "shoe_booted"},
            {"kind": "card_drawn", "hand": "player", "number": 1, "face": "8S"},
            {"kind": "burn_card", "face": "JD", "left": 1},
        ],
    ),
}


def decode(profile: str, *arguments: str | Path, stdin: bytes = b"") -> list[dict[str, Any]]:
    done = subprocess.run(
        [*COMMAND, "--profile", profile, *arguments],
        input=stdin,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def meant(documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    stamps = {"seq", "offset", "raw", "utc"}
    return [{k: v for k, v in each.items() if k not in stamps} for each in documents]


@pytest.mark.parametrize("profile", CAPTURES)
def test_a_bare_capture(profile: str) -> None:
    capture, meaning = CAPTURES[profile]
    documents = decode(profile, "-", stdin=capture)
    assert meant(documents) == meaning
    assert [each["seq"] for each in documents] == list(range(1, len(meaning) + 1))
    for each in documents:
        raw = bytes.fromhex(each["raw"])
        assert capture[each["offset"] :].startswith(raw)
        assert raw


@pytest.mark.parametrize("profile", CAPTURES)
def test_a_journal(profile: str, tmp_path: Path) -> None:
    capture, meaning = CAPTURES[profile]
    made = Journal.create(tmp_path, "j20261127t000000-1", profile_text(profile), SystemClock())
    records = [Record(RecordKind.OPEN, 0, 0, b"pty:x")]
    records += [
        Record(RecordKind.DATA, place, place * 1000, capture[place : place + 1])
        for place in range(len(capture))
    ]
    made.append(records)
    made.close()
    documents = decode(profile, made.path)
    assert meant(documents[:2]) == [
        {"kind": "link_open", "transport": "pty:x"},
        {"kind": "link_up"},
    ]
    assert meant(documents[2:]) == meaning
