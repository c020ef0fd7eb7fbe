"""Texts of old logs that harm, on every page that shows them: drawn inside, as text, in order."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from playwright.sync_api import Browser

from baccarat.history.process import HistoryQueries
from baccarat.rulebooks.editions import available_rulebooks
from events.free_text import FORBIDDEN_CHARACTERS
from table_core.fold.dispatch import fold
from table_core.process.history_client import HistoryQuestion
from table_core.projections.table_document import StateView, project_table
from table_core.rulebooks.shipped import load_rulebook
from table_core.service.history_child import SHOWN
from table_core.state.table import TableState
from tests.support.property.logs import entries_in
from tests.support.service.fed_pages import fed_page
from tests.support.service.geometry import PAGES, SPILLS
from tests.support.table.hostile import ACCEPTED, REFUSED, write_hostile_log

TELLING: Final = {
    *("dealer_assigned", "wagers_placed", "coup_settled", "coup_voided"),
    *("chips_filled", "chips_counted", "float_closed"),
}
"""Events after which a page shows another text of a person."""
KINDS: Final = {
    "drawn": "".join(more for what, more in {**REFUSED, **ACCEPTED}.items() if what != "huge"),
    "long": "x" * 5_000,
    "markup": "<img src=x onerror=window.hit=1><script>window.hit=1</script>",
}
COUP: Final = "20261127-01/4"  # void, for a reason
HARMFUL: Final = f"""() => {{
  const harmful = /[{FORBIDDEN_CHARACTERS}]/u;
  const faults = [];
  if (window.hit) faults.push("a script ran");
  for (const node of document.querySelectorAll("script:not([src]), img:not([src^='/site'])"))
    faults.push(`an element: ${{node.outerHTML}}`);
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode())
    if (harmful.test(node.data.replaceAll("\\n", ""))) faults.push(JSON.stringify(node.data));
  return faults;
}}"""


@pytest.fixture(scope="module", params=KINDS)
def log(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of an earlier build with such a text in every field that people fill."""
    path = tmp_path_factory.mktemp("hostile") / "table.sqlite"
    write_hostile_log(path, "site/b7", KINDS[request.param])
    return path


def states(log: Path) -> Iterator[StateView]:
    """What the displays get after each event that tells a text."""
    state, rulebook = TableState(), load_rulebook("au-commission")
    for entry in entries_in(log):
        state = fold(state, entry.data)
        if entry.data.TYPE in TELLING:
            yield project_table(state, table="b7", rulebook=rulebook, catching_up=False)


def told(log: Path) -> dict[str, object]:
    """The history's answers about a coup."""
    past, end = HistoryQueries(log, available_rulebooks(log)), len(entries_in(log))
    bodies: dict[str, dict[str, Any]] = {"find_coups": {}, "tell_coup": {"coup": COUP}}
    answers: dict[str, object] = {}
    for name, body in bodies.items():
        asked = HistoryQuestion(name=name, body={"transaction": "t", **body}, to=end)
        shown = past.answer(asked)
        assert shown[:1] == SHOWN
        answers[name] = {"result": "accepted", "shown": msgspec.json.decode(shown[1:])}
    return answers


@pytest.mark.parametrize("path", [*PAGES, "/wall"])
def test_a_text_of_an_old_log_is_drawn_inside_as_text_and_in_order(
    browser: Browser, log: Path, path: str
) -> None:
    shown = list(states(log))
    with fed_page(browser, 1280, 800, told(log)) as screen:
        screen.open(path, more=f"#{COUP}" if path == "/replay" else "")
        for state in shown:
            if path == "/wall":
                tile = {
                    "position": state.position,
                    "dealer": state.dealer,
                    "contradicts": state.dealer,
                }
                part = {"kind": "node", "name": state.dealer, "code": "off", "grave": True}
                text = {"text": state.dealer, "step": state.dealer}
                screen.tell("state", {"tables": {"site/b7": tile}, "findings": [{**part, **text}]})
            else:
                screen.show(state)
            if path == "/replay":
                screen.page.locator("#coup-told h2").first.wait_for()
            assert screen.page.evaluate(SPILLS, True) == [], state.position
            assert screen.page.evaluate(HARMFUL) == [], state.position
        assert screen.said == []
