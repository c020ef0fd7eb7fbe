"""A table by the site's own rulebook: played, judged again, proved, and never taken for another."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from baccarat.cli.main import main
from baccarat.config.errors import ConfigFaults
from baccarat.config.table import load_config
from baccarat.services.table import serve
from events.commands import OpenBetting, PlaceWager, ProveCoup, VoidCoup, WagerRequest
from events.proof.keys import make_signing_key
from table_core.rules.rulebook_file import parse_rulebook
from tests.support.cage.books import source
from tests.support.machine.tasks import serving
from tests.support.machine.waiting import until
from tests.support.service.table_service import Table1, play
from tests.support.table.coups import COUP
from tests.support.table.settled_coups import hands

FIRST: Final = source("au-commission", "id=harbour", "unit=50", "bets.player.minimum=500")
SECOND: Final = source("au-commission", "id=harbour", "unit=50", "bets.player.minimum=1500")
# The natural nine was an eight, as the camera has it.
EIGHT: Final = ("4S 4H", "2D 5C")
CONFIG: Final = """\
site = "site"
table = "t1"
rulebook = "{rulebook}"
library = [{library}]
[shoe]
url = "pty:/nowhere"
[bus]
port = {port}
[checkpoints]
key = "t1.key"
"""


def hash_of(text: str) -> str:
    return parse_rulebook("harbour.toml", text.encode()).hash


@asynccontextmanager
async def playing_by(
    rulebook: str, table: Table1, folder: Path, library: str = ""
) -> AsyncIterator[None]:
    """The table, as its configuration says."""
    path = folder / "t1.toml"
    text = CONFIG.format(rulebook=rulebook, library=library, port=table.port)
    path.write_text(text, "utf-8")
    table.acks.clear()
    async with serving(partial(serve, load_config(path))):
        await table.driver_comes()
        yield


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With both versions of the site's rulebook, and a key."""
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "harbour.toml").write_text(FIRST, "utf-8")
    (tmp_path / "rules" / "newer.toml").write_text(SECOND, "utf-8")
    make_signing_key(tmp_path / "t1.key", "site/t1")
    return tmp_path


