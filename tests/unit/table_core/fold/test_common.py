"""An event that is about no coup moves its part of the table, and nothing else."""

import pytest
from msgspec.structs import replace

from events.errors import OurBug
from events.types.chips import (
    ChipsCorrected,
    ChipsCounted,
    ChipsCredited,
    ChipsFilled,
    DropCounted,
    FloatClosed,
    FloatOpened,
    Pieces,
)
from events.types.commission import (
    CommissionAccrued,
    CommissionCollected,
    CommissionPrepaid,
    CommissionRecovered,
    CommissionReturned,
    CommissionReversed,
    CommissionUncollected,
    SeatAmount,
)
from events.types.integrity import CheckpointKeyChanged
from events.types.irregularities import DealerAssigned, IrregularityRecorded, ShoeErrorCleared
from events.types.registry import KINDS
from events.types.shoe_life import BurnRecorded, CutCardCame, ShoeAudited
from events.types.shoe_reports import LinkDown
from events.types.snapshot_anchor import BooksClosed
from events.types.table import (
    AlarmCleared,
    AlarmRaised,
    RulebookAdopted,
    ShoeEnded,
    ShoeLoaded,
    ShoeReported,
    TableEvent,
)
from events.types.wagers import AggregateCapped, LimitsSet
from table_core.fold.common import current_coup, current_shoe
from table_core.fold.dispatch import fold, fold_all
from table_core.rules.commission_owed import CommissionBook
from table_core.state.coup import COUP_EVENTS, Phase
from table_core.state.table import TableState
from tests.support.table.coups import COUP, SHOE, shoe_event, world_in

OWED = (SeatAmount(seat=2, amount=100),)
CHIPS = (Pieces(100, 5),)
LIMITS = LimitsSet(table_maximum=5_000)
IRREGULAR = IrregularityRecorded(kind="card_out_of_shoe", reason="it fell")
CAPPED = AggregateCapped(coup=COUP, settlement_id="s", maximum=1, scope="table", wagers=())
AUDIT = ShoeAudited(
    shoe=SHOE, decks=8, seen=0, known=0, burned=0, carried=0, coups=1, voids=0, left={}
)
CLOSED = BooksClosed(shoe=SHOE, size=1, chain="", peaks=(), fold=3, shape="", state="")
FILLED = ChipsFilled(float_id="f1", amount=500, signed=(), slip="s1", chips=CHIPS)
CORRECTED = ChipsCorrected(
    float_id="f1", amount=400, signed=(), move="fill", slip="s1", chips=(Pieces(100, 4),), was=500,
    reason="miscounted",
)  # fmt: skip


def opened() -> TableState:
    """A table with a tray, an alarm, a burn that nobody recorded and a coup that is over."""
    world = world_in(Phase.SETTLED)
    tray = FloatOpened(float_id="f1", amount=500, signed=(), currency="AUD", chips=CHIPS)
    world.take([tray, FILLED, AlarmRaised(alarm="lid", text="is open")])
    return replace(world.state, shoe=replace(current_shoe(world.state), burn_recorded=False))


STATE = opened()
MOVES: list[tuple[TableEvent, set[str]]] = [
    (RulebookAdopted(rulebook="ez", rulebook_hash="1"), {"rulebook", "rulebook_hash"}),
    (ShoeLoaded(shoe="20261127-02", decks=8), {"shoe", "past", "replaced"}),
    (ShoeEnded(shoe=SHOE, reason="over"), {"shoe", "orders"}),
    (BurnRecorded(shoe=SHOE, burned=4, by="person"), {"shoe"}),
    (CutCardCame(shoe=SHOE, place="between", by="shoe", last_coup=9), {"shoe"}),
    (AUDIT, {"shoe"}),
    (ShoeReported(source=shoe_event(99, LinkDown(reason="unplugged"))), {"link"}),
    (AlarmRaised(alarm="link", text="is down"), {"alarms"}),
    (AlarmCleared(alarm="lid"), {"alarms"}),
    (DealerAssigned(dealer="d-7", supervisor="s-1"), {"dealer", "supervisor"}),
    (LIMITS, {"limits"}),
    (FloatOpened(float_id="f2", amount=1, signed=(), currency="AUD", chips=()), {"floats"}),
    (replace(FILLED, slip="s2"), {"floats"}),
    (ChipsCredited(float_id="f1", amount=100, signed=(), slip="s3", chips=CHIPS), {"floats"}),
    (ChipsCounted(float_id="f1", amount=900, signed=(), chips=CHIPS), {"floats"}),
    (FloatClosed(float_id="f1", amount=900, signed=(), chips=CHIPS), {"floats"}),
    (DropCounted(float_id="f1", amount=50, signed=(), box="b1", notes=()), {"floats"}),
    (CORRECTED, {"floats"}),
    (IRREGULAR, set()),
    (CAPPED, set()),
    (CLOSED, set()),
    (CheckpointKeyChanged(key="k"), set()),
]


