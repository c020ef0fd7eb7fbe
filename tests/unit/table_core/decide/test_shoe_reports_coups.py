"""Coups as the shoe tells them: both disclosure modes, contradictions, disputes, stray cards."""

import pytest
from msgspec.structs import replace

from events.cards import Card, Hand, Winner
from events.commands.coup import OpenBetting, VoidCoup
from events.types.shoe_reports import CardCarriedOver, CardOutOfGame, CopyConflict, DeviceResult
from events.types.table import (
    AlarmRaised,
    BettingClosed,
    BettingOpened,
    CardDealt,
    CoupMisaligned,
    CoupSettled,
    DealCompleted,
    ResultDisputed,
    ShoeReported,
)
from table_core.state.coup import Phase
from tests.support.table.coups import (
    CONTEXT,
    COUP,
    NATURAL_NINE,
    ORDER,
    World,
    cards,
    drawn,
    revealed,
    world_in,
)

P, B = Hand.PLAYER, Hand.BANKER

# dealing order | Player | Banker | winner | rules applied
COUPS = """
9S 2D KH 3C        | 9S KH    | 2D 3C    | player | player natural
2S 8D KH QC        | 2S KH    | 8D QC    | banker | banker natural
2S 3D 3H 3C 4S     | 2S 3H 4S | 3D 3C    | player | -
6S 2D KH 3C 9D     | 6S KH    | 2D 3C 9D | player | -
5S 2D KH KC 8D 4H  | 5S KH 8D | 2D KC 4H | banker | -
7S 7D KH QC        | 7S KH    | 7D QC    | tie    | -
"""


def _coups() -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")][:4] for line in COUPS.strip().splitlines()]


def settlement_in(world: World, result: DeviceResult) -> CoupSettled:
    (settled,) = (event for event in world.say(result) if isinstance(event, CoupSettled))
    return settled


def _places(dealt: list[str], banker_third_only: bool) -> list[tuple[Hand, int, str]]:
    thirds = [(B, 3)] if banker_third_only else [(P, 3), (B, 3)]
    return [
        (hand, number, face) for (hand, number), face in zip([*ORDER, *thirds], dealt, strict=False)
    ]


@pytest.mark.parametrize(("dealt", "player", "banker", "winner"), _coups())
@pytest.mark.parametrize("deferred", [False, True])
def test_a_coup_plays_to_its_settlement_in_both_disclosure_modes(
    dealt: str, player: str, banker: str, winner: str, deferred: bool
) -> None:
    world = world_in(Phase.CLOSED)
    places = _places(dealt.split(), len(player.split()) == 2)
    if deferred:
        world.say(*(drawn(hand, n) for hand, n, _ in places))
        assert world.state.phase is Phase.DEALING
        world.say(*(revealed(hand, n, face) for hand, n, face in reversed(places)))
    else:
        world.say(*(drawn(hand, n, face) for hand, n, face in places))
    assert world.state.phase is Phase.COMPLETE
    completed = next(e for e in world.log if isinstance(e, DealCompleted))
    assert completed.player == cards(player)
    assert completed.banker == cards(banker)
    assert completed.winner is Winner(winner)
    settled = settlement_in(
        world,
        DeviceResult(
            winner=winner,
            player_pair=dealt.split(maxsplit=1)[0][0] == dealt.split()[2][0],
            banker_pair=dealt.split()[1][0] == dealt.split()[3][0],
        ),
    )
    assert settled.settlement.settlement_id == f"t1/{COUP}/2/1"


def test_a_deferred_third_card_that_was_not_due_misaligns_at_disclosure() -> None:
    world = world_in(Phase.CLOSED)
    places = _places([*NATURAL_NINE, "5D"], banker_third_only=False)
    world.say(*(drawn(hand, n) for hand, n, _ in places))
    *_, last = world.say(*(revealed(hand, n, face) for hand, n, face in places))
    assert isinstance(last, CoupMisaligned)
    assert last.reason == "position_contradicts_draw_table"
    assert "player drew a third card" in last.detail


def test_a_short_disclosure_misaligns_when_the_result_comes() -> None:
    world = world_in(Phase.CLOSED)
    places = _places(list(NATURAL_NINE), banker_third_only=False)
    world.say(*(drawn(hand, n) for hand, n, _ in places))
    world.say(*(revealed(hand, n, face) for hand, n, face in places[:3]))
    *_, last = world.say(DeviceResult(winner="player"))
    assert isinstance(last, CoupMisaligned)
    assert last.reason == "result_too_early"


def test_a_disclosure_repeated_alike_changes_nothing_and_otherwise_misaligns() -> None:
    world = world_in(Phase.CLOSED)
    world.say(drawn(P, 1), revealed(P, 1, "4D"))
    assert len(world.say(revealed(P, 1, "4D"))) == 1
    *_, last = world.say(revealed(P, 1, "4H"))
    assert isinstance(last, CoupMisaligned)
    assert last.reason == "disclosure_contradicts"


