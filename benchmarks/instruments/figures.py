"""Take times, and compute figures from samples: percentiles, ratios to the floor, goals met."""

import math
import os
from collections.abc import Callable, Sequence
from statistics import quantiles
from time import perf_counter
from typing import Any, Final

from msgspec import Struct

from benchmarks.instruments.measure import Samples

__all__ = [
    "FIGURES",
    "FLOOR_P50_MOST_MS",
    "Figure",
    "latency",
    "memory",
    "percentiles",
    "seconds_of",
    "side_by_side",
    "unmeasured",
    "without_floor",
]

# The house's goals.
RATIO_P50_MOST: Final = 1.5
RATIO_P99_MOST: Final = 3.0
MEMORY_MOST_MB: Final = 150.0
# Above it a TCP_NODELAY is missing somewhere, or the machine is too busy.
FLOOR_P50_MOST_MS: Final = 6.0


class Figure(Struct, frozen=True, kw_only=True):
    """One line of `baccarat bench --json`.

    Args:
        name: of the figure.
        unit: of all numbers except ratios.
        samples: of product and floor each.
        p50: the product's median.
        p99: the product's 99th percentile.
        floor_p50: the floor's median.
        floor_p99: the floor's 99th percentile.
        ratio_p50: product to floor.
        ratio_p99: product to floor.
        goal: the goal, in words.
        met: whether it is met; a void figure meets nothing.
        void: why the figure has no meaning, or None.
        detail: more numbers that help to read it.
    """

    name: str
    unit: str
    samples: int
    p50: float
    p99: float
    floor_p50: float
    floor_p99: float
    ratio_p50: float
    ratio_p99: float
    goal: str
    met: bool
    void: str | None = None
    detail: dict[str, float]


def side_by_side(
    product: tuple[float, float],
    floor: tuple[float, float],
    *,
    digits: int | None,
    floor_digits: int | None = None,
    ratio_digits: int = 2,
) -> dict[str, Any]:
    """Return the numbers of product and floor side by side, by the names that `Figure` has.

    Args:
        product: its median and 99th percentile.
        floor: its median and 99th percentile.
        digits: decimals; None for a whole number.
        floor_digits: of the floor, where they differ.
        ratio_digits: of the ratios, which are computed before rounding.
    """
    (p50, p99), (floor_p50, floor_p99) = product, floor
    of_floor = digits if floor_digits is None else floor_digits
    return {
        "p50": round(p50, digits),
        "p99": round(p99, digits),
        "floor_p50": round(floor_p50, of_floor),
        "floor_p99": round(floor_p99, of_floor),
        "ratio_p50": round(p50 / floor_p50, ratio_digits),
        "ratio_p99": round(p99 / floor_p99, ratio_digits),
    }


def without_floor(p50: float, p99: float, *, digits: int | None) -> dict[str, Any]:
    """Return the numbers of a product without a floor. NaN means no number, and is null in JSON."""
    nothing = dict.fromkeys(("floor_p50", "floor_p99", "ratio_p50", "ratio_p99"), math.nan)
    return {"p50": round(p50, digits), "p99": round(p99, digits), **nothing}


def latency(samples: Samples) -> Figure:
    """Return the latency from the deciding frame's last byte to a separate subscriber."""
    p50, p99 = percentiles(samples.product_ms)
    floor_p50, floor_p99 = percentiles(samples.floor_ms)
    void = None
    if floor_p50 > FLOOR_P50_MOST_MS:
        void = (
            f"the floor's p50 is over {FLOOR_P50_MOST_MS:g} ms: "
            "TCP_NODELAY is missing somewhere, or the machine is busy with something else"
        )
    within = p50 <= RATIO_P50_MOST * floor_p50 and p99 <= RATIO_P99_MOST * floor_p99
    return Figure(
        **side_by_side((p50, p99), (floor_p50, floor_p99), digits=3),
        name="latency",
        unit="ms",
        samples=len(samples.product_ms),
        goal=(
            f"ratio_p50 <= {RATIO_P50_MOST:g} and ratio_p99 <= {RATIO_P99_MOST:g}, "
            f"floor_p50 <= {FLOOR_P50_MOST_MS:g} ms"
        ),
        met=void is None and within,
        void=void,
        detail={"load": round(os.getloadavg()[0], 2), "processors": float(os.cpu_count() or 0)},
    )


def memory(samples: Samples) -> Figure:
    """Return the resident memory of driver, core and broker, shared pages counted each time."""
    p50, p99 = percentiles([each.resident for each in samples.product_memory])
    floor_p50, floor_p99 = percentiles([each.resident for each in samples.floor_memory])
    proportional, _ = percentiles([each.proportional for each in samples.product_memory])
    return Figure(
        **side_by_side((p50, p99), (floor_p50, floor_p99), digits=1),
        name="memory",
        unit="MB",
        samples=len(samples.product_memory),
        goal=f"p99 <= {MEMORY_MOST_MB:g} MB resident (RSS) of driver, core and broker together",
        met=p99 <= MEMORY_MOST_MB,
        detail={"pss_p50": round(proportional, 1)}
        | {name: round(part.resident, 1) for name, part in samples.parts.items()},
    )


def unmeasured(name: str, why: str) -> Figure:
    """Return the void figure of a row that could not be measured here, without numbers."""
    return Figure(
        **without_floor(math.nan, math.nan, digits=1),
        name=name,
        unit="",
        samples=0,
        goal="",
        met=False,
        void=why,
        detail={},
    )


def percentiles(values: Sequence[float]) -> tuple[float, float]:
    """Return the median and the 99th percentile."""
    if len(values) == 1:
        return values[0], values[0]
    cuts = quantiles(values, n=100, method="inclusive")
    return cuts[49], cuts[98]


def seconds_of(what: Callable[[], object], clock: Callable[[], float] = perf_counter) -> float:
    """Return how long a call takes by a clock; `process_time` counts the processor's time."""
    begun = clock()
    what()
    return clock() - begun


FIGURES: Final[dict[str, Callable[[Samples], Figure]]] = {"latency": latency, "memory": memory}
