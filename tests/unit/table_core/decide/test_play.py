"""What opens, closes, confirms and voids a coup: the whole events, and each refusal in words."""

from typing import Any

import pytest
from msgspec.structs import replace

from events.cards import Card, Hand
from events.commands.base import Command, Refusal
from events.commands.cards import CorrectCard
from events.commands.coup import CloseBetting, ConfirmResult, FreeHand, OpenBetting, VoidCoup
from events.commands.staff import AcknowledgeAlarm, AssignDealer
from events.errors import OurBug
from events.types.commission import SeatAmount
from events.types.corrections import HandsCorrected
from events.types.irregularities import CardCorrected
from events.types.table import (
    BettingClosed,
    BettingOpened,
    CoupSettled,
    CoupVoided,
    ResultConfirmed,
    RulebookAdopted,
)
from table_core.decide.decision import DecisionContext
from table_core.decide.dispatch import adopt_rulebook, decide
from table_core.fold.common import current_shoe
from table_core.rulebooks.shipped import load_rulebook
from table_core.state.coup import Phase
from table_core.state.shoe import BURN_ALARM
from table_core.state.table import Alarm, TableState
from tests.support.cage.books import book
from tests.support.table.coups import CONTEXT, COUP, SHOE, world_in

OPEN = OpenBetting(transaction="x")
READY = world_in(Phase.NONE).state
SHOE_THERE = current_shoe(READY)


def linked(**changes: Any) -> TableState:
    return replace(READY, link=replace(READY.link, **changes))


def with_shoe(**changes: Any) -> TableState:
    return replace(READY, shoe=replace(SHOE_THERE, **changes))


REFUSED: list[tuple[TableState, Command, str, str]] = [
    (
        READY,
        OpenBetting(transaction="x" * 129),
        "invalid_transaction",
        "a transaction id has 1 to 128 characters",
    ),
    (world_in(Phase.HELD).state, OPEN, "coup_in_progress", "coup in phase held"),
    (replace(READY, shoe=None), OPEN, "no_shoe", "load a shoe first"),
    (with_shoe(ended=True), OPEN, "shoe_ended", "the shoe has ended; load the next one"),
    (
        with_shoe(coups=7, last_coup=7),
        OPEN,
        "last_coup_played",
        "the cut card came, and the last coup has been played; end the shoe",
    ),
    (linked(state="stalled"), OPEN, "link_down", "the shoe link is stalled"),
    (
        linked(dummy=True),
        OPEN,
        "dummy_coup_due",
        "the excess card was seen: show it in a free hand first",
    ),
    (
        linked(errors=frozenset({"lid", "jam"})),
        OPEN,
        "shoe_error",
        "the shoe reports jam, lid",
    ),
    (linked(locked=True), OPEN, "shoe_locked", "the shoe is locked"),
    (READY, CloseBetting(transaction="x"), "betting_not_open", "no coup is in progress"),
    (
        world_in(Phase.DEALING).state,
        ConfirmResult(transaction="x", reason="r"),
        "nothing_to_confirm",
        "no result can be confirmed in phase dealing",
    ),
    (
        world_in(Phase.DISPUTED).state,
        ConfirmResult(transaction="x", reason=" "),
        "reason_required",
        "say why the table's own result is confirmed",
    ),
    (
        world_in(Phase.SETTLED).state,
        VoidCoup(transaction="x", reason="r"),
        "nothing_to_void",
        "no coup can be voided in phase settled",
    ),
    (
        world_in(Phase.DEALING).state,
        VoidCoup(transaction="x", reason=""),
        "reason_required",
        "say why the coup is void",
    ),
    (
        READY,
        AcknowledgeAlarm(transaction="x", alarm="lid"),
        "no_such_alarm",
        "no alarm 'lid' waits to be acknowledged",
    ),
    (
        READY,
        AssignDealer(transaction="x", dealer=" "),
        "invalid_dealer",
        "name the dealer by the house's reference",
    ),
]


@pytest.mark.parametrize(("state", "command", "code", "text"), REFUSED)
def test_a_refusal_has_a_code_for_programs_and_a_line_for_a_person(
    state: TableState, command: Command, code: str, text: str
) -> None:
    assert decide(state, command, CONTEXT) == Refusal(code=code, text=text)


def test_what_the_shoe_has_said_is_read_before_anything_opens() -> None:
    behind = replace(CONTEXT, caught_up=False)
    text = "the table is still reading what the shoe has said"
    assert decide(READY, OPEN, behind) == Refusal(code="catching_up", text=text)


