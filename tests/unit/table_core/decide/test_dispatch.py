"""Commands: every phase times every command, and each refusal with its code."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from events.cards import Card, Hand
from events.commands.base import Command, Refusal
from events.commands.cards import (
    CorrectCard,
    EnterCard,
    MarkUnreadable,
    Realign,
    ResolveIrregularity,
)
from events.commands.corrections import CorrectHands, CorrectRulebook, CorrectWager
from events.commands.coup import CloseBetting, ConfirmResult, FreeHand, OpenBetting, VoidCoup
from events.commands.registry import Decider
from events.commands.shoe import Burn, ClearShoeError, CutCard, EndShoe, LoadShoe, ReplaceShoe
from events.commands.staff import AcknowledgeAlarm, AssignDealer
from events.commands.wagers import PlaceWager, SetLimits, WagerRequest, WithdrawWager
from events.types.shoe_reports import ErrorRaised, LinkDown, LinkOpen, LockChanged
from events.types.table import CoupSettled, CoupVoided, Refund, WagersWithdrawn
from table_core.decide.dispatch import decide, result_overdue
from table_core.state.coup import Phase
from table_core.state.table import TableState
from tests.support.table.commands import DECIDED
from tests.support.table.coups import CONTEXT, COUP, SHOE, World, confirm, world_in

P, B = Hand.PLAYER, Hand.BANKER

COMMANDS: dict[str, Command] = {
    "load_shoe": LoadShoe(transaction="x", shoe="20261127-02"),
    "end_shoe": EndShoe(transaction="x", reason="cut card"),
    "open_betting": OpenBetting(transaction="x"),
    "place_wager": PlaceWager(
        transaction="x", wagers=(WagerRequest(seat=5, bet="player", stake=100),)
    ),
    "withdraw_wager": WithdrawWager(transaction="x", wagers=("dealer/t-3/0",)),
    "close_betting": CloseBetting(transaction="x"),
    "confirm_result": ConfirmResult(transaction="x", reason="looked"),
    "void_coup": VoidCoup(transaction="x", reason="misdeal"),
    "burn": Burn(transaction="x", cards=3, reason="not reported"),
    "cut_card": CutCard(transaction="x", place="mid_coup"),
    "free_hand": FreeHand(transaction="x"),
    "mark_unreadable": MarkUnreadable(transaction="x", hand=P, number=1, reason="smudged"),
    "enter_card": EnterCard(transaction="x", hand=B, number=1, face=Card.D4, reason="missed"),
    "correct_card": CorrectCard(transaction="x", hand=P, number=1, face=Card.D4, reason="misread"),
    "correct_hands": CorrectHands(
        transaction="x",
        coup=COUP,
        player=(Card.S8, Card.HK),
        banker=(Card.D2, Card.C3),
        reason="camera",
    ),
    "correct_wager": CorrectWager(
        transaction="x",
        coup=COUP,
        to=WagerRequest(seat=5, bet="player", stake=100),
        reason="left out",
    ),
    "correct_rulebook": CorrectRulebook(
        transaction="x", coup=COUP, rulebook="ez", rulebook_hash="0" * 64, reason="sign"
    ),
    "realign": Realign(transaction="x", reason="looked"),
    "resolve_irregularity": ResolveIrregularity(
        transaction="x", kind="excess_card", seen=False, reason="face down"
    ),
    "replace_shoe": ReplaceShoe(transaction="x", shoe="20261127-02", reason="broken"),
    "set_limits": SetLimits(transaction="x", table_maximum=100_000),
    "acknowledge_alarm": AcknowledgeAlarm(transaction="x", alarm="no_such"),
    "clear_shoe_error": ClearShoeError(transaction="x", code="overdraw", reason="its lamp is out"),
    "assign_dealer": AssignDealer(transaction="x", dealer="d-17"),
}
# Commission is collected, given up and recovered in every phase alike (`test_commission`); chips
# are about the tray and not about the coup (`test_chips`).
ANY_PHASE = {Decider.COMMISSION, Decider.CHIPS}

# `+` makes events, `=` holds already, a word is the refusal's code.
TABLE = """
                     none betting closed dealing complete disputed held misaligned settled voided
