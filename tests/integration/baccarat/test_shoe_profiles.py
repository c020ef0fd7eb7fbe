"""`baccarat shoe profiles` as people run it."""

import json
import re
from pathlib import Path

import pytest

from baccarat.cli.main import main
from shoe_driver.profiles.catalogue import profile_names, profile_text
from simulators.device.profiles import PROFILES

PAGE = Path("docs/shoe-link.md").read_text("utf-8")
# The page's own table: a cell says more behind its first word.
SHIPPED = {
    name: tuple(re.findall(r"\| `([^`]+)`", rest))
    for name, rest in re.findall(r"^\| `([a-z-]+)` (\| `.+)$", PAGE, re.MULTILINE)
    if name in profile_names()
}


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(["shoe", "profiles", *arguments])
    return code, capsys.readouterr().out


def test_what_ships_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = run(capsys)
    head, *rows = (tuple(line.split()) for line in out.splitlines())
    assert code == 0
    assert head == ("id", "framer", "check", "loss_detection", "disclosure", "result")
    assert {name: tuple(rest) for name, *rest in rows} == SHIPPED
    assert SHIPPED.keys() == set(profile_names()) == set(PROFILES)
    simulators = Path("docs/simulators.md").read_text("utf-8")
    assert [name for name in SHIPPED if f"`{name}`" not in simulators] == []
    code, out = run(capsys, "--json")
    documents = json.loads(out)
    assert {each["id"]: tuple(each[key] for key in head[1:]) for each in documents} == SHIPPED
    bauds = {each["id"]: each["baud"] for each in documents}
    assert bauds == {name: simulated.baud for name, simulated in PROFILES.items()}


def test_a_sites_own_file_is_checked(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "site.toml"
    path.write_bytes(profile_text("text-line"))
    code, out = run(capsys, "--check", str(path))
    assert (code, out.split(", ")[:3]) == (0, [f"{path}: ok", "text-line", "line"])
    code, out = run(capsys, "--check", str(path), "--json")
    assert (code, json.loads(out)["profile"]["id"]) == (0, "text-line")


def test_every_mistake_is_a_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "site.toml"
    text = profile_text("text-line").replace(b"baud = 9600", b"baud = true")
    path.write_bytes(text.replace(b'check = "none"', b'chek = "none"'))
    code, out = run(capsys, "--check", str(path))
    keys = "id, framer, check, loss_detection, disclosure, result, serial, limits, repeat, resend"
    wanted = [
        f"{path}: chek: no such key; there are {keys}, line, codes",
        f"{path}: check is missing",
        f"{path}: serial.baud: Expected `int`, got `bool`",
    ]
    assert (code, sorted(out.splitlines())) == (1, sorted(wanted))
    code, out = run(capsys, "--check", str(path), "--json")
    assert (code, json.loads(out)["ok"], len(json.loads(out)["wrong"])) == (1, False, 3)


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shoe", "profiles", "--check", "/nowhere/site.toml"]) == 2
    assert "/nowhere/site.toml: cannot be read" in capsys.readouterr().err
