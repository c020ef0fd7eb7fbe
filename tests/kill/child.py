"""A service's real process with a step at which it dies, or stands still to be told.

    python -m tests.kill.child CONFIG SERVICE PLAN

PLAN is JSON: `{"step": "append.after", "nth": 7, "how": "die" | "wait"}`, or `{}` for none. A
service that waits takes its next plan from a line on stdin. The process is the product's own
service; only the probe, which the product calls at each of its steps and which does nothing there,
is the test's.
"""

import json
import os
import signal
import sys
from pathlib import Path

from baccarat.config.table import load_config
from baccarat.services.registry import configure_logging, run_service

READY_TO_BE_TOLD = b"waiting\n"


class Trap:
    """Counts how often the step has come, and springs at the nth."""

    def __init__(self, plan: str) -> None:
        self._arm(plan)

    def _arm(self, plan: str) -> None:
        wanted = json.loads(plan)
        self._step: str | None = wanted.get("step")
        self._left: int = wanted.get("nth", 0)
        self._how: str = wanted.get("how", "")

    def __call__(self, step: str) -> None:
        if step != self._step:
            return
        self._left -= 1
        if self._left != 0:
            return
        if self._how == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        os.write(1, READY_TO_BE_TOLD)
        self._arm(sys.stdin.readline())  # blocks the whole process in the middle of the step


def main() -> None:
    config, service, plan = sys.argv[1:]
    configure_logging(service)
    run_service(load_config(Path(config)), service, Trap(plan))


if __name__ == "__main__":
    main()
