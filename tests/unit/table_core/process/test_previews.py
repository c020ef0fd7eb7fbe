"""A coup on record, and what a correction would do: shown, and nothing appended."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from events.cards import Card, Hand
from events.commands import (
    Answer,
    CloseBetting,
    Command,
    CorrectHands,
    LoadShoe,
    OpenBetting,
    PlaceWager,
    Preview,
    Previewed,
    ResolveIrregularity,
    ShowCoup,
    ShowRequest,
    VoidCoup,
    WagerRequest,
)
from events.commands.registry import COMMAND_NAMES
from events.log.store import EventLog
from events.types import DeviceResult, LinkOpen, LinkUp
from table_core.service.table import Table
from tests.support.table.coups import SHOE, cards, drawn, shoe_event
from tests.unit.table_core.test_commands_and_reports import table_on

COUP = f"{SHOE}/1"


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    with EventLog.open(tmp_path / "table.sqlite", "site/t1") as opened:
        yield opened


@pytest.fixture
def settled(log: EventLog) -> Table:
    return settled_on(log)


def settled_on(log: EventLog, *, sign_corrections_from: int | None = None) -> Table:
    """Player's 9 beat Banker's 7: seat 1 lost 1,000 on Banker, seat 2 won 2,000 on Player."""
    table = table_on(log, sign_corrections_from=sign_corrections_from)
    wagers = (
        WagerRequest(seat=1, bet="banker", stake=1000),
        WagerRequest(seat=2, bet="player", stake=2000),
    )
    table.hear(shoe_event(1, LinkOpen(transport="pty:x")))
    table.hear(shoe_event(2, LinkUp()))
    for user, command in (
        ("dealer", LoadShoe(transaction="l", shoe=SHOE)),
        ("dealer", OpenBetting(transaction="o")),
        ("wagers", PlaceWager(transaction="w", wagers=wagers)),
        ("dealer", CloseBetting(transaction="c")),
    ):
        assert table.ask(user, command, caught_up=True).result == "accepted"
    dealt = zip((Hand.PLAYER, Hand.BANKER) * 2, cards("9S 7D KH KC"), strict=True)
    for seq, (hand, card) in enumerate(dealt, start=3):
        table.hear(shoe_event(seq, drawn(hand, (seq - 1) // 2, card.value)))
    table.hear(shoe_event(7, DeviceResult(winner="player", player_pair=False, banker_pair=False)))
    assert table.state.phase.value == "settled"
    return table


def preview(command: Command, name: str | None = None) -> Preview:
    name = name or COMMAND_NAMES[type(command)]
    return Preview(transaction="p", command=name, body=msgspec.to_builtins(command))


def shown(answer: Answer) -> Any:
    """As it arrives over the bus."""
    return msgspec.json.decode(msgspec.json.encode(answer))["shown"]


def test_a_coup_is_shown_with_its_wagers_and_its_settlement(settled: Table) -> None:
    found = shown(settled.show("dealer", ShowCoup(transaction="s", coup=COUP)))
    assert [card["card"] for card in found["coup"]["cards"]] == ["9S", "7D", "KH", "KC"]
    assert [wager["id"] for wager in found["coup"]["wagers"]] == ["wagers/w/0", "wagers/w/1"]
    assert [line["paid"] for line in found["settlements"][0]["lines"]] == [0, 4000]
    assert found["rulebook"] == "au-commission"


def test_a_coup_that_was_not_played_is_not_shown(settled: Table) -> None:
    for name in (f"{SHOE}/2", "20990101-01/1", "nonsense"):
        answer = settled.show("dealer", ShowCoup(transaction="s", coup=name))
        assert (answer.result, answer.code) == ("refused", "unknown_coup")


def test_a_request_is_shown_to_its_own_user_and_nothing_is_done_for_it(settled: Table) -> None:
    def fate(user: str, request: str) -> Any:
        return shown(settled.show(user, ShowRequest(transaction="s", request=request)))

    end = settled.state.position
    carried_out = fate("wagers", "w")["carried_out"]
    placed = next(each for each in settled.log.read(1) if each.type == "wagers_placed")
    assert carried_out == placed.position
    assert fate("dealer", "w") == fate("wagers", "never sent") == {"carried_out": None}
    refused = settled.ask("wagers", PlaceWager(transaction="r", wagers=()), caught_up=True)
    assert refused.result == "refused"
    assert fate("wagers", "r") == {"carried_out": None}
    assert settled.state.position == end


def test_a_preview_says_who_gains_and_who_gives_back_and_is_what_the_command_does(
    settled: Table,
) -> None:
    command = CorrectHands(
        transaction="h", coup=COUP, player=cards("6S KH"), banker=cards("7D KC"), reason="camera"
    )
    before = settled.state
    events = shown(settled.show("supervisor", preview(command)))["events"]
    assert settled.state is before
    revised = next(each for each in events if each["type"] == "coup_settled")
    # Banker's 7 beats 6: 1,000 and 950 to seat 1 that lost its stake; seat 2 gives 4,000 back.
    assert revised["data"]["settlement"]["difference"] == [
        {"seat": 1, "staked": 0, "paid": 1950, "commission": 50},
        {"seat": 2, "staked": 0, "paid": -4000, "commission": 0},
    ]
    answer = settled.ask("supervisor", command, caught_up=True)
    appended = [msgspec.json.decode(each.stored) for each in settled.log.read(before.position + 1)]
    assert answer.position == before.position + len(events)
    assert [(each["type"], each["data"]) for each in appended] == [
        (each["type"], each["data"]) for each in events
    ]


def test_a_command_is_refused_once_it_would_do_something_else_than_its_preview(
    log: EventLog, settled: Table
) -> None:
    """A void that was previewed while betting was closed does not undo a settlement."""

    def seen(command: VoidCoup) -> VoidCoup:
        answer = settled.show("supervisor", preview(command))
        mark = {"position": answer.position, "digest": shown(answer)["digest"]}
        return replace(command, previewed=msgspec.convert(mark, Previewed))

    for user, command in (
        ("dealer", OpenBetting(transaction="o2")),
        ("dealer", CloseBetting(transaction="c2")),
    ):
        assert settled.ask(user, command, caught_up=True).result == "accepted"
    void = seen(VoidCoup(transaction="v", reason="misdeal", coup=f"{SHOE}/2"))
    dealt = zip((Hand.PLAYER, Hand.BANKER) * 2, cards("9H 7S KD KS"), strict=True)
    for seq, (hand, card) in enumerate(dealt, start=8):
        settled.hear(shoe_event(seq, drawn(hand, (seq - 6) // 2, card.value)))
    settled.hear(shoe_event(12, DeviceResult(winner="player")))
    assert settled.state.phase.value == "settled"
    position = log.position
    answer = settled.ask("supervisor", void, caught_up=True)
    assert (answer.result, answer.code) == ("refused", "preview_outdated")
    assert log.position == position
    again = seen(replace(void, transaction="w", previewed=None))
    assert settled.ask("supervisor", again, caught_up=True).result == "accepted"


def test_a_preview_is_refused_as_the_command_would_be(settled: Table) -> None:
    same = CorrectHands(
        transaction="h", coup=COUP, player=cards("9S KH"), banker=cards("7D KC"), reason="camera"
    )
    answer = settled.show("supervisor", preview(same))
    assert (answer.transaction, answer.result, answer.code) == ("p", "refused", "changes_nothing")
    bare = settled.show("supervisor", preview(VoidCoup(transaction="v", reason="", coup=COUP)))
    assert bare.code == "reason_required"


def test_a_preview_says_that_two_people_sign_and_binds_to_what_they_signed(log: EventLog) -> None:
    """A void moves 1,000 back to seat 1 and 2,000 back from seat 2."""
    table = settled_on(log, sign_corrections_from=3000)
    void = VoidCoup(transaction="v", reason="misdeal", coup=COUP)
    answer = table.show("supervisor", preview(void))
    assert (answer.result, answer.code) == ("refused", "signatures_required")
    assert answer.text is not None
    assert answer.text.startswith("it moves 3000, and from 3000 on")
    signed = replace(void, signed=("s-1", "s-4"))
    answer = table.show("supervisor", preview(signed))
    mark = Previewed(position=answer.position or 0, digest=shown(answer)["digest"])
    others = replace(signed, signed=("s-1", "s-9"), previewed=mark)
    assert table.ask("supervisor", others, caught_up=True).code == "preview_outdated"
    bound = replace(signed, previewed=mark)
    assert table.ask("supervisor", bound, caught_up=True).result == "accepted"
    newest = [each.type for each in log.read(log.position)]
    assert newest == ["correction_signed"]


def test_only_what_puts_a_coup_right_has_a_preview(settled: Table) -> None:
    shows_a_face = ResolveIrregularity(transaction="x", kind="excess_card", seen=True, reason="x")
    assert settled.show("supervisor", preview(shows_a_face)).code == "no_preview"
    unknown = settled.show("supervisor", preview(shows_a_face, name="deal_again"))
    assert (unknown.transaction, unknown.code) == ("p", "unknown_command")


def test_a_dealer_looks_and_does_not_preview(settled: Table) -> None:
    command = VoidCoup(transaction="v", reason="misdeal", coup=COUP)
    assert settled.show("dealer", preview(command)).code == "not_allowed"
    assert settled.show("display", ShowCoup(transaction="s", coup=COUP)).code == "not_allowed"


def test_hands_that_no_deal_could_have_made_have_no_preview(settled: Table) -> None:
    command = CorrectHands(
        transaction="h", coup=COUP, player=(Card.S9,), banker=cards("7D KC"), reason="camera"
    )
    assert settled.show("supervisor", preview(command)).code == "excess_card"
