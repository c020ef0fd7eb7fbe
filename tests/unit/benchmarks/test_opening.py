"""The benchmark of openings: the log that it makes is one, and the figure has its form."""

from pathlib import Path

from benchmarks.table.opening import make_log, opening
from events.log.store import EventLog
from table_core.service.snapshots import inspect_log, restore_state

EVENTS = 3_000


def test_the_benchs_log_is_sound_and_opens_at_its_books(tmp_path: Path) -> None:
    path = tmp_path / "table.sqlite"
    told: list[int] = []
    events, behind = make_log(path, EVENTS, told.append)
    assert inspect_log(path) is None
    with EventLog.open(path, "bench/t1") as log:
        assert log.position == events >= EVENTS
        assert log.checked_from == events - behind
        opened = restore_state(log)
        assert (opened.state.position, opened.owed, opened.fault) == (events, None, None)
        assert opened.state.totals.coups == 60 * 3
        assert opened.state.totals.staked == 60 * 3 * 7_000
    assert told[-1] == EVENTS


def test_the_figure_has_product_and_floor(tmp_path: Path) -> None:
    figure = opening(tmp_path, 2_000, 2, lambda _: None)
    assert (figure.name, figure.unit, figure.samples) == ("open", "ms", 2)
    assert 0 < figure.floor_p50 <= figure.floor_p99
    assert 0 < figure.p50 <= figure.p99
    assert figure.detail["events"] >= 2_000
    assert 0 < figure.detail["behind_the_books"] < 2_000
