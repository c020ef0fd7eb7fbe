"""A table opens no log whose past it did not sign, and says of each case what to do."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from events.commands import CloseFloat, EndShoe, OpenFloat
from events.errors import LogRefused
from events.log.packing import convert
from events.log.segments import archive_folder, segments_in
from events.log.store import EventLog
from events.log.verify import verify
from events.log.vouching import LogKeys, head_of
from events.mqtt.process import Steps
from events.mqtt.topics import Topics
from events.proof.checkpoint import Checkpoint, parse_checkpoint, signed_checkpoint
from events.proof.note import SigningKey
from events.types import LogAdopted, Pieces
from table_core.process.checkpoints import CheckpointKeys
from table_core.rulebooks.shipped import load_rulebook
from table_core.service.table import Table
from tests.support.log.attacker import bases
from tests.support.log.closed_books import table_on
from tests.support.log.logs import events_in, forging, keep, rehash
from tests.support.table.evidence import (
    KEY,
    ORIGIN,
    OTHER_KEY,
    THIRD_KEY,
    SignedTable,
    played,
    signed_table,
    stored_checkpoints,
)

PUBLIC = frozenset({KEY.verifier})
STRANGER = SigningKey("site/t9", bytes(range(5, 37)))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A log of three coups, with its head beside it."""
    log = tmp_path / "table.sqlite"
    with signed_table(log, head=head_of(log)) as table:
        for _ in range(3):
            table.coup()
    return log


def opened(path: Path) -> None:
    EventLog.open(path, ORIGIN, LogKeys(PUBLIC, head_of(path))).close()


def adoptions(path: Path) -> list[LogAdopted]:
    return [event for event in events_in(path) if isinstance(event, LogAdopted)]


def never_signed(path: Path) -> Path:
    """A log that a table has played without a key."""
    with forging(played(path)) as db:
        db.execute("DELETE FROM checkpoint")
    return path


def size_of(note: bytes) -> int:
    return parse_checkpoint(note)[0].size


# ---- what is in order ----


def test_a_new_log_is_not_adopted_and_its_head_follows_every_checkpoint(path: Path) -> None:
    assert adoptions(path) == []
    with closing(sqlite3.connect(path)) as db:
        ((newest,),) = db.execute("SELECT note FROM checkpoint ORDER BY size DESC LIMIT 1")
    assert head_of(path).read_bytes() == newest
    assert head_of(path).stat().st_mode & 0o077 == 0
    opened(path)


def test_the_first_start_adopts_what_it_finds_once_and_says_so_in_an_event(tmp_path: Path) -> None:
    path = never_signed(tmp_path / "table.sqlite")
    before = len(events_in(path))
    for _ in range(2):
        with signed_table(path, head=head_of(path)):
            pass
    (adopted,) = adoptions(path)
    assert (adopted.size, adopted.by, adopted.reason) == (before, "", "first_start")
    told = verify(path, keys=PUBLIC)
    assert (told.ok, told.signed_to, told.keys) == (True, told.events, (str(KEY.verifier),))


def test_a_log_of_the_release_that_kept_no_head_is_adopted(tmp_path: Path) -> None:
    for base in bases(tmp_path):
        head_of(base.log).unlink()
        with EventLog.open(base.log, base.origin, LogKeys(base.keys, head_of(base.log))) as log:
            assert log.adopts, base.folder.name


def test_a_kill_between_checkpoint_and_head_is_in_order(path: Path) -> None:
    old = head_of(path).read_bytes()
    with signed_table(path, head=head_of(path)) as table:
        table.coup()
    head_of(path).write_bytes(old)
    opened(path)


def test_a_kill_before_the_checkpoint_leaves_a_settlement_that_the_next_start_signs(
    path: Path,
) -> None:
    with signed_table(path, head=head_of(path)) as table:
        table.coup_without_checkpoint()
    unsigned = verify(path, keys=PUBLIC)
    assert (unsigned.ok, unsigned.unsigned_settlements) == (True, 1)
    with signed_table(path, head=head_of(path)) as table:
        table.table.make_due_checkpoint()
    assert verify(path, keys=PUBLIC).unsigned_settlements == 0
    assert adoptions(path) == []


