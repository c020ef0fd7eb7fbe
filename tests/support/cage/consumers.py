"""Consumers under test: the examples of the integrator's guide as processes, and their books."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from events.types import CoupSettled, Settlement
from tests.house.sources import ROOT
from tests.support.log.logs import events_in

CAGE_BOOK = ROOT / "examples/cage_book.py"
KEEP_EVENTS = ROOT / "examples/keep_events.sh"

Seats = dict[str, dict[str, int]]


@contextmanager
def process(*command: str | Path) -> Iterator[subprocess.Popen[bytes]]:
    """A consumer with its own children, all of them killed at the end."""
    running = subprocess.Popen(command, start_new_session=True)
    try:
        yield running
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()


def cage_book(book: Path, port: int, root: str, *, script: Path = CAGE_BOOK) -> tuple[str, ...]:
    """The command of the Python example."""
    return (sys.executable, str(script), str(book), "127.0.0.1", str(port), root)


def shown(book: Path, *, script: Path = CAGE_BOOK) -> dict[str, Any]:
    """What the Python example says of its book."""
    done = subprocess.run(
        [sys.executable, script, book], check=True, capture_output=True, text=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def settlements_of(path: Path) -> list[Settlement]:
    """All settlements in a log."""
    return [event.settlement for event in events_in(path) if isinstance(event, CoupSettled)]


def seats_of(settlements: Iterable[Settlement]) -> Seats:
    """The right book, the other way round: from the differences that revisions tell."""
    seats: Seats = {}
    for settlement in settlements:
        if settlement.revision == 1 and not settlement.difference:
            changes = [
                (line.seat, 0 if line.kind == "promo" else line.stake, line.paid, line.commission)
                for line in settlement.lines
            ]
        else:
            changes = [(d.seat, d.staked, d.paid, d.commission) for d in settlement.difference]
        for seat, staked, paid, commission in changes:
            of = seats.setdefault(str(seat), {"staked": 0, "paid": 0, "commission": 0})
            of["staked"] += staked
            of["paid"] += paid
            of["commission"] += commission
    return dict(sorted(seats.items(), key=lambda item: int(item[0])))
