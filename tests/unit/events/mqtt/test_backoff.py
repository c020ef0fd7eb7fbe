"""The back-off: twice as long each time, up to a longest pause, and short again after a success."""

import random

import pytest

from events.mqtt.backoff import RECONNECT_FIRST_S, RECONNECT_MOST_S, Backoff


def test_each_pause_is_twice_the_one_before_up_to_the_longest() -> None:
    backoff = Backoff(0.5, 3.0)
    assert [backoff.next_s() for _ in range(5)] == [0.5, 1.0, 2.0, 3.0, 3.0]
    backoff.reset()
    assert backoff.next_s() == 0.5


@pytest.mark.parametrize("seed", range(5))
def test_half_of_each_pause_is_random(seed: int) -> None:
    backoff = Backoff(uniform=random.Random(seed).uniform)
    exact = RECONNECT_FIRST_S
    for _ in range(12):
        assert exact / 2 <= backoff.next_s() <= exact
        exact = min(exact * 2, RECONNECT_MOST_S)