@pytest.mark.parametrize("key", [KEY, OTHER_KEY])
def test_a_start_signs_what_a_kill_left_before_it_appends(path: Path, key: SigningKey) -> None:
    with signed_table(path, head=head_of(path)) as table:
        table.coup_without_checkpoint()
        left = table.log.position
    with signed_table(path, key=key, retiring=KEY, head=head_of(path)) as table:
        assert left in [size for size, _ in stored_checkpoints(path)]
        assert size_of(head_of(path).read_bytes()) == table.log.position
        table.clock.passes(3 * 3600)
        table.table.perform(table.table.writer.report_access(["jo: dealer"]))
    EventLog.open(path, ORIGIN, LogKeys(PUBLIC | {key.verifier}, head_of(path))).close()


def test_a_start_signs_what_a_kill_left_before_it_adopts_a_rulebook(path: Path) -> None:
    with signed_table(path, head=head_of(path)) as table:
        table.coup_without_checkpoint()
        later = table.clock
    later.passes(3 * 3600)
    keys, book = CheckpointKeys(KEY, None, 300), load_rulebook("au-even-money")
    with EventLog.open(path, ORIGIN, LogKeys(PUBLIC, head_of(path))) as log:
        before = log.position
        Table(log, Topics("site", "t1"), book, later, roles={}, keys=keys, head=head_of(path))
        assert log.position == before + 1  # killed here
    opened(path)


def test_a_rotation_is_signed_before_it_closes_the_file(path: Path) -> None:
    with signed_table(path, head=head_of(path)) as table:
        table.table.writer.configure_rotation("shoe")
        table.coup_without_checkpoint()
        table.ask("supervisor", EndShoe(transaction="e", reason="end"))
        table.table.close_books()
        assert len(segments_in(archive_folder(path), ORIGIN)) == 1
        assert size_of(head_of(path).read_bytes()) == table.log.position
    opened(path)


def test_a_retiring_keys_head_is_the_tables_own_and_a_new_key_goes_on_from_it(path: Path) -> None:
    with signed_table(path, key=OTHER_KEY, retiring=KEY, head=head_of(path)) as table:
        table.coup()
    assert size_of(head_of(path).read_bytes()) == len(events_in(path))
    with pytest.raises(LogRefused, match="by no private key that this table holds"):
        opened(path)
    both = frozenset({KEY.verifier, OTHER_KEY.verifier})
    EventLog.open(path, ORIGIN, LogKeys(both, head_of(path))).close()


def test_a_kill_after_the_first_checkpoint_of_an_adoption_is_in_order(tmp_path: Path) -> None:
    path = never_signed(tmp_path / "table.sqlite")
    for _ in range(2):
        with signed_table(path, head=head_of(path)):
            head_of(path).unlink()
    assert len(adoptions(path)) == 2


def test_without_a_key_the_file_is_believed(path: Path) -> None:
    head_of(path).unlink()
    EventLog.open(path, ORIGIN).close()


# ---- what is not ----


def relaundered(path: Path) -> None:
    """Another past, hashes made anew, checkpoints dropped."""
    with forging(path) as db:
        db.execute(
            "UPDATE event SET bytes = CAST(replace(CAST(bytes AS TEXT), '\"stake\":2000', "
            "'\"stake\":3000') AS BLOB)"
        )
        rehash(db, ORIGIN)
        db.execute("DELETE FROM checkpoint")


def cut(path: Path, size: int = 4) -> None:
    with forging(path) as db:
        for table in ("event", "request", "cursor"):
            db.execute(f"DELETE FROM {table} WHERE position > ?", (size,))  # noqa: S608 - our names
        db.execute("DELETE FROM checkpoint WHERE size > ?", (size,))


