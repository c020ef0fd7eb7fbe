"""Corrections that cannot be: refused with a code, and nothing changes."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from events.cards import Card
from events.commands.base import Command
from events.commands.coup import VoidCoup
from events.commands.wagers import WagerRequest
from events.money import MAX_STAKE
from table_core.rulebooks.shipped import load_rulebook
from table_core.state.shoe import times_seen
from tests.support.table.coups import CONTEXT, COUP, SHOE, World, cards, code
from tests.support.table.settled_coups import P, face, first_wager, hands, other, played, wager

# ---- refusals change nothing ----

REFUSED: dict[str, tuple[str, Callable[[World], Command]]] = {
    "another card was due": ("incomplete_coup", lambda _: face(P, 1, Card.S2)),
    "a hand of one card": ("incomplete_coup", lambda _: hands("9S", "2D")),
    "no cards": ("incomplete_coup", lambda _: hands("", "")),
    "a third behind a natural": ("excess_card", lambda _: hands("9S KH 2C", "2D 3C")),
    "a third for the hand that stands": ("excess_card", lambda _: hands("6S KH 2C", "2D 3C")),
    "a fourth card": ("excess_card", lambda _: hands("2S KH 2C 3C", "2D 3C")),
    "one hand only": ("excess_card", lambda _: hands("9S KH 2C 4C", "")),
    "the same face": ("same_card", lambda _: face(P, 1, Card.S9)),
    "the same hands": ("changes_nothing", lambda _: hands("9S KH", "2D 3C")),
    "a card that never lay": ("no_such_card", lambda _: face(P, 3, Card.S9)),
    "another coup": ("unknown_coup", lambda _: face(P, 1, Card.S8, f"{SHOE}/9")),
    "no coup at all": ("unknown_coup", lambda _: hands("9S KH", "2D 3C", "nonsense")),
    "a coup that is not named": ("nothing_to_correct", lambda _: face(P, 1, Card.S8, None)),
    "another wager": ("unknown_wager", lambda _: wager(None, "dealer/t-99/0")),
    "nothing about a wager": ("changes_nothing", lambda _: wager(None)),
    "the same wager": (
        "changes_nothing",
        lambda world: wager(WagerRequest(seat=1, bet="player", stake=1000), first_wager(world)),
    ),
    "no such bet": ("unknown_bet", lambda _: wager(WagerRequest(seat=1, bet="ante", stake=10))),
    "a bet of another rulebook": (
        "not_offered",
        lambda _: wager(WagerRequest(seat=1, bet="dragon7", stake=10)),
    ),
    "no stake": ("invalid_stake", lambda _: wager(WagerRequest(seat=1, bet="tie", stake=0))),
    "no seat": ("invalid_seat", lambda _: wager(WagerRequest(seat=100, bet="tie", stake=0))),
    "no reference": (
        "invalid_patron",
        lambda _: wager(WagerRequest(seat=1, bet="tie", stake=100, patron="")),
    ),
    "more than a coup takes": (
        "table_maximum",
        lambda _: wager(WagerRequest(seat=1, bet="tie", stake=MAX_STAKE)),
    ),
    "a rulebook that is not at hand": ("unknown_rulebook", lambda _: other(load_rulebook("ez"))),
    "a rulebook by another name": (
        "unknown_rulebook",
        lambda _: replace(other(CONTEXT.rulebook), rulebook="ez"),
    ),
    "the same rulebook": ("changes_nothing", lambda _: other(CONTEXT.rulebook)),
    "a void of no coup": (
        "unknown_coup",
        lambda _: VoidCoup(transaction="v", reason="r", coup=f"{SHOE}/2"),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_and_changes_nothing(name: str) -> None:
    world = played()
    before, events = world.state, len(world.log)
    expected, command = REFUSED[name]
    assert code(world, command(world)) == expected
    assert world.state is before
    assert len(world.log) == events


@pytest.mark.parametrize("reason", ["", "  "])
def test_a_correction_without_a_reason_is_refused(reason: str) -> None:
    world = played(player=cards("6S KH"), banker=cards("7D KC"))
    assert code(world, replace(face(P, 1, Card.S8), reason=reason)) == "reason_required"
    assert code(world, replace(hands("8S KH", "7D KC"), reason=reason)) == "reason_required"
    assert code(world, replace(wager(None, first_wager(world)), reason=reason)) == "reason_required"
    assert code(world, replace(other(load_rulebook("ez")), reason=reason)) == "reason_required"
    void = VoidCoup(transaction="v", coup=COUP, reason=reason)
    assert code(world, void) == "reason_required"


def test_a_ninth_copy_of_a_face_is_refused() -> None:
    world = played(player=cards("9S 9S"), banker=cards("2D KC"), bets=())
    for _ in range(3):
        played(player=cards("9S 9S"), banker=cards("2D KC"), bets=(), world=world)
    assert world.state.shoe is not None
    assert times_seen(world.state.shoe, Card.S9) == 8
    assert code(world, hands("9S 9S", "9S KC")) == "too_many_copies"
    world.must(hands("9S KC", "9S 2D"))  # the same copies, in other places
    assert times_seen(world.state.shoe, Card.S9) == 8


def test_a_coup_void_before_its_settlement_is_not_corrected() -> None:
    world = World()
    world.ready()
    world.open()
    world.bet((1, "player", 1000))
    world.must(VoidCoup(transaction="v", reason="misdeal"))
    for command in (hands("9S KH", "2D 3C"), face(P, 1, Card.S9)):
        assert code(world, command) == "coup_void"


def test_a_coup_is_not_judged_by_a_rulebook_of_anwrong_currency() -> None:
    context = replace(CONTEXT, library=(load_rulebook("ez"),))
    assert code(played(context), other(load_rulebook("ez"))) == "wrong_currency"
