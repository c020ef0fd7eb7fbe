"""The demo at a table's pace and at full speed, with late parts and beside busy loops: all settles.

`tests/tools/late` holds back connections, the line, the log and the disk for up to five seconds.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from events.log.verify import verify
from tests.support.cage.ledgers import agrees
from tests.support.machine.commands import COMMAND

ROUNDS: Final = {"0": 16, "1": 4}
"""By speed."""
SEED: Final = "1"
LATE: Final = {
    "PYTHONPATH": "tests/tools/late",
    "LATE_SEED": SEED,
    "LATE_SHARE": "0.02",
    "LATE_MOST": "5",
}
BUSY: Final = (sys.executable, "-c", "while True: pass")
LOOPS: Final = 4


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("speed", ROUNDS)
@pytest.mark.parametrize(("late", "loops"), [(True, 0), (False, LOOPS), (True, LOOPS)])
def test_nothing_is_void_lost_or_doubled(
    late: bool,
    loops: int,
    speed: str,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    rounds = ROUNDS[speed]
    words = ("--rounds", str(rounds), "--seed", SEED, "--speed", speed, "--json")
    with ExitStack() as beside:
        for _ in range(loops):
            beside.callback(beside.enter_context(subprocess.Popen(BUSY)).kill)
        told = subprocess.run(
            [*COMMAND, "demo", *words, "--data", str(tmp_path)],
            env={**os.environ, **(LATE if late else {})},
            capture_output=True,
            check=False,
        )
    assert told.returncode == 0, told.stderr.decode()
    summary = json.loads(told.stdout)
    record_property("figures", f"latency {summary['latency_ms']}")
    counts = ("coups", "settlements", "acknowledged", "lost", "duplicates", "misaligned")
    assert [summary[each] for each in counts] == [rounds, rounds, rounds, 0, 0, 0], summary
    assert "voided" not in summary, summary
    log = tmp_path / "table.sqlite"
    assert verify(log).ok
    agrees(str(tmp_path / "ledger.sqlite"), log)
