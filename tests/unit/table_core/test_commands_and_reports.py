"""The table on its log: transactions, the shoe's numbers, roles, and a disk that refuses."""

import resource
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from events.cards import Hand
from events.commands import (
    Answer,
    AssignDealer,
    CloseBetting,
    Command,
    LoadShoe,
    OpenBetting,
    PlaceWager,
    TakeTable,
    VoidCoup,
    WagerRequest,
    WithdrawWager,
)
from events.errors import ConfigError, LogUnwritable
from events.log.store import EventLog
from events.mqtt.topics import Topics
from events.types import (
    LinkOpen,
    LinkUp,
    ShoeReported,
    Wager,
    WagersPlaced,
    WagersWithdrawn,
    decode_data,
    decode_envelope,
    event_id,
)
from table_core.decide.decision import DecisionContext
from table_core.decide.dispatch import decide
from table_core.fold.dispatch import fold
from table_core.process.table_writer import ShoeEventResult, parse_command
from table_core.rulebooks.shipped import load_rulebook
from table_core.service.table import Table
from tests.support.clock import FakeClock
from tests.support.table.coups import SHOE, drawn, shoe_event

P = Hand.PLAYER
TOPICS = Topics("site", "t1")
ROLES_OF = {
    "dealer": frozenset({"dealer"}),
    "supervisor": frozenset({"supervisor"}),
    "wagers": frozenset({"wagers"}),
    "display": frozenset({"display"}),
}


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    with EventLog.open(tmp_path / "table.sqlite", "site/t1") as opened:
        yield opened


def table_on(
    log: EventLog, rulebook: str = "au-commission", *, sign_corrections_from: int | None = None
) -> Table:
    return Table(
        log,
        TOPICS,
        load_rulebook(rulebook),
        FakeClock(),
        roles=ROLES_OF,
        sign_corrections_from=sign_corrections_from,
    )


@pytest.fixture
def table(log: EventLog) -> Table:
    made = table_on(log)
    made.hear(shoe_event(1, LinkOpen(transport="pty:x")))
    made.hear(shoe_event(2, LinkUp()))
    return made


def ask(table: Table, user: str, command: Command) -> Answer:
    return table.ask(user, command, caught_up=True)


def in_betting(table: Table) -> None:
    assert ask(table, "dealer", LoadShoe(transaction="l", shoe=SHOE)).result == "accepted"
    assert ask(table, "dealer", OpenBetting(transaction="o")).result == "accepted"


def wager(transaction: str, stake: int = 100, seat: int = 1) -> PlaceWager:
    return PlaceWager(
        transaction=transaction, wagers=(WagerRequest(seat=seat, bet="banker", stake=stake),)
    )


def test_two_users_may_choose_the_same_transaction_and_each_wager_has_its_own_id(
    table: Table,
) -> None:
    in_betting(table)
    for user, seat in (("wagers", 1), ("dealer", 2)):
        assert ask(table, user, wager("t-1", seat=seat)).result == "accepted"
    assert table.state.coup is not None
    assert list(table.state.coup.wagers) == ["wagers/t-1/0", "dealer/t-1/0"]
    back = WithdrawWager(transaction="b", wagers=("wagers/t-1/0",))
    assert ask(table, "wagers", back).result == "accepted"
    assert [w.seat for w in table.state.coup.wagers.values()] == [2]


def test_wagers_of_a_log_from_before_users_stood_in_their_ids_go_on(table: Table) -> None:
    in_betting(table)
    assert table.state.coup is not None
    coup = table.state.coup.id
    old = Wager(id="t-1/0", seat=1, bet="banker", stake=100)
    table.writer.state = fold(table.state, WagersPlaced(coup=coup, wagers=(old,)))
    made = decide(
        table.state,
        WithdrawWager(transaction="b", wagers=("t-1/0",)),
        DecisionContext(table="t1", rulebook=table.rulebook, user="wagers"),
    )
    assert made == (WagersWithdrawn(coup=coup, wagers=("t-1/0",)),)


@pytest.mark.parametrize(
    ("second", "field"),
    [
        (wager("w", stake=200), "wagers"),
        (replace(wager("w"), actor="somebody"), "actor"),
        (OpenBetting(transaction="w"), "command"),
    ],
)
def test_the_same_transaction_with_another_body_is_refused_naming_the_field(
    table: Table, second: Command, field: str
) -> None:
    in_betting(table)
    ask(table, "wagers", wager("w"))
    position = table.state.position
    answer = ask(table, "wagers", second)
    assert (answer.result, answer.code) == ("refused", f"exists_with_different_{field}")
    assert table.state.position == position


def test_exists_survives_a_restart(log: EventLog, table: Table) -> None:
    in_betting(table)
    first = ask(table, "wagers", wager("w"))
    again = ask(table_on(log), "wagers", wager("w"))
    assert (again.result, again.position) == ("exists", first.position)


def test_closing_what_the_first_card_has_closed_answers_exists(table: Table) -> None:
    in_betting(table)
    table.hear(shoe_event(3, drawn(Hand.PLAYER, 1, "4D")))
    answer = ask(table, "dealer", CloseBetting(transaction="c"))
    assert (answer.result, answer.position) == ("exists", table.state.position)
    late = ask(table, "wagers", wager("w"))
    assert (late.result, late.code) == ("refused", "betting_closed")