@pytest.mark.parametrize(
    ("result", "disputed"),
    [
        (DeviceResult(winner="player"), None),
        (DeviceResult(winner="banker"), "winner: the table says player, the shoe banker"),
        (DeviceResult(winner="tie"), "winner: the table says player, the shoe tie"),
        (DeviceResult(winner="player", player_pair=True), "Player pair: the table says no"),
        (DeviceResult(winner="player", banker_pair=True), "Banker pair: the table says no"),
        (DeviceResult(winner="banker", banker_six=True), "Banker with six: the table says no"),
    ],
)
def test_a_result_that_disagrees_holds_the_settlement(
    result: DeviceResult, disputed: str | None
) -> None:
    world = world_in(Phase.COMPLETE)
    _, event, *rest = world.say(result)
    if disputed is None:
        assert isinstance(rest[0], CoupSettled)
        return
    assert isinstance(event, ResultDisputed)
    assert disputed in event.detail
    assert rest == []
    assert world.state.totals.coups == 0


def test_a_six_told_as_plain_banker_is_no_disagreement() -> None:
    for six in (True, False):
        world = world_in(Phase.CLOSED)
        world.deal("2S", "6D", "KH", "QC")
        world.say(drawn(P, 3, "2D"))
        assert world.state.phase is Phase.COMPLETE
        settled = settlement_in(world, DeviceResult(winner="banker", banker_six=six))
        assert settled.settlement.winner is Winner.BANKER


def test_the_first_card_closes_betting_and_the_later_wager_is_late() -> None:
    world = world_in(Phase.BETTING)
    _, closed, dealt = world.say(drawn(P, 1, "4D"))
    assert closed == BettingClosed(coup=COUP, by="first_card")
    assert isinstance(dealt, CardDealt)


def test_a_card_without_open_betting_is_a_wagerless_coup_with_an_alarm() -> None:
    world = world_in(Phase.NONE)
    world.deal(*NATURAL_NINE)
    *_, settled = world.say(DeviceResult(winner="player"))
    assert isinstance(settled, CoupSettled)
    assert settled.settlement.lines == ()
    raised = [e for e in world.log if isinstance(e, AlarmRaised)]
    assert [a.alarm for a in raised] == ["wagerless_coup"]
    assert world.state.alarms == ()


def test_a_card_without_a_shoe_is_recorded_and_told() -> None:
    world = World()
    recorded, alarm = world.say(drawn(P, 1, "4D"))
    assert isinstance(recorded, ShoeReported)
    assert isinstance(alarm, AlarmRaised)
    assert alarm.alarm == "card_without_shoe"
    assert world.state.coup is None


def test_the_rest_of_a_void_round_belongs_to_no_hand_and_the_next_first_card_begins_anew() -> None:
    world = world_in(Phase.MISALIGNED)
    world.must(VoidCoup(transaction="v", reason="report lost"))
    assert len(world.say(drawn(B, 2, "5D"), drawn(P, 3, "6D"))) == 2
    begun, *_ = world.deal(*NATURAL_NINE[:1])[1:]
    assert isinstance(begun, BettingOpened)
    assert begun.wagerless


def test_after_a_void_rounds_own_result_a_stray_card_is_a_break_again() -> None:
    world = world_in(Phase.MISALIGNED)
    world.say(DeviceResult(winner="player"))
    world.must(VoidCoup(transaction="v", reason="report lost"))
    *_, last = world.say(drawn(B, 2, "5D"))
    assert isinstance(last, CoupMisaligned)


def test_a_stray_card_of_an_old_round_never_falls_into_the_new_coup() -> None:
    world = world_in(Phase.MISALIGNED)
    world.must(VoidCoup(transaction="v", reason="report lost"))
    world.must(OpenBetting(transaction="o"))
    *_, last = world.say(drawn(B, 2, "5D"))
    assert isinstance(last, CoupMisaligned)
    assert last.reason == "first_card_missing"


def test_where_the_profile_has_no_result_the_last_card_due_settles() -> None:
    world = world_in(Phase.CLOSED, context=replace(CONTEXT, result_required=False))
    *_, settled = world.deal(*NATURAL_NINE)
    assert isinstance(settled, CoupSettled)


def test_cards_without_positions_go_where_the_draw_table_says() -> None:
    world = world_in(Phase.CLOSED)
    for face in ("2S", "3D", "3H", "3C", "4S"):
        world.say(replace(drawn(P, 1, face), hand=None, number=None))
    completed = world.log[-1]
    assert isinstance(completed, DealCompleted)
    assert completed.player == cards("2S 3H 4S")
    assert completed.banker == cards("3D 3C")


def test_no_text_of_the_table_tells_a_face_that_it_has_not_seen() -> None:
    for report in (
        CardOutOfGame(reason="overdrawn", face=Card.D4),
        CardCarriedOver(hand=P, number=1, face=Card.D4),
        CopyConflict(device_seq="2", bodies=("4481B4", "4481B8")),
    ):
        *_, last = world_in(Phase.DEALING).say(report)
        assert isinstance(last, CoupMisaligned)
        assert "4D" not in last.detail
        assert "4481" not in last.detail