async def test_a_coup_is_played_proved_and_judged_again_by_the_sites_own_rulebook(
    table: Table1, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with playing_by("rules/harbour.toml", table, folder):
        await play(table)
        assert [each.id for each in table.states[-1].library if each.id == "harbour"]
        assert table.states[-1].rulebook.hash == hash_of(FIRST)
        proof = await table.ask_past("supervisor", ProveCoup(transaction="p", coup=COUP))
        assert proof.code is None
    evidence = folder / "coup.json"
    evidence.write_text(proof.shown["evidence"], "utf-8")
    key = folder / "t1.pub"
    capsys.readouterr()
    assert main(["keys", "show", str(folder / "t1.key")]) == 0
    key.write_text(capsys.readouterr().out, "utf-8")
    assert main(["evidence", "verify", str(evidence), "--key", str(key)]) == 0
    # By a newer version the old coup is judged again by the old one, of which a copy was kept.
    (folder / "rules" / "harbour.toml").unlink()
    async with playing_by("rules/newer.toml", table, folder):
        await table.must("supervisor", hands(*EIGHT, transaction="h1"))
        await table.ask("dealer", OpenBetting(transaction="o2"))
        for stake, code in ((1010, "not_a_step"), (1000, "below_minimum"), (1500, None)):
            wager = WagerRequest(seat=1, bet="player", stake=stake)
            answer = await table.ask("wagers", PlaceWager(transaction=f"w{stake}", wagers=(wager,)))
            assert answer.code == code
        void = VoidCoup(transaction="v", reason="the test is over")
        await table.must("supervisor", void)


async def test_a_version_that_is_at_hand_nowhere_judges_nothing_until_it_stands_in_the_library(
    table: Table1, folder: Path
) -> None:
    async with playing_by("rules/harbour.toml", table, folder):
        await play(table)
    kept = folder / "rulebooks" / f"{hash_of(FIRST)}.toml"
    assert kept.read_text("utf-8") == FIRST
    kept.write_text(f"{FIRST}# touched\n", "utf-8")  # and is not what was kept
    async with playing_by("rules/newer.toml", table, folder):
        refused = await table.ask("supervisor", hands(*EIGHT, transaction="h1"))
        assert refused.code == "unknown_rulebook"
    # The file itself puts the copy right.
    async with playing_by("rules/newer.toml", table, folder, '"rules/harbour.toml"'):
        await table.must("supervisor", hands(*EIGHT, transaction="h2"))
    assert kept.read_text("utf-8") == FIRST


async def test_a_file_that_is_changed_in_mid_coup_holds_from_the_next_start_between_two_coups(
    table: Table1, folder: Path
) -> None:
    edited = folder / "rules" / "harbour.toml"
    async with playing_by("rules/harbour.toml", table, folder):
        await play(table)
        await table.ask("dealer", OpenBetting(transaction="o2"))
    edited.write_text(SECOND, "utf-8")
    async with playing_by("rules/harbour.toml", table, folder):
        assert table.states[-1].rulebook.hash == hash_of(FIRST)
        wager = WagerRequest(seat=1, bet="player", stake=1000)  # which the second would not take
        await table.must("wagers", PlaceWager(transaction="w2", wagers=(wager,)))
        void = VoidCoup(transaction="v", reason="the test is over")
        await table.must("supervisor", void)
    async with playing_by("rules/harbour.toml", table, folder):
        await until(lambda: table.states[-1].rulebook.hash == hash_of(SECOND), "the second holds")


@pytest.mark.parametrize(
    ("key", "name", "text", "says"),
    [
        ("rulebook", "nowhere.toml", None, "cannot be read"),
        ("rulebook", "own.toml", "id = 5", "own.toml"),
        (
            "rulebook",
            "own.toml",
            source("ez", "unit=25"),
            "'ez' is that of a shipped",
        ),
        (
            "rulebook",
            "own.toml",
            source("ez", "id=own", "sign.game=Poker"),
            "sign.game: no such key",
        ),
        ("rulebook", "own.toml", source("ez", f"id={'x' * 65}"), "id: at most 64 characters"),
        ("rulebook", "own.toml", source("ez", "id=own", f"title={'x' * 401}"), "title: at most"),
        (
            "rulebook",
            "own.toml",
            source("ez", "id=own", "unit=50", "bets.tie.minimum=510", "bets.tie.maximum=540"),
            "tie: no multiple of step 50 lies from minimum 510 to 540",
        ),
        ("rulebook", "rules", None, "no rulebook 'rules' is shipped"),
        ("rulebook", "folder.toml", None, "cannot be read"),
        ("library", "ez", None, "give the path of your own, a .toml"),
        ("library", "nowhere.toml", None, "cannot be read"),
        (
            "library",
            "own.toml",
            source("ez", "unit=25"),
            "'ez' is that of a shipped",
        ),
    ],
)
def test_a_rulebook_that_cannot_be_played_by_is_said_before_anything_starts(
    folder: Path, key: str, name: str, text: str | None, says: str
) -> None:
    if text is not None:
        (folder / name).write_text(text, "utf-8")
    path = folder / "t1.toml"
    named = {"rulebook": name if key == "rulebook" else "ez", "library": ""}
    if key == "library":
        named["library"] = f'"{name}"'
    path.write_text(CONFIG.format(port=1883, **named), "utf-8")
    with pytest.raises(ConfigFaults) as caught:
        load_config(path)
    [fault] = caught.value.faults
    assert fault.key == key
    assert says in fault.reason


def test_a_copy_of_a_shipped_rulebook_is_that_rulebook(folder: Path) -> None:
    (folder / "copy.toml").write_text(source("ez"), "utf-8")
    path = folder / "t1.toml"
    path.write_text(CONFIG.format(port=1883, rulebook="copy.toml", library=""), "utf-8")
    assert load_config(path).rulebook_name == str(folder / "copy.toml")