load_shoe            shoe_in_play coup_in_progress coup_in_progress coup_in_progress coup_in_progress coup_in_progress coup_in_progress coup_in_progress shoe_in_play shoe_in_play
end_shoe             + coup_in_progress coup_in_progress coup_in_progress coup_in_progress coup_in_progress coup_in_progress coup_in_progress + +
open_betting         + coup_in_progress coup_in_progress coup_in_progress coup_in_progress coup_in_progress coup_in_progress coup_in_progress + +
free_hand            + coup_in_progress coup_in_progress coup_in_progress coup_in_progress coup_in_progress coup_in_progress coup_in_progress + +
place_wager          betting_closed + betting_closed betting_closed betting_closed betting_closed betting_closed betting_closed betting_closed betting_closed
withdraw_wager       betting_closed + betting_closed betting_closed betting_closed betting_closed betting_closed betting_closed betting_closed betting_closed
close_betting        betting_not_open + = = = = = = betting_not_open betting_not_open
confirm_result       nothing_to_confirm nothing_to_confirm nothing_to_confirm nothing_to_confirm + + nothing_to_confirm nothing_to_confirm nothing_to_confirm nothing_to_confirm
void_coup            nothing_to_void + + + + + + + nothing_to_void nothing_to_void
burn                 burn_known burn_known burn_known burn_known burn_known burn_known burn_known burn_known burn_known burn_known
cut_card             wrong_place + + + + + + + wrong_place wrong_place
mark_unreadable      nothing_to_mark nothing_to_mark nothing_to_mark + + + nothing_to_mark nothing_to_mark nothing_to_mark nothing_to_mark
enter_card           nothing_to_enter nothing_to_enter nothing_to_enter + nothing_to_enter nothing_to_enter nothing_to_enter + nothing_to_enter nothing_to_enter
correct_card         nothing_to_correct nothing_to_correct nothing_to_correct + + + nothing_to_correct + nothing_to_correct nothing_to_correct
correct_hands        unknown_coup nothing_to_correct nothing_to_correct + + + + + + coup_void
correct_wager        unknown_coup betting_open + + + + + coup_misaligned + coup_void
correct_rulebook     unknown_coup betting_open unknown_rulebook unknown_rulebook unknown_rulebook unknown_rulebook unknown_rulebook coup_misaligned unknown_rulebook coup_void
realign              nothing_to_realign nothing_to_realign nothing_to_realign nothing_to_realign nothing_to_realign nothing_to_realign nothing_to_realign + nothing_to_realign nothing_to_realign
resolve_irregularity nothing_to_resolve nothing_to_resolve nothing_to_resolve nothing_to_resolve nothing_to_resolve nothing_to_resolve + nothing_to_resolve nothing_to_resolve nothing_to_resolve
replace_shoe         + + + + + + + + + +
set_limits           + coup_in_progress coup_in_progress coup_in_progress coup_in_progress coup_in_progress coup_in_progress coup_in_progress + +
acknowledge_alarm    no_such_alarm no_such_alarm no_such_alarm no_such_alarm no_such_alarm no_such_alarm no_such_alarm no_such_alarm no_such_alarm no_such_alarm
clear_shoe_error     no_such_error no_such_error no_such_error no_such_error no_such_error no_such_error no_such_error no_such_error no_such_error no_such_error
assign_dealer        + + + + + + + + + +
"""  # noqa: E501 - a row a command


def _cases() -> list[tuple[str, str, str]]:
    header, *rows = TABLE.strip().splitlines()
    cases = []
    for row in rows:
        name, *outcomes = row.split()
        cases += [
            (phase, name, outcome) for phase, outcome in zip(header.split(), outcomes, strict=True)
        ]
    return cases


@pytest.mark.parametrize(("phase", "name", "outcome"), _cases())
def test_every_phase_times_every_command(phase: str, name: str, outcome: str) -> None:
    world = world_in(Phase(phase))
    before = world.state
    decision = decide(before, COMMANDS[name], CONTEXT)
    if outcome == "+":
        assert not isinstance(decision, Refusal)
        assert decision
    elif outcome == "=":
        assert decision == ()
    else:
        assert isinstance(decision, Refusal)
        assert decision.code == outcome
        assert decision.text
    assert world.state == before


def test_every_command_about_the_table_is_in_the_table() -> None:
    assert set(COMMANDS) == {row.name for row in DECIDED if row.decider not in ANY_PHASE}


def test_every_phase_a_table_can_stand_in_is_in_the_table() -> None:
    assert {phase for phase, _, _ in _cases()} == {p.value for p in Phase} - {"confirmed"}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda w: w.say(LinkDown(reason="unplugged")), "link_down"),
        (lambda w: w.say(ErrorRaised(code="cannot_read", latched=True)), "shoe_error"),
        (lambda w: w.say(LockChanged(locked=True)), "shoe_locked"),
        (lambda w: w.must(EndShoe(transaction="e")), "shoe_ended"),
    ],
)
def test_betting_does_not_open_while_a_fault_can_affect_the_outcome(
    change: Callable[[World], object], code: str
) -> None:
    world = world_in(Phase.NONE)
    change(world)
    refusal = world.ask(OpenBetting(transaction="o"))
    assert isinstance(refusal, Refusal)
    assert refusal.code == code


def test_betting_opens_on_an_open_link_that_has_proved_nothing_yet() -> None:
    world = World()
    world.say(LinkOpen(transport="pty:x"))
    world.must(LoadShoe(transaction="l", shoe=SHOE))
    world.open()
    assert world.state.phase is Phase.BETTING


def test_without_a_shoe_nothing_opens() -> None:
    world = World()
    world.say(LinkOpen(transport="pty:x"))
    refusal = world.ask(OpenBetting(transaction="o"))
    assert isinstance(refusal, Refusal)
    assert refusal.code == "no_shoe"


@pytest.mark.parametrize("name", ["open_betting", "place_wager"])
def test_a_wager_never_overtakes_a_card_that_the_driver_still_holds(name: str) -> None:
    world = world_in(Phase.NONE if name == "open_betting" else Phase.BETTING)
    behind = replace(CONTEXT, caught_up=False)
    refusal = decide(world.state, COMMANDS[name], behind)
    assert isinstance(refusal, Refusal)
    assert refusal.code == "catching_up"


def test_wagers_are_placed_all_or_none() -> None:
    world = world_in(Phase.BETTING, wagers=False)
    refusal = world.ask(
        PlaceWager(
            transaction="x",
            wagers=(
                WagerRequest(seat=1, bet="player", stake=100),
                WagerRequest(seat=1, bet="no_such_bet", stake=100),
            ),
        )
    )
    assert isinstance(refusal, Refusal)
    assert refusal.code == "unknown_bet"
    assert world.state.coup is not None
    assert world.state.coup.wagers == ()


@pytest.mark.parametrize(
    ("wager", "code"),
    [
        (WagerRequest(seat=0, bet="player", stake=100), "invalid_seat"),
        (WagerRequest(seat=100, bet="player", stake=100), "invalid_seat"),
        (WagerRequest(seat=1, bet="player", stake=0), "invalid_stake"),
        (WagerRequest(seat=1, bet="player", stake=-5), "invalid_stake"),
        (WagerRequest(seat=1, bet="player", stake=2**53), "invalid_stake"),
        (WagerRequest(seat=2, bet="player", stake=100), "opposite_sides"),
        (WagerRequest(seat=4, bet="dragon_seven", stake=100), "unknown_bet"),
    ],
)
def test_a_refused_wager_has_its_code(wager: WagerRequest, code: str) -> None:
    world = world_in(Phase.BETTING)
    refusal = world.ask(PlaceWager(transaction="x", wagers=(wager,)))
    assert isinstance(refusal, Refusal)
    assert refusal.code == code


def test_a_command_that_was_meant_for_another_coup_changes_nothing() -> None:
    state = world_in(Phase.BETTING).state
    wagers = (WagerRequest(seat=5, bet="player", stake=100),)
    for command in (
        PlaceWager(transaction="x", wagers=wagers, coup=f"{SHOE}/9"),
        CloseBetting(transaction="x", coup=f"{SHOE}/9"),
    ):
        refused = decide(state, command, CONTEXT)
        assert isinstance(refused, Refusal)
        assert refused.code == "another_coup"
        assert COUP in refused.text
        assert isinstance(decide(state, replace(command, coup=COUP), CONTEXT), tuple)


def test_withdrawn_wagers_are_gone_and_the_others_stand() -> None:
    world = world_in(Phase.BETTING)
    assert world.state.coup is not None
    first, *others = world.state.coup.wagers
    made = world.must(WithdrawWager(transaction="x", wagers=(first.id,)))
    assert made == [WagersWithdrawn(coup=COUP, wagers=(first.id,))]
    assert list(world.state.coup.wagers) == others


def test_an_unknown_wager_cannot_be_withdrawn() -> None:
    refusal = world_in(Phase.BETTING).ask(WithdrawWager(transaction="x", wagers=("nobody/0",)))
    assert isinstance(refusal, Refusal)
    assert refusal.code == "unknown_wager"


def test_a_void_coup_gives_every_stake_back() -> None:
    world = world_in(Phase.MISALIGNED)
    (voided,) = world.must(VoidCoup(transaction="x", reason="a report was lost"))
    assert isinstance(voided, CoupVoided)
    assert [(r.seat, r.stake) for r in voided.refunds] == [(1, 1000), (2, 2000), (3, 500)]
    assert all(isinstance(r, Refund) for r in voided.refunds)
    assert world.state.totals.voids == 1
    assert (world.state.totals.staked, world.state.totals.paid) == (0, 0)


@pytest.mark.parametrize(
    "command",
    [
        VoidCoup(transaction="x", reason="  "),
        ConfirmResult(transaction="x", reason=""),
    ],
)
def test_whoever_overrules_the_table_says_why(command: Command) -> None:
    refusal = world_in(Phase.DISPUTED).ask(command)
    assert isinstance(refusal, Refusal)
    assert refusal.code == "reason_required"


@pytest.mark.parametrize("phase", [Phase.COMPLETE, Phase.DISPUTED])
def test_a_confirmed_result_settles_by_our_own_cards(phase: Phase) -> None:
    world = world_in(phase)
    *_, settled = world.must(confirm(world))
    assert isinstance(settled, CoupSettled)
    assert [line.paid for line in settled.settlement.lines] == [2000, 0, 0]
    assert world.state.phase is Phase.SETTLED


@pytest.mark.parametrize(
    "shoe", ["", "tuesday", "2026112-01", "20261127-1", "20261127-0\uff11", "20261127/01"]
)
def test_a_shoe_id_is_a_business_day_and_a_number(shoe: str) -> None:
    world = World()
    refusal = world.ask(LoadShoe(transaction="x", shoe=shoe))
    assert isinstance(refusal, Refusal)
    assert refusal.code == "invalid_shoe"


@pytest.mark.parametrize("decks", [0, 1, 5, 7, 9, -8])
def test_a_shoe_has_four_six_or_eight_decks(decks: int) -> None:
    refusal = World().ask(LoadShoe(transaction="x", shoe=SHOE, decks=decks))
    assert isinstance(refusal, Refusal)
    assert refusal.code == "invalid_decks"


@pytest.mark.parametrize("transaction", ["", "x" * 129])
def test_a_transaction_id_has_a_bounded_length(transaction: str) -> None:
    refusal = World().ask(LoadShoe(transaction=transaction, shoe=SHOE))
    assert isinstance(refusal, Refusal)
    assert refusal.code == "invalid_transaction"


@pytest.mark.parametrize("again", [SHOE, "20261126-09", "20251231-01"])
def test_no_shoe_is_played_twice_nor_one_before_the_last(again: str) -> None:
    world = world_in(Phase.NONE)
    world.must(EndShoe(transaction="e"))
    refusal = world.ask(LoadShoe(transaction="l", shoe=again))
    assert isinstance(refusal, Refusal)
    assert refusal.code == "shoe_known"


def test_a_result_that_does_not_come_is_an_alarm_once() -> None:
    world = world_in(Phase.COMPLETE)
    (alarm,) = world.take(result_overdue(world.state, 30))
    assert "30 s" in alarm.text  # type: ignore[attr-defined]  # an AlarmRaised
    assert result_overdue(world.state, 31) == ()
    world.must(confirm(world))
    assert world.state.alarms == ()


@pytest.mark.parametrize("phase", [p for p in Phase if p not in {Phase.COMPLETE, Phase.CONFIRMED}])
def test_only_a_complete_deal_waits_for_a_result(phase: Phase) -> None:
    assert result_overdue(world_in(phase).state, 30) == ()


def test_an_empty_table_waits_for_nothing() -> None:
    assert result_overdue(TableState(), 30) == ()
