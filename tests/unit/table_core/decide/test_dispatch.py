"""Commands: every phase times every command, and each refusal with its code."""

from collections.abc import Sequence

import pytest

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
from table_core.decide.dispatch import decide, result_overdue
from table_core.state.coup import Phase
from table_core.state.table import TableState
from tests.support.table.commands import DECIDED
from tests.support.table.coups import CONTEXT, COUP, confirm, world_in
from tests.support.table.histories import histories, play_history

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


HISTORIES = """
betting does not open while a fault can affect the outcome
    * "shoe link_down reason=unplugged"                link_down
    * "shoe error_raised code=cannot_read latched=true" shoe_error
    * "shoe lock_changed locked=true"                  shoe_locked
    * end_shoe                                         shoe_ended
    in none
    {0}
    open_betting             -> refused {1}
betting opens on an open link that has proved nothing yet
    empty
    shoe link_open transport=pty:x
    load_shoe shoe=01
    open                     -> betting
without a shoe nothing opens
    empty
    shoe link_open transport=pty:x
    open_betting             -> refused no_shoe
a wager never overtakes a card that the driver still holds
    * none    open_betting
    * betting "place_wager wagers='5 player 100'"
    in {0}
    now caught_up=false
    {1}                      -> refused catching_up
wagers are placed all or none
    in betting wagers=false
    place_wager wagers="1 player 100,1 no_such_bet 100" -> refused unknown_bet
    close                    -> coup.wagers=none
a refused wager has its code
    * "0 player 100"         invalid_seat
    * "100 player 100"       invalid_seat
    * "1 player 0"           invalid_stake
    * "1 player -5"          invalid_stake
    * "1 player 9007199254740992" invalid_stake
    * "2 player 100"         opposite_sides
    * "4 dragon_seven 100"   unknown_bet
    in betting
    place_wager wagers="{0}" -> refused {1}
a command that was meant for another coup changes nothing
    * "place_wager wagers='5 player 100'"
    * close_betting
    in betting
    {0} coup=01/9            -> refused another_coup text~20261127-01/1
    {0} coup=01/1
withdrawn wagers are gone and the others stand
    in betting
    withdraw_wager wagers=@1 -> wagers_withdrawn: coup=20261127-01/1 wagers=dealer/t-3/0
                             -> coup.wagers.id=dealer/t-3/1,dealer/t-3/2
an unknown wager cannot be withdrawn
    in betting
    withdraw_wager wagers=nobody/0 -> refused unknown_wager
a void coup gives every stake back
    in misaligned
    void_coup                -> made coup_voided; totals.voids=1 totals.staked=0 totals.paid=0
                             -> coup_voided: refunds.seat=1,2,3 refunds.stake=1000,2000,500
who overrules the table says why
    * "void_coup reason='  '"
    * "confirm_result reason="
    in disputed
    {0}                      -> refused reason_required
a confirmed result settles by our own cards
    * complete
    * disputed
    in {0}
    confirm_result           -> settled; coup_settled: settlement.lines.paid=2000,0,0
a shoe id is a business day and a number
    * ""
    * tuesday
    * 2026112-01
    * 20261127-1
    * 20261127-0\uff11
    * 20261127/01
    empty
    load_shoe shoe={0}       -> refused invalid_shoe
a shoe has four, six or eight decks
    * 0
    * 1
    * 5
    * 7
    * 9
    * -8
    empty
    load_shoe shoe=01 decks={0} -> refused invalid_decks
a transaction id has a bounded length
    * ""
    * {long}
    empty
    load_shoe shoe=01 transaction={0} -> refused invalid_transaction
no shoe is played twice nor one before the last
    * 20261127-01
    * 20261126-09
    * 20251231-01
    in none
    end_shoe
    load_shoe shoe={0}       -> refused shoe_known
"""


@pytest.mark.parametrize("lines", histories(HISTORIES, long="x" * 129))
def test_commands_and_their_refusals(lines: Sequence[str]) -> None:
    assert play_history(lines).log


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