def without_checkpoints(path: Path) -> None:
    with forging(path) as db:
        db.execute("DELETE FROM checkpoint WHERE size > (SELECT min(size) FROM checkpoint)")


def signed_by_another(path: Path) -> None:
    with forging(path) as db:
        ((size, note),) = db.execute(
            "SELECT size, note FROM checkpoint ORDER BY size DESC LIMIT 1"
        ).fetchall()
        forged = signed_checkpoint(parse_checkpoint(note)[0], [THIRD_KEY])
        db.execute("UPDATE checkpoint SET note = ? WHERE size = ?", (forged, size))


def head_of_another(path: Path) -> None:
    head_of(path).write_bytes(signed_checkpoint(Checkpoint("site/t9", 3, bytes(32)), [STRANGER]))


def head_signed_by_another(path: Path) -> None:
    mine = parse_checkpoint(head_of(path).read_bytes())[0]
    head_of(path).write_bytes(signed_checkpoint(mine, [STRANGER]))


def no_note(path: Path) -> None:
    head_of(path).write_bytes(b"no note")


def no_head(path: Path) -> None:
    head_of(path).unlink()


def no_head_but_an_earlier_past(path: Path) -> None:
    cut(path, stored_checkpoints(path)[1][0])
    no_head(path)


def adopted_by_nobody(path: Path) -> None:
    """In a person's name, behind the last signature, for the table to sign it."""
    with EventLog.open(path, ORIGIN) as log:
        keep(log, [LogAdopted(size=1, chain="00", by="Jo Ng", reason="the disk is lost")])


def adopted_and_rotated(path: Path) -> None:
    """The same, and out of the active file."""
    with EventLog.open(path, ORIGIN) as log:
        table = table_on(log, load_rulebook("au-commission"))
        table.adopt_log(by="Jo Ng", reason="the disk is lost", kept="")
        table.writer._owed = "20261127-01"  # as behind a shoe's end
        table.close_books()
        assert log.new_file() is not None


REFUSED: list[tuple[Callable[[Path], None], str]] = [
    (relaundered, "checkpoint of [0-9]+ events is missing|rewritten since the table signed"),
    (cut, "missing: the log ends at"),
    (without_checkpoints, "checkpoint of [0-9]+ events is missing"),
    (signed_by_another, r"is signed by site/t1\+[0-9a-f]+, by no private key that this table"),
    (head_of_another, "is the head of 'site/t9'"),
    (head_signed_by_another, "by no private key that this table holds"),
    (no_note, "holds no signed note"),
    (no_head, "its head .* is missing"),
    (no_head_but_an_earlier_past, "its head .* is missing"),
    (adopted_by_nobody, "adopted, and the table has not signed that"),
    (adopted_and_rotated, "signatures end at [0-9]+, before this file begins"),
]


@pytest.mark.parametrize(("forge", "reason"), REFUSED)
def test_a_past_that_is_not_the_tables_is_refused_with_what_to_do(
    path: Path, forge: Callable[[Path], None], reason: str
) -> None:
    forge(path)
    with pytest.raises(LogRefused, match=reason) as refused:
        opened(path)
    assert "baccarat log adopt CONFIG" in refused.value.reason


def no_steps() -> Steps[None]:
    """Sign nothing before money, as a forger."""
    yield from ()


def two_coups(table: SignedTable) -> None:
    table.coup_without_checkpoint()
    table.coup_without_checkpoint()


def two_moves_of_chips(table: SignedTable) -> None:
    chips, signed = (Pieces(denomination=100, pieces=1),), ("p-1", "p-2")
    opening = OpenFloat(
        transaction="o", float_id="20261127-01", currency="AUD", chips=chips, signed=signed
    )
    table.ask("supervisor", opening)
    table.ask("supervisor", CloseFloat(transaction="c", chips=chips, signed=signed))


