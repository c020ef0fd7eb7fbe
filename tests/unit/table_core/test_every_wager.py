"""Every kind of wager and each of its categories, wherever the product must know them.

A house's rulebook that offers all of them is played: a kind that is added has to hold here without
a line of these tests. The auditor's part is in `simulators/world/test_auditor.py`, the screens' in
`displays/test_words.py` and `tests/browser/test_geometry.py`, the odds' in `odds/test_exact.py`.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from baccarat.history.evidence_from_log import gather
from events.log.editions import RULEBOOKS, write_editions
from events.types import DeviceResult, SettlementLine
from simulators.device.printed_rules import dealt_hands
from table_core.decide.decision import DecisionContext
from table_core.evidence.bundle import verify_evidence
from table_core.narrative.wager_outcome import DOCUMENTS, category_words, narrate_wager
from table_core.odds.exact import exact_odds
from table_core.projections.table_document import project_table
from table_core.rules.rulebook import PUSH
from table_core.rules.rulebook_file import full_shoe
from table_core.rules.wagers import BET_KINDS, HOUSE
from table_core.state.table import TableState
from tests.support.table.coups import SHOE, cards
from tests.support.table.every_wager import every_wager, every_wager_source
from tests.support.table.evidence import KEY, SignedTable, signed_table
from tests.support.table.settled_coups import played
from tests.support.table.stories import KeptWorld

CATEGORIES = [(bet, name) for bet, kind in BET_KINDS.items() for name in kind.categories]
BETS = tuple((seat, bet, 1000) for seat, bet in enumerate(BET_KINDS, start=1))
# Cards in dealing order, the result that the shoe says, and a few of the categories that come.
COUPS = """
9S 2D KH 3C       player  natural_win
9S 9D KH KC       tie     natural_tie
3D AC 2C 5H TH    banker  two_card
JH JD JS JC 5H 5D tie     twin
JS JC 2S TC 6S 8C tie     double_suited_8
9H 2D 9H 2D       player  both
"""


@pytest.mark.parametrize("bet", BET_KINDS)
def test_a_kind_has_a_name_and_a_source_that_is_named_in_full(bet: str) -> None:
    kind = BET_KINDS[bet]
    assert kind.name
    assert kind.wins
    assert kind.judges
    assert kind.source == HOUSE or kind.source[: len("source 1")] in DOCUMENTS


@pytest.mark.parametrize(("bet", "category"), CATEGORIES)
def test_a_category_is_told_in_the_words_of_its_own_bet(bet: str, category: str) -> None:
    fields = {"wager": "w", "seat": 1, "bet": bet, "category": category, "stake": 100}
    amounts = {"odds": "1/1", "winnings": 100, "commission": 0, "paid": 200}
    line = msgspec.convert(fields | amounts | {"result": "win"}, SettlementLine)
    told = narrate_wager(line, every_wager(), every_wager().money, "all")
    came = category_words(bet, category)
    assert came == BET_KINDS[bet].categories[category] != ""
    assert told.why == f"won: {BET_KINDS[bet].wins if category == 'win' else came}"
    assert told.name == BET_KINDS[bet].name
    assert told.source == f"{BET_KINDS[bet].source}; all: bets.{bet}"


def test_the_words_of_a_bet_or_category_without_a_row_are_their_ids() -> None:
    assert category_words("tie", "some_day") == category_words("unheard", "some_day") == "some_day"
    # A name that another bet has is no reason to tell that bet's story.
    assert category_words("big", "three_card") == "three_card"
    assert category_words("unheard", PUSH) == "a tie: the stake goes back"


def test_every_category_is_on_the_sign_and_among_the_odds() -> None:
    rulebook = every_wager()
    sign = project_table(TableState(), table="t1", rulebook=rulebook, catching_up=False).rulebook
    on_sign = {(bet.id, name) for bet in sign.bets for name in bet.pays if name != PUSH}
    assert on_sign == set(CATEGORIES)
    odds = exact_odds(rulebook, full_shoe(1))
    counted = {(bet, name) for bet, row in odds.items() for name in row.categories}
    assert {(bet, name) for bet, name in counted if name not in {PUSH, "lose"}} == set(CATEGORIES)


@pytest.fixture
def table(tmp_path: Path) -> Iterator[SignedTable]:
    rulebook = every_wager(phases=True)
    write_editions(tmp_path / RULEBOOKS, [every_wager_source(phases=True)])
    with signed_table(tmp_path / "table.sqlite", rulebook=rulebook) as made:
        made.ready()
        yield made


def test_a_coup_with_every_wager_is_told_and_its_evidence_is_judged_again(
    table: SignedTable,
) -> None:
    for line in COUPS.strip().splitlines():
        *faces, winner, _ = line.split()
        table.open(*BETS)
        table.deal(faces)
        first = [face[0] for face in faces]
        pairs = {"player_pair": first[0] == first[2], "banker_pair": first[1] == first[3]}
        table.say(msgspec.convert({"winner": winner, **pairs}, DeviceResult))
        table.table.make_due_checkpoint()
    table.clock.now_us += 10**9
    table.table.make_due_checkpoint()
    for number, line in enumerate(COUPS.strip().splitlines(), start=1):
        bundle = gather(table.log.path, f"{SHOE}/{number}", build="t")
        verdict = verify_evidence(bundle, frozenset({KEY.verifier}))
        assert verdict.ok, (line, verdict)


def test_a_coup_with_every_wager_has_its_story() -> None:
    for line in COUPS.strip().splitlines():
        *faces, _, comes = line.split()
        player, banker = dealt_hands(cards(" ".join(faces)))
        world = KeptWorld(DecisionContext(table="t1", rulebook=every_wager(phases=True)))
        world.ready()
        played(player=tuple(player), banker=tuple(banker), bets=BETS, world=world)
        told = {
            wager.bet: wager for settled in world.story().settlements for wager in settled.wagers
        }
        assert set(told) == set(BET_KINDS)
        reasons = {BET_KINDS[bet].categories.get(comes) for bet in told} - {None}
        assert any(str(reason) in wager.why for reason in reasons for wager in told.values()), line
