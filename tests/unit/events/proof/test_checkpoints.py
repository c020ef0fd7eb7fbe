"""Checkpoints made and kept: when, of what, by which key; and a log of before there were any."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from events.commands import CollectCommission, EndShoe, MarkUncollected, RecoverCommission, VoidCoup
from events.errors import InputError, LogRefused, LogUnwritable, OurBug
from events.log.schema import SCHEMA, SCHEMAS
from events.log.store import EventLog
from events.log.verify import verify
from events.mqtt.process import Publish, Wait
from events.proof.checkpoint import Checkpoint, parse_checkpoint, signed_checkpoint
from events.proof.note import signed_note
from events.types import DeviceResult
from table_core.process.checkpoints import CheckpointKeys
from tests.support.cage.books import book
from tests.support.log.logs import forging
from tests.support.service.steps_by_hand import StepsByHand
from tests.support.table.evidence import (
    KEY,
    ORIGIN,
    OTHER_KEY,
    SignedTable,
    by_hand,
    mth,
    openssl_says,
    played,
    signed_table,
    stored_checkpoints,
)


def sizes(path: Path) -> list[int]:
    return [size for size, _ in stored_checkpoints(path)]


@pytest.mark.process
def test_each_settlement_has_a_checkpoint_that_openssl_and_rfc_6962_confirm(
    tmp_path: Path,
) -> None:
    path = played(tmp_path / "table.sqlite", coups=3)
    with EventLog.open(path, ORIGIN) as log:
        events = list(log.read())
    settled = [event.position for event in events if event.type == "coup_settled"]
    made = stored_checkpoints(path)
    assert len(made) == 7  # the first tells of the key, and a coup's first of its wagers
    assert sum(1 for s in settled if any(size >= s for size, _ in made)) == 3
    for size, note in made:
        (origin, told, root), text, key_id, signature = by_hand(note)
        assert (origin, int(told)) == (ORIGIN, size)
        leaves = [event.stored for event in events[:size]]
        checkpoint, _ = parse_checkpoint(note)
        assert checkpoint == Checkpoint(ORIGIN, size, mth(leaves))
        assert root in checkpoint.text
        assert key_id == KEY.verifier.key_id
        assert openssl_says(tmp_path, KEY.verifier.public, text, signature)
    assert verify(path).checkpoints == 7


def test_a_table_rests_until_a_checkpoint_is_due_and_tries_again_soon_where_one_is_owed(
    tmp_path: Path,
) -> None:
    with signed_table(tmp_path / "table.sqlite") as table:
        steps = StepsByHand(table.checkpoints.run(), table.table.performers)

        def offers(*, after_s: int, taken: bool) -> None:
            assert isinstance(steps.waiting, Wait)
            assert steps.waiting.seconds == after_s
            assert isinstance(steps.answer(result=True), Publish)
            steps.answer(taken)

        offers(after_s=1, taken=True)
        table.coup_without_checkpoint()
        offers(after_s=300, taken=False)
        offers(after_s=1, taken=True)
        assert isinstance(steps.waiting, Wait)
        assert steps.waiting.seconds == 300


def test_nothing_new_makes_no_checkpoint_and_other_events_wait_for_the_clock(
    tmp_path: Path,
) -> None:
    path = tmp_path / "table.sqlite"
    with signed_table(path) as table:
        assert sizes(path) == [2]
        table.table.make_due_checkpoint()
        table.ready()
        table.table.make_due_checkpoint()
        assert sizes(path) == [2]
        table.clock.now_us += 299_999_999
        table.table.make_due_checkpoint()
        assert sizes(path) == [2]
        table.clock.now_us += 1
        table.table.make_due_checkpoint()
        assert sizes(path) == [2, table.log.position]
        table.clock.now_us += 300_000_000
        table.table.make_due_checkpoint()
        assert sizes(path) == [2, table.log.position]


def test_wagers_a_void_and_a_shoes_end_are_covered_too(tmp_path: Path) -> None:
    path = tmp_path / "table.sqlite"
    with signed_table(path) as table:
        table.ready()
        table.open((1, "player", 1000))
        table.table.make_due_checkpoint()
        assert sizes(path)[1:] == [table.log.position]
        table.ask("supervisor", VoidCoup(transaction="v", reason="misdeal"))
        table.table.make_due_checkpoint()
        assert sizes(path)[2:] == [table.log.position]
        table.ask("supervisor", EndShoe(transaction="e", reason="end"))
        table.table.make_due_checkpoint()
        assert sizes(path)[3:] == [table.log.position]


def test_a_payment_of_commission_is_covered_too(tmp_path: Path) -> None:
    path, marked = tmp_path / "table.sqlite", book("au-commission", "commission.timing=per_shoe")
    with signed_table(path, rulebook=marked) as table:
        table.ready()
        table.open((1, "banker", 1000))
        table.deal(("2S", "9D", "3S", "KC"))
        table.say(DeviceResult(winner="banker"))
        table.table.make_due_checkpoint()
        for command in (
            CollectCommission(transaction="c", seat=1, amount=10),
            MarkUncollected(transaction="m", seat=1, reason="r"),
            RecoverCommission(transaction="r", seat=1, amount=40),
        ):
            table.ask("supervisor", command)
            table.table.make_due_checkpoint()
            assert sizes(path)[-1] == table.log.position


def test_what_a_kill_cut_off_is_made_at_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "table.sqlite"
    with signed_table(path) as table:
        table.ready()
        table.open((1, "player", 1000))
        table.deal()
        dealt = table.log.position  # where the wagers are signed at the latest
        table.say(DeviceResult(winner="player"))
        position = table.log.position
    assert sizes(path) == [2, dealt]
    with signed_table(path) as table:
        assert table.log.position == position
        table.table.make_due_checkpoint()
        assert sizes(path) == [2, dealt, position]


def test_a_restart_announces_no_key_again(tmp_path: Path) -> None:
    path = played(tmp_path / "table.sqlite")
    with signed_table(path) as table:
        types = [event.type for event in table.log.read()]
    assert types.count("checkpoint_key_changed") == 1


def test_a_log_that_is_not_trusted_is_not_signed_for(tmp_path: Path) -> None:
    path = tmp_path / "table.sqlite"
    with signed_table(path) as table:
        table.ready()
        table.table.writer.start_lockdown("an event is another than was hashed")
        table.clock.now_us += 10**9
        table.table.make_due_checkpoint()
    assert sizes(path) == [2]


def test_a_new_key_is_not_announced_on_a_log_that_is_not_trusted(tmp_path: Path) -> None:
    path = played(tmp_path / "table.sqlite")
    with signed_table(path) as table:
        table.table.writer.start_lockdown("an event is another than was hashed")
        position = table.log.position
        checkpoints = table.table.sign_checkpoints(CheckpointKeys(OTHER_KEY, KEY, 300))
        table.table.make_due_checkpoint()
        assert table.log.position == position
        assert checkpoints.newest == stored_checkpoints(path)[-1][1]


def running(table: SignedTable) -> StepsByHand:
    return StepsByHand(table.checkpoints.run(), table.table.performers)


def sent(steps: StepsByHand, *, accepted: bool = True) -> list[bytes]:
    """What one round of the loop publishes."""
    publish = steps.answer(result=True)
    if not isinstance(publish, Publish):
        return []
    steps.answer(accepted)
    return [publish.payload]


def test_the_newest_is_published_once_and_again_after_the_broker_was_away(tmp_path: Path) -> None:
    path = tmp_path / "table.sqlite"
    with signed_table(path) as table:
        steps = running(table)
        [first] = sent(steps, accepted=False)
        assert sent(steps) == [first]
        assert sent(steps) == []
        table.coup_without_checkpoint()
        [settled] = sent(steps)
        assert sent(steps) == []
        table.checkpoints.kick(again=True)
        assert sent(steps) == [settled]
        table.coup_without_checkpoint()
        table.table.perform(table.checkpoints.make_last())
        last = table.log.position
    made = [note for _, note in stored_checkpoints(path)]
    assert made[0:3:2] == [first, settled]  # the wagers' is between
    assert parse_checkpoint(made[4])[0].size == last


def test_a_file_that_refuses_leaves_the_checkpoint_due_and_the_service_up(tmp_path: Path) -> None:
    path = tmp_path / "table.sqlite"
    with signed_table(path) as table:
        table.ready()
        table.clock.now_us += 10**9
        steps = running(table)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(LogUnwritable):
                table.table.make_due_checkpoint()
            assert len(sent(steps)) == 1
        assert sizes(path) == [2]
        assert len(sent(steps)) == 1
        assert sizes(path) == [2, table.log.position]


# ---- rotation ----


def rotated(path: Path, *, handed_over: bool) -> Path:
    played(path)
    with signed_table(path, key=OTHER_KEY, retiring=KEY if handed_over else None) as table:
        table.coup()
    return path


def test_at_a_rotation_both_keys_sign_once_and_the_log_tells_of_it(tmp_path: Path) -> None:
    path = rotated(tmp_path / "table.sqlite", handed_over=True)
    by = [
        [signature.name for signature in parse_checkpoint(note)[1].signatures]
        for _, note in stored_checkpoints(path)
    ]
    old, new = KEY.name, OTHER_KEY.name
    assert by == [[old]] * 5 + [[new, old], [new], [new]]
    for keys in ({KEY.verifier}, {OTHER_KEY.verifier}, {KEY.verifier, OTHER_KEY.verifier}, ()):
        assert verify(path, keys=keys).ok, keys


def test_a_key_that_the_old_one_did_not_vouch_for_must_be_given(tmp_path: Path) -> None:
    path = rotated(tmp_path / "table.sqlite", handed_over=False)
    assert verify(path).ok
    assert verify(path, keys={OTHER_KEY.verifier}).ok
    verdict = verify(path, keys={KEY.verifier})
    assert not verdict.ok
    assert "no key that was given vouches" in str(verdict.reason)


def test_a_key_may_come_back(tmp_path: Path) -> None:
    path = rotated(tmp_path / "table.sqlite", handed_over=True)
    with signed_table(path, key=KEY, retiring=OTHER_KEY) as table:
        table.coup()
    assert verify(path, keys={KEY.verifier}).ok
    with signed_table(path, key=KEY, retiring=OTHER_KEY) as table:
        types = [event.type for event in table.log.read()]
    assert types.count("checkpoint_key_changed") == 3


def test_a_retired_key_signs_nothing_newer(tmp_path: Path) -> None:
    path = rotated(tmp_path / "table.sqlite", handed_over=True)
    with signed_table(path, key=OTHER_KEY) as table:
        table.clock.now_us += 10**9
        table.say(DeviceResult(winner="tie"))
        made = Checkpoint(ORIGIN, table.log.position, table.log.root)
        table.log.store_checkpoint(signed_checkpoint(made, [KEY]))
    verdict = verify(path)
    assert "was not in force" in str(verdict.reason)


# ---- the file ----


def test_a_log_without_the_table_still_verifies_opens_and_gets_it(tmp_path: Path) -> None:
    path = tmp_path / "table.sqlite"
    _first_format(played(path))
    before = verify(path)
    assert (before.ok, before.checkpoints) == (True, 0)
    with signed_table(path) as table:
        table.coup()
    after = verify(path, keys={KEY.verifier})
    assert (after.ok, after.checkpoints) == (True, 3)
    with closing(sqlite3.connect(path)) as db:
        rows = db.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
        assert dict(rows.fetchall()) == SCHEMA


def _first_format(path: Path) -> None:
    """The file as the first format has it."""
    with closing(sqlite3.connect(path)) as db:
        for name in reversed(list(SCHEMA)):
            if name not in SCHEMAS[1]:
                kind = "TABLE" if SCHEMA[name].startswith("CREATE TABLE") else "TRIGGER"
                db.execute(f"DROP {kind} IF EXISTS {name}")
        db.execute("PRAGMA user_version=1")
        db.execute("VACUUM")


def test_one_size_has_one_checkpoint_and_an_empty_log_none(tmp_path: Path) -> None:
    with EventLog.open(tmp_path / "empty.sqlite", ORIGIN) as log:
        with pytest.raises(OurBug):
            log.store_checkpoint(b"x")
        assert log.newest_checkpoint() is None
    with signed_table(tmp_path / "table.sqlite") as table, pytest.raises(OurBug):
        table.log.store_checkpoint(b"x")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE checkpoint SET note = x'00'",
        "UPDATE checkpoint SET size = size + 1",
        "DELETE FROM checkpoint",
        "INSERT INTO checkpoint VALUES (1, x'00')",
        "INSERT INTO checkpoint VALUES (9999, x'00')",
        "INSERT OR REPLACE INTO checkpoint SELECT max(position), x'00' FROM event",
        "INSERT OR REPLACE INTO checkpoint SELECT min(size), x'00' FROM checkpoint",
    ],
)
@pytest.mark.parametrize("recursive", ["OFF", "ON"])
def test_no_statement_rewrites_a_checkpoint(tmp_path: Path, statement: str, recursive: str) -> None:
    path = played(tmp_path / "table.sqlite")
    before = stored_checkpoints(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(f"PRAGMA recursive_triggers={recursive}")
        with pytest.raises(sqlite3.IntegrityError):
            db.execute(statement)
    assert stored_checkpoints(path) == before


def test_a_log_that_must_be_opened_again_ends_the_service(tmp_path: Path) -> None:
    with signed_table(tmp_path / "table.sqlite") as table:
        table.ready()
        table.clock.now_us += 10**9
        table.log.close()
        with pytest.raises(LogUnwritable):
            sent(running(table))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("DELETE FROM event WHERE position > 20", "but a checkpoint covers"),
        ("UPDATE checkpoint SET note = x'00'", "cannot be read"),
        ("UPDATE checkpoint SET note = 7", "cannot be read"),
        ("UPDATE checkpoint SET note = (SELECT note FROM checkpoint LIMIT 1)", "is another's"),
    ],
)
def test_the_table_signs_for_no_log_that_contradicts_its_newest_checkpoint(
    tmp_path: Path, change: str, reason: str
) -> None:
    path = played(tmp_path / "table.sqlite")
    with forging(path) as db:
        db.execute(change)
        db.execute("DELETE FROM cursor")
        db.execute("DELETE FROM request WHERE position > 20")
    with pytest.raises(LogRefused, match=reason):
        SignedTable(path)


@pytest.mark.parametrize(
    "text",
    [
        "site/t1\n3\n",
        "site/t1\n\nAAAA\n",
        "site/t1\n03\nAOB/liCUvavcA+peQwQrnWnTBFdE3zwLDpxGmqxqxo8=\n",
        "site/t1\n-3\nAOB/liCUvavcA+peQwQrnWnTBFdE3zwLDpxGmqxqxo8=\n",
        "site/t1\n99999999999999999\nAOB/liCUvavcA+peQwQrnWnTBFdE3zwLDpxGmqxqxo8=\n",
        "site/t1\n3\nAOB/liCUvavcA+peQwQrnWnTBFdE3zwLDpxGmqxqxo9=\n",
        "site/t1\n3\nAOB/liCUvavcA+peQwQrnWnTBFdE3zwLDpxGmqxqxg==\n",
    ],
)
def test_a_signed_text_that_is_no_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="no checkpoint"):
        parse_checkpoint(signed_note(text, [KEY]))


def test_extension_lines_are_signed_and_left_alone() -> None:
    plain = Checkpoint(ORIGIN, 3, bytes(32))
    read, note = parse_checkpoint(signed_note(f"{plain.text}more\n", [KEY]))
    assert read == plain
    assert note.text.endswith("\nmore\n")
