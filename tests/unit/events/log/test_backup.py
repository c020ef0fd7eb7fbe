"""Backups and restores: what is not proved gets no name, and nothing that is there is lost."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from baccarat.cli.main import main
from events.errors import InputError, LogRefused, LogUnwritable
from events.log.backup import back_up, restore
from events.log.store import RESTORING_SUFFIX, EventLog
from events.log.verify import verify
from table_core.service.snapshots import inspect_log
from tests.support.log.closed_books import SITE_T1, Closed, closed, table_on
from tests.support.log.logs import contents, forging, grow, killed, made
from tests.support.table.evidence import played
from tests.support.table.money_game import BOOKS

RULEBOOK = BOOKS["au-commission"]()


def sound(_: Path) -> str | None:
    """For logs of events that no game would make."""
    return None


@pytest.fixture
def game(tmp_path: Path) -> Closed:
    return closed(tmp_path / "data", RULEBOOK, 21, shoes=1, coups=2)


@pytest.fixture
def backup(game: Closed, tmp_path: Path) -> Path:
    file = tmp_path / "backup.sqlite"
    back_up(game.path, file, inspect_log)
    return file


def stored(path: Path) -> list[Any]:
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
        return db.execute("SELECT * FROM event ORDER BY position").fetchall()


def test_a_backup_is_the_log_alone_in_one_file(game: Closed, tmp_path: Path) -> None:
    before = contents(game.path.parent)
    file = tmp_path / "to" / "backup.sqlite"
    file.parent.mkdir()
    back_up(game.path, file, inspect_log)
    assert contents(game.path.parent) == before
    assert list(contents(file.parent)) == ["backup.sqlite"]
    assert verify(file) == verify(game.path)
    assert stored(file) == stored(game.path)


def test_a_backup_of_a_log_in_use_has_what_was_appended_by_then(tmp_path: Path) -> None:
    path, file = tmp_path / "table.sqlite", tmp_path / "backup.sqlite"
    with EventLog.open(path, "sydney/t1") as log:
        grow(log, 5)
        back_up(path, file, sound)
        grow(log, 5)
        assert log.position == 10
    assert verify(file).events == 5


def test_a_backup_of_what_a_killed_writer_left_has_the_events_of_its_wal(tmp_path: Path) -> None:
    path = killed(tmp_path)
    before = contents(path.parent)
    back_up(path, tmp_path / "backup.sqlite", sound)
    assert contents(path.parent) == before
    assert verify(tmp_path / "backup.sqlite").events == 6


def test_a_backup_never_replaces_a_file(game: Closed, tmp_path: Path) -> None:
    file = tmp_path / "backup.sqlite"
    file.write_bytes(b"mine")
    with pytest.raises(InputError, match="is there already"):
        back_up(game.path, file, inspect_log)
    assert file.read_bytes() == b"mine"


def test_a_log_that_is_not_sound_gets_no_backup(game: Closed, tmp_path: Path) -> None:
    with forging(game.path) as db:
        db.execute("UPDATE event SET bytes = CAST(bytes || ' ' AS BLOB) WHERE position = 9")
    before = contents(tmp_path)
    with pytest.raises(LogRefused, match="position 9: "):
        back_up(game.path, tmp_path / "backup.sqlite", inspect_log)
    assert contents(tmp_path) == before


def test_a_log_that_does_not_fold_gets_no_backup(tmp_path: Path) -> None:
    path = made(tmp_path)  # betting closes in it that was never opened
    with pytest.raises(LogRefused, match="betting_closed"):
        back_up(path, tmp_path / "backup.sqlite", inspect_log)
    assert not (tmp_path / "backup.sqlite").exists()


def test_an_inspection_that_is_cut_off_leaves_nothing(game: Closed, tmp_path: Path) -> None:
    def interrupted(_: Path) -> str | None:
        raise KeyboardInterrupt

    before = contents(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        back_up(game.path, tmp_path / "backup.sqlite", interrupted)
    with pytest.raises(KeyboardInterrupt):
        restore(game.path, tmp_path / "table.sqlite", interrupted)
    assert contents(tmp_path) == before


def test_no_log_and_no_folder_are_bad_input(game: Closed, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        back_up(tmp_path / "none.sqlite", tmp_path / "backup.sqlite", inspect_log)
    with pytest.raises(LogUnwritable, match="No such file"):
        back_up(game.path, tmp_path / "none" / "backup.sqlite", inspect_log)
    with pytest.raises(InputError, match="no such folder"):
        restore(game.path, tmp_path / "none" / "table.sqlite", inspect_log)
    with pytest.raises(InputError, match="the log itself"):
        restore(game.path, game.path, inspect_log, replace=True)
    with pytest.raises(InputError, match="a folder"):
        restore(game.path, tmp_path, inspect_log, replace=True)


# ---- restoring ----


def test_a_restored_log_is_the_table_as_it_was_and_goes_on(
    game: Closed, backup: Path, tmp_path: Path
) -> None:
    path = tmp_path / "new" / "table.sqlite"
    path.parent.mkdir()
    assert restore(backup, path, inspect_log) is None
    assert sorted(contents(path.parent)) == ["table.sqlite", "table.sqlite.lock"]
    assert stored(path) == stored(game.path)
    with EventLog.open(path, SITE_T1) as log:
        assert table_on(log, RULEBOOK).state == game.state
        # What an older session says is ignored: the restored table's are beyond all there were.
        assert log.next_session() == 1_000_000_001


def test_a_log_that_is_there_is_not_replaced_unless_that_is_said(
    game: Closed, backup: Path
) -> None:
    before = contents(game.path.parent)
    with pytest.raises(InputError, match="--replace"):
        restore(backup, game.path, inspect_log)
    assert contents(game.path.parent) == before


def test_a_wal_that_lost_its_log_is_not_written_over(backup: Path, tmp_path: Path) -> None:
    path = tmp_path / "other" / "table.sqlite"
    path.parent.mkdir()
    path.with_name("table.sqlite-wal").write_bytes(b"events, perhaps")
    with pytest.raises(InputError, match=r"table\.sqlite-wal: is there already"):
        restore(backup, path, inspect_log)


def test_the_log_that_is_replaced_is_moved_away_whole(tmp_path: Path) -> None:
    path = killed(tmp_path)
    main, wal = path.read_bytes(), path.with_name(f"{path.name}-wal").read_bytes()
    other = made(tmp_path / "other", events=4)
    for number in (1, 2):
        replaced = restore(other, path, sound, replace=True)
        assert replaced == path.with_name(f"table.sqlite.replaced-{number}")
        assert verify(path).events == 4
    first = path.with_name("table.sqlite.replaced-1")
    assert first.read_bytes() == main
    assert first.with_name(f"{first.name}-wal").read_bytes() == wal
    assert verify(first).events == 6


def test_a_table_that_runs_keeps_its_log(game: Closed, backup: Path) -> None:
    with EventLog.open(game.path, SITE_T1) as log:
        with pytest.raises(LogRefused, match="another writer"):
            restore(backup, game.path, inspect_log, replace=True)
        assert log.position == game.state.position


@pytest.mark.parametrize("size", [0, 1, 20, 4096, -4096, -1])
def test_a_torn_backup_is_refused(backup: Path, tmp_path: Path, size: int) -> None:
    backup.write_bytes(backup.read_bytes()[:size])
    path = tmp_path / "new" / "table.sqlite"
    path.parent.mkdir()
    with pytest.raises((LogRefused, InputError)):
        restore(backup, path, inspect_log)
    assert contents(path.parent) == {}


def test_a_foreign_file_is_refused(game: Closed, tmp_path: Path) -> None:
    text, database = tmp_path / "notes.txt", tmp_path / "other.sqlite"
    text.write_text("not a log" * 100)
    with closing(sqlite3.connect(database)) as db:
        db.execute("CREATE TABLE event (position INTEGER PRIMARY KEY)")
    before = contents(game.path.parent)
    for file in (text, database):
        with pytest.raises((LogRefused, InputError)):
            restore(file, game.path, inspect_log, replace=True)
    assert contents(game.path.parent) == before


def test_the_log_of_another_table_does_not_take_this_ones_place(
    game: Closed, tmp_path: Path
) -> None:
    other = made(tmp_path / "other")
    with pytest.raises(LogRefused, match="the log of site/t1, but the backup is of sydney/t1"):
        restore(other, game.path, sound, replace=True)
    assert verify(game.path).events == game.state.position


def test_a_log_that_cannot_be_read_any_more_can_be_replaced(game: Closed, backup: Path) -> None:
    game.path.write_bytes(b"nothing of it is left")
    replaced = restore(backup, game.path, inspect_log, replace=True)
    assert replaced is not None
    assert replaced.read_bytes() == b"nothing of it is left"
    assert verify(game.path).events == game.state.position


def test_a_restore_that_was_cut_off_in_mid_move_lets_no_empty_log_begin(
    game: Closed, backup: Path
) -> None:
    game.path.rename(game.path.with_name("table.sqlite.replaced-1"))
    shutil.copyfile(backup, game.path.with_name(game.path.name + RESTORING_SUFFIX))
    with pytest.raises(LogRefused, match="restore it once more"):
        EventLog.open(game.path, SITE_T1)
    assert restore(backup, game.path, inspect_log) is None
    with EventLog.open(game.path, SITE_T1) as log:
        assert log.position == game.state.position


# ---- the commands ----


def test_the_commands_say_what_they_did(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = played(tmp_path / "table.sqlite")
    file, path = tmp_path / "b.sqlite", tmp_path / "r.sqlite"
    assert main(["log", "backup", str(log), str(file)]) == 0
    assert main(["log", "restore", str(file), str(path)]) == 0
    assert main(["log", "restore", str(file), str(path), "--replace"]) == 0
    said = capsys.readouterr()
    assert f"{file}: a verified copy of {log}" in said.out
    assert f"{path}: restored from {file} and verified" in said.out
    assert f"{path}.replaced-1: the log that was there" in said.out
    assert said.err == ""


def test_what_is_not_sound_ends_the_commands_with_one_line_and_1(
    game: Closed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.sqlite"
    shutil.copyfile(game.path, bad)
    with forging(bad) as db:
        db.execute("DELETE FROM event WHERE position = 4")
    for args in (
        ["backup", str(bad), str(tmp_path / "b")],
        ["restore", str(bad), str(tmp_path / "r")],
    ):
        assert main(["log", *args]) == 1
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.startswith("baccarat: no")
        assert said.err.count("\n") == 1
        assert "position 4: missing" in said.err
    assert not (tmp_path / "b").exists()
    assert not (tmp_path / "r").exists()


def test_bad_usage_of_the_commands_is_2(
    game: Closed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    none = str(tmp_path / "none.sqlite")
    for args in (
        ["backup", none, str(tmp_path / "b")],
        ["backup", str(game.path), str(game.path)],
        ["restore", none, str(tmp_path / "r")],
        ["restore", str(game.path), str(game.path)],
        ["show", none],
        ["show", str(game.path), "--type", "nothing"],
        ["show", str(game.path), "--from", "0"],
        ["stats", none],
    ):
        assert main(["log", *args]) == 2, args
        assert capsys.readouterr().out == ""
