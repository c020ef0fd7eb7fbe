"""A coup's wagers in pages beside the state: none is missing, and only what changed is sent."""

from collections import Counter

import msgspec
import pytest

from displays.wager_pages import WagerPages
from events.commands import WithdrawWager
from events.mqtt.process import Effect, Publish, Wait
from events.mqtt.topics import Topics
from table_core.process.publishers import PagesPublisher
from table_core.projections.table_document import encode_state_view, project_table
from table_core.projections.wager_pages import (
    WAGERS_IN_STATE,
    WAGERS_OF_PAGE,
    encode_page,
    pages_of,
    project_sums,
)
from tests.support.service.steps_by_hand import StepsByHand
from tests.support.table.coups import World
from tests.support.table.large_coups import place, placed

MANY = WAGERS_IN_STATE + WAGERS_OF_PAGE + 1


@pytest.fixture
def world() -> World:
    return placed(MANY)


def state_of(world: World) -> bytes:
    return encode_state_view(
        project_table(world.state, table="t1", rulebook=world.context.rulebook, catching_up=False)
    )


def test_a_state_carries_its_wagers_up_to_the_bound() -> None:
    world = placed(WAGERS_IN_STATE)
    assert world.state.coup is not None
    assert pages_of(world.state.coup) == ()
    shown = msgspec.json.decode(state_of(world))["coup"]
    assert (len(shown["wagers"]), shown["sums"]) == (WAGERS_IN_STATE, None)


def test_beyond_it_the_sums_are_those_of_the_pages(world: World) -> None:
    coup = world.state.coup
    assert coup is not None
    pages, sums = pages_of(coup), project_sums(coup)
    assert tuple(wager for page in pages for wager in page.wagers) == tuple(coup.wagers.values())
    assert [page.page for page in pages] == [1, 2, 3]
    assert sums is not None
    boxes: Counter[tuple[int, str]] = Counter()
    for wager in coup.wagers.values():
        boxes[wager.seat, wager.bet] += wager.stake
    assert {(each.seat, each.bet): each.stake for each in sums.boxes} == boxes
    assert (sums.wagers, sums.staked, sums.pages) == (MANY, sum(boxes.values()), 3)
    assert msgspec.json.decode(state_of(world))["coup"]["wagers"] == []


def test_a_console_shows_the_wagers_once_every_page_is_there(world: World) -> None:
    state, kept = state_of(world), WagerPages()
    assert world.state.coup is not None
    one, *others = pages_of(world.state.coup)
    assert kept.take(encode_page(msgspec.structs.replace(one, coup="20261127-01/9")))
    assert not kept.take(b"junk")
    for page in others:
        assert kept.take(encode_page(page))
        assert kept.filled(state) == state
    assert kept.take(encode_page(one))
    shown = msgspec.json.decode(kept.filled(state))
    assert shown["coup"].pop("wagers") == msgspec.to_builtins([*world.state.coup.wagers.values()])
    as_it_came = msgspec.json.decode(state)
    del as_it_came["coup"]["wagers"]
    assert shown == as_it_came
    small = state_of(placed(1))
    assert kept.filled(small) is small


def sent(steps: StepsByHand, effect: Effect[bool] | None) -> list[str]:
    """The pages that the broker is given until the publisher waits."""
    topics = []
    while isinstance(effect, Publish):
        assert effect.retain
        topics.append(effect.topic.rpartition("/wagers/")[2])
        effect = steps.answer(result=True)
    assert isinstance(effect, Wait)
    return topics


def test_only_pages_that_have_changed_are_sent(world: World) -> None:
    publisher = PagesPublisher(Topics("s", "t1"), lambda: pages_of(world.state.coup))
    steps = StepsByHand(publisher.run(), {})
    assert sent(steps, steps.answer(result=True)) == ["1", "2", "3"]
    assert sent(steps, steps.answer(result=True)) == []
    place(world, range(MANY, MANY + 1))
    assert sent(steps, steps.answer(result=True)) == ["3"]
    assert world.state.coup is not None
    gone = [*world.state.coup.wagers][WAGERS_OF_PAGE]
    world.must(WithdrawWager(transaction="x", wagers=(gone,)))
    assert sent(steps, steps.answer(result=True)) == ["2", "3"]
    publisher.kick(again=True)  # the broker may have lost them
    assert sent(steps, steps.answer(result=True)) == ["1", "2", "3"]
    assert sent(steps, steps.answer(result=False)) == ["1", "2", "3"]  # after five seconds


def test_a_page_that_the_broker_refused_is_sent_again(world: World) -> None:
    publisher = PagesPublisher(Topics("s", "t1"), lambda: pages_of(world.state.coup))
    steps = StepsByHand(publisher.run(), {})
    assert isinstance(steps.answer(result=True), Publish)
    assert isinstance(steps.answer(result=False), Wait)
    assert isinstance(steps.answer(result=False), Wait)  # the pause, and then the signal
    assert sent(steps, steps.answer(result=True)) == ["1", "2", "3"]
