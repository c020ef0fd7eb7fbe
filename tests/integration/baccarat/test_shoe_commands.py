"""`baccarat shoe list`, `capture`, `monitor` and `profiles`, on a real pseudo-terminal."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import termios
from pathlib import Path
from typing import Final

import msgspec
import pytest

from baccarat.cli.main import main
from baccarat.cli.shoe.list import found_ports
from baccarat.conformance.rules import RULES
from shoe_driver.codes.fields import FieldTable
from shoe_driver.framing.grammar import CheckSpec, FramerSpec, NumberSpec
from shoe_driver.journal.files import read_records
from shoe_driver.journal.records import RecordKind
from shoe_driver.profiles.catalogue import profile_names, profile_text
from shoe_driver.profiles.profile import (
    AcknowledgePolicy,
    LimitOptions,
    PollPolicy,
    RepeatPolicy,
    ResendPolicy,
    SerialOptions,
)
from simulators.device.profiles import PROFILES
from tests.integration.shoe_driver.test_driver import held_by_another
from tests.support.machine.commands import at_work, documents, read_line, run
from tests.support.machine.processes import environment
from tests.support.machine.waiting import until_blocking
from tests.support.shoe.made_up import capture as capture_of
from tests.support.shoe.made_up import drawn, wanted
from tests.support.shoe.made_up import shoe as cards_of
from tests.support.shoe.shoe_bytes import frames, stream
from tests.support.shoe.shoe_line import ShoePort

COUP = "D P1 9H, D B1 2D, D P2 8S, D B2 KC, G player"


def listens(file: Path) -> bool:
    """Whether the capture has noted that its line is open.

    Holding the port is not enough: opening it throws away what came until then.
    """
    return file.exists() and any(record.kind is RecordKind.OPEN for record in read_records(file))


def shown_until(screen: int, shown: bytes, *words: bytes) -> bytes:
    """What a terminal has been told, from `shown` on, until it has all of these words."""
    for _ in range(1_000):
        if all(word in shown for word in words):
            return shown
        ready, _, _ = select.select([screen], [], [], 15)
        assert ready, f"{words} never came: {shown[-500:]!r}"
        shown += os.read(screen, 65_536)
    raise AssertionError(f"{words} never came: {shown[-500:]!r}")


@pytest.mark.parametrize("url", [True, False], ids=["url", "path"])
def test_a_capture_ends_with_ctrl_c_and_can_be_decoded(
    url: bool, shoe: ShoePort, tmp_path: Path
) -> None:
    file = tmp_path / "evening.raw"
    with at_work("shoe", "capture", shoe.url if url else shoe.link, file) as process:
        until_blocking(lambda: listens(file), "the line is open")
        shoe.say(stream(COUP))
        last = frames(COUP)[-1]
        until_blocking(lambda: file.read_bytes().count(last) == 3, "all of it is stored")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
        assert process.returncode == 0
    assert err.decode().startswith(f"{file}: 117 bytes in ")
    assert "15 valid frames, 5 reports, 0 rejected" in err.decode()
    found = documents(done := run("shoe", "decode", "--profile", "enq-bcc", "--json", file))
    assert done.code == 0
    assert [d["kind"] for d in found][:3] == ["link_open", "link_up", "card_drawn"]
    assert found[-1]["reason"] == "capture ended"
    assert found[2]["utc"].startswith("20")


def test_a_capture_ends_after_its_seconds_and_says_what_looks_wrong(
    shoe: ShoePort, tmp_path: Path
) -> None:
    file = tmp_path / "noise.raw"
    with at_work("shoe", "capture", shoe.url, file, "--seconds", "5") as process:
        until_blocking(lambda: listens(file), "the line is open")
        shoe.say(b"\xf0\x0f" * 200)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 0
    assert err.decode().endswith("wrong baud or wrong profile?\n")


def test_a_capture_that_is_torn_from_its_port_keeps_what_it_has(
    shoe: ShoePort, tmp_path: Path
) -> None:
    file = tmp_path / "evening.raw"
    with at_work("shoe", "capture", shoe.url, file) as process:
        until_blocking(lambda: listens(file), "the line is open")
        shoe.say(frames("D P1 9H")[0])
        until_blocking(lambda: frames("D P1 9H")[0] in file.read_bytes(), "it is stored")
        shoe.unplug()
        _, err = process.communicate(timeout=20)
    assert process.returncode == 2
    assert "1 valid frames" in err.decode()
    assert "baccarat: port " in err.decode().splitlines()[-1]
    assert "card_drawn" in run("shoe", "decode", "--profile", "enq-bcc", file)[1]


def test_a_capture_never_replaces_a_file_and_leaves_none_where_there_is_no_port(
    shoe: ShoePort, tmp_path: Path
) -> None:
    file = tmp_path / "evening.raw"
    file.write_bytes(b"precious")
    code, _, err = run("shoe", "capture", shoe.url, file)
    assert (code, file.read_bytes()) == (2, b"precious")
    assert err == f"baccarat: {file}: exists already; a capture never replaces a file\n"
    other = tmp_path / "other.raw"
    code, _, err = run("shoe", "capture", f"pty:{tmp_path}/none", other)
    assert (code, other.exists()) == (2, False)
    assert f"port {tmp_path}/none: does not exist" in err
    with held_by_another(shoe) as holder:
        code, _, err = run("shoe", "capture", shoe.url, other)
        assert (code, other.exists()) == (2, False)
        assert f"in use by process {holder.pid} (python" in err


def test_a_monitor_tells_each_event_and_writes_nothing(shoe: ShoePort) -> None:
    with at_work("shoe", "monitor", shoe.url, "--profile", "enq-bcc") as process:
        assert json.loads(read_line(process))["kind"] == "link_open"
        shoe.say(stream("D P1 9H"))
        told = [json.loads(read_line(process))["kind"] for _ in range(2)]
        assert told == ["link_up", "card_drawn"]
        assert fcntl.ioctl(shoe.master, termios.FIONREAD, b"\0" * 4) == b"\0" * 4
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
        assert process.returncode == 0
    assert err.decode().startswith("link up, last valid frame ")
    assert "3 frames, 1 reports, copies 0/0/" in err.decode()


def test_a_monitor_in_a_terminal_shows_how_the_line_stands(shoe: ShoePort) -> None:
    screen, terminal = pty.openpty()
    wide = environment() | {"TERM": "xterm", "COLUMNS": "160"}
    words = ("shoe", "monitor", shoe.url, "--profile", "enq-bcc")
    with at_work(*words, stdout=terminal, env=wide):
        os.close(terminal)
        shown = shown_until(screen, b"", b"link_open")
        shoe.say(stream("D P1 9H"))
        shown = shown_until(screen, shown, b"face=9H", b"1 reports")
    os.close(screen)
    assert b"card_drawn" in shown
    assert b"link up" in shown


def test_a_monitor_of_a_replay_ends_with_it(tmp_path: Path) -> None:
    file = tmp_path / "evening.raw"
    file.write_bytes(stream(COUP))
    done = run("shoe", "monitor", f"file:{file}?speed=0", "--profile", "enq-bcc")
    assert (done.code, documents(done)[-1]["kind"]) == (0, "device_result")
    assert "15 frames, 5 reports" in done.err


def test_ports_are_listed_by_their_stable_names(shoe: ShoePort, tmp_path: Path) -> None:
    by_id = tmp_path / "by-id"
    by_id.mkdir()
    (by_id / "usb-FTDI_A50285BI-if00-port0").symlink_to(shoe.link.readlink())
    with held_by_another(shoe) as holder:
        [port] = [p for p in found_ports(by_id) if p.stable is not None]
        assert port.device == str(shoe.link.readlink())
        assert port.stable == str(by_id / "usb-FTDI_A50285BI-if00-port0")
        assert port.url == f"serial://{port.stable}"
        assert port.held_by is not None
        assert port.held_by.startswith(f"process {holder.pid} (python")


def test_the_list_is_made_of_documents() -> None:
    assert all("url" in each for each in documents(run("shoe", "list", "--json")))


SECTIONS: Final[tuple[tuple[str, type[msgspec.Struct]], ...]] = (
    ("framer", FramerSpec),
    ("check", CheckSpec),
    ("number", NumberSpec),
    ("repeat", RepeatPolicy),
    ("acknowledge", AcknowledgePolicy),
    ("poll", PollPolicy),
    ("resend", ResendPolicy),
    ("serial", SerialOptions),
    ("limits", LimitOptions),
    ("codes", FieldTable),
)
PAGE = Path("docs/shoe/profiles.md").read_text("utf-8")
# The page's own table: a cell says more behind its first word.
SHIPPED = {
    name: tuple(re.findall(r"\| `([^`]+)`", rest))
    for name, rest in re.findall(r"^\| `([a-z-]+)` (\| `.+)$", PAGE, re.MULTILINE)
    if name in profile_names()
}


def profiles(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(["shoe", "profiles", *arguments])
    return code, capsys.readouterr().out


def test_what_ships_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = profiles(capsys)
    head, *rows = (tuple(line.split()) for line in out.splitlines())
    assert code == 0
    assert head == ("id", "framer", "check", "loss_detection", "disclosure", "result")
    assert {name: tuple(rest) for name, *rest in rows} == SHIPPED
    assert SHIPPED.keys() == set(profile_names()) == set(PROFILES)
    simulators = Path("docs/develop/simulators.md").read_text("utf-8")
    assert [name for name in SHIPPED if f"`{name}`" not in simulators] == []
    code, out = profiles(capsys, "--json")
    documents = json.loads(out)
    assert {each["id"]: tuple(each[key] for key in head[1:]) for each in documents} == SHIPPED
    bauds = {each["id"]: each["baud"] for each in documents}
    assert bauds == {name: simulated.baud for name, simulated in PROFILES.items()}


def test_a_sites_own_file_is_checked(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "site.toml"
    path.write_bytes(profile_text("text-line"))
    code, out = profiles(capsys, "--check", str(path))
    assert (code, out.split(", ")[:3]) == (0, [f"{path}: ok", "text-line", "line"])
    code, out = profiles(capsys, "--check", str(path), "--json")
    assert (code, json.loads(out)["profile"]["id"]) == (0, "text-line")


def test_every_mistake_is_a_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "site.toml"
    text = profile_text("enq-bcc").replace(b"baud = 4800", b"baud = true")
    text = text.replace(b"[repeat]", b"[repeats]").replace(b"base = 10", b"base = 99")
    path.write_bytes(text.replace(b'1 = "A"', b'1 = "1"'))
    code, out = profiles(capsys, "--check", str(path))
    keys = "form, id, framer, check, number, loss_detection, disclosure, result, serial, limits"
    wanted = [
        f"{path}: repeats: no such key; there are {keys}, repeat, acknowledge, poll, resend, codes",
        f"{path}: serial.baud: Expected `int`, got `bool`",
        f"{path}: number.base is 99; use 2 to 36 for text, 256 for binary",
        f"{path}: codes.suits, codes.ranks: '1D' is not a valid Card",
    ]
    assert (code, sorted(out.splitlines())) == (1, sorted(wanted))
    code, out = profiles(capsys, "--check", str(path), "--json")
    assert (code, json.loads(out)["ok"], len(json.loads(out)["wrong"])) == (1, False, 4)


FAULTY = {
    "a face": ("codes.ranks", '13 = "K"', '13 = "Q"', {"missing_faces"}),
    "a code of two faces": ("codes.ranks", '1 = "A"', '99 = "A"', {"ambiguous"}),
    "a target": ("codes.targets", '5 = "burn_card"', '9 = "burn_card"', {"unreachable"}),
    "the speed": ("serial", "baud = 4800", "baud = 300", {"too_fast"}),
}


@pytest.mark.parametrize(("section", "before", "after", "codes"), FAULTY.values(), ids=FAULTY)
def test_a_profile_that_can_be_read_may_be_wrong(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    section: str,
    before: str,
    after: str,
    codes: set[str],
) -> None:
    path = tmp_path / "site.toml"
    head, tail = profile_text("enq-bcc").decode().split(f"[{section}]\n", 1)
    path.write_text(f"{head}[{section}]\n{tail.replace(before, after, 1)}", encoding="utf-8")
    code, out = profiles(capsys, "--check", str(path), "--json")
    told = json.loads(out)
    assert (code, told["ok"]) == (1, False)
    assert {fault["code"] for fault in told["faults"]} == codes
    assert all(fault["remedy"] for fault in told["faults"])
    assert any("passes its check by chance" in each for each in told["cannot_promise"])


def test_a_shipped_source_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    for name in profile_names():
        assert profiles(capsys, "--show", name) == (0, profile_text(name).decode())
    old = profile_text("ref-crc", 1).decode()
    assert profiles(capsys, "--show", "ref-crc", "--edition", "1") == (0, old)
    assert main(["shoe", "profiles", "--show", "ref-crc", "--edition", "9"]) == 2
    assert "has no edition 9; use 1 to 2" in capsys.readouterr().err


GUIDE = Path("docs/shoe/bring-up.md").read_text("utf-8")
KEYS = PAGE.partition("## The keys of a profile\n")[2].partition("\n## ")[0]


def test_the_pages_name_every_key_and_every_rule() -> None:
    keys, rules = (
        set(re.findall(r"^\| `([a-z_.0-9]+)` \|", text, re.MULTILINE)) for text in (KEYS, GUIDE)
    )
    assert keys == {
        f"{section}.{field.encode_name}"
        for section, kind in SECTIONS
        for field in msgspec.structs.fields(kind)
    }
    assert rules == set(RULES)


def test_a_capture_is_learned_checked_and_held_to_what_was_learned(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    device, cards = drawn("command"), cards_of("command")
    raw, made, page = (tmp_path / name for name in ("raw", "made.toml", "page.html"))
    raw.write_bytes(capture_of(device, cards, 1, noise=0.0))
    deal = ",".join(cards)
    assert main(["shoe", "learn", str(raw), "--deal", deal, "-o", str(made), "--json"]) == 0
    best = json.loads(capsys.readouterr().out)["candidates"][0]
    assert {key: best[key] for key in ("framer", "check", "hex", "numbering")} == wanted(device)
    command = ["shoe", "conform", str(raw), "--profile", str(made), "-o", str(page), "--json"]
    code = main(command)
    told = json.loads(capsys.readouterr().out)
    assert (code, set(told)) == (0 if told["ok"] else 1, {"ok", "seen", "never_seen", "faults"})
    assert "deal" in told["seen"]
    assert "Technician" in page.read_text("utf-8")
    assert main(["shoe", "learn", str(tmp_path / "none")]) == 2
    assert "give a capture, a journal" in capsys.readouterr().err


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shoe", "profiles", "--check", "/nowhere/site.toml"]) == 2
    assert "/nowhere/site.toml: cannot be read" in capsys.readouterr().err
