"""Commands: every phase times every command, each refusal with its code, and whole events."""

from typing import Any

import pytest
from msgspec.structs import replace

from events.cards import Card, Hand
from events.commands import (
    AcknowledgeAlarm,
    AcknowledgeCorrection,
    AssignDealer,
    Burn,
    CallSupervisor,
    ClearShoeError,
    CloseBetting,
    Command,
    ConfirmResult,
    CorrectCard,
    CorrectHands,
    CorrectRulebook,
    CorrectWager,
    CountShoe,
    CutCard,
    EndShoe,
    EnterCard,
    FreeHand,
    LoadShoe,
    MarkUnreadable,
    NoteLogins,
    OpenBetting,
    PlaceWager,
    Realign,
    Refusal,
    ReleaseShoe,
    ReplaceShoe,
    ResolveIrregularity,
    SetLimits,
    TakeTable,
    VoidCoup,
    WagerRequest,
    WithdrawWager,
)
from events.commands.registry import Decider
from events.errors import OurBug
from events.types import (
    BettingClosed,
    BettingOpened,
    CardCorrected,
    CoupSettled,
    CoupVoided,
    HandsCorrected,
    ResultConfirmed,
    RulebookAdopted,
)
from table_core.decide.decision import DecisionContext
from table_core.decide.dispatch import adopt_rulebook, decide, result_overdue
from table_core.fold.common import current_shoe
from table_core.rulebooks.shipped import load_rulebook
from table_core.rules.commission_owed import CommissionBook, Debt
from table_core.state.coup import Phase
from table_core.state.shoe import BURN_ALARM
from table_core.state.table import Alarm, TableState
from tests.support.cage.books import book
from tests.support.table.commands import DECIDED
from tests.support.table.coups import CONTEXT, COUP, SHOE, confirm, world_in
from tests.support.table.histories import each_history

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
    "acknowledge_correction": AcknowledgeCorrection(transaction="x", coup=COUP, settlements=()),
    "realign": Realign(transaction="x", reason="looked"),
    "resolve_irregularity": ResolveIrregularity(
        transaction="x", kind="excess_card", seen=False, reason="face down"
    ),
    "count_shoe": CountShoe(transaction="x", shoe="20261126-01", cards=416),
    "release_shoe": ReleaseShoe(transaction="x", shoe="20261126-01", reason="found"),
    "replace_shoe": ReplaceShoe(transaction="x", shoe="20261127-02", reason="broken"),
    "set_limits": SetLimits(transaction="x", table_maximum=100_000),
    "call_supervisor": CallSupervisor(transaction="x", reason="a chip fell"),
    "acknowledge_alarm": AcknowledgeAlarm(transaction="x", alarm="no_such"),
    "clear_shoe_error": ClearShoeError(transaction="x", code="overdraw", reason="its lamp is out"),
    "assign_dealer": AssignDealer(transaction="x", dealer="d-17"),
    "take_table": TakeTable(transaction="x"),
    "note_logins": NoteLogins(transaction="x", entries=2, chain="0" * 64),
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
acknowledge_correction no_chips_to_move no_chips_to_move no_chips_to_move no_chips_to_move no_chips_to_move no_chips_to_move no_chips_to_move no_chips_to_move no_chips_to_move no_chips_to_move
realign              nothing_to_realign nothing_to_realign nothing_to_realign nothing_to_realign nothing_to_realign nothing_to_realign nothing_to_realign + nothing_to_realign nothing_to_realign
resolve_irregularity nothing_to_resolve nothing_to_resolve nothing_to_resolve nothing_to_resolve nothing_to_resolve nothing_to_resolve + nothing_to_resolve nothing_to_resolve nothing_to_resolve
count_shoe           no_ended_shoe no_ended_shoe no_ended_shoe no_ended_shoe no_ended_shoe no_ended_shoe no_ended_shoe no_ended_shoe no_ended_shoe no_ended_shoe
release_shoe         not_held not_held not_held not_held not_held not_held not_held not_held not_held not_held
replace_shoe         + + + + + + + + + +
set_limits           + coup_in_progress coup_in_progress coup_in_progress coup_in_progress coup_in_progress coup_in_progress coup_in_progress + +
call_supervisor      + + + + + + + + + +
acknowledge_alarm    no_such_alarm no_such_alarm no_such_alarm no_such_alarm no_such_alarm no_such_alarm no_such_alarm no_such_alarm no_such_alarm no_such_alarm
clear_shoe_error     no_such_error no_such_error no_such_error no_such_error no_such_error no_such_error no_such_error no_such_error no_such_error no_such_error
assign_dealer        + + + + + + + + + +
take_table           dealers_are_named dealers_are_named dealers_are_named dealers_are_named dealers_are_named dealers_are_named dealers_are_named dealers_are_named dealers_are_named dealers_are_named
note_logins          + + + + + + + + + +
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
a command that was meant for another coup is refused
    ready
    open_betting during=
    cut_card during= place=mid_coup                  -> refused another_coup
    close_betting during=20261127-01/1               -> closed
    void_coup during=20261127-01/1
    open_betting during=                             -> refused another_coup
    open_betting during=20261127-01/1                -> betting
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
a shoe has the decks that the rulebook says
    * 4 8
    * 6 8
    * 8 6
    rules au-commission decks={1}
    empty
    load_shoe shoe=01 decks={0}    -> refused wrong_decks
    load_shoe shoe=01 decks={1}
    replace_shoe shoe=02 decks={0} -> refused wrong_decks
no coup is opened from a shoe that the rulebook does not fit
    in none
    end_shoe
    fold shoe_loaded shoe=20261127-02 decks=4
    open_betting             -> refused unfit_shoe
    free_hand                -> refused unfit_shoe
    end_shoe
    load_shoe shoe=03
what no record of logins has is not noted
    * "entries=0 chain={hash}"
    * "entries=1 chain={hash}0"
    * "entries=1 chain=A"
    empty
    note_logins {0}          -> refused invalid_logins
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


test_commands_and_their_refusals = each_history(HISTORIES, long="x" * 129, hash="0" * 64)


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
    owing = CommissionBook(debts=(Debt(coup=COUP, seat=2, outstanding=100),))
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
    adopted = RulebookAdopted(rulebook="ez", rulebook_hash=other.hash, currency=other.currency)
    ours = CONTEXT.rulebook
    again = RulebookAdopted(rulebook=ours.id, rulebook_hash=ours.hash, currency=ours.currency)
    assert adopt_rulebook(READY, CONTEXT.rulebook) == ()
    assert adopt_rulebook(replace(READY, currency="JPY"), CONTEXT.rulebook) == (again,)
    assert adopt_rulebook(READY, other) == (adopted,)
    with pytest.raises(OurBug, match="in mid-coup"):
        adopt_rulebook(world_in(Phase.BETTING).state, other)


def test_a_command_that_nobody_decides_is_our_bug() -> None:
    with pytest.raises(OurBug, match="no handler for Command"):
        decide(READY, Command(transaction="x"), CONTEXT)
