"""Inspect a whole log next to the table that writes it, in a process of low priority.

Opening a log checks only the events after its newest snapshot anchor. This process checks the
events before the anchor, for as long as that takes: it re-hashes them and folds them again.

`python -m baccarat.processes.inspection LOG` prints one line for a fault, and exits with 0, or with
3 if there is one. `inspect_in_background` starts it.
"""

import asyncio
import os
import sys
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final

from baccarat.history.log_judging import Judging
from baccarat.processes.children import Child
from events.structured_log import structlog
from table_core.service.snapshots import inspect_log

__all__ = ["inspect_in_background"]

_SOUND: Final = 0
_UNSOUND: Final = 3  # not 1: Python itself ends with that
_NICENESS: Final = 19
# Pause before an inspection that was interrupted starts again, seconds.
_AGAIN_S: Final = 60.0

_log: Final = structlog.get_logger()


async def inspect_in_background(path: Path) -> str | None:
    """Run `table_core.service.snapshots.inspect_log` on the log, in a process of its own.

    An inspection that was killed or ran out of memory shows nothing about the log, and starts again
    after a minute.
    """
    while True:
        code, said = await _run(path)
        if code == _SOUND:
            _log.info("log.inspected", path=str(path))
            return None
        if code == _UNSOUND and said:
            return said
        _log.error("inspection.failed", code=code, said=said)
        await asyncio.sleep(_AGAIN_S)


async def _run(path: Path) -> tuple[int, str]:
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="baccarat-inspection-"))
        output = Path(folder) / "said"
        command: list[str | Path] = [sys.executable, "-m", "baccarat.processes.inspection", path]
        child = stack.enter_context(Child.start(command, name="inspection", output=output))
        code = await child.ended()
        return code, output.read_text(errors="replace").strip()


def _main(path: Path) -> int:
    os.nice(_NICENESS)
    said = inspect_log(path, judging=partial(Judging, path))
    if said is None:
        return _SOUND
    sys.stdout.write(f"{said}\n")
    return _UNSOUND


if __name__ == "__main__":
    sys.exit(_main(Path(sys.argv[1])))
