"""`baccarat sim world`: simulate whole tables in one process, one per seed, under every fault.

A seed gives the same world on any machine, so a failure repeats at the same step.
"""

import gc
import logging
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click
import msgspec

from baccarat.cli.main import EXIT_DONE, EXIT_NO
from baccarat.cli.shown import say
from events.errors import InputError
from events.structured_log import structlog
from simulators.faults.registry import FAULTS
from simulators.world.fault_plan import LATE_FAULTS, WORLD_FAULTS, parse_world_faults
from simulators.world.world import World, WorldReport

__all__ = ["world"]

_SEEDS: Final = re.compile(r"(\d{1,15})(?:\.\.(\d{1,15}))?\Z", re.ASCII)
_LIST: Final = "list"


@click.command()
@click.option("--seeds", metavar="A..B", help="Which worlds: a seed, or from one to another.")
@click.option("--coups", type=click.IntRange(min=1), default=40, show_default=True,
              help="How many are played in each.")  # fmt: skip
@click.option("--faults", default="none", show_default=True, metavar="LIST",
              help="What goes wrong: all, late, none, names and commas; or `list`.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="A JSON document a line, one for each seed.")
def world(*, seeds: str | None, coups: int, faults: str, as_json: bool) -> int:
    """Play whole tables, link to cage, and hold every step against an auditor of their own.

    Exit code 0 when nothing broke; 1 when something did, and then seed and step say where.
    """
    if faults == _LIST:
        click.echo(_table(), nl=False)
        return EXIT_DONE
    if seeds is None:
        raise InputError("--seeds A..B is missing; write --seeds 1..100, or a seed alone")
    chosen, names = _seeds(seeds), parse_world_faults(faults)
    broke = played = 0
    began = time.process_time()
    with _silence_logs():
        for report in _reports(chosen, names, coups):
            broke += bool(report.violations)
            played += report.coups
            click.echo(msgspec.json.encode(report) if as_json else _text(report, coups, faults))
    spent = max(time.process_time() - began, 1e-9)
    say(
        f"{len(chosen)} worlds, {played} coups, {played / spent:.0f} a second of one core; "
        f"{broke or 'none'} broke",
        err=True,
    )
    return EXIT_NO if broke else EXIT_DONE


@contextmanager
def _silence_logs() -> Iterator[None]:
    """Silence the services' logs, thousands of expected lines; the report lists violations."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        yield
    finally:
        structlog.configure(**before)


def _reports(seeds: range, names: tuple[str, ...], coups: int) -> Iterator[WorldReport]:
    with tempfile.TemporaryDirectory(prefix="baccarat-world-") as folder, _garbage_between_worlds():
        for seed in seeds:
            made = World(seed, names, Path(folder))
            try:
                yield made.run(coups)
            finally:
                made.close()
            del made
            gc.collect()


@contextmanager
def _garbage_between_worlds() -> Iterator[None]:
    """Collect garbage only between worlds, which make cycles only when they end: saves a fifth."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


def _seeds(text: str) -> range:
    found = _SEEDS.match(text)
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
    if last < first:
        raise InputError(f"--seeds {text!r}: write A..B, such as 1..100, or one number")
    return range(first, last + 1)


def _text(report: WorldReport, coups: int, faults: str) -> str:
    told = (
        f"seed {report.seed}: {report.coups} coups in {report.steps} steps, "
        f"{sum(report.faults.values())} faults, {report.digest[:16]}"
    )
    if not report.violations:
        return told
    again = f"baccarat sim world --seeds {report.seed} --coups {coups} --faults {faults}"
    return "\n".join([told, *(f"  BROKE at {each}" for each in report.violations), f"  {again}"])


def _table() -> str:
    meanings = {**FAULTS, **WORLD_FAULTS, **LATE_FAULTS}
    width = max(map(len, meanings))
    return "".join(f"{name:{width}}  {meanings[name]}\n" for name in sorted(meanings))
