"""What follows the newest signature is refused, or judged, before the table signs it.

The forger here can write every file but the private keys. Each forgery ends a log of honest coups.
"""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import pytest
from msgspec.structs import replace

from baccarat.history.log_judging import Judging, opening_judge
from events.commands import CorrectWager, EndShoe, WagerRequest
from events.errors import LogRefused
from events.log.store import EventLog
from events.log.verify import verify
from events.log.vouching import LogKeys, head_of
from events.types import (
    AlarmCleared,
    BettingOpened,
    BooksClosed,
    CheckpointKeyChanged,
    CoupSettled,
    RulebookAdopted,
    RulebookCorrected,
    SeatDifference,
    Settlement,
    TableEvent,
    Wager,
    WagerCorrected,
    event_id,
)
from table_core.fold.snapshot import encode_state, snapshot_anchor
from table_core.rulebooks.shipped import load_rulebook, shipped_books
from table_core.service.snapshots import inspect_log, restore_state, snapshot_path
from tests.support.log.logs import events_in, forging, json_bytes, keep, rehash
from tests.support.table.evidence import (
    KEY,
    ORIGIN,
    OTHER_KEY,
    SignedTable,
    signed_table,
    stored_checkpoints,
)

PUBLIC = frozenset({KEY.verifier})
BOOKS = {book.hash: book.currency for book in shipped_books().values()}
BOOK = load_rulebook("au-commission")
FORGED = "ab" * 32
_E = TypeVar("_E", bound=TableEvent)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A log of three coups, signed to its end, with its head beside it."""
    log = tmp_path / "table.sqlite"
    with signed_table(log, head=head_of(log)) as table:
        for _ in range(3):
            table.coup()
    return log


def opened(path: Path, *more: LogKeys) -> EventLog:
    """Open as the table service does."""
    (trust,) = more or (LogKeys(PUBLIC, head_of(path), BOOKS),)
    return EventLog.open(path, ORIGIN, trust, opening_judge(path, ORIGIN))


def newest(path: Path, kind: type[_E]) -> _E:
    return [event for event in events_in(path) if isinstance(event, kind)][-1]


def newest_time(path: Path) -> str:
    with closing(sqlite3.connect(path)) as db:
        ((at,),) = db.execute("SELECT at FROM event ORDER BY position DESC LIMIT 1")
    return str(at)


def forge(
    path: Path, *events: TableEvent, actor: str = "supervisor", cause: str | None = None
) -> None:
    """Append events that nobody signs."""
    with EventLog.open(path, ORIGIN) as log:
        cause = cause or f"{actor}/x-{log.position}"
        keep(log, events, at=newest_time(path), actor=actor, cause=cause)


def refused(path: Path, reason: str) -> None:
    with pytest.raises(LogRefused, match=reason):
        opened(path)


def overpaid(settled: Settlement) -> CoupSettled:
    """The next settlement of a coup, by which seat 1 wins five million."""
    line, won = settled.lines[0], 5_000_000
    lines = (
        replace(line, result="win", winnings=won, paid=line.stake + won),
        *settled.lines[1:],
    )
    paid, number = sum(each.paid for each in lines), settled.revision + 1
    return CoupSettled(
        coup=settled.coup,
        settlement=replace(
            settled,
            settlement_id=f"{settled.settlement_id.rpartition('/')[0]}/{number}",
            revision=number,
            reverses=settled.settlement_id,
            lines=lines,
            paid=paid,
            difference=(SeatDifference(seat=line.seat, paid=paid - settled.paid),),
        ),
    )


# ---- money ----


def test_transactions_of_one_cause_are_not_one_transaction(path: Path) -> None:
    settled = newest(path, CoupSettled)
    for between in (1, 2):  # the id of an event is made of its cause and place: each is another
        forge(path, *[AlarmCleared(alarm="x")] * between, settled, actor="shoe", cause="j9/1")
        forge(path, AlarmCleared(alarm="x"))
    trust = LogKeys(PUBLIC, head_of(path))
    with pytest.raises(LogRefused, match="more than a kill leaves"):
        EventLog.open(path, ORIGIN, trust)
    told = verify(path, keys=PUBLIC)
    assert "more money moved after them than a kill leaves" in str(told.reason)


@pytest.mark.parametrize("signed", [True, False])
def test_a_request_that_comes_back_is_found(path: Path, *, signed: bool) -> None:
    cause, first = "supervisor/t-99", len(events_in(path)) + 1
    forge(path, AlarmCleared(alarm="x"), cause=cause)
    if signed:
        with signed_table(path, head=head_of(path)) as table:
            table.coup()
    forge(path, AlarmCleared(alarm="x"))
    forge(path, AlarmCleared(alarm="y"))
    with forging(path) as db:
        last, stored = db.execute(
            "SELECT position, bytes FROM event ORDER BY position DESC LIMIT 1"
        ).fetchone()
        told = json.loads(stored)
        db.execute("DELETE FROM request WHERE transaction_id = ?", (told["cause"],))
        told |= {"cause": cause, "event_id": event_id(cause, 0)}
        db.execute("UPDATE event SET bytes = ? WHERE position = ?", (json_bytes(told), last))
        db.execute("UPDATE request SET position = ? WHERE transaction_id = ?", (last, cause))
        rehash(db, ORIGIN)
    with pytest.raises(LogRefused, match=f"position {first}: its request"):
        EventLog.open(path, ORIGIN)
    told = verify(path)
    assert (told.ok, told.first_bad) == (False, first)
    assert "is recorded to end later" in str(told.reason)


def test_money_that_nobody_asked_for_is_refused(path: Path) -> None:
    settled = newest(path, CoupSettled)
    wager = Wager(id="core/z/0", seat=1, bet="player", stake=900_000)
    fix = WagerCorrected(coup=settled.coup, wager=wager, reason="left out")
    forge(path, fix, actor="core", cause="core/z")
    refused(path, "money that neither shoe nor person asked for")


def test_a_corrected_wager_is_money(path: Path) -> None:
    with signed_table(path, head=head_of(path)) as table:
        table.open((2, "banker", 2000))
        table.deal()
    coup = newest(path, BettingOpened).coup
    wager = Wager(id="supervisor/z/0", seat=1, bet="player", stake=900_000)
    forge(path, WagerCorrected(coup=coup, wager=wager, reason="left out"))
    opened(path).close()  # as a kill may leave it
    forge(path, WagerCorrected(coup=coup, was=wager, reason="twice"))
    refused(path, "more than a kill leaves")


# ---- what only the log before the newest books can judge ----


def with_an_earlier_shoe(path: Path) -> None:
    with signed_table(path, head=head_of(path)) as table:
        table.ask("dealer", EndShoe(transaction=table.transaction(), reason="cut card"))
        table.table.close_books()
        table.table.make_due_checkpoint()


def test_money_of_an_earlier_shoe_is_judged_by_the_whole_log(path: Path) -> None:
    with_an_earlier_shoe(path)
    opened(path).close()
    forge(path, overpaid(newest(path, CoupSettled).settlement))
    refused(path, "coup_settled: .* has other lines, paid")


def test_money_of_a_coup_that_never_was_is_refused(path: Path) -> None:
    with_an_earlier_shoe(path)
    settled, coup = newest(path, CoupSettled).settlement, "20250101-01/1"
    invented = replace(settled, coup=coup, settlement_id=f"t1/{coup}/2/1")
    forge(path, CoupSettled(coup=coup, settlement=invented))
    refused(path, "comes before the coup began")


def test_a_kill_after_a_correction_of_an_earlier_shoe_is_in_order(path: Path) -> None:
    with_an_earlier_shoe(path)
    coup = newest(path, BettingOpened).coup
    with signed_table(path, head=head_of(path)) as table:
        to = WagerRequest(seat=4, bet="player", stake=1000)
        fix = CorrectWager(transaction="fix", coup=coup, to=to, reason="left out")
        table.ask("supervisor", fix)
        paid, position = table.table.state.totals.paid, table.log.position
    assert stored_checkpoints(path)[-1][0] < position
    with opened(path) as log:
        assert restore_state(log).state.totals.paid == paid


# ---- what a table vouches for ----


def test_a_key_that_the_table_does_not_hold_is_not_handed_over_to(path: Path) -> None:
    announced = CheckpointKeyChanged(key=str(OTHER_KEY.verifier))
    forge(path, announced, actor="core", cause="core/checkpoint_key/1")
    refused(path, "announces a key whose private key this table does not hold")
    both = frozenset({KEY.verifier, OTHER_KEY.verifier})
    opened(path, LogKeys(both, head_of(path))).close()  # killed while it handed over


def a_state_with_a_wager_more(table: SignedTable) -> tuple[BooksClosed, bytes]:
    state = table.table.state
    assert state.coup is not None
    assert state.shoe is not None
    more = Wager(id="wagers/zz/0", seat=1, bet="player", stake=900_000)
    coup = replace(state.coup, wagers=(*state.coup.wagers, more))
    data = encode_state(replace(state, coup=coup))
    log = table.log
    books = snapshot_anchor(
        replace(state, coup=coup), data, shoe=state.shoe.id, chain=log.head, peaks=log.peaks
    )
    return books, data


def test_a_snapshot_of_books_that_are_not_signed_is_not_believed(path: Path) -> None:
    with signed_table(path, head=head_of(path)) as table:
        table.open((2, "banker", 2000))
        table.deal()
        books, data = a_state_with_a_wager_more(table)
        wagers = table.table.state.coup.wagers if table.table.state.coup else ()
    forge(path, books, actor="core", cause=f"core/books/{books.size}")
    snapshot_path(path).write_bytes(data)
    with opened(path) as log:
        found = restore_state(log)
    assert found.state.coup is not None
    assert found.state.coup.wagers == wagers
    assert "another state than the books" in str(found.fault)  # and such a table signs nothing


def test_books_that_are_not_signed_cost_a_fold_and_nothing_else(path: Path) -> None:
    with signed_table(path, head=head_of(path)) as table:
        table.ask("dealer", EndShoe(transaction=table.transaction(), reason="cut card"))
        table.table.make_due_checkpoint()
        table.table.close_books()
        state = table.table.state
    assert stored_checkpoints(path)[-1][0] == len(events_in(path)) - 1
    with opened(path) as log:
        assert (log.anchor, log.checked_from) == (0, 1)
        found = restore_state(log)
        assert (found.state, found.fault) == (state, None)
    with signed_table(path, head=head_of(path)) as table:  # signs them
        table.table.make_due_checkpoint()
    with opened(path) as log:
        assert log.anchor == log.position


def test_unsigned_books_have_the_log_before_them(path: Path) -> None:
    with signed_table(path, head=head_of(path)) as table:
        books, _ = a_state_with_a_wager_more(table)
    forge(path, replace(books, peaks=()), actor="core", cause=f"core/books/{books.size}")
    refused(path, "the books do not have the log before")


# ---- rulebooks ----


def adopted(**more: str) -> RulebookAdopted:
    said = {"rulebook": BOOK.id, "rulebook_hash": BOOK.hash, "currency": BOOK.currency}
    return RulebookAdopted(**(said | more))


@pytest.mark.parametrize(
    ("cited", "reason"),
    [
        (adopted(currency="JPY"), "adopts a rulebook in JPY, which has another currency"),
        (adopted(rulebook_hash=FORGED), "cites a rulebook abababababab that is not configured"),
    ],
)
def test_a_rulebook_that_is_not_configured_is_not_adopted(
    path: Path, cited: RulebookAdopted, reason: str
) -> None:
    forge(path, cited, actor="core", cause="core/rulebook/1")
    refused(path, reason)


def corrected(coup: str) -> TableEvent:
    return RulebookCorrected(
        coup=coup, was=BOOK.id, was_hash=BOOK.hash, rulebook="x", rulebook_hash=FORGED, reason="r"
    )


def opened_by_another(coup: str) -> TableEvent:
    following = f"{coup.rpartition('/')[0]}/{int(coup.rpartition('/')[2]) + 1}"
    return BettingOpened(coup=following, rulebook="x", rulebook_hash=FORGED)


@pytest.mark.parametrize("cite", [corrected, opened_by_another])
def test_no_coup_is_played_or_corrected_by_a_rulebook_that_is_not_configured(
    path: Path, cite: Callable[[str], TableEvent]
) -> None:
    forge(path, cite(newest(path, BettingOpened).coup))
    with pytest.raises(LogRefused, match="cites a rulebook abababababab that is not configured"):
        EventLog.open(path, ORIGIN, LogKeys(PUBLIC, head_of(path), BOOKS))


def test_a_coup_goes_on_by_a_rulebook_that_is_configured_no_more(path: Path) -> None:
    with signed_table(path, head=head_of(path)) as table:
        table.open((1, "player", 1000))
        table.deal(("2S",))
    opened(path, LogKeys(PUBLIC, head_of(path), {})).close()


def test_the_honest_log_has_no_fault(path: Path) -> None:
    opened(path).close()
    assert inspect_log(path, judging=lambda origin: Judging(path, origin)) is None
