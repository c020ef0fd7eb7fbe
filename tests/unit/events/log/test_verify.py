"""Verifying a log by itself, and by checkpoints kept elsewhere: they find what was rewritten."""

import json
import random
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from baccarat.cli.main import main
from events.errors import InputError
from events.log.store import EventLog
from events.log.verify import BadFile, VerificationResult, parse_kept_checkpoints, verify
from events.proof.chain import next_hash, origin_hash
from events.proof.checkpoint import Checkpoint, signed_checkpoint
from events.proof.note import SigningKey, VerifierKey, signed_note
from events.types import AlarmRaised, Entry, Envelope, Stored, TableEvent
from tests.support.log.logs import (
    NAME,
    ORIGIN,
    contents,
    forging,
    grow,
    killed,
    made,
    pending,
    rehash,
)
from tests.support.table import evidence
from tests.support.table.evidence import mth, played, stored_checkpoints

# Keys of this log's table; the other is nobody's table.
KEY, THIRD_KEY = (SigningKey(ORIGIN, key.seed) for key in (evidence.KEY, evidence.THIRD_KEY))
OTHER_KEY = SigningKey("a.witness", evidence.OTHER_KEY.seed)

FIELDS = [
    *("ok", "events", "root", "first_bad", "reason"),
    *("signed_to", "keys", "unsigned_settlements", "judged", "hand_overs", "rulebooks"),
]


def verified(path: Path) -> VerificationResult:
    """The verdict, after checking that nothing was touched."""
    before = contents(path.parent)
    verdict = verify(path)
    assert contents(path.parent) == before
    assert verdict.reason is None or "\n" not in verdict.reason
    return verdict


def forged(
    path: Path, *statements: str, chain: bool = True, position: int = 0
) -> VerificationResult:
    """The verdict on the log after `statements`, without or with the chain made anew."""
    with forging(path) as db:
        for statement in statements:
            db.execute(statement, {"position": position})
        if chain:
            rehash(db)
    verdict = verified(path)
    assert not verdict.ok
    assert verdict.root is None
    return verdict


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return made(tmp_path)


@pytest.mark.parametrize("events", [0, 2, 6, 34])
def test_a_whole_log_is_ok_and_its_root_is_that_of_rfc_6962(tmp_path: Path, events: int) -> None:
    path = made(tmp_path, events)
    with EventLog.open(path, ORIGIN) as log:
        stored = list(log.read())
    root = mth([event.stored for event in stored]).hex()
    newest = stored[-1].at if stored else ""
    found = verified(path)
    assert found == VerificationResult(True, events, root, None, None, origin=ORIGIN, newest=newest)


def test_a_killed_writers_log_is_verified_with_its_wal_and_left_alone(tmp_path: Path) -> None:
    path = killed(tmp_path, events=20)
    verdict = verified(path)
    assert (verdict.ok, verdict.events) == (True, 20)
    path.with_name(f"{NAME}-wal").unlink()
    assert not verified(path).ok or verified(path).events < 20


def test_a_log_is_verified_beside_its_writer_again_and_again(path: Path) -> None:
    with EventLog.open(path, ORIGIN) as log:
        for events in range(7, 20):
            grow(log, 1)
            verdict = verify(path)
            assert (verdict.ok, verdict.events) == (True, events)
    with EventLog.open(path, ORIGIN) as log:
        assert log.position == 19


@pytest.mark.sweep
def test_every_change_of_one_stored_byte_is_found_at_its_position(tmp_path: Path) -> None:
    path = made(tmp_path, 2)
    data = bytearray(path.read_bytes())
    with EventLog.open(path, ORIGIN) as log:
        events = list(log.read())
    rng = random.Random(6962)
    for event in events:
        place = data.find(event.stored)
        assert data.count(event.stored) == 1
        for at in range(place, place + len(event.stored)):
            whole = data[at]
            data[at] = whole ^ rng.randrange(1, 256)
            path.write_bytes(data)
            verdict = verify(path)
            assert (verdict.ok, verdict.first_bad) == (False, event.position), at
            data[at] = whole
    path.write_bytes(data)
    assert verify(path).ok


