"""`baccarat replay` over the log of a whole table: real processes, and a browser that prints."""

import json
import os
import re
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from baccarat.history.log_facts import state_at, view_of
from baccarat.rulebooks.editions import available_rulebooks
from events.log.reader import reading
from events.log.store import EventLog
from events.log.verify import verify
from table_core.decide.decision import DecisionContext
from table_core.rulebooks.shipped import shipped_source
from table_core.rules.rulebook_file import parse_rulebook
from tests.house.sources import texts
from tests.support.log.logs import contents
from tests.support.machine.commands import complaint, here, said
from tests.support.service.table_service import Table1, played
from tests.support.table.coups import COUP
from tests.support.table.stories import KeptWorld, disputed_and_corrected

ROUNDS = 12


def told(*arguments: object) -> str:
    return said(here("replay", *arguments))


def document(*arguments: object) -> Any:
    return json.loads(told(*arguments, "--json"))


def refused(*arguments: object) -> str:
    return complaint(here("replay", *arguments))


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The log of a game in which all sorts of things went wrong, and what the demo says of it."""
    folder = tmp_path_factory.mktemp("demo")
    words = ("--rounds", ROUNDS, "--seed", "7", "--speed", "0", "--faults", "all", "--json")
    done = here("demo", *words, "--data", folder)
    assert done.code == 0, done.err
    return folder / "table.sqlite", json.loads(done.out)


@pytest.fixture
def corrected(tmp_path: Path) -> Path:
    return disputed_and_corrected("camera 4 shows a seven").write(tmp_path / "log" / "table.sqlite")


# ---- a whole game ----


def test_the_list_adds_up_to_what_the_cage_has_booked(demo: tuple[Path, dict[str, Any]]) -> None:
    log, summary = demo
    found = document(log)
    assert found["events"] == verify(log).events
    assert len(found["coups"]) == summary["coups"] == ROUNDS
    for name in ("staked", "paid", "commission"):
        assert sum(coup[name] for coup in found["coups"]) == summary[name]
    states = [coup["state"] for coup in found["coups"]]
    assert states.count("void") == summary.get("voided", 0)
    assert set(states) <= {"settled", "void"}
    lines = told(log).splitlines()
    assert [line.split()[0] for line in lines[:ROUNDS]] == [c["coup"] for c in found["coups"]]


def test_every_coup_is_told_as_text_as_json_and_as_a_page(
    demo: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    log, _ = demo
    for coup in document(log)["coups"][:4]:
        story = document(log, "--coup", coup["coup"])
        assert (story["coup"], story["first"]) == (coup["coup"], coup["first"])
        text = told(log, "--coup", coup["coup"])
        for line in story["lines"]:
            assert line["says"] in text
            assert line["raw"] is None or " ".join(pairs(line["raw"]["hex"])) in text
        page = tmp_path / "coup.html"
        done = here("replay", log, "--coup", coup["coup"], "--html", page)
        assert (done.code, done.out) == (0, ""), done.err
        assert done.err == f"{page}: the page of coup {coup['coup']}\n"
        assert f"<h1>Coup {coup['coup']}</h1>" in page.read_text(encoding="utf-8")


def pairs(digits: str) -> list[str]:
    return [digits[at : at + 2] for at in range(0, len(digits), 2)]


def test_replay_changes_nothing_and_has_no_effect(demo: tuple[Path, dict[str, Any]]) -> None:
    log, _ = demo
    before = contents(log.parent)
    told(log)
    coup = document(log)["coups"][-1]
    told(log, "--coup", coup["coup"])
    told(log, "--at", coup["last"])
    assert contents(log.parent) == before


async def test_the_replayed_state_is_every_state_that_the_live_table_published(
    table: Table1, tmp_path: Path
) -> None:
    async with played(table, tmp_path):
        published = list(table.states)
        # Its writer is at work on it, and it is read beside it.
        books = available_rulebooks(tmp_path / "table.sqlite").books
        with reading(tmp_path / "table.sqlite") as log:
            for each in published:
                if each.position and not each.catching_up:
                    assert view_of(state_at(log, each.position), log, books) == each
    compared = {each.position for each in published if each.position and not each.catching_up}
    assert len(compared) > 2
    last = published[-1]
    written = told(tmp_path / "table.sqlite", "--at", last.position, "--json")
    assert written.encode().rstrip() == msgspec.json.encode(last)


# ---- one coup ----


def test_a_coup_that_was_disputed_and_corrected(corrected: Path) -> None:
    text = told(corrected, "--coup", COUP)
    for line in (
        "! the table: The shoe's own result is not that of the cards",
        "> supervisor: The result was confirmed by hand",
        "Changed at position 26 by supervisor: camera 4 shows a seven",
        "seat  2  paid 0.00 before, 29.00 after, difference 29.00",
    ):
        assert line in text
    assert "the dealer calls" not in text
    called = told(corrected, "--coup", COUP, "--calls")
    story = document(corrected, "--coup", COUP)
    for step in story["calls"]:
        assert re.search(rf"^\S+ \S+ +{step['position']} ", called, re.MULTILINE)
    for call in ("Place your bets.", "No more bets."):
        assert f"the dealer calls: {call}" in called
    assert [change["difference"] for change in story["changes"]] == [1900]


def test_what_if_names_its_coup_by_its_position(corrected: Path) -> None:
    text = told(corrected, "--what-if", "12=2S")
    assert "Player's first card: 2♠ instead of 9♠" in text
    assert "Nothing in the log is changed." in text
    found = document(corrected, "--what-if", "12=8S", "--what-if", "14=8D", "--coup", COUP)
    assert (found["happened"]["winner"], found["instead"]["winner"]) == ("tie", "player")
    assert [wager["difference"] for wager in found["wagers"]] == [1000, -2000, -900]


def test_the_table_at_a_time(corrected: Path) -> None:
    by_time = document(corrected, "--at", "2026-11-28T08:00:10+11:00")
    assert by_time == document(corrected, "--at", "10")
    assert by_time["coup"]["phase"] == "closed"
    assert "Coup  20261127-01/1, closed" in told(corrected, "--at", "10")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--coup", "20261127-01/9"), "no such coup in this log; there are 1: 20261127-01/1"),
        (("--at", "99"), "the log ends at position 26"),
        (("--at", "soon"), "write a position such as 120, or a time"),
        (("--at", "5", "--coup", COUP), "not both"),
        (("--what-if", "12"), "write POSITION=FACE"),
        (("--what-if", "12=XX"), "is not a card"),
        (("--what-if", "12=9S"), "is 9S already"),
        (("--what-if", "12=8S", "--what-if", "12=7S"), "given twice"),
        (("--what-if", "2=8S"), "belongs to no coup"),
        (("--what-if", "99=8S"), "the log ends at position 26"),
        (("--what-if", "9=8S"), "tells no face of a card; cards became known at"),
        (("--html", "page.html"), "name it with --coup ID"),
        (("--coup", COUP, "--html", "/no/such/folder/page.html"), "No such file"),
        (("--rulebook", "none.toml"), "none.toml"),
    ],
)
def test_nonsense_gets_one_line(corrected: Path, arguments: tuple[str, ...], reason: str) -> None:
    assert reason in refused(corrected, *arguments)


def test_what_is_no_log_gets_one_line(tmp_path: Path) -> None:
    assert "no such file" in refused(tmp_path / "none.sqlite")
    text = tmp_path / "text"
    text.write_text("hello")
    assert "no SQLite file" in refused(text)


def test_an_empty_log_says_so(tmp_path: Path) -> None:
    path = tmp_path / "table.sqlite"
    EventLog.open(path, "sydney/t1").close()
    assert "No coup has begun in this log." in told(path)
    assert document(path)["coups"] == []
    assert "it has no events" in refused(path, "--at", "2026-11-27T00:00:00Z")
    assert "there are 0: none" in refused(path, "--coup", COUP)


def test_a_sites_own_rulebook_is_named(tmp_path: Path) -> None:
    source = shipped_source("au-commission").replace(b'"au-commission"', b'"house"')
    file = tmp_path / "house.toml"
    file.write_bytes(source)
    world = KeptWorld(DecisionContext(table="t1", rulebook=parse_rulebook("house.toml", source)))
    world.ready()
    world.open()
    world.close()
    world.deal("9S", "2D", "KH", "3C")
    log = world.write(tmp_path / "table.sqlite")
    assert "name its file with --rulebook" in refused(log, "--at", "5")
    assert "name its file with --rulebook" in refused(log, "--what-if", "12=8S")
    assert "the rulebook that is not at hand" in told(log, "--coup", COUP)
    assert document(log, "--at", "5", "--rulebook", file)["rulebook"]["id"] == "house"
    assert "house (Baccarat)" in told(log, "--coup", COUP, "--rulebook", file)


# ---- the document ----


def sessions() -> list[tuple[str, str]]:
    """The commands that docs/money/disputes.md shows, and what it shows of their answers."""
    return re.findall(
        r"^```\n\$ (baccarat replay .*?)\n(.*?)```",
        texts()["docs/money/disputes.md"],
        re.MULTILINE | re.DOTALL,
    )


@pytest.mark.parametrize(("command", "shown"), sessions())
def test_the_document_about_disputes_shows_what_the_command_says(
    corrected: Path, command: str, shown: str
) -> None:
    program, name, log, *options = command.split()
    assert (program, name, log) == ("baccarat", "replay", "table.sqlite")
    lines_told = told(corrected, *options).splitlines()
    at = 0
    for part in shown.split("...\n"):  # what is left out
        lines = part.splitlines()
        while lines and lines_told[at : at + len(lines)] != lines:
            assert at < len(lines_told), (command, part)
            at += 1
        at += len(lines)


def test_the_document_about_disputes_shows_something() -> None:
    assert len(sessions()) == 4


# ---- a real browser ----


def chromium(page: Path, *options: str) -> None:
    program = shutil.which("chromium")
    assert program is not None, "chromium is missing: tests/tools/need-chromium.sh"
    done = subprocess.run(
        [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
         f"--user-data-dir={page.parent / 'profile'}", *options, page.as_uri()],
        capture_output=True, text=True, timeout=100, check=False,
        env=os.environ | {"HOME": str(page.parent)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_a_browser_prints_the_page(corrected: Path, tmp_path: Path) -> None:
    page, pdf, picture = (tmp_path / name for name in ("coup.html", "coup.pdf", "phone.png"))
    words = ("--coup", COUP, "--html", page, "--what-if", "12=8S", "--json")
    assert here("replay", corrected, *words).code == 0
    chromium(page, f"--print-to-pdf={pdf}")
    printed = pdf.read_bytes()
    assert printed.startswith(b"%PDF")
    # A4 is 595 by 842 points; the story of one coup takes a few sheets and no more.
    assert b"/MediaBox [0 0 594.95996 841.91998]" in printed or b"/MediaBox [0 0 595" in printed
    assert 2 <= printed.count(b"/Type /Page\n") <= 6
    # The suits are there as glyphs: at least one embedded font has them.
    assert b"/FontFile2" in printed or b"/Type3" in printed
    chromium(page, f"--screenshot={picture}", "--window-size=390,1200")
    head = picture.read_bytes()[:24]
    assert struct.unpack(">II", head[16:24]) == (390, 1200)