@pytest.mark.parametrize(("event", "moved"), MOVES, ids=lambda each: type(each).__name__)
def test_an_event_moves_its_part_of_the_table(event: TableEvent, moved: set[str]) -> None:
    after = fold(STATE, event)
    assert after.position == STATE.position + 1
    parts = set(TableState.__struct_fields__) - {"position"}
    assert {part for part in parts if getattr(after, part) != getattr(STATE, part)} == moved


def test_what_is_named_is_what_the_table_has_from_then_on() -> None:
    after = fold_all(STATE, [event for event, _ in MOVES[:1] + MOVES[9:11]])
    assert (after.rulebook, after.rulebook_hash) == ("ez", "1")
    assert (after.dealer, after.supervisor, after.limits) == ("d-7", "s-1", LIMITS)


def test_a_person_clears_an_error_that_the_shoe_reported() -> None:
    state = replace(STATE, link=replace(STATE.link, errors=frozenset({"jam"})))
    after = fold(state, ShoeErrorCleared(code="jam", reason="it is out"))
    assert after == replace(STATE, position=STATE.position + 1)


# a fact of commission -> the book that began with nothing, each after the one before
COMMISSION: list[tuple[TableEvent, CommissionBook]] = [
    (
        CommissionPrepaid(coup=COUP, amounts=OWED),
        CommissionBook(laid=OWED),
    ),
    (
        CommissionReturned(coup=COUP, amounts=OWED),
        CommissionBook(),
    ),
    (
        CommissionAccrued(coup=COUP, settlement_id="s", timing="per_shoe", amounts=OWED),
        CommissionBook(accrued=100, outstanding=OWED),
    ),
    (
        CommissionUncollected(amounts=OWED, reason="left"),
        CommissionBook(accrued=100, uncollected=OWED),
    ),
    (
        CommissionRecovered(amounts=OWED),
        CommissionBook(accrued=100, recovered=100),
    ),
    (
        CommissionReversed(coup=COUP, settlement_id="s", timing="per_coup", amounts=OWED),
        CommissionBook(accrued=100, recovered=0, reversed_=100),
    ),
]


def test_commission_is_kept_in_its_own_book() -> None:
    state = replace(STATE, commission=CommissionBook())
    for event, book in COMMISSION:
        state = fold(state, event)
        assert (event, state.commission) == (event, book)
        assert replace(state, commission=STATE.commission, position=STATE.position) == STATE


def test_commission_that_is_taken_is_owed_no_more() -> None:
    owing = replace(STATE, commission=CommissionBook(accrued=100, outstanding=OWED))
    taken = fold(owing, CommissionCollected(method="between_coups", amounts=OWED))
    assert taken.commission == CommissionBook(accrued=100, collected=100)


def test_every_event_that_is_about_no_coup_is_here() -> None:
    here = {type(event) for event, _ in MOVES} | {type(event) for event, _ in COMMISSION}
    others = {kind for kind in KINDS if kind.TYPE not in COUP_EVENTS}
    assert here | {ShoeErrorCleared, CommissionCollected} == others


def test_before_the_first_shoe_and_the_first_coup_there_is_nothing_to_move() -> None:
    for event in (ShoeEnded(shoe=SHOE, reason="over"), BurnRecorded(shoe=SHOE, burned=4, by="x")):
        with pytest.raises(OurBug, match="before the first shoe"):
            fold(TableState(), event)
    with pytest.raises(OurBug, match="before the first coup"):
        current_coup(TableState())
