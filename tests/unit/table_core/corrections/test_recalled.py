"""Coups of earlier shoes: recalled from the log as they stood, and corrected by the shell."""

import random
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from events.commands import (
    Answer,
    Command,
    CorrectCard,
    CorrectHands,
    CorrectRulebook,
    CorrectWager,
    EndShoe,
    Fill,
    LoadShoe,
    OpenBetting,
    OpenFloat,
    PlaceWager,
    ReplaceShoe,
    VoidCoup,
    WagerRequest,
)
from events.log.store import EventLog
from events.types import (
    AnyReport,
    DeviceResult,
    LinkOpen,
    LinkUp,
    Pieces,
    decode_data,
    decode_envelope,
)
from table_core.fold.dispatch import fold_all
from table_core.fold.snapshot import encode_state
from table_core.process.coup_recall import recall_coup
from table_core.rulebooks.shipped import load_rulebook, shipped_ids
from table_core.service.table import Table
from table_core.state.coup import Phase
from table_core.state.table import TableState
from tests.support.clock import FakeClock
from tests.support.log.logs import keep
from tests.support.table.coups import (
    COUP,
    NATURAL_NINE,
    ORDER,
    SHOE,
    World,
    cards,
    code,
    drawn,
    shoe_event,
)
from tests.support.table.money_game import BOOKS, Game, random_coup
from tests.support.table.settled_coups import hands, recalled
from tests.unit.table_core.test_commands_and_reports import TOPICS, log

__all__ = ["log"]

ROLES = {name: frozenset({name}) for name in ("dealer", "supervisor")}
NEXT = "20261127-02"


def table_on(log: EventLog) -> Table:
    library = tuple(map(load_rulebook, shipped_ids()))
    rulebook = load_rulebook("au-commission")
    return Table(log, TOPICS, rulebook, FakeClock(), roles=ROLES, library=library)


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["pairs first", "per_shoe"])
def test_every_coup_is_recalled_as_it_stands_now(name: str, log: EventLog) -> None:
    game, rng = Game(BOOKS[name](), seed=5), random.Random(f"recall/{name}")
    while len(game.shoes) < 2:
        coup = random_coup(rng)
        game.play(replace(coup, asked=coup.asked[:2]))
    keep(log, game.world.log)
    for shoe in (*game.shoes, game.shoe):
        found = recall_coup(log.read, log.position, f"{shoe}/1")
        expected = game.world.state if shoe == game.shoe else recalled(game.world, shoe)
        assert found is not None
        assert found.past == expected.past
        assert len(found.past) > 0
        assert found.shoe is not None
        assert expected.shoe is not None
        assert (found.shoe.id, found.shoe.order) == (shoe, expected.shoe.order)


def test_a_coup_is_recalled_while_the_float_is_older_than_its_shoe(log: EventLog) -> None:
    table, chips = table_on(log), (Pieces(2_500, 40),)
    opening = OpenFloat(
        transaction="c-1", float_id=SHOE, currency="AUD", chips=chips, signed=("s-1", "d-4")
    )
    fill = Fill(transaction="c-2", slip="F-1", chips=chips, signed=("s-1", "d-4"))
    assert table.ask("supervisor", opening, caught_up=True).result == "accepted"
    settled(table, meanwhile=lambda: table.ask("supervisor", fill, caught_up=True))
    found = recall_coup(log.read, log.position, COUP)
    assert found is not None
    (coup,) = found.past
    assert coup.id == COUP
    void = VoidCoup(transaction="v", coup=COUP, reason="dealt out of turn")
    assert table.ask("supervisor", void, caught_up=True).result == "accepted"


@pytest.mark.parametrize(
    "coup",
    ["", "x", "/", SHOE, f"{SHOE}/", f"{SHOE}/0", f'{SHOE}/1"', "20261127-09/1"],
)
def test_what_is_no_coup_of_the_log_is_not_recalled(log: EventLog, coup: str) -> None:
    settled(table_on(log))
    assert recall_coup(log.read, log.position, coup) is None


