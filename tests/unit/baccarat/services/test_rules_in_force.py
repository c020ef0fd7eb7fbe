"""The rules that a table's screens show: those in force, counted once, while the screens go on."""

import asyncio
import threading
from pathlib import Path

import msgspec
import pytest

from baccarat.services.rules_in_force import RulesInForce
from displays.http.words import load_words
from displays.scoreboard.public_view import PublicRulebook, read_public
from events.types import BetLimits, LimitsSet
from table_core.projections.table_document import encode_state_view, project_table
from table_core.rulebooks.shipped import load_rulebook
from table_core.rules.rulebook import Rulebook
from table_core.rules.rulebook_file import parse_rulebook
from table_core.state.table import TableState
from table_core.texts.page import RulesPage
from tests.support.cage.books import source

NONE = LimitsSet()
WITHIN_S = 20  # the loop goes on, unless it does the counting itself
WORDS = load_words("en")
LIMITS = LimitsSet(
    bets=(BetLimits(bet="tie", minimum=500, maximum=20_000, step=100),), table_maximum=1_000_000
)


def shown(rulebook: Rulebook, limits: LimitsSet = NONE) -> PublicRulebook:
    """The rulebook as a display has it from the bus."""
    view = project_table(
        TableState(limits=limits), table="t1", rulebook=rulebook, catching_up=False
    )
    state = read_public(encode_state_view(view))
    assert state is not None
    return state.rulebook


def limits_of(page: object, bet: str) -> str:
    assert isinstance(page, RulesPage)
    return next(wager.limits for wager in page.wagers if wager.id == bet)


async def test_the_page_says_the_limits_that_the_table_has_set(tmp_path: Path) -> None:
    rules = RulesInForce(tmp_path / "table.sqlite", ())
    page = await rules(shown(load_rulebook("ez"), LIMITS), WORDS)
    assert limits_of(page, "tie") == "Stakes USD 5 to USD 200, in multiples of USD 1."
    assert isinstance(page, RulesPage)
    assert "All stakes of a coup together: at most USD 10,000." in page.sign


async def test_a_rulebook_is_read_and_counted_once_while_the_screens_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own.toml"
    own.write_text(source("ez", "id=own", "bets.tie.maximum=500"), "utf-8")
    rules = RulesInForce(tmp_path / "table.sqlite", [str(own)])
    view = shown(parse_rulebook("own.toml", own.read_bytes()))
    screens, count = threading.Event(), rules._count

    def counted(digest: str) -> object:
        assert screens.wait(WITHIN_S)
        return count(digest)

    monkeypatch.setattr(rules, "_count", counted)
    asyncio.get_running_loop().call_later(0.01, screens.set)
    first, *others = await asyncio.gather(*(rules(view, WORDS) for _ in range(3)))
    assert isinstance(first, RulesPage)
    assert others == [first, first]
    own.unlink()  # it is not read again
    assert await rules(view, WORDS) == first


@pytest.mark.parametrize("names", [(), ("nowhere.toml",)])
async def test_a_rulebook_that_is_not_here_is_not_made_up(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    rules = RulesInForce(tmp_path / "table.sqlite", names)
    strange = msgspec.structs.replace(shown(load_rulebook("ez")), hash="0" * 64)
    assert await rules(strange, WORDS) is None