def test_a_new_journal_begins_at_one_and_the_old_ones_are_known_for_ever(
    log: EventLog, table: Table
) -> None:
    assert table.hear(shoe_event(2, LinkUp(), "j2")) is ShoeEventResult.GAP
    assert table.hear(shoe_event(1, LinkUp(), "j2")) is ShoeEventResult.APPENDED
    assert table.hear(shoe_event(1, LinkUp(), "j1")) is ShoeEventResult.DUPLICATE
    assert table.hear(shoe_event(3, LinkUp(), "j1")) is ShoeEventResult.DUPLICATE
    assert table_on(log).hear(shoe_event(1, LinkUp(), "j1")) is ShoeEventResult.DUPLICATE


def test_a_user_whom_the_configuration_does_not_know_may_do_nothing(table: Table) -> None:
    answer = ask(table, "stranger", OpenBetting(transaction="o"))
    assert (answer.result, answer.code) == ("refused", "not_allowed")


@pytest.mark.parametrize(
    ("name", "body", "code", "transaction"),
    [
        ("open_betting", b"", "invalid_request", ""),
        ("open_betting", b"\xff\xfe", "invalid_request", ""),
        ("open_betting", b"[" * 100_000, "invalid_request", ""),
        ("open_betting", b'{"transaction":7}', "invalid_request", ""),
        ("open_betting", b'{"transaction":"t","more":1}', "invalid_request", "t"),
        ("place_wager", b'{"transaction":"t","wagers":[{"seat":1,"bet":"tie","stake":1.5}]}',
         "invalid_request", "t"),
        ("open_betting", rb'{"transaction":"t","x\ud800":1}', "invalid_request", "t"),
        ("place_wager",
         rb'{"wagers":[{"patron":"\ud800","seat":1,"bet":"tie","stake":1}],"transaction":"t"}',
         "invalid_text: wagers[0].patron: holds U+D800", "t"),
        ("fold_the_table", b'{"transaction":"t"}', "unknown_command", "t"),
    ],
)  # fmt: skip
def test_junk_is_answered_and_never_raised(
    name: str, body: bytes, code: str, transaction: str
) -> None:
    answer = parse_command(name, body)
    assert isinstance(answer, Answer)
    assert (answer.result, answer.transaction) == ("refused", transaction)
    assert f"{answer.code}: {answer.text}".startswith(code)
    assert answer.text


def test_event_ids_follow_from_the_cause(log: EventLog, table: Table) -> None:
    table.hear(shoe_event(3, LinkUp()))
    (*_, last) = log.read()
    envelope = decode_envelope(last.stored)
    assert envelope.cause == "j1/3"
    assert envelope.event_id == event_id("j1/3", 0)
    assert envelope.at == "2026-11-27T21:40:07.124456789Z"
    assert isinstance(decode_data(envelope), ShoeReported)


def test_another_rulebook_waits_until_the_coup_is_over(log: EventLog, table: Table) -> None:
    in_betting(table)
    with pytest.raises(ConfigError, match=r"au-commission.*au-even-money"):
        table_on(log, "au-even-money")
    assert log.position == table.state.position
    ask(table, "supervisor", VoidCoup(transaction="v", reason="change of rules"))
    assert table_on(log, "au-even-money").state.rulebook == "au-even-money"


def test_what_the_disk_refuses_is_neither_answered_as_done_nor_acknowledged(
    log: EventLog, table: Table
) -> None:
    in_betting(table)
    before = table.state
    big = PlaceWager(
        transaction="w",
        wagers=tuple(WagerRequest(seat=n % 99 + 1, bet="tie", stake=100) for n in range(2_000)),
    )
    with no_file_may_grow(), pytest.raises(LogUnwritable, match=r"table\.sqlite"):
        ask(table, "wagers", big)
    assert table.state == before
    assert table_position(log.path) == before.position


@contextmanager
def no_file_may_grow() -> Iterator[None]:
    """A disk that takes nothing more, for this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def table_position(path: Path) -> int:
    """Where the log on the disk ends, by another connection."""
    with closing(sqlite3.connect(path)) as db:
        (position,) = db.execute("SELECT max(position) FROM event").fetchone()
    return int(position)


def test_where_dealers_have_accounts_one_takes_the_table_until_the_role_is_gone(
    log: EventLog,
) -> None:
    table = Table(
        log, TOPICS, load_rulebook("ez"), FakeClock(), roles=ROLES_OF, dealer_accounts=True
    )

    def refused(user: str, command: Command) -> str | None:
        return ask(table, user, command).code

    assert refused("dealer", OpenBetting(transaction="1")) == "no_dealer"
    assert refused("supervisor", TakeTable(transaction="2")) == "not_allowed"
    assert refused("supervisor", AssignDealer(transaction="3", dealer="mia")) == "not_a_dealer"
    assert refused("dealer", TakeTable(transaction="4")) is None
    written = [decode_envelope(each.stored) for each in log.read()][-1]
    assert (written.type, written.actor, table.state.dealer) == (
        *("dealer_assigned", "dealer"),
        "dealer",
    )
    assert refused("dealer", OpenBetting(transaction="5")) == "no_shoe"
    table.writer.set_roles({**ROLES_OF, "dealer": frozenset({"supervisor"})})
    assert refused("dealer", OpenBetting(transaction="6")) == "no_dealer"
