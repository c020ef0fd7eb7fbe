"""What a site is told to look at before a table opens, and is free to mean."""

import json
from pathlib import Path

import pytest

from baccarat.cli.main import main
from tests.support.cage.books import source
from tests.unit.baccarat.config.test_table import GOOD, written

LIMITED = "[limits]\npatron_maximum = 500000\n[limits.bets]\n" + "".join(
    f"{bet} = {{ minimum = 500 }}\n" for bet in ("player", "banker", "tie")
)


def advised(capsys: pytest.CaptureFixture[str], path: Path) -> dict[str, list[str]]:
    """Key to texts, by the command; its other form says the same."""
    assert main(["config", "check", str(path), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["ok"], answer["errors"]) == (True, [])
    assert main(["config", "check", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("in order, but for what follows" if answer["advice"] else "in order")
    assert len(lines) == 1 + len(answer["advice"])
    found: dict[str, list[str]] = {}
    for each in answer["advice"]:
        assert each["remedy"]
        found.setdefault(each["key"], []).append(each["text"])
    return found


def at_table(folder: Path, text: str, *, more: str = "", scale: str = "") -> Path:
    (folder / "own.toml").write_text(text)
    given = GOOD.replace('rulebook = "au-commission"', f'rulebook = "own.toml"\n{scale}')
    assert given != GOOD
    return written(folder, given + more)


def test_a_table_without_limits_is_told_what_its_sign_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = source("ez", "id=own", "unit=100")
    found = advised(capsys, at_table(tmp_path, own))
    assert found.keys() == {"limits"}
    most, least = found["limits"]
    assert "no maximum on player, banker, tie, dragon7, panda8" in most
    assert "the sign says 1.00 USD" in least
    others = "".join(f"{bet} = {{ minimum = 500 }}\n" for bet in ("dragon7", "panda8"))
    assert advised(capsys, at_table(tmp_path, own, more=LIMITED + others)) == {}


def test_a_pay_scale_that_the_site_has_not_said_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = source("nz-scale-one", "id=own")
    [text] = advised(capsys, at_table(tmp_path, own))["pay_scale"]
    assert "by scale one" in text
    assert "pay_scale" not in advised(capsys, at_table(tmp_path, own, scale='pay_scale = "one"'))
    # The odds count, whatever the sign calls them.
    named = source("nz-scale-two", "id=own")
    path = at_table(tmp_path, named, scale='pay_scale = "one"')
    assert main(["config", "check", str(path)]) == 2
    assert "pays by scale two" in capsys.readouterr().err


def test_payments_that_no_chips_make_up_are_shown_by_an_example(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = source("au-even-money", "id=own")
    [text] = advised(capsys, at_table(tmp_path, own))["rulebook: unit"]
    assert "1.00 on banker pays 0.50 (win_on_6), and the smallest chip is 1.00 AUD" in text
    paid = source("au-even-money", "id=own", "unit=100")
    assert "rulebook: unit" not in advised(capsys, at_table(tmp_path, paid))
