"""The past is folded as the present was: at every cut, by every rulebook, whatever went wrong."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baccarat.history.log_facts import facts, parse_at, replay, state_at, view_of
from events.errors import InputError, LogRefused
from events.log.reader import reading
from events.log.store import EventLog
from events.mqtt.topics import Topics
from events.types import TableEvent, decode_data, decode_envelope
from table_core.fold.dispatch import fold_all
from table_core.projections.table_document import StateView, project_table
from table_core.rulebooks.shipped import load_rulebook, shipped_ids
from table_core.service.table import Table
from table_core.state.table import TableState
from tests.support.clock import ticking_clock
from tests.support.log.logs import forging
from tests.support.table.money_game import BOOKS, Game, random_coup
from tests.support.table.stories import BOOKS as SHIPPED
from tests.support.table.stories import KeptWorld, disputed_and_corrected


def states_of(log: Sequence[TableEvent]) -> list[TableState]:
    """The state at every position, 0 among them."""
    states = [TableState()]
    for event in log:
        states.append(fold_all(states[-1], [event]))
    return states


def assert_every_cut(log: Sequence[TableEvent], end: TableState) -> None:
    """fold(prefix) + fold(rest) == fold(all), and no later event has touched an earlier state."""
    states = states_of(log)
    assert states[-1] == end
    again = TableState()
    for cut, event in enumerate(log):
        assert states[cut] == again, f"the state at {cut} was changed by a later event"
        again = fold_all(again, [event])
    for cut in range(0, len(log) + 1, max(1, len(log) // 40)):
        assert fold_all(fold_all(TableState(), log[:cut]), log[cut:]) == end


@pytest.mark.sweep
@pytest.mark.parametrize("name", BOOKS)
def test_a_fold_can_be_cut_anywhere_in_every_rulebook(name: str) -> None:
    seed = f"replay {name}"
    rng = random.Random(seed)
    game = Game(BOOKS[name](), seed=7)
    for _ in range(10):
        game.play(random_coup(rng))
    assert_every_cut(game.world.log, game.world.state)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(sorted(BOOKS)), st.integers(0, 2**32), st.floats(0, 1))
def test_any_game_folds_the_same_in_two_parts(name: str, seed: int, where: float) -> None:
    rng = random.Random(seed)
    game = Game(BOOKS[name](), seed=seed)
    for _ in range(3):
        game.play(random_coup(rng))
    log, cut = game.world.log, int(where * len(game.world.log))
    assert fold_all(fold_all(TableState(), log[:cut]), log[cut:]) == game.world.state


def test_a_corrected_coup_folds_the_same_in_two_parts() -> None:
    world = disputed_and_corrected()
    assert_every_cut(world.log, world.state)


def live(folder: Path, world: KeptWorld) -> tuple[Path, dict[int, StateView]]:
    """The shoe's side of `world` told to a live table on a log; its view after each append."""
    path, clock = folder / "table.sqlite", ticking_clock()
    seen: dict[int, StateView] = {}
    rulebook = load_rulebook("au-commission")
    with EventLog.open(path, "sydney/t1") as log:
        table = Table(log, Topics("sydney", "t1"), rulebook, clock, roles={})
        for fact in world.facts:
            if fact.event.TYPE == "shoe_reported":
                table.hear(fact.event.source)  # type: ignore[attr-defined]  # by its type
            seen[table.state.position] = project_table(
                table.state, table="t1", rulebook=rulebook, catching_up=False
            )
    return path, seen


def test_the_replayed_state_is_the_live_one_wherever_the_live_one_was_told(tmp_path: Path) -> None:
    path, seen = live(tmp_path, disputed_and_corrected())
    assert len(seen) > 5
    with reading(path) as log:
        for position, told in seen.items():
            assert view_of(state_at(log, position), log, SHIPPED) == told


def test_a_time_means_the_newest_event_that_is_not_later(tmp_path: Path) -> None:
    path, _ = live(tmp_path, disputed_and_corrected())
    with reading(path) as log:
        stamps = {moment.fact.position: moment.fact.at for moment in replay(log)}
        for at in sorted(set(stamps.values())):
            newest = max(position for position, stamp in stamps.items() if stamp == at)
            assert state_at(log, at).position == newest
            assert state_at(log, parse_at(at)).position == newest
        assert state_at(log, parse_at("2099-01-01T00:00:00Z")).position == log.end


def test_times_are_read_in_any_zone_and_to_the_nanosecond() -> None:
    assert parse_at("7") == 7
    assert parse_at("2026-11-28T08:40:07.5+11:00") == "2026-11-27T21:40:07.500000000Z"
    assert parse_at("2026-11-27t21:40:07.123456789z") == "2026-11-27T21:40:07.123456789Z"
    assert parse_at("2026-11-27T21:40:07.123Z") == "2026-11-27T21:40:07.123999999Z"
    assert parse_at("2026-11-27 21:40:07Z") == "2026-11-27T21:40:07.000000000Z"


@pytest.mark.parametrize(
    "text",
    ["0", "-1", "", "1.5", "yesterday", "2026-11-27", "2026-11-27T21:40:07", "2026-13-27T21:40:07Z",
     "2026-11-27T21:40:07.1234567891Z", "2026-11-27T25:00:00Z", "\u0667", "9" * 5_000, "1\n"],
)  # fmt: skip
def test_what_is_neither_position_nor_time_is_refused_in_a_line(text: str) -> None:
    with pytest.raises(InputError, match="--at") as refused:
        parse_at(text)
    assert "\n" not in str(refused.value)


def test_beyond_the_logs_ends_there_is_nothing(tmp_path: Path) -> None:
    path = disputed_and_corrected().write(tmp_path / "table.sqlite")
    with reading(path) as log:
        with pytest.raises(InputError, match=f"the log ends at position {log.end}"):
            state_at(log, log.end + 1)
        with pytest.raises(InputError, match="the log is younger"):
            state_at(log, "1999-01-01T00:00:00.000000000Z")


def test_an_event_that_was_changed_ends_the_replay_with_its_position(tmp_path: Path) -> None:
    path = disputed_and_corrected().write(tmp_path / "table.sqlite")
    with forging(path) as db:
        (stored,) = db.execute("SELECT bytes FROM event WHERE position = 9").fetchone()
        changed = bytes(stored).replace(b'"stake":1000', b'"stake":9000')
        assert changed != stored
        db.execute("UPDATE event SET bytes = ? WHERE position = 9", (changed,))
    with reading(path) as log, pytest.raises(LogRefused, match="position 9: the hash chain"):
        list(replay(log))


def test_what_is_read_is_what_was_stored(tmp_path: Path) -> None:
    world = disputed_and_corrected()
    path = world.write(tmp_path / "table.sqlite")
    with reading(path) as log:
        told = list(facts(log))
        stored = list(log.read())
    assert [fact.event for fact in told] == world.log
    assert [fact.digest for fact in told] == [each.hash.hex() for each in stored]
    assert [decode_data(decode_envelope(each.stored)) for each in stored] == world.log


def test_every_shipped_rulebook_is_known_by_its_hash() -> None:
    assert {book.id for book in SHIPPED.values()} == set(shipped_ids())