def test_a_file_cut_anywhere_is_not_ok(path: Path) -> None:
    data = path.read_bytes()
    lengths = {0, 1, 15, 16, 17, 99, 100, 511, 512, len(data) - 1}
    for length in sorted(lengths | set(range(0, len(data), 1000))):
        path.write_bytes(data[:length])
        verdict = verified(path)
        assert (verdict.ok, verdict.root) == (False, None), length
        assert verdict.reason, length
    path.write_bytes(data + bytes(4096))
    assert not verified(path).ok


class Refusing:
    """A judge that refuses one event."""

    def __init__(self, position: int) -> None:
        self._position = position

    def take(self, position: int, _: Envelope | Entry, __: TableEvent) -> None:
        if position == self._position:
            raise BadFile("refused", position)

    def finish(self) -> None:
        pass


@pytest.mark.parametrize(
    ("refused", "damaged", "reason"), [(2, 4, "refused"), (4, 2, "the stored bytes are not those")]
)
def test_of_a_refused_and_a_damaged_event_the_earlier_is_named(
    path: Path, refused: int, damaged: int, reason: str
) -> None:
    with forging(path) as db:
        db.execute("UPDATE event SET hash = x'00' WHERE position = ?", (damaged,))
        (before,) = db.execute("SELECT at FROM event WHERE position = ?", (damaged - 1,)).fetchone()
        (at,) = db.execute("SELECT at FROM event WHERE position = ?", (refused,)).fetchone()
    verdict = verify(path, judging=lambda _: Refusing(refused))
    assert verdict.first_bad == 2
    assert str(verdict.reason).startswith(reason)
    assert verdict.newest == (at if refused < damaged else before)


def test_progress_is_told_up_to_the_end(path: Path) -> None:
    told: list[tuple[int, int]] = []
    assert verify(path, lambda done, events: told.append((done, events))).ok
    assert told[-1] == (6, 6)


