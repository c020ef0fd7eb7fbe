"""A snapshot beside the log is believed in nothing but its hash."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from events.errors import LogRefused, UnreadableEvent
from events.log.store import EventLog
from events.types.envelope import Envelope, decode_data
from events.types.table import TableEvent
from table_core.fold import snapshot
from table_core.fold.dispatch import FOLD_VERSION
from table_core.fold.snapshot import encode_state
from table_core.service import snapshots as books
from table_core.service.snapshots import snapshot_path, store_snapshot
from tests.support.log.closed_books import (
    ORIGIN,
    Closed,
    books_of,
    closed,
    newest_books,
    opened,
    table_on,
)
from tests.support.log.logs import forging
from tests.support.table.money_game import BOOKS

RULEBOOK = BOOKS["au-commission"]()


@pytest.fixture
def game(tmp_path: Path) -> Closed:
    return closed(tmp_path, RULEBOOK, 11)


def put(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def put_link(path: Path, to: Path) -> None:
    path.unlink()
    path.symlink_to(to)


def put_folder(path: Path, _: bytes) -> None:
    path.unlink()
    path.mkdir()


def put_pipe(path: Path, _: bytes) -> None:
    path.unlink()
    os.mkfifo(path)


def link_to_itself_elsewhere(path: Path, good: bytes) -> None:
    elsewhere = path.with_name("elsewhere")
    elsewhere.write_bytes(good)
    put_link(path, elsewhere)


HOSTILE: dict[str, Callable[[Path, bytes], None]] = {
    "missing": lambda path, _: path.unlink(),
    "empty": lambda path, _: put(path, b""),
    "truncated": lambda path, good: put(path, good[:-1]),
    "longer": lambda path, good: put(path, good + b" "),
    "one byte": lambda path, good: put(path, good.replace(b'"staked":', b'"staken":', 1)),
    "other money": lambda path, good: put(path, good.replace(b'"paid":', b'"paid":1', 1)),
    "no text": lambda path, _: put(path, b"\xff" * 64),
    "deep": lambda path, _: put(path, b"[" * 1_000_000),
    "a pickle": lambda path, _: put(path, b"cos\nsystem\n(S'false'\ntR."),
    "a link": link_to_itself_elsewhere,
    "a folder": put_folder,
    "a pipe": put_pipe,
    "endless": lambda path, _: put_link(path, Path("/dev/zero")),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_snapshot_that_is_not_that_of_the_books_is_discarded_with_a_line(
    game: Closed, what: str
) -> None:
    path = snapshot_path(game.path)
    HOSTILE[what](path, path.read_bytes())
    found, logged, folded = opened(game)
    assert found == (game.state, None, None)
    assert folded == game.state.position
    assert logged[0] == "snapshot.discarded"
    again, logged, folded = opened(game)
    assert again == found
    if what != "a folder":  # which nothing of ours replaces
        assert logged == []
        assert folded == game.state.position - newest_books(game) + 1


def test_an_older_snapshot_is_discarded(game: Closed) -> None:
    oldest = min(game.at_books)
    snapshot_path(game.path).write_bytes(encode_state(game.at_books[oldest]))
    found, logged, _ = opened(game)
    assert found == (game.state, None, None)
    assert logged == ["snapshot.discarded"]


def test_a_snapshot_of_another_table_is_discarded(game: Closed, tmp_path: Path) -> None:
    other = closed(tmp_path / "other", RULEBOOK, 12)
    shutil.copyfile(snapshot_path(other.path), snapshot_path(game.path))
    found, logged, _ = opened(game)
    assert found == (game.state, None, None)
    assert logged == ["snapshot.discarded"]


def test_books_of_another_fold_are_not_begun_from_and_are_closed_anew(
    game: Closed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "FOLD_VERSION", FOLD_VERSION + 1)
    found, logged, folded = opened(game)
    assert found.state == game.state
    assert found.fault is None
    assert logged == ["snapshot.other_build"]
    assert folded == game.state.position
    with EventLog.open(game.path, ORIGIN) as log:
        table_on(log, RULEBOOK).close_books()
    assert books_of(game.path, game.state.position + 1).fold == FOLD_VERSION + 1
    _, logged, folded = opened(game)
    assert (logged, folded) == ([], 1)


@pytest.mark.parametrize("position", [1, 7])
@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM event WHERE position = ?",
        "UPDATE event SET bytes = CAST(bytes || ' ' AS BLOB) WHERE position = ?",
        "UPDATE event SET hash = zeroblob(32) WHERE position = ?",
        "UPDATE event SET bytes = CAST(replace(bytes, '1', '2') AS BLOB) WHERE position = ?",
    ],
)
def test_without_a_snapshot_a_change_before_the_books_is_refused_with_its_position(
    game: Closed, position: int, sql: str
) -> None:
    snapshot_path(game.path).unlink()
    with forging(game.path) as db:
        db.execute(sql, (position,))
    with pytest.raises(LogRefused, match=f"position {position}: ") as refused:
        opened(game)
    assert refused.value.position == position


def test_without_a_snapshot_an_event_that_this_build_does_not_know_is_refused(
    game: Closed, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot_path(game.path).unlink()
    with EventLog.open(game.path, ORIGIN) as log:
        position = next(each.position for each in log.read() if each.type == "deal_completed")

    def as_an_older_build(envelope: Envelope) -> TableEvent:
        if envelope.type == "deal_completed":
            raise UnreadableEvent("deal_completed version 1 is newer than this build knows (0)")
        return decode_data(envelope)

    monkeypatch.setattr(books, "decode_data", as_an_older_build)
    assert position < min(game.at_books)
    with pytest.raises(LogRefused, match=f"position {position}: deal_completed"):
        opened(game)


def test_a_snapshot_that_cannot_be_kept_costs_a_line(tmp_path: Path) -> None:
    log = tmp_path / "away" / "table.sqlite"
    with capture_logs() as logs:
        store_snapshot(log, b"{}")
    assert [entry["event"] for entry in logs] == ["snapshot.not_kept"]
