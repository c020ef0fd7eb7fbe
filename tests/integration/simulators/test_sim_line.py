"""The simulated shoe on its line: what a reader gets is what happened, byte for byte."""

import asyncio
import os
import time
from pathlib import Path

import pytest
import serial

from simulators.device.pty_port import INSTANT, Pace, PtyPort
from simulators.device.reports import Disclosure
from simulators.shoe.dealing import DealingShoe, ReportStep
from simulators.shoe.player import DealtCoup, ShoeSimulator

LIMIT_S = 20.0
SHOE = "20261127-01"
SEED = 20261127
COUPS = 12


def _expected(disclosure: Disclosure) -> bytes:
    """The bytes by the pure shoe alone, which the unit tests hold against the profile's page."""
    dealing = DealingShoe(seed=SEED, disclosure=disclosure)
    steps = dealing.new_shoe(SHOE)[0]
    for _ in range(COUPS):
        steps += [step for step in dealing.coup()[0] if isinstance(step, ReportStep)]
    return b"".join(step.noise + b"".join(step.copies) for step in steps)


async def _deal(shoe: ShoeSimulator) -> list[DealtCoup]:
    await shoe.new_shoe()
    return [await shoe.deal_coup() for _ in range(COUPS)]


@pytest.mark.parametrize("pace", [INSTANT, Pace(chunk=1), Pace(chunk=5)], ids=repr)
@pytest.mark.parametrize("disclosure", ["immediate", "deferred"])
async def test_a_reader_gets_every_byte_of_shoe_and_coups(
    tmp_path: Path, disclosure: Disclosure, pace: Pace
) -> None:
    port = PtyPort(tmp_path / "shoe", pace=pace)
    port.plug_in()
    dealing = DealingShoe(seed=SEED, disclosure=disclosure)
    shoe = ShoeSimulator(port, dealing, first_shoe=SHOE, speed=0)
    expected = _expected(disclosure)
    with serial.Serial(str(port.link), 4800, timeout=LIMIT_S, exclusive=True) as line:
        reading = asyncio.create_task(asyncio.to_thread(line.read, len(expected)))
        await _deal(shoe)
        assert await reading == expected
    port.unplug()
    assert port.lost_bytes == 0


async def test_the_deciding_moment_is_the_end_of_the_results_first_copy(tmp_path: Path) -> None:
    port = PtyPort(tmp_path / "shoe", pace=Pace(chunk=1, seconds_per_byte=0.001))
    port.plug_in()
    dealing = DealingShoe(seed=SEED)
    dealing.new_shoe(SHOE)
    steps = [step for step in dealing.coup()[0] if isinstance(step, ReportStep)]
    result = next(index for index, step in enumerate(steps) if step.deciding)
    copy = len(steps[result].copies[0])
    after = sum(len(frame) for step in steps[result + 1 :] for frame in step.copies)
    shoe = ShoeSimulator(port, DealingShoe(seed=SEED), first_shoe=SHOE, speed=0)
    fd = os.open(port.link, os.O_RDONLY | os.O_NOCTTY)
    try:
        await shoe.new_shoe()
        began = time.monotonic_ns()
        dealt = await shoe.deal_coup()
        left = time.monotonic_ns() - dealt.decided_ns
    finally:
        os.close(fd)
        port.unplug()
    assert copy == 7
    assert left >= (2 * copy + after) * 1_000_000  # two copies, and the standby where it came
    cards = sum(len(frame) for step in steps[:result] for frame in step.copies)
    assert dealt.decided_ns - began >= (cards + copy - 1) * 1_000_000


async def test_speed_makes_the_pauses_shorter_and_zero_makes_none(tmp_path: Path) -> None:
    port = PtyPort(tmp_path / "shoe")
    port.plug_in()
    took: dict[float, list[float]] = {0.0: [], 20.0: []}
    for speed in (0.0, 0.0, 0.0, 20.0):
        shoe = ShoeSimulator(port, DealingShoe(seed=SEED), first_shoe=SHOE, speed=speed)
        await shoe.new_shoe()
        began = time.monotonic()
        dealt = await shoe.deal_coup()
        took[speed].append(time.monotonic() - began)
    port.unplug()
    # At speed 20 each card takes 100 ms and the result 50 ms.
    pauses = len(dealt.cards) * 0.1 + 0.05
    assert took[20.0][0] >= pauses
    assert min(took[0.0]) < pauses


async def test_shoes_follow_one_another_by_id(tmp_path: Path) -> None:
    port = PtyPort(tmp_path / "shoe")
    port.plug_in()
    shoe = ShoeSimulator(port, DealingShoe(seed=SEED), first_shoe="20261127-99", speed=0)
    begun: list[str] = []
    while len(begun) < 3:
        begun.append((await shoe.new_shoe()).shoe)
        coups = [await shoe.deal_coup()]
        while not shoe.over:
            coups.append(await shoe.deal_coup())
        assert [coup.number for coup in coups] == list(range(1, len(coups) + 1))
        assert {coup.shoe for coup in coups} == {begun[-1]}
        assert [coup.last for coup in coups] == [False] * (len(coups) - 1) + [True]
    port.unplug()
    assert begun == ["20261127-99", "20261128-01", "20261128-02"]
    assert shoe.next_shoe == "20261128-03"