def run(capsys: pytest.CaptureFixture[str], *args: str | Path) -> tuple[int, str, str]:
    code = main(["log", "verify", *map(str, args)])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_command_answers_in_json_and_for_people(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = verify(path).root
    code, out, err = run(capsys, path, "--json")
    expected: dict[str, Any] = {"ok": True, "events": 6, "root": root}
    told = json.loads(out)
    assert (code, list(told), err) == (0, FIELDS, "")
    assert told.items() >= {**expected, "first_bad": None, "reason": None, "signed_to": 0}.items()
    code, out, err = run(capsys, path)
    assert (code, err) == (0, "")
    assert "6 events" in out
    assert str(root) in out


def test_the_command_says_no_with_exit_code_1(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forged(path, "UPDATE event SET at = '' WHERE position = 4", chain=False)
    code, out, err = run(capsys, path, "--json")
    answer = json.loads(out)
    assert (code, answer["ok"], answer["first_bad"], answer["root"], err) == (1, False, 4, None, "")
    code, out, err = run(capsys, path)
    assert (code, err) == (1, "")
    assert "NOT ok at position 4" in out


def test_the_command_refuses_what_is_no_log_with_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("SQLite is nice\n" * 100)
    for path in (tmp_path / "none.sqlite", tmp_path, text, tmp_path / "notes.txt" / "below"):
        code, out, err = run(capsys, path, "--json")
        assert (code, out) == (2, "")
        assert err.count("\n") == 1
        assert str(path) in err


NAMES = ("a", "b", "c", "d", "e", "f")
PUBLIC = frozenset({KEY.verifier})


def alarm(name: str) -> TableEvent:
    return AlarmRaised(alarm=name, text=name * 3)


def honest(path: Path, names: Sequence[str] = NAMES, key: SigningKey | None = None) -> list[bytes]:
    """A log with an event for each name, made by the writer itself; the checkpoint of each size."""
    notes = []
    with EventLog.open(path, ORIGIN) as log:
        for name in names:
            log.append(log.position, [pending(log.position + 1, alarm(name))])
            made = Checkpoint(ORIGIN, log.position, log.root)
            notes.append(signed_checkpoint(made, [key or KEY]))
            if key is not None:
                log.store_checkpoint(notes[-1])
    return notes


def held_against(
    path: Path, notes: bytes, keys: frozenset[VerifierKey] = PUBLIC
) -> VerificationResult:
    verdict = verify(path, held=parse_kept_checkpoints("kept", notes), keys=keys)
    assert verdict.reason is None or "\n" not in verdict.reason
    return verdict


def test_every_checkpoint_of_an_honest_log_agrees(tmp_path: Path) -> None:
    notes = honest(tmp_path / "log")
    for note in notes:
        assert held_against(tmp_path / "log", note).ok
    whole = held_against(tmp_path / "log", b"".join(notes))
    assert (whole.ok, whole.checkpoints) == (True, 6)


@pytest.mark.parametrize("left", range(6))
def test_every_truncation_is_found_where_it_was_cut(tmp_path: Path, left: int) -> None:
    notes = honest(tmp_path / "log")
    honest(tmp_path / "cut", NAMES[:left])
    assert verify(tmp_path / "cut").ok
    for note in notes[left:]:
        verdict = held_against(tmp_path / "cut", note)
        assert (verdict.ok, verdict.first_bad, verdict.root) == (False, left + 1, None)
        assert "missing" in str(verdict.reason)
    assert all(held_against(tmp_path / "cut", note).ok for note in notes[:left])


def _forgeries() -> list[tuple[str, list[str], int]]:
    """(what was done, the forged log, the first position that is another)."""
    made = []
    for at in range(6):
        rest = list(NAMES)
        deleted = [*rest[:at], *rest[at + 1 :], "g"]
        made.append((f"row {at + 1} deleted", deleted, at + 1))
        made.append((f"row {at + 1} changed", [*rest[:at], "x", *rest[at + 1 :]], at + 1))
        made.append((f"row {at + 1} twice", [*rest[: at + 1], *rest[at:]], at + 2))
        made.append((f"row before {at + 1} inserted", [*rest[:at], "x", *rest[at:]], at + 1))
        for other in range(at + 1, 6):
            swapped = list(rest)
            swapped[at], swapped[other] = swapped[other], swapped[at]
            made.append((f"rows {at + 1} and {other + 1} swapped", swapped, at + 1))
    return [forgery for forgery in made if forgery[2] <= 6]


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("forged", "first_bad"),
    [forgery[1:] for forgery in _forgeries()],
    ids=[forgery[0] for forgery in _forgeries()],
)
def test_a_perfect_rewrite_is_found_at_its_first_position(
    tmp_path: Path, forged: list[str], first_bad: int
) -> None:
    notes = honest(tmp_path / "log")
    honest(tmp_path / "forged", forged)
    assert verify(tmp_path / "forged").ok  # chain, columns, requests: all is as it should be
    verdict = held_against(tmp_path / "forged", b"\n".join(notes))
    assert (verdict.ok, verdict.first_bad) == (False, first_bad)
    assert "rewritten" in str(verdict.reason)
    alone = held_against(tmp_path / "forged", notes[-1])
    assert (alone.ok, alone.first_bad) == (False, 1)  # one checkpoint tells that, not where


@pytest.mark.sweep
def test_every_change_of_one_byte_is_found_though_the_chain_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "log"
    notes = b"".join(honest(path, NAMES[:2]))
    with EventLog.open(path, ORIGIN) as log:
        events = list(log.read())
    whole = path.read_bytes()
    assert all(whole.count(event.stored) == whole.count(event.hash) == 1 for event in events)
    rng = random.Random(6962)
    only_by_checkpoint = 0
    for event in events:
        for at in range(len(event.stored)):
            changed = bytearray(event.stored)
            changed[at] ^= rng.randrange(1, 256)
            path.write_bytes(_forged(whole, events, event.position, bytes(changed)))
            verdict = held_against(path, notes)
            assert (verdict.ok, verdict.first_bad) == (False, event.position), at
            only_by_checkpoint += "rewritten" in str(verdict.reason)
    path.write_bytes(whole)
    assert held_against(path, notes).ok
    assert only_by_checkpoint > 10  # an id shows what changes its cause


def _forged(data: bytes, events: Sequence[Stored], position: int, changed: bytes) -> bytes:
    """The file with other bytes at a position, and every hash from there on as it then must be."""
    head = origin_hash(ORIGIN)
    for event in events:
        stored = changed if event.position == position else event.stored
        head = next_hash(head, stored)
        data = data.replace(event.stored, stored).replace(event.hash, head)
    return data


def test_every_change_of_one_byte_of_the_kept_file_is_found(tmp_path: Path) -> None:
    (note,) = honest(tmp_path / "log", NAMES[:1])
    rng = random.Random(96)
    for at in range(len(note)):
        changed = note[:at] + bytes([note[at] ^ rng.randrange(1, 256)]) + note[at + 1 :]
        with suppress(InputError):
            assert not held_against(tmp_path / "log", changed).ok, at


@pytest.mark.sweep
@pytest.mark.parametrize("signed", [False, True])
def test_a_change_of_any_byte_of_the_file_is_found_or_changes_nothing(
    tmp_path: Path, signed: bool
) -> None:
    path = played(tmp_path / "table.sqlite", coups=1) if signed else made(tmp_path)
    public = frozenset({evidence.KEY.verifier} if signed else ())
    whole, data = verify(path, keys=public), path.read_bytes()
    assert whole.ok
    notes = [note for _, note in stored_checkpoints(path)]
    places = [data.index(note) + at for note in notes for at in range(len(note))]
    rng = random.Random(4096)
    places += [rng.randrange(16, len(data)) for _ in range(300)]
    bad = 0
    for at in places:
        path.write_bytes(data[:at] + bytes([data[at] ^ rng.randrange(1, 256)]) + data[at + 1 :])
        verdict = verify(path, keys=public)
        assert not verdict.ok or verdict == whole, at
        assert not verdict.ok or at not in places[:-300], at
        bad += not verdict.ok
    assert bad - len(places[:-300]) > 50


# ---- whose checkpoint, whose key ----


def one(size: int, leaves: Sequence[bytes], *keys: SigningKey, origin: str = ORIGIN) -> bytes:
    return signed_checkpoint(Checkpoint(origin, size, mth(leaves[:size])), keys)


@pytest.fixture
def log(tmp_path: Path) -> tuple[Path, list[bytes]]:
    path = tmp_path / "log"
    honest(path, key=KEY)
    with EventLog.open(path, ORIGIN) as opened:
        return path, [event.stored for event in opened.read()]


def test_another_logs_checkpoint_is_no_proof_of_this_one(log: tuple[Path, list[bytes]]) -> None:
    verdict = held_against(log[0], one(6, log[1], KEY, origin="sydney/t2"))
    assert "'sydney/t2', not of 'sydney/t1'" in str(verdict.reason)
    assert verdict.first_bad is None


def test_a_checkpoint_signed_by_a_stranger_is_refused(log: tuple[Path, list[bytes]]) -> None:
    verdict = held_against(log[0], one(6, log[1], OTHER_KEY))
    assert "the public key" in str(verdict.reason)
    assert str(OTHER_KEY.verifier)[:18] in str(verdict.reason)


def test_a_badly_signed_checkpoint_is_refused(log: tuple[Path, list[bytes]]) -> None:
    good, other = one(6, log[1], KEY), one(5, log[1], KEY)
    mixed = good.partition(b"\n\n")[0] + b"\n\n" + other.partition(b"\n\n")[2]
    assert "badly signed" in str(held_against(log[0], mixed).reason)


def test_the_name_of_a_key_is_not_the_key(log: tuple[Path, list[bytes]]) -> None:
    assert THIRD_KEY.name == KEY.name
    assert not held_against(log[0], one(6, log[1], THIRD_KEY)).ok


def test_a_witness_beside_the_log_is_tolerated_and_counts_where_it_is_given(
    log: tuple[Path, list[bytes]],
) -> None:
    path, leaves = log
    assert held_against(path, one(6, leaves, OTHER_KEY, KEY)).ok
    both = PUBLIC | {OTHER_KEY.verifier}
    assert held_against(path, one(6, leaves, OTHER_KEY), both).ok


def test_the_checkpoint_before_the_first_event_agrees(log: tuple[Path, list[bytes]]) -> None:
    assert held_against(log[0], one(0, log[1], KEY)).ok


def test_a_forger_who_signs_every_checkpoint_anew_is_found_by_the_true_key(tmp_path: Path) -> None:
    notes = honest(tmp_path / "log", key=KEY)
    honest(tmp_path / "forged", [*NAMES[:3], "x", "y", "z"], key=THIRD_KEY)
    verdict = held_against(tmp_path / "forged", notes[-1])
    assert (verdict.ok, verdict.first_bad) == (False, 1)
    without = verify(tmp_path / "forged", keys=PUBLIC)
    assert (without.ok, without.first_bad) == (False, None)


def test_stored_checkpoints_narrow_down_where_a_rewrite_began(tmp_path: Path) -> None:
    path = played(tmp_path / "table.sqlite", coups=3)
    kept = stored_checkpoints(path)
    other = tmp_path / "other.sqlite"
    played(other, coups=2)  # the same up to there, and then cut: the newest is missing
    verdict = held_against(other, kept[-1][1])
    with closing(sqlite3.connect(other)) as db:
        (events,) = db.execute("SELECT count(*) FROM event").fetchone()
    assert (verdict.ok, verdict.first_bad) == (False, events + 1)


def test_a_key_proves_nothing_on_a_log_without_checkpoints(tmp_path: Path) -> None:
    honest(tmp_path / "log")
    assert verify(tmp_path / "log").ok
    assert "proves nothing" in str(verify(tmp_path / "log", keys=PUBLIC).reason)


# ---- the command ----


def test_the_command_holds_a_file_against_a_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notes = honest(tmp_path / "log")
    honest(tmp_path / "cut", NAMES[:4])
    kept, public = tmp_path / "kept.txt", str(KEY.verifier)
    kept.write_bytes(b"\n".join(notes))  # as `mosquitto_sub` writes them
    code, out, err = run(capsys, tmp_path / "log", "--checkpoint", kept, "--key", public, "--json")
    told = json.loads(out)
    assert (code, err, told["ok"], told["events"], told["first_bad"]) == (0, "", True, 6, None)
    assert list(told) == FIELDS
    code, out, err = run(capsys, tmp_path / "log", "--checkpoint", kept, "--key", public)
    assert "6 checkpoints agree\n" in out
    assert "signed to" not in out  # the whole of it
    code, out, err = run(capsys, tmp_path / "cut", "--checkpoint", kept, "--key", public, "--json")
    told = json.loads(out)
    assert (code, err, told["ok"], told["root"], told["first_bad"]) == (1, "", False, None, 5)
    assert f"{kept}, checkpoint 5, covers 5 events" in told["reason"]
    code, out, _ = run(capsys, tmp_path / "cut", "--checkpoint", kept, "--key", public)
    assert code == 1
    assert "NOT ok at position 5" in out


def test_the_command_says_what_was_not_proved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    honest(tmp_path / "log")
    assert "it may have been cut or rewritten" in run(capsys, tmp_path / "log")[1]
    played(tmp_path / "table.sqlite")
    path = tmp_path / "table.sqlite"
    assert "by the keys that the log itself names" in run(capsys, path)[1]
    with evidence.signed_table(path, key=evidence.OTHER_KEY, retiring=evidence.KEY) as table:
        table.open((1, "player", 1000))
        events = table.log.position
        signed = events - 3
    line = f"\nsigned to {signed} of {events}\n"
    handed = f"at position {signed} the key {evidence.KEY.verifier} handed over to "
    handed += str(evidence.OTHER_KEY.verifier)
    public = str(evidence.KEY.verifier)
    out = run(capsys, path, "--key", public)[1]
    assert line in out
    assert out.endswith(f"\n{handed}\n")
    told = json.loads(run(capsys, path, "--key", public, "--json")[1])["hand_overs"]
    after = str(evidence.OTHER_KEY.verifier)
    assert told == [{"position": signed, "before": public, "after": after}]


def test_the_command_refuses_files_that_are_no_checkpoints_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (note, *_) = honest(tmp_path / "log")
    for name, data in {
        "empty": b"",
        "blank": b"\n\n",
        "junk": b"hello\n",
        "binary": bytes(range(256)) * 9,
        "note": signed_note("no\ncheckpoint\n", [KEY]),
        "half": note[:-20],
        "one-and-junk": note + b"hello\n",
    }.items():
        (tmp_path / name).write_bytes(data)
        code, out, err = run(capsys, tmp_path / "log", "--checkpoint", tmp_path / name, "--json")
        assert (code, out, err.count("\n")) == (2, "", 1), name
        assert name in err
    for missing in (tmp_path, tmp_path / "none"):
        assert run(capsys, tmp_path / "log", "--checkpoint", missing)[0] == 2
    assert run(capsys, tmp_path / "log", "--key", "nonsense")[0] == 2
