"""`baccarat shoe decode` as people run it: files, pipes, journals, and what is wrong with them.

At the end captures of every profile, typed by hand, bare and in a journal.
"""

import os
import random
import resource
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from events.clock import SystemClock
from events.errors import LogRefused
from shoe_driver.decode import Decoder
from shoe_driver.journal.files import Journal
from shoe_driver.journal.records import MAGIC, Record, RecordKind
from shoe_driver.profiles.catalogue import load_profile, profile_names, profile_text
from shoe_driver.service.journal_segments import JournalChain
from tests.support.machine.commands import (
    Done,
    at_work,
    complaint,
    documents,
    here,
    read_line,
    run,
)
from tests.support.shoe.shoe_bytes import NOISE, cut, frames, stream

SEED = 20261127
DECODE = ("shoe", "decode", "--profile", "enq-bcc")
REPORTS = "S, D first 2C:1, D P1 --, D B1 KC, I P1 8S, E 2, G six PP"
CAPTURE = NOISE + stream(REPORTS)


def decode(*arguments: object, stdin: bytes = b"") -> Done:
    return run(*DECODE, *arguments, stdin=stdin)


def test_the_documented_line_byte_for_byte() -> None:
    code, out, err = decode("--json", "-", stdin=bytes.fromhex("05 31 44 81 B8 03 34 46"))
    assert (code, out) == (
        0,
        (
            '{"seq":1,"kind":"card_drawn","hand":"player","number":1,"face":"8S",'
            '"offset":0,"raw":"05314481B8033446"}\n'
        ),
    )
    assert err.splitlines() == [
        "1 events from 8 bytes: 1 valid frames, 1 reports, 0 rejected, 1 short of copies"
    ]


def test_a_capture_from_a_file_and_from_a_pipe_are_the_same(tmp_path: Path) -> None:
    path = tmp_path / "capture.raw"
    path.write_bytes(CAPTURE)
    from_file = decode("--json", path)
    assert from_file == decode("--json", "-", stdin=CAPTURE)
    kinds = [document["kind"] for document in documents(from_file)]
    assert kinds == [
        "frame_rejected",
        "shoe_booted",
        "first_card",
        "card_drawn",
        "card_drawn",
        "card_revealed",
        "error_raised",
        "device_result",
    ]
    assert documents(from_file)[-1] == {
        "seq": 8,
        "kind": "device_result",
        "winner": "banker",
        "player_pair": True,
        "banker_six": True,
        "offset": 6 + 3 * (6 + 4 * 8 + 7),
        "raw": frames(REPORTS)[-1].hex().upper(),
    }


