"""Faults together, drawn from a seed: at most one of the device, and some of the line."""

import random
from collections.abc import Sequence
from typing import Final

from simulators.device.profiles import CHECKED_GAMES, PROFILES
from simulators.faults.table_faults import TOGETHER

KINDS: Final = CHECKED_GAMES

# A coup that is broken off has too few cards for most of the line's.
_OF_THE_DEVICE: Final = (
    *("contradicting_disclosure", "draw_in_error", "draw_timeout", "error_and_clear"),
    *("locked_draw", "missing_standby", "overdraw_burned", "overdraw_carried", "reverse_run"),
    *("short_disclosure", "unknown_code", "unreadable_card", "wrong_card_code", "wrong_result"),
)
_OF_THE_LINE: Final = (
    *("bit_flip", "bit_flip_passes", "copy_conflict", "copy_late", "copy_lost"),
    *("missing_report", "noise"),
    *("port_busy", "run_together", "second_reader", "split", "stale_bytes", "stall_burst"),
    *("unplug", "unplug_renamed", "wrong_baud", "driver_killed", "driver_killed_mid_frame"),
)


def mixtures(seed: int, profile: str, disclosure: str, coups: int) -> Sequence[str]:
    """What goes wrong with so many coups in turn."""
    whims = random.Random(f"{seed}/mixtures")
    unfit = PROFILES[profile].unfit
    device = [name for name in _OF_THE_DEVICE if name not in unfit]
    if disclosure == "immediate":
        device.remove("short_disclosure")
    line = [name for name in _OF_THE_LINE if name not in unfit]
    drawn = []
    for _ in range(coups):
        names = whims.sample(device, whims.choice((0, 0, 1)))
        names += whims.sample(line, whims.randint(2 - len(names), 3))
        drawn.append(TOGETHER.join(names))
    return drawn
