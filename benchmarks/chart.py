"""Draw the figures as an SVG: a panel for each, product and floor, one point a run.

`python -m benchmarks.chart LINES.jsonl... > chart.svg` draws the output of `baccarat bench --json`,
run after run. Each panel begins at zero and has a scale of its own; a run in which a figure was
void has no point there.
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

import msgspec
from msgspec import Struct

__all__ = ["ChartLine", "chart", "read_lines"]

_COLUMNS: Final = 3
_WIDTH, _HEIGHT = 330, 150
_LEFT, _TOP, _PLOT_WIDTH, _PLOT_HEIGHT = 12, 44, 240, 78
_TITLE_HEIGHT: Final = 34
_PRODUCT, _FLOOR = "#0b5", "#999"
_WORDS_MOST: Final = 52
_STYLE: Final = (
    "text{font:12px sans-serif;fill:#222}.s{font-size:10px;fill:#666}.t{font-weight:bold}"
    ".i{text-anchor:end;fill:#888}.b{fill:none;stroke:#ddd}polyline{fill:none;stroke-width:1.5}"
)


class _Occasion(Struct, frozen=True):
    at: str
    machine: str


class ChartLine(Struct, frozen=True, kw_only=True):
    """The drawn part of a line of `baccarat bench --json`."""

    name: str
    unit: str
    p50: float | None
    floor_p50: float | None
    goal: str
    met: bool
    void: str | None
    run: _Occasion


def read_lines(text: bytes) -> list[ChartLine]:
    """Return the lines of a file.

    Raises:
        msgspec.MsgspecError: a line is something else.
    """
    return [msgspec.json.decode(line, type=ChartLine) for line in text.splitlines() if line]


def chart(lines: Iterable[ChartLine]) -> str:
    """Return an SVG of these lines, the oldest run first, figures in the order of the lines."""
    by_name: dict[str, list[ChartLine]] = {}
    newest = ""
    for line in lines:
        by_name.setdefault(line.name, []).append(line)
        newest = f"{line.run.at[:16].replace('T', ' ')} UTC, {line.run.machine}"
    rows = -(-len(by_name) // _COLUMNS)
    width, height = _COLUMNS * _WIDTH, _TITLE_HEIGHT + rows * _HEIGHT
    panels = [
        _panel(each, index % _COLUMNS * _WIDTH, _TITLE_HEIGHT + index // _COLUMNS * _HEIGHT)
        for index, each in enumerate(by_name.values())
    ]
    head = _text(_LEFT, 16, "Product (green) and floor or peer (grey), medians", "t")
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">',
            f"<style>{_STYLE}</style>",
            f'<rect width="{width}" height="{height}" fill="#fff"/>',
            head,
            _text(_LEFT, 30, newest, "s"),
            *panels,
            "</svg>\n",
        ]
    )


def _panel(runs: Sequence[ChartLine], x: int, y: int) -> str:
    newest = runs[-1]
    known = [each for each in runs if not each.void]
    values = [value for each in known for value in (each.p50, each.floor_p50) if value is not None]
    most = max(values, default=0.0) or 1.0
    verdict = "void" if newest.void else "met" if newest.met else "missed"
    title = f"{newest.name}, {newest.unit}: {verdict}" if newest.unit else f"{newest.name}: void"
    parts = [
        f'<g transform="translate({x},{y})">',
        _text(_LEFT, 14, title, "t"),
        _text(_LEFT, 28, _short(newest.void or newest.goal), "s"),
        f'<rect class="b" x="{_LEFT}" y="{_TOP}" width="{_PLOT_WIDTH}" height="{_PLOT_HEIGHT}"/>',
        _line([each.floor_p50 for each in known], most, _FLOOR, "inside"),
        _line([each.p50 for each in known], most, _PRODUCT, "beside"),
        "</g>",
    ]
    return "\n".join(part for part in parts if part)


def _line(values: Sequence[float | None], most: float, colour: str, label: str) -> str:
    """Draw joined points from left to right, and the newest value in or next to the frame."""
    step = _PLOT_WIDTH / max(len(values), 2)
    points = [
        (_LEFT + step * (index + 0.5), _TOP + _PLOT_HEIGHT * (1 - 0.92 * value / most), value)
        for index, value in enumerate(values)
        if value is not None
    ]
    if not points:
        return ""
    along = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>' for x, y, _ in points)
    _, y, value = points[-1]
    by, kind = (6, "") if label == "beside" else (-6, "i")  # so that close ones do not collide
    newest = _text(_LEFT + _PLOT_WIDTH + by, round(y) + 4, f"{value:,.4g}", kind)
    return f'<polyline stroke="{colour}" points="{along}"/><g fill="{colour}">{dots}</g>{newest}'


def _text(x: int, y: int, text: str, kind: str = "") -> str:
    of = f' class="{kind}"' if kind else ""
    return f'<text{of} x="{x}" y="{y}">{escape(text)}</text>'


def _short(text: str) -> str:
    return text if len(text) <= _WORDS_MOST else text[: _WORDS_MOST - 1] + "…"


if __name__ == "__main__":
    sys.stdout.write(
        chart(line for file in sys.argv[1:] for line in read_lines(Path(file).read_bytes()))
    )
