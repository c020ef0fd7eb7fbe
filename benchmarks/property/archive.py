"""Measure what a coup takes in the archive's PostgreSQL, and how long its questions take.

The archive is synthetic: 20 tables' shoes of the demo's kind over two years. The floor of the bytes
is the stored bytes alone, compressed as the archive does. What every table has in its tail does not
grow with the archive and is told apart.
"""

import asyncio
import os
from contextlib import ExitStack
from time import perf_counter
from typing import Final

from benchmarks.instruments.figures import Figure, percentiles, side_by_side, without_floor
from benchmarks.instruments.postgres import postgres_cluster
from benchmarks.property.synthetic import (
    SyntheticSite,
    fill_archive,
    played_template,
    relation_bytes,
)
from benchmarks.rows import BenchOptions
from property.archive.client import ArchiveClient
from property.archive.database import migrate
from property.archive.questions import ARCHIVE_QUERIES, parse_parameters

__all__ = ["ANSWER_MOST_MS", "BYTES_MOST", "QUESTIONS", "ask_all", "measure"]

BYTES_MOST: Final = 3_000.0
"""The goal for a coup with its indexes."""

ANSWER_MOST_MS: Final = 1_000.0
"""The goal for the slowest question."""

_EVENTS: Final = 110_000
_TABLES: Final = 20
_COUPS: Final = 60
_DAYS: Final = 730
_TAIL: Final = ("tail", "wager")
QUESTIONS: Final[tuple[tuple[str, dict[str, str]], ...]] = (
    ("tables", {}),
    ("alarms", {}),
    ("coups", {}),
    ("coups", {"patron": "p-7"}),
    ("coups", {"patron": "nobody"}),
    ("coups", {"dealer": "nobody"}),
    ("coups", {"card": "9D", "result": "tie"}),
    ("coups", {"result": "void"}),
    ("coups", {"day": "2025-06-01"}),
    ("coups", {"table": "harbour/t3"}),
    ("wagers", {}),
    ("wagers", {"table": "harbour/t1", "since": "2025-06-01", "until": "2025-07-01"}),
    ("commission", {}),
    ("win", {}),
    ("win", {"day": "2025-06-01"}),
    ("win", {"table": "harbour/t2"}),
    ("runs", {}),
    ("runs", {"cards": "8", "day": "2025-06-01"}),
    ("two-tables", {}),
    ("two-tables", {"table": "harbour/t2"}),
    ("editions", {}),
)
"""Questions as people ask them: without limits, with each, and for what is nowhere."""


def measure(options: BenchOptions) -> list[Figure]:
    """Measure the row `archive`.

    Raises:
        Unmeasurable: there is no PostgreSQL here.
    """
    with ExitStack() as stack:
        folder = stack.enter_context(options.folder())
        url = options.ledger or stack.enter_context(postgres_cluster(options.data)).database()
        template = played_template(folder, _COUPS)
        shoes = max(1, round((options.events or _EVENTS) / _TABLES / len(template)))
        events = len(template) * shoes * _TABLES
        advance = stack.enter_context(options.progress("events", events))
        migrate(url)
        site = SyntheticSite(_TABLES, shoes, _DAYS, 0)
        asyncio.run(fill_archive(url, site, template, advance))
        sizes = relation_bytes(url)
        took_ms = asyncio.run(ask_all(url))
    coups = _COUPS * shoes * _TABLES
    kept = sum(size for name, size in sizes.items() if name not in _TAIL) / coups
    detail = {name: round(size / coups) for name, size in sizes.items() if size > coups}
    load = {"load": round(os.getloadavg()[0], 2)}
    floor = sizes["block"] / coups
    p50, p99 = percentiles(list(took_ms.values()))
    slowest = max(took_ms.values())
    return [
        Figure(
            **side_by_side((kept, kept), (floor, floor), digits=0, floor_digits=0),
            name="archive_bytes",
            unit="bytes",
            samples=coups,
            goal=f"p50 <= {BYTES_MOST:g} bytes for a coup in PostgreSQL, with indexes",
            met=kept <= BYTES_MOST,
            detail=detail | load,
        ),
        Figure(
            **without_floor(p50, p99, digits=1),
            name="archive_answers",
            unit="ms",
            samples=len(took_ms),
            goal=f"every question within {ANSWER_MOST_MS:g} ms",
            met=slowest <= ANSWER_MOST_MS,
            detail={"events": events, "slowest": round(slowest, 1)} | load,
        ),
    ]


async def ask_all(url: str) -> dict[str, float]:
    """Ask every question of `QUESTIONS`; return each with the milliseconds that it took."""
    took: dict[str, float] = {}
    async with await ArchiveClient.open(url) as asker:
        for name, given in QUESTIONS:
            question = ARCHIVE_QUERIES[name]
            began = perf_counter()
            await asker.ask(question, parse_parameters(question, given))
            said = " ".join(f"{key}={value}" for key, value in given.items())
            took[f"{name} {said}".strip()] = (perf_counter() - began) * 1_000
    return took
