"""Durable consumers: who owes the table which acknowledgement, and for how long."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from events.clock import rfc3339
from events.log.store import EventLog
from events.mqtt.process import Steps, no_probe
from events.mqtt.process_shell import clock_and_log_lines, perform_at_once
from events.types import CoupSettled, LinkUp, Pending, ShoeReported, TableEvent, encode_envelope
from table_core.process.consumer_health import ACK_OVERDUE_S, CONSUMERS_MOST, ConsumerHealth
from table_core.service.log_performers import log_performers
from tests.support.clock import FakeClock
from tests.support.table.coups import shoe_event
from tests.support.table.settlements import settlement

COUP = "20261128-01/1"
CAGE = "cage/main"
OTHER = ShoeReported(source=shoe_event(1, LinkUp()))


class World:
    """A log, a hand on the clock, and the settlement feed that reads the one behind the other."""

    def __init__(self, log: EventLog) -> None:
        self.log, self.clock = log, FakeClock()
        self._performers = {**clock_and_log_lines(self.clock), **log_performers(log, no_probe)}
        self._fed = log.position
        self.restart()

    def restart(self, *expected: str) -> None:
        """The table starts."""
        self.feed = ConsumerHealth(expected)
        self.do(self.feed.start())

    def do(self, steps: Steps[None]) -> None:
        perform_at_once(steps, self._performers)

    def append(self, *events: TableEvent, feed: bool = True) -> int:
        """Append, publish where `feed`; the newest position."""
        position, at = self.log.position, rfc3339(self.clock.utc_ns())
        pending = [
            Pending(
                event.TYPE,
                event.VERSION,
                at,
                encode_envelope(
                    event,
                    index=index,
                    stream="s/t",
                    position=position + 1 + index,
                    at=at,
                    actor="core",
                    cause=f"core/{position}",
                    correlation="",
                ),
            )
            for index, event in enumerate(events)
        ]
        self.log.append(position, pending)
        if feed:
            for stored in self.log.read(self._fed + 1):
                if stored.type == CoupSettled.TYPE:
                    self.feed.settled(stored, self.clock.now)
                self._fed = stored.position
        return self.log.position

    def shown(self) -> tuple[int, int | None, int | None, bool]:
        """Position, age of what is owed, seconds since heard, overdue; of the only consumer."""
        (cage,) = self.feed.view(self.clock.now)
        assert cage.name == CAGE
        return cage.position, cage.waiting_s, cage.heard_s, cage.overdue

    def alarms(self) -> list[str]:
        return [alarm.text for alarm in self.feed.alarms(self.clock.now)]


def settled() -> CoupSettled:
    return CoupSettled(coup=COUP, settlement=settlement(1))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with EventLog.open(tmp_path / "table.sqlite", "s/t") as log:
        yield World(log)


def test_nobody_is_known_before_the_first_acknowledgement(world: World) -> None:
    world.append(settled())
    world.clock.passes(10 * ACK_OVERDUE_S)
    assert world.feed.view(world.clock.now) == ()
    assert world.alarms() == []


def test_one_that_is_expected_owes_from_the_first_settlement_on(world: World) -> None:
    world.restart(CAGE)
    position = world.append(OTHER, settled())
    world.clock.passes(ACK_OVERDUE_S)
    assert world.shown() == (0, ACK_OVERDUE_S, None, True)
    assert world.alarms() == [f"{CAGE} has not acknowledged the settlement at position {position}"]
    world.do(world.feed.acknowledged(CAGE, position))
    assert world.alarms() == []
    world.restart(CAGE)
    assert [each.position for each in world.feed.view(world.clock.now)] == [position]


def test_a_consumer_that_has_everything_owes_nothing_however_long_nothing_happens(
    world: World,
) -> None:
    head = world.append(OTHER, settled(), OTHER)
    world.do(world.feed.acknowledged(CAGE, head))
    world.clock.passes(10 * ACK_OVERDUE_S)
    world.append(OTHER)
    assert world.shown() == (head, None, 10 * ACK_OVERDUE_S, False)
    assert world.alarms() == []


def test_what_is_owed_is_as_old_as_the_oldest_settlement_that_was_not_acknowledged(
    world: World,
) -> None:
    first = world.append(settled())
    world.do(world.feed.acknowledged(CAGE, first))
    second = world.append(OTHER, settled())
    world.clock.passes(20)
    third = world.append(settled())
    assert world.shown() == (first, 20, 20, False)
    world.clock.passes(15)
    world.do(world.feed.acknowledged(CAGE, second))
    assert world.shown() == (second, 15, 0, False)
    world.do(world.feed.acknowledged(CAGE, third))
    assert world.shown() == (third, None, 0, False)


def test_the_alarm_rises_at_the_limit_and_falls_with_the_acknowledgement(world: World) -> None:
    world.do(world.feed.acknowledged(CAGE, world.append(OTHER)))
    position = world.append(settled())
    world.clock.passes(ACK_OVERDUE_S - 0.001)
    assert world.alarms() == []
    world.clock.passes(0.001)
    assert world.alarms() == [f"{CAGE} has not acknowledged the settlement at position {position}"]
    assert world.shown()[3]
    world.do(world.feed.acknowledged(CAGE, position - 1))
    assert world.alarms() != []
    world.do(world.feed.acknowledged(CAGE, position))
    assert world.alarms() == []


def test_after_a_restart_the_consumer_is_known_and_gets_the_whole_time_again(
    world: World,
) -> None:
    world.do(world.feed.acknowledged(CAGE, world.append(OTHER)))
    world.append(OTHER, settled())
    world.clock.passes(3_600)  # the table was off
    world.restart()
    assert world.shown() == (1, 3_600, None, False)
    assert world.alarms() == []
    world.clock.passes(ACK_OVERDUE_S)
    assert len(world.alarms()) == 1


def test_an_acknowledgement_that_goes_back_owes_what_lies_behind_it_again(world: World) -> None:
    first = world.append(settled())
    second = world.append(settled())
    world.do(world.feed.acknowledged(CAGE, second))
    world.do(world.feed.acknowledged(CAGE, first))
    world.clock.passes(ACK_OVERDUE_S)
    assert world.alarms() == [f"{CAGE} has not acknowledged the settlement at position {second}"]


def test_a_settlement_that_is_not_published_yet_is_owed_by_who_acknowledges_less(
    world: World,
) -> None:
    first = world.append(settled(), feed=False)
    second = world.append(settled(), feed=False)
    world.do(world.feed.acknowledged(CAGE, first))
    world.clock.passes(5)
    assert world.shown() == (first, 5, 5, False)
    world.append(OTHER)  # and the feed comes after all
    world.do(world.feed.acknowledged(CAGE, second))
    assert world.shown() == (second, None, 0, False)


def test_one_that_is_retired_is_waited_for_no_more_nor_after_a_restart(world: World) -> None:
    world.do(world.feed.acknowledged(CAGE, world.append(OTHER)))
    world.append(settled())
    world.clock.passes(ACK_OVERDUE_S)
    world.do(world.feed.retired(CAGE))
    assert (world.feed.view(world.clock.now), world.alarms()) == ((), [])
    world.restart()
    assert world.feed.view(world.clock.now) == ()


def test_names_are_bounded(world: World) -> None:
    for number in range(CONSUMERS_MOST):
        assert world.feed.admits(f"cage/c{number}")
        world.do(world.feed.acknowledged(f"cage/c{number}", 0))
    assert world.feed.admits("cage/c0")
    assert not world.feed.admits("cage/another")
    world.do(world.feed.retired("cage/c3"))
    assert world.feed.admits("cage/another")


def test_an_hour_that_is_set_back_makes_no_age_below_nothing(world: World) -> None:
    world.do(world.feed.acknowledged(CAGE, world.append(OTHER)))
    world.clock.passes(100)
    world.append(settled())
    world.clock.passes(-50)
    assert world.shown()[1] == 0