def test_the_last_coups_commission_is_collected_before_the_next_coup() -> None:
    per_coup = book("au-commission", "commission.timing=per_coup")
    context = DecisionContext(table="t1", rulebook=per_coup)
    owing = replace(READY.commission, outstanding=(SeatAmount(seat=2, amount=100),))
    refusal = decide(replace(READY, commission=owing), OPEN, context)
    text = "collect the last coup's commission, or mark it uncollected"
    assert refusal == Refusal(code="commission_outstanding", text=text)


def test_a_transaction_id_may_have_as_many_characters_as_are_allowed() -> None:
    for transaction in ("x", "x" * 128):
        made = decide(READY, OpenBetting(transaction=transaction), CONTEXT)
        assert not isinstance(made, Refusal)


def test_a_free_hand_is_a_coup_without_wagers_whose_betting_is_over_at_once() -> None:
    opened = BettingOpened(
        coup=COUP,
        rulebook=CONTEXT.rulebook.id,
        rulebook_hash=CONTEXT.rulebook.hash,
        wagerless=True,
    )
    closed = BettingClosed(coup=COUP, by="free_hand")
    for state in (READY, linked(dummy=True)):  # where a dummy coup is due it is that
        assert decide(state, FreeHand(transaction="x"), CONTEXT) == (opened, closed)
    assert decide(READY, OPEN, CONTEXT) == (replace(opened, wagerless=False),)


def test_betting_that_a_dealer_closes_is_closed_by_the_dealer() -> None:
    state = world_in(Phase.BETTING).state
    assert decide(state, CloseBetting(transaction="x"), CONTEXT) == (
        BettingClosed(coup=COUP, by="dealer"),
    )


def test_a_result_that_a_person_confirms_says_so_and_why() -> None:
    state = world_in(Phase.DISPUTED).state
    made = decide(state, ConfirmResult(transaction="x", reason="camera 4"), CONTEXT)
    assert not isinstance(made, Refusal)
    assert made[0] == ResultConfirmed(coup=COUP, by="person", reason="camera 4")
    assert isinstance(made[1], CoupSettled)


def test_the_coup_that_is_named_is_the_one_that_is_void() -> None:
    void = VoidCoup(transaction="x", coup=COUP, reason="camera 4")
    state = world_in(Phase.DEALING).state
    made = decide(state, void, CONTEXT)
    assert not isinstance(made, Refusal)
    assert isinstance(made[0], CoupVoided)
    assert [refund.stake for refund in made[0].refunds] == [1000, 2000, 500]
    over = world_in(Phase.SETTLED).state
    made = decide(over, void, CONTEXT)
    assert not isinstance(made, Refusal)
    assert [type(event) for event in made if isinstance(event, CoupVoided)] == [CoupVoided]
    unknown = decide(state, replace(void, coup=f"{SHOE}/9"), CONTEXT)
    assert isinstance(unknown, Refusal)
    assert unknown.code == "unknown_coup"


def test_the_coup_that_is_named_is_the_one_whose_card_is_corrected() -> None:
    card = CorrectCard(
        transaction="x", hand=Hand.PLAYER, number=1, face=Card.S8, reason="camera 4", coup=COUP
    )
    for phase, first in ((Phase.DEALING, CardCorrected), (Phase.SETTLED, HandsCorrected)):
        made = decide(world_in(phase).state, card, CONTEXT)
        assert not isinstance(made, Refusal)
        assert type(made[0]) is first


def test_an_alarm_that_something_else_resolves_is_not_acknowledged_away() -> None:
    for name, coup in (("excess_card", COUP), (BURN_ALARM, None)):
        state = replace(READY, alarms=(Alarm(name=name, text="a card lies there", coup=coup),))
        refusal = decide(state, AcknowledgeAlarm(transaction="x", alarm=name), CONTEXT)
        text = "a card lies there; only that clears it"
        assert refusal == Refusal(code="stands_until_resolved", text=text)


def test_a_rulebook_is_adopted_once_and_never_in_mid_coup() -> None:
    other = load_rulebook("ez")
    adopted = RulebookAdopted(rulebook="ez", rulebook_hash=other.hash)
    assert adopt_rulebook(READY, CONTEXT.rulebook) == ()
    assert adopt_rulebook(READY, other) == (adopted,)
    with pytest.raises(OurBug, match="in mid-coup"):
        adopt_rulebook(world_in(Phase.BETTING).state, other)


def test_a_command_that_nobody_decides_is_our_bug() -> None:
    with pytest.raises(OurBug, match="no handler for Command"):
        decide(READY, Command(transaction="x"), CONTEXT)