def settled(table: Table, meanwhile: Callable[[], object] = lambda: None) -> None:
    """Seat 1 has won 1,000 on Player, by a natural nine; the next shoe is on the table."""

    def ask(*commands: Command) -> None:
        for command in commands:
            assert table.ask("dealer", command, caught_up=True).result == "accepted"

    table.hear(shoe_event(1, LinkOpen(transport="pty:x")))
    table.hear(shoe_event(2, LinkUp()))
    wagers = (WagerRequest(seat=1, bet="player", stake=1000),)
    ask(
        LoadShoe(transaction="d-1", shoe=SHOE),
        OpenBetting(transaction="d-2"),
        PlaceWager(transaction="d-3", wagers=wagers),
    )
    for seq, ((hand, number), face) in enumerate(zip(ORDER, NATURAL_NINE, strict=True), start=3):
        table.hear(shoe_event(seq, drawn(hand, number, face)))
    table.hear(shoe_event(7, DeviceResult(winner="player")))
    meanwhile()
    ask(
        EndShoe(transaction="d-4"),
        LoadShoe(transaction="d-5", shoe=NEXT),
        OpenBetting(transaction="d-6"),
    )


def test_out_of_a_log_that_is_not_trusted_nothing_is_paid_again(log: EventLog) -> None:
    table = table_on(log)
    settled(table)
    table.writer.start_lockdown("position 3: it was changed")
    even, here, before = load_rulebook("au-even-money"), f"{NEXT}/1", log.position
    to = WagerRequest(seat=2, bet="banker", stake=1000)
    face = CorrectCard(
        transaction="1", coup=COUP, hand=ORDER[0][0], number=1, face=cards("8S")[0], reason="a"
    )
    lay = CorrectHands(
        transaction="2", coup=COUP, player=cards("7S KH"), banker=cards("8D KC"), reason="b"
    )
    sign = CorrectRulebook(
        transaction="4", coup=COUP, rulebook=even.id, rulebook_hash=even.hash, reason="d"
    )
    in_doubt: tuple[Command, ...] = (
        face,
        lay,
        CorrectWager(transaction="3", coup=COUP, to=to, reason="c"),
        sign,
        VoidCoup(transaction="5", coup=COUP, reason="e"),
        CorrectWager(transaction="6", coup=here, to=to, reason="f"),
        replace(sign, transaction="7", coup=here),
    )
    for command in in_doubt:
        answer = table.ask("supervisor", command, caught_up=True)
        assert (answer.result, answer.code) == ("refused", "log_unsound")
        assert "position 3: it was changed" in (answer.text or "")
        assert isinstance(table.perform(table.writer.preview("supervisor", command)), Answer)
    assert log.position == before
    # The coup on the table is finished by what everybody sees, or void.
    for command in (
        replace(face, transaction="8", coup=None),
        replace(lay, transaction="9", coup=here),
    ):
        assert table.ask("supervisor", command, caught_up=True).code == "nothing_to_correct"
    void = VoidCoup(transaction="10", coup=here, reason="the log is in doubt")
    assert table.ask("supervisor", void, caught_up=True).result == "accepted"


def test_a_supervisor_corrects_a_coup_of_an_earlier_shoe_and_the_log_says_who(
    log: EventLog,
) -> None:
    table = table_on(log)
    settled(table)
    even = load_rulebook("au-even-money")
    commands = (
        CorrectCard(
            transaction="1", coup=COUP, hand=ORDER[0][0], number=1, face=cards("8S")[0], reason="a"
        ),
        CorrectHands(
            transaction="2", coup=COUP, player=cards("7S KH"), banker=cards("8D KC"), reason="b"
        ),
        CorrectWager(
            transaction="3",
            coup=COUP,
            to=WagerRequest(seat=2, bet="banker", stake=1000),
            reason="c",
        ),
        CorrectRulebook(
            transaction="4", coup=COUP, rulebook=even.id, rulebook_hash=even.hash, reason="d"
        ),
        VoidCoup(transaction="5", coup=COUP, reason="e"),
    )
    for command, paid in zip(commands, (2000, 0, 1950, 2000, 2000), strict=True):
        before = log.position
        refused = table.ask("dealer", command, caught_up=True)
        assert refused.code == "not_allowed"
        answer = table.ask("supervisor", command, caught_up=True)
        assert (answer.result, answer.text) == ("accepted", None)
        assert table.state.totals.paid == paid
        assert {decode_envelope(each.stored).actor for each in log.read(before + 1)} == {
            "supervisor"
        }
        assert table.ask("supervisor", command, caught_up=True).result == "exists"
    assert table.state.phase is Phase.BETTING
    assert table_on(log).state == table.state


