"""A ledger of any length is held against its log in the same memory."""

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from cage.ledger.database import parse_ledger_url
from cage.ledger.store import LedgerStore
from tests.support.cage.ledgers import STREAM, facts_of
from tests.support.log.long_logs import REVISED, long_log
from tests.support.machine.processes import ROOT, environment
from tests.support.property.logs import write_log

# Each settlement that is kept costs several kilobytes, so this many are not to be overlooked.
SHORT, LONG = 400, 4_000
MOST_KB = 4_096

# The command, and then the most memory that it ever had.
COMMAND = """\
import os, sys
from baccarat.cli.main import main
from tests.support.machine.processes import peak_kilobytes
code = main(sys.argv[1:])
print(peak_kilobytes(os.getpid()))
sys.exit(code)
"""


def test_a_reconciliation_takes_no_more_memory_for_a_longer_ledger(
    ledger: str, tmp_path: Path
) -> None:
    log = tmp_path / "table.sqlite"
    events = list(long_log(LONG))
    write_log(log, STREAM, events)
    facts = facts_of(log)
    peaks, asked = [], ["cage", "reconcile", str(log), "--ledger", ledger, "--json"]
    with closing(LedgerStore.open(parse_ledger_url(ledger), STREAM)) as store:
        for coups in (SHORT, LONG):
            end = 3 * coups + coups // REVISED
            for first in range(store.position, end, 500):
                store.book(facts[first : min(first + 500, end)])
            done = subprocess.run(
                [sys.executable, "-c", COMMAND, *asked],
                check=False,
                capture_output=True,
                text=True,
                cwd=ROOT,
                env=environment(),
            )
            document, peak = done.stdout.splitlines()
            said = json.loads(document)
            assert said["difference"] is None
            assert said["settlements"] == coups + coups // REVISED
            assert said["coups"] == coups
            peaks.append(int(peak))
    print(peaks)  # noqa: T201 - the figures
    assert done.returncode == 0
    assert peaks[1] - peaks[0] < MOST_KB