def test_lines_come_with_the_bytes_that_make_them_and_never_depend_on_the_split() -> None:
    """Live: each report is there before the next is sent, a byte at a time."""
    wanted = decode("--json", "-", stdin=CAPTURE)[1].splitlines()
    with at_work(*DECODE, "--json", "-", stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        lines = []
        for byte in cut(NOISE + frames("S")[0], range(99)):
            process.stdin.write(byte)
        lines += [read_line(process).rstrip() for _ in range(2)]
        for piece in cut(CAPTURE[len(NOISE) + 6 :], range(0, 999, 5)):
            process.stdin.write(piece)
        lines += process.communicate()[0].decode().splitlines()
    assert lines == wanted


def test_people_get_a_table() -> None:
    code, out, _ = decode("-", stdin=stream("S, D P1 8S"))
    assert code == 0
    assert [line.split() for line in out.splitlines()] == [
        ["1", "0", "shoe_booted", "053053033630"],
        ["2", "18", "card_drawn", "hand=player", "number=1", "face=8S", "05314481B8033446"],
    ]


def test_nothing_is_no_error() -> None:
    code, out, err = decode("--json", "-")
    assert (code, out) == (0, "")
    assert err.startswith("0 events from 0 bytes")


def journal(folder: Path) -> Path:
    made = Journal.create(folder, "j20261127t000000-1", profile_text("enq-bcc"), SystemClock())
    made.append(
        [
            Record(RecordKind.OPEN, 0, 1_000_000_000, b"pty:/x"),
            *(Record(RecordKind.DATA, 9, 2_000_000_000, piece) for piece in cut(CAPTURE, [50, 51])),
            Record(RecordKind.CLOSE, 99, 3_500_000_000, b"unplugged"),
        ]
    )
    made.close()
    return made.path


def test_a_journal_is_decoded_with_its_link_and_its_times(tmp_path: Path) -> None:
    path = journal(tmp_path)
    code, out, err = done = decode("--json", path)
    found = documents(done)
    assert code == 0
    assert found[0] == {
        "seq": 1,
        "kind": "link_open",
        "transport": "pty:/x",
        "offset": 0,
        "raw": "",
        "utc": "1970-01-01T00:00:01.000000000Z",
    }
    assert [document["seq"] for document in found] == list(range(1, 12))
    assert found[-1]["reason"] == "unplugged"
    assert found[-1]["offset"] == len(CAPTURE)
    assert err.count("\n") == 1
    assert "edition" not in err
    bare = documents(decode("--json", "-", stdin=CAPTURE))
    of_frames = [document for document in found if not document["kind"].startswith("link")]
    assert [(d["kind"], d["offset"], d["raw"]) for d in of_frames] == [
        (d["kind"], d["offset"], d["raw"]) for d in bare
    ]
    assert decode("--json", "-", stdin=path.read_bytes())[1] == out


def segments(folder: Path) -> list[Path]:
    """A journal of three coups in three files."""
    clock, profile = SystemClock(), load_profile("enq-bcc")
    chain = JournalChain(
        [Journal.create(folder, "j20261127t000000-1", profile_text("enq-bcc"), clock).path]
    )
    decoder = Decoder(profile, chain.header.journal)
    for coup in range(3):
        data = stream("D P1 9H, D B1 2D, D P2 8S, D B2 KC, G player", first_seq=1 + coup * 5 % 9)
        records = [Record(RecordKind.DATA, clock.mono_us(), clock.utc_ns(), data)]
        chain.append(records)
        for record in records:
            decoder.feed(record)
        if coup < 2:
            carried = decoder.carried(clock.mono_us())
            assert carried is not None
            chain.go_on(carried, clock)
    chain.close()
    return list(chain.last_events)


def test_a_journal_in_several_files_is_one_journal(tmp_path: Path) -> None:
    files = segments(tmp_path)
    code, out, err = done = decode("--json", *files)
    assert code == 0
    found = documents(done)
    assert [document["seq"] for document in found] == list(range(1, 16))
    assert "report_lost" not in out
    assert err.startswith("15 events from 351 bytes: 45 valid frames, 15 reports, 0 rejected, 0")
    # Each file says by itself where the journal stood.
    assert "".join(decode("--json", path)[1] for path in files) == out


def test_files_out_of_order_are_said_to_be(tmp_path: Path) -> None:
    first, _, third = segments(tmp_path)
    code, _, err = done = decode("--json", first, third)
    assert code == 0
    assert [d["seq"] for d in documents(done)] == [*range(1, 6), *range(11, 16)]
    assert f"{third}: file 3 of its journal follows 1: one is missing" in err


def flipped(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


def test_a_torn_tail_is_left_out_and_said(tmp_path: Path) -> None:
    whole = journal(tmp_path).read_bytes()
    last = len(whole) - 34  # the record of `unplugged`: 21 bytes, 9 of payload, 4 of check
    wanted = decode("--json", "-", stdin=whole)[1].splitlines()[:-1]
    junk = random.Random(SEED).randbytes(300_000)
    for tail in (whole[last:-5], flipped(whole[last:], 25), b"\xff" * 5, bytes(9_999), junk):
        code, out, err = decode("--json", "-", stdin=whole[:last] + tail)
        assert (code, out.splitlines()) == (0, wanted)
        assert err.endswith(f"; a torn tail of {len(tail)} bytes at offset {last} was left out\n")


def test_a_damaged_journal_is_shown_up_to_the_damage(tmp_path: Path) -> None:
    path = journal(tmp_path)
    whole = path.read_bytes()
    last = len(whole) - 34
    wanted = decode("--json", path)[1].splitlines(keepends=True)
    data = last - 25 - (len(CAPTURE) - 51)  # where the last record of data begins
    for content, shown, at, reason in (
        (flipped(whole, data + 30), 5, data, "a checksum fails"),
        (flipped(whole, data + 3), 5, data, "a record has no end"),  # longer than it was
        (flipped(whole, data + 2), 5, data, "no record that this one knows"),
        (whole[:last] + bytes(200_000) + whole[last:], 10, last, "no record that this one knows"),
        (whole[: data + 9] + whole[last:], 5, data, "a record has no end"),
        (whole[:40], 0, 8, "no header is whole"),
        (flipped(whole, 60), 0, 8, "a checksum fails"),
        (whole.replace(MAGIC, b"BACSHOE\x02"), 0, 0, "no journal of this build's format"),
    ):
        path.write_bytes(content)
        code, out, err = decode("--json", path)
        assert (code, out) == (2, "".join(wanted[:shown])), reason
        assert err.startswith(f"baccarat: {path}: "), reason
        assert reason in err
        assert err.endswith(f" (byte {at})\n")
        assert err.count("\n") == 1


def test_what_the_driver_refuses_is_refused_and_nothing_else(tmp_path: Path) -> None:
    whole = journal(tmp_path).read_bytes()
    path = tmp_path / "damaged.journal"
    refused = 0
    for content in (
        *(flipped(whole, place) for place in range(8, len(whole), 23)),
        *(whole[:end] for end in range(8, len(whole), 29)),
    ):
        path.write_bytes(content)
        code, _, said = here(*DECODE, path)
        if code == 0:
            Journal(path).close()
            continue
        refused += 1
        with pytest.raises(LogRefused) as refusal:
            Journal(path)
        assert code == 2
        assert f"(byte {refusal.value.position})" in said
    assert refused > 100


@pytest.mark.parametrize(("closed", "what"), [("<&-", "input"), (">&-", "output")])
def test_a_closed_stream_is_one_line(closed: str, what: str) -> None:
    shell = ("/bin/sh", "-c", f'exec "$@" {closed}', "sh")
    assert f"standard {what} is closed" in complaint(run(*DECODE, "-", within=shell))


def test_another_edition_of_the_profile_is_noted(tmp_path: Path) -> None:
    path = journal(tmp_path)
    edited = tmp_path / "site.toml"
    edited.write_bytes(profile_text("enq-bcc") + b"# our own\n")
    code, _, err = decode("--profile", edited, path)
    assert code == 0
    assert "another edition of the profile" in err


def an_older_journal(folder: Path) -> tuple[Path, str]:
    """By an edition in which an eight was a nine; and what came out by it."""
    older = profile_text("enq-bcc").replace(b"8 = ", b"?? = ").replace(b"9 = ", b"8 = ")
    older = older.replace(b"?? = ", b"9 = ")
    kept = folder / "older.toml"
    kept.write_bytes(older)
    made = Journal.create(folder, "j20261127t000000-1", older, SystemClock())
    made.append([Record(RecordKind.DATA, 9, 2_000_000_000, CAPTURE)])
    made.close()
    return made.path, decode("--json", "--profile", kept, made.path)[1]


def test_a_journal_is_read_by_its_own_edition_unless_a_file_is_named(tmp_path: Path) -> None:
    path, told = an_older_journal(tmp_path)
    current = tmp_path / "current.toml"
    current.write_bytes(profile_text("enq-bcc"))
    assert decode("--json", "--profile", current, path)[1] != told
    by_id = decode("--json", path)
    assert by_id[:2] == (0, told)
    assert "edition" not in by_id[2]
    assert run("shoe", "decode", "--json", path)[:2] == (0, told)


def test_bare_bytes_need_a_profile(tmp_path: Path) -> None:
    file = tmp_path / "capture.raw"
    file.write_bytes(CAPTURE)
    assert "name it by --profile" in complaint(here("shoe", "decode", file))
    assert "--profile" in complaint(run("shoe", "decode", "-"))


WRONG = {
    "unknown profile": (
        ["--profile", "angel", "-"],
        (
            f"baccarat: no wire profile 'angel'; there are {', '.join(profile_names())}, "
            "or give a path to a .toml"
        ),
    ),
    "missing file": (
        ["/nowhere/x.raw"],
        (
            "baccarat: /nowhere/x.raw: No such file or directory; "
            "give a capture, a journal, or - for standard input"
        ),
    ),
    "a folder": (
        ["/"],
        "baccarat: /: Is a directory; give a capture, a journal, or - for standard input",
    ),
}


@pytest.mark.parametrize(("arguments", "complaint"), WRONG.values(), ids=WRONG)
def test_bad_usage_is_one_line_and_exit_code_two(arguments: list[str], complaint: str) -> None:
    assert decode(*arguments) == (2, "", f"{complaint}\n")


@pytest.mark.cold_start
@pytest.mark.parametrize("kind", ["garbage", "reports"])
def test_memory_stays_bounded_whatever_comes(kind: str) -> None:
    """32 MB through a pipe: the process stays within a few megabytes of what it takes to start."""
    block = random.Random(SEED).randbytes(1 << 20) if kind == "garbage" else _megabyte()
    idle_kb = _peak_kb(b"", 0)
    assert _peak_kb(block, 32 if kind == "garbage" else 8) < idle_kb + 6_000


def _megabyte() -> bytes:
    reports = ", ".join(f"D P{1 + n % 3} {'A23456789TJQK'[n % 13]}S" for n in range(9 * 13))
    once = stream(reports)
    return once * ((1 << 20) // len(once))


def _peak_kb(block: bytes, times: int) -> int:
    nowhere = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with at_work(*DECODE, "--json", "-", stdin=subprocess.PIPE, **nowhere) as process:
        assert process.stdin is not None
        for _ in range(times):
            process.stdin.write(block)
        process.stdin.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    assert isinstance(usage, resource.struct_rusage)
    return usage.ru_maxrss


def test_decoding_is_much_faster_than_any_line() -> None:
    """A line carries 480 bytes a second; a month of them should not take a coffee break."""
    data = _megabyte() * 4
    began = time.monotonic()
    code, out, _ = decode("--json", "-", stdin=data)
    rate = len(data) / (time.monotonic() - began) / 1e6
    assert code == 0
    assert out.count("\n") == len(data) // 24
    assert rate > 0.05, f"{rate:.1f} MB/s, the start of the process included"


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


def meant(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    stamps = {"seq", "offset", "raw", "utc"}
    return [{k: v for k, v in each.items() if k not in stamps} for each in found]


@pytest.mark.parametrize("profile", CAPTURES)
def test_a_bare_capture_of_every_profile(profile: str) -> None:
    capture, meaning = CAPTURES[profile]
    found = documents(run("shoe", "decode", "--json", "--profile", profile, "-", stdin=capture))
    assert meant(found) == meaning
    assert [each["seq"] for each in found] == list(range(1, len(meaning) + 1))
    for each in found:
        raw = bytes.fromhex(each["raw"])
        assert capture[each["offset"] :].startswith(raw)
        assert raw


@pytest.mark.parametrize("profile", CAPTURES)
def test_a_journal_of_every_profile(profile: str, tmp_path: Path) -> None:
    capture, meaning = CAPTURES[profile]
    made = Journal.create(tmp_path, "j20261127t000000-1", profile_text(profile), SystemClock())
    records = [Record(RecordKind.OPEN, 0, 0, b"pty:x")]
    records += [
        Record(RecordKind.DATA, place, place * 1000, capture[place : place + 1])
        for place in range(len(capture))
    ]
    made.append(records)
    made.close()
    found = documents(run("shoe", "decode", "--json", "--profile", profile, made.path))
    opened = [{"kind": "link_open", "transport": "pty:x"}, {"kind": "link_up"}]
    assert meant(found) == [*opened, *meaning]
