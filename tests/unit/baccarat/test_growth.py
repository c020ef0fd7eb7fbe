"""No curve bends: what a table does grows no faster than its input. Counted, not timed."""

from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from events.commands import (
    Command,
    CorrectHands,
    OpenBetting,
    PlaceWager,
    VoidCoup,
    WagerRequest,
    WithdrawWager,
)
from events.log.segments import Segment, Segments, find_segments, segment_name
from events.log.store import EventLog
from events.types import (
    CoupSettled,
    CoupVoided,
    DeviceResult,
    ErrorRaised,
    Refund,
    ShoeReported,
    TableEvent,
    WagersPlaced,
)
from table_core.fold.dispatch import fold_all
from table_core.fold.snapshot import encode_state
from table_core.projections.table_document import encode_state_view, project_table
from table_core.projections.wager_pages import encode_page, pages_of
from table_core.shuffle.examination import examine
from table_core.state.coup import Phase
from table_core.state.table import KEPT_JOURNALS, MORE_ERRORS, MOST_ERRORS, Coup, TableState
from tests.support.cage.books import book
from tests.support.cage.ledgers import MemoryLedger
from tests.support.growth import SIZES, steps_of
from tests.support.log.logs import ORIGIN, grow, made
from tests.support.shoe.false_shuffles import honest
from tests.support.table.coups import (
    NATURAL_NINE,
    ORDER,
    World,
    cards,
    drawn,
    shoe_event,
    world_in,
)
from tests.support.table.large_coups import place, placed
from tests.support.table.settled_coups import other, wager

# How much more than in proportion a curve may grow from one size to the next: a tree's logarithm.
SLACK = 1.3


Sizes = tuple[int, ...]


@pytest.fixture(params=[SIZES, pytest.param((*SIZES, 10_000), marks=pytest.mark.soak)], ids=len)
def sizes(request: pytest.FixtureRequest) -> Sizes:
    """How large the input is, from one measure to the next."""
    found: Sizes = request.param
    return found


def grows_in_proportion(measure: Callable[[int], int], sizes: Sizes) -> None:
    """Ten times the input may take ten times the steps."""
    counts = [measure(size) for size in sizes]
    for (less, before), (more, after) in zip(
        zip(sizes, counts, strict=True), zip(sizes[1:], counts[1:], strict=False), strict=False
    ):
        assert after <= before * more / less * SLACK, dict(zip(sizes, counts, strict=True))


def stays(measure: Callable[[int], int], sizes: Sizes) -> None:
    """However large the input is, the measure stays what it was at the middle size."""
    counts = [measure(size) for size in sizes]
    assert counts[-1] <= counts[1] * SLACK, dict(zip(sizes, counts, strict=True))


def segments(folder: Path, count: int) -> Path:
    there = folder / str(count)
    there.mkdir(exist_ok=True)
    for number in range(count):
        (there / segment_name("site/t1", number * 10 + 1, number * 10 + 11)).touch()
    return there


def test_closed_files_are_listed_in_one_pass(tmp_path: Path, sizes: Sizes) -> None:
    def measure(count: int) -> int:
        folder = segments(tmp_path, count)
        return steps_of(lambda: find_segments(folder, "site/t1", count * 10 + 1))

    grows_in_proportion(measure, sizes)


def test_a_position_is_found_among_closed_files_by_halving(sizes: Sizes) -> None:
    def measure(count: int) -> int:
        files = tuple(Segment(Path(str(n)), n * 10 + 1, n * 10 + 11) for n in range(count))
        closed = Segments("site/t1", files)
        return steps_of(lambda: closed._file_of(count * 5))

    stays(measure, sizes)


def test_placing_a_wager_looks_at_no_other(sizes: Sizes) -> None:
    # Of a whole block of wagers, since their totals are made once a block.
    def measure(count: int) -> int:
        world = placed(count)
        return steps_of(lambda: place(world, range(count, count + 32)))

    stays(measure, sizes)