def test_a_coup_that_went_on_from_another_shoe_is_recalled_by_its_own(log: EventLog) -> None:
    world = World()
    world.ready()
    world.open()
    world.bet((1, "player", 1000))
    world.close()
    world.deal(*NATURAL_NINE[:2])
    world.must(ReplaceShoe(transaction="r", shoe=NEXT, coup="continue", reason="broken"))
    places = zip(ORDER[2:], NATURAL_NINE[2:], strict=True)
    world.say(*(drawn(hand, n, card) for (hand, n), card in places))
    world.say(DeviceResult(winner="player"))
    assert world.state.phase is Phase.SETTLED
    correct = hands("8S KH", "7D 2C")
    assert code(world, correct) == "unknown_coup"
    keep(log, world.log)
    world.context = replace(world.context, recalled=recall_coup(log.read, log.position, COUP))
    world.must(correct)
    assert world.state.totals.paid == 0
    assert fold_all(TableState(), world.log) == world.state


def test_a_coup_whose_wagers_the_state_no_longer_holds_is_corrected(log: EventLog) -> None:
    table = table_on(log)
    hear = iter(range(1, 100))

    def say(*reports: AnyReport) -> None:
        for report in reports:
            table.hear(shoe_event(next(hear), report))

    def ask(command: Command, user: str = "dealer") -> None:
        answer = table.ask(user, command, caught_up=True)
        assert answer.result == "accepted", answer

    say(LinkOpen(transport="pty:x"), LinkUp())
    ask(LoadShoe(transaction="l", shoe=SHOE))
    for coup in range(3):
        ask(OpenBetting(transaction=f"o-{coup}"))
        for first in range(0, 4_000, 500):
            wagers = tuple(
                WagerRequest(seat=1, bet="player", stake=1000, patron=f"p-{number}")
                for number in range(first, first + 500)
            )
            ask(PlaceWager(transaction=f"w-{coup}-{first}", wagers=wagers))
        say(*(drawn(*place, face) for place, face in zip(ORDER, NATURAL_NINE, strict=True)))
        say(DeviceResult(winner="player"))
    before = table.state
    assert [(len(coup.wagers), coup.slim) for coup in before.past] == [
        (0, True),
        (4_000, False),
        (4_000, False),
    ]
    assert len(encode_state(before)) < 16 * 1024 * 1024
    found = recall_coup(log.read, log.position, COUP)
    assert found is not None
    whole, others = next(iter(found.past)), list(found.past)[1:]
    assert (len(whole.wagers), len(whole.settlements[0].lines), whole.slim) == (4_000, 4_000, False)
    assert others == list(before.past)[1:]

    lost = CorrectHands(
        transaction="c", coup=COUP, player=cards("2S KH"), banker=cards("8D KC"), reason="misread"
    )
    ask(lost, "supervisor")
    slim = next(iter(table.state.past))
    assert (slim.slim, len(slim.wagers), slim.settlements[0].lines) == (True, 0, ())
    assert slim.settlements[0].revision == 2
    # Each of 4,000 wagers of 1,000 had been paid 2,000, and now loses.
    assert before.totals.paid - table.state.totals.paid == 4_000 * 2_000
    ask(VoidCoup(transaction="v", coup=COUP, reason="dealt out of turn"), "supervisor")
    # A void gives each stake back.
    assert before.totals.paid - table.state.totals.paid == 4_000 * (2_000 - 1_000)
    events = [decode_data(decode_envelope(stored.stored)) for stored in log.read()]
    assert fold_all(TableState(), events) == table.state