def a_coup_and_much_later_wagers(table: SignedTable) -> None:
    table.coup_without_checkpoint()
    table.clock.passes(301)
    table.open((1, "player", 1000))


def a_coup_and_earlier_wagers(table: SignedTable) -> None:
    table.coup_without_checkpoint()
    table.clock.passes(-301)
    table.open((1, "player", 1000))


def a_coup_and_a_rotation_much_later(table: SignedTable) -> None:
    table.coup_without_checkpoint()
    table.clock.passes(301)
    rotate_unsigned(table)


def two_coups_and_a_rotation(table: SignedTable) -> None:
    two_coups(table)
    rotate_unsigned(table)


def two_coups_and_a_packed_rotation(table: SignedTable) -> None:
    two_coups_and_a_rotation(table)
    list(convert(table.log.path, pack=True))


def rotate_unsigned(table: SignedTable) -> None:
    """As a forger does, who has no key: the money is in the closed file alone."""
    table.ask("supervisor", EndShoe(transaction="e", reason="end"))
    table.table.close_books()
    assert table.log.new_file() is not None


@pytest.mark.parametrize(
    "play",
    [
        two_coups,
        two_moves_of_chips,
        a_coup_and_much_later_wagers,
        a_coup_and_earlier_wagers,
        a_coup_and_a_rotation_much_later,
        two_coups_and_a_rotation,
        two_coups_and_a_packed_rotation,
    ],
)
def test_more_unsigned_than_a_kill_leaves_is_refused(
    path: Path, play: Callable[[SignedTable], None]
) -> None:
    with signed_table(path, head=head_of(path)) as table:
        table.table.writer.before_money = no_steps
        play(table)
    with pytest.raises(LogRefused, match="the table's signatures end at"):
        opened(path)
    told = verify(path, keys=PUBLIC)
    assert not told.ok
    assert "unsigned: the signatures reach" in str(told.reason)
    assert verify(path).ok


@pytest.mark.parametrize("play", [two_coups, two_moves_of_chips])
def test_a_kill_leaves_the_money_of_one_transaction_unsigned(
    path: Path, play: Callable[[SignedTable], None]
) -> None:
    with signed_table(path, head=head_of(path)) as table:
        play(table)
    opened(path)
    told = verify(path, keys=PUBLIC)
    assert told.ok
    with closing(sqlite3.connect(path)) as db:
        money = "SELECT bytes FROM event WHERE position > ? AND (type IN (?, ?) OR type GLOB ?)"
        kinds = ("coup_settled", "float_closed", "commission_*")
        rows = db.execute(money, (told.signed_to, *kinds)).fetchall()
    assert len({json.loads(stored)["cause"] for (stored,) in rows}) == 1


def test_a_log_that_was_restored_is_refused_until_a_person_adopts_it(
    path: Path, tmp_path: Path
) -> None:
    shutil.copyfile(path, tmp_path / "backup.sqlite")
    with signed_table(path, head=head_of(path)) as table:
        table.coup()
    shutil.copyfile(tmp_path / "backup.sqlite", path)
    with pytest.raises(LogRefused, match="missing: the log ends at"):
        opened(path)
    kept = head_of(path).read_text()
    with signed_table(path) as table:
        table.table.head = head_of(path)
        table.table.adopt_log(by="Jo Ng", reason="the disk of Monday is gone", kept=kept)
        table.table.make_due_checkpoint()
    opened(path)
    (adopted,) = adoptions(path)
    assert (adopted.by, adopted.kept) == ("Jo Ng", kept)
    assert verify(path, keys=PUBLIC).ok


def test_a_second_name_of_the_file_lets_nobody_in(path: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    second = tmp_path / "elsewhere" / "table.sqlite"
    second.hardlink_to(path)
    for name in (path, second):
        with pytest.raises(LogRefused, match="has another name"):
            EventLog.open(name, ORIGIN)
    second.unlink()
    opened(path)
