"""What a site is told to look at before a table opens, and is free to mean."""

import json
import re
from pathlib import Path

import pytest

from baccarat.cli.main import main
from baccarat.config.table import load_config
from baccarat.rulebooks.editions import keep_rulebooks
from tests.support.cage.books import source
from tests.unit.baccarat.config.test_table import GOOD, written

LIMITED = "[limits]\npatron_maximum = 500000\n[limits.bets]\n" + "".join(
    f"{bet} = {{ minimum = 500 }}\n" for bet in ("player", "banker", "tie")
)


def advised(capsys: pytest.CaptureFixture[str], path: Path) -> dict[str, list[str]]:
    """Key to texts, from the warnings of the command; both its forms give the same."""
    said = []
    for form in ([], ["--json"]):
        assert main(["config", "check", str(path), *form]) == 0
        came = capsys.readouterr()
        said.append(came.err.splitlines())
        right = {"ok": True, "errors": []}
        assert json.loads(came.out) == right if form else came.out == f"{path}: in order\n"
    assert said[0] == said[1]
    found: dict[str, list[str]] = {}
    for line in said[0]:
        key, text, _ = re.fullmatch(
            rf"{re.escape(str(path))}: warning: (rulebook: \w+|\w+): (.+) -> (.+)", line
        ).groups()  # type: ignore[union-attr]  # each line has this form
        found.setdefault(key, []).append(text)
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


def test_a_faulty_rulebook_of_the_library_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = source("ez", "id=other", "edge.floor=1/10")
    (tmp_path / "other.toml").write_text(other)
    path = at_table(tmp_path, source("ez", "id=own"), scale='library = ["other.toml"]')
    text = advised(capsys, path)["library"][0]
    assert "other.toml: bets.player.pays" in text


def test_payments_that_no_chips_make_up_are_shown_by_an_example(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = source("au-even-money", "id=own")
    [text] = advised(capsys, at_table(tmp_path, own))["rulebook: unit"]
    assert "1.00 on banker pays 0.50 (win_on_6), and the smallest chip is 1.00 AUD" in text
    paid = source("au-even-money", "id=own", "unit=100")
    assert "rulebook: unit" not in advised(capsys, at_table(tmp_path, paid))


def test_a_currency_that_is_no_more_isos_is_not_adopted_and_plays_on_where_it_is_in_force(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = source("ez", "id=own", "unit=100", "currency=BIF")
    path = at_table(tmp_path, own, more=LIMITED)
    assert main(["config", "check", str(path)]) == 2
    assert "own.toml: decimals: 2, and by ISO 4217 an amount in BIF has 0" in (
        capsys.readouterr().err
    )
    config = load_config(path, rules=False)
    keep_rulebooks(config.log_path, [config.rulebook_name])
    [text] = advised(capsys, path)["rulebook: decimals"]
    assert text.endswith("has 0: in force")
