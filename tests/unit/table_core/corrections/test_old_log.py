"""A log that release 0.1.0 began goes on with this build: its debts, its ledger, the way back."""

import shutil
from pathlib import Path

import pytest

from events.errors import UnreadableEvent
from events.log.store import EventLog
from events.types import CommissionRefunded, decode_data, decode_envelope
from events.types.earlier import UPCASTS
from events.types.registry import KINDS
from events.types.upcasting import EventReader
from table_core.rulebooks.shipped import shipped_sources
from table_core.rules.rulebook_file import parse_rulebook
from tests.support.cage.ledgers import MemoryLedger, bring_up, held_against
from tests.support.kept.stories import LEDGER, LOG, kept_stories, unpack
from tests.support.log.corpus import CORPUS
from tests.support.log.corpus_game import MARKED, ORIGIN, CorpusGame

# Of coup 1 of this shoe, 0.1.0 has collected 50 of seat 1 and recovered 30 of seat 2.
COUP = "20261127-03/1"
FIRST = {each.shape.TYPE: each.shape for each in UPCASTS}
OF_010 = EventReader(FIRST.get(kind.TYPE, kind) for kind in KINDS if kind is not CommissionRefunded)


def test_debts_of_an_old_log_are_corrected_as_its_own(tmp_path: Path) -> None:
    path = Path(shutil.copy(CORPUS / "0.1.0" / "table.sqlite", tmp_path))
    with EventLog.open(path, ORIGIN) as log:
        old = log.position
        game = CorpusGame(log)
        marked = (each.replace(b'"deduct"', b'"per_shoe"') for each in shipped_sources())
        game.library = tuple(parse_rulebook("", each) for each in marked)
        game.under(parse_rulebook("au-commission.toml", MARKED))
        before = game.state.commission
        game.perform(f"supervisor: correct_wager transaction=a coup={COUP} wager=@1 to=none")
        game.perform(f"supervisor: void_coup transaction=b coup={COUP}")
        after = game.state.commission
        envelopes = [decode_envelope(each.stored) for each in log.read()]
    events = [decode_data(each) for each in envelopes]
    back = [
        (each.seat, each.amount, each.recovered)
        for event in events
        if isinstance(event, CommissionRefunded)
        for each in event.amounts
    ]
    assert back == [(1, 50, 0), (2, 30, 30)]
    assert (before.collected - after.collected, before.recovered - after.recovered) == (50, 30)
    assert (after.debts, after.reconciles) == ((), True)
    ledger = MemoryLedger()
    ledger.hear(events)
    assert (ledger.total("collected"), ledger.total("recovered")) == (after.collected, 0)
    # 0.1.0 reads all that it wrote, and stops at the first event of the new version.
    for each in envelopes[:old]:
        OF_010.read(each.type, each.v, each.data)
    newer = next(each for each in envelopes if each.v > 1)
    assert newer.position > old
    with pytest.raises(UnreadableEvent, match="newer than this build knows"):
        OF_010.read(newer.type, newer.v, newer.data)


@pytest.mark.parametrize("story", [each for each in kept_stories() if each.name[:5] == "money"])
def test_a_ledger_of_an_old_build_is_brought_up_and_agrees(story: Path, tmp_path: Path) -> None:
    there = unpack(story, tmp_path)
    bring_up(there / LEDGER)  # a second time: nothing is left to do
    assert held_against(str(there / LEDGER), there / LOG).agrees