def withdrawing(pick: Callable[[list[str]], Iterable[str]]) -> Callable[[int], int]:
    """The steps of a command that withdraws those of so many wagers that are picked."""

    def measure(count: int) -> int:
        world = placed(count)
        assert world.state.coup is not None
        names = tuple(pick(list(world.state.coup.wagers)))
        return steps_of(lambda: world.must(WithdrawWager(transaction="x", wagers=names)))

    return measure


@pytest.mark.parametrize(
    "pick",
    [
        lambda names: names[-1:],
        lambda names: names[:1],
        lambda names: [names[len(names) // 2]],
        lambda names: [Random(len(names)).choice(names)],
    ],
    ids=["newest", "oldest", "middle", "random"],
)
def test_withdrawing_a_wager_looks_at_no_other(
    pick: Callable[[list[str]], list[str]], sizes: Sizes
) -> None:
    # Where the totals have every wager, and where one is not in them yet.
    for beyond in (0, 1):
        stays(withdrawing(pick), tuple(max(size // 32, 1) * 32 + beyond for size in sizes))


def test_withdrawing_wagers_looks_at_each_a_few_times(sizes: Sizes) -> None:
    # Every second in one command: a wager withdrawn costs a constant then.
    grows_in_proportion(withdrawing(lambda names: names[::2]), sizes)


def test_withdrawing_all_in_random_order_takes_a_constant_for_each(sizes: Sizes) -> None:
    def measure(count: int) -> int:
        world = placed(count)
        assert world.state.coup is not None
        names = list(world.state.coup.wagers)
        Random(count).shuffle(names)

        def withdraw() -> None:
            for number, name in enumerate(names):
                world.must(WithdrawWager(transaction=f"x-{number}", wagers=(name,)))

        steps = steps_of(withdraw)
        assert not world.state.coup.wagers
        return steps

    grows_in_proportion(measure, sizes)


@pytest.mark.parametrize(
    "act",
    [
        lambda log: grow(log, 10, "anna/new"),
        lambda log: log.recorded("anna/t-1"),
        lambda log: list(log.read(2, 3)),
    ],
    ids=["append", "recorded", "read"],
)
def test_a_log_reads_as_many_rows_however_long_it_is(
    act: Callable[[EventLog], object], tmp_path: Path
) -> None:
    def measure(count: int) -> int:
        steps = 0

        def count_step() -> int:
            nonlocal steps
            steps += 1
            return 0

        (tmp_path / str(count)).mkdir()
        with EventLog.open(made(tmp_path / str(count), events=4), ORIGIN) as log:
            grow(log, count)
            log._files._db.set_progress_handler(count_step, 1)  # each of SQLite's own steps
            act(log)
        return steps

    stays(measure, (10, 100, 1_000, 10_000))


def test_a_shoe_is_compared_with_each_earlier_one_in_as_many_steps() -> None:
    rng = Random(37)
    shoes = [(str(number), honest(rng)) for number in range(400)]

    def measure(count: int) -> int:
        return steps_of(lambda: examine(shoes[0][1], 8, shoes[1:count]))

    grows_in_proportion(measure, (4, 40, 400))


def reported(journals: int, errors: int) -> World:
    """A table whose driver has told of so many errors, and begun so many journals."""
    world = world_in(Phase.NONE)
    for number in range(max(journals, errors)):
        error = ErrorRaised(code=f"e{number % errors:05}", latched=False)
        source = shoe_event(number + 1, error, f"j{number % journals:05}")
        world.take([ShoeReported(source=source)])
    return world


def test_journals_and_errors_do_not_fill_the_state() -> None:
    for measure in (
        lambda count: len(encode_state(reported(count, 1).state)),
        lambda count: len(encode_state(reported(1, count).state)),
    ):
        stays(measure, (100, 1_000, 10_000))
    link = reported(2_000, 1_000).state.link
    assert link.past == tuple(f"j{n:05}" for n in range(1_999 - KEPT_JOURNALS, 1_999))
    assert len(link.errors) == MOST_ERRORS + 1
    assert MORE_ERRORS in link.errors


def test_the_state_message_is_bounded_and_its_pages_hold_the_wagers(sizes: Sizes) -> None:
    def message(count: int) -> int:
        world = placed(count)
        document = project_table(
            world.state, table="t1", rulebook=world.context.rulebook, catching_up=False
        )
        return len(encode_state_view(document))

    def pages(count: int) -> int:
        return sum(len(encode_page(page)) for page in pages_of(placed(count).state.coup))

    stays(message, (100, 600, 2_000, *sizes[3:]))
    grows_in_proportion(pages, (600, 1_200, 2_400, *sizes[3:]))


def whole_coup(count: int) -> int:
    """The steps of a coup of so many wagers: placed, one withdrawn, settled, corrected, folded."""
    world = world_in(Phase.NONE)

    def play() -> None:
        world.must(OpenBetting(transaction="o"))
        for first in range(0, count, 10):
            wagers = tuple(
                WagerRequest(seat=number % 99 + 1, bet="player", stake=500, patron=f"p{number}")
                for number in range(first, first + 10)
            )
            world.must(PlaceWager(transaction=f"w-{first}", wagers=wagers))
        coup = world.state.coup
        assert coup is not None
        world.must(WithdrawWager(transaction="x", wagers=([*coup.wagers][count // 2],)))
        world.say(*(drawn(*at, face) for at, face in zip(ORDER, NATURAL_NINE, strict=True)))
        world.say(DeviceResult(winner="player"))
        world.must(
            CorrectHands(
                transaction="c",
                coup=coup.id,
                player=cards("2S KH"),
                banker=cards("8D KC"),
                reason="misread",
            )
        )
        assert fold_all(TableState(), world.log) == world.state

    steps = steps_of(play)
    assert world.state.totals.paid == 0
    return steps


def test_a_coup_grows_with_its_wagers_from_the_first_to_its_correction(sizes: Sizes) -> None:
    grows_in_proportion(whole_coup, sizes)


def test_the_cage_gives_back_a_void_coup_in_as_many_steps_as_it_has_wagers(sizes: Sizes) -> None:
    def measure(count: int) -> int:
        coup = placed(count).state.coup
        assert coup is not None
        ledger = MemoryLedger()
        wagers = tuple(coup.wagers.values())
        ledger.hear([WagersPlaced(coup=coup.id, wagers=wagers)])
        refunds = tuple(Refund(wager=each.id, seat=each.seat, stake=each.stake) for each in wagers)
        void = CoupVoided(coup=coup.id, reason="fire", refunds=refunds)
        return steps_of(lambda: ledger.hear([void]))

    grows_in_proportion(measure, sizes)


RAISED = WagerRequest(seat=1, bet="tie", stake=200)
STRICT = book("au-commission", "bets.tie.minimum=1000")


@pytest.mark.parametrize(
    "command",
    [
        lambda coup: other(STRICT, coup.id),
        lambda coup: wager(RAISED, list(coup.wagers)[len(coup.wagers) // 2], coup.id),
        lambda coup: VoidCoup(transaction="v", coup=coup.id, reason="r"),
    ],
    ids=["rulebook", "wager", "void"],
)
def test_a_correction_looks_at_each_wager_a_few_times(
    command: Callable[[Coup], Command], sizes: Sizes
) -> None:
    # By the right rulebook each wager breaks a limit.
    def measure(count: int) -> int:
        world = placed(count)
        world.context = replace(world.context, library=(STRICT,))
        world.deal(*NATURAL_NINE)
        world.say(DeviceResult(winner="player"))
        coup = world.state.coup
        assert coup is not None
        events: list[TableEvent] = []
        steps = steps_of(lambda: events.extend(world.must(command(coup))))
        assert any(isinstance(event, CoupSettled) for event in events)
        return steps

    grows_in_proportion(measure, sizes)
