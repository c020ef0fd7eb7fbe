"""The soak, in two lanes beside one another: `make soak`.

    python -m tests.tools.soak FOLDER MUTANT_MINUTES

What plays with real processes mostly waits, and minds being disturbed; what only computes takes
whatever processor is left, at a lower priority. Each step says what it has to say in a file of the
folder; when it ends, its last lines stand on the terminal. Exit code 1 where one has failed.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["Step", "lanes", "main", "run_lane"]

_ROOT: Final = Path(__file__).parents[2]
_LAST_LINES: Final = 45
_NICE: Final = 10
# Of the waiting kind so many run well on two processors, of the computing kind one on each.
_WAITING: Final = 4
_COMPUTING: Final = 2


class Step(NamedTuple):
    """A command of a lane.

    Args:
        name: of it, and of its file.
        command: what is run.
        nice: how far it steps back from the processor.
    """

    name: str
    command: Sequence[str]
    nice: int = 0


def lanes(mutant_minutes: int) -> tuple[tuple[Step, ...], ...]:
    """What runs beside one another; the steps of a lane run one after the other."""
    pytest = [sys.executable, "-m", "pytest", "--timeout", "3600", "--dist", "worksteal"]
    pytest += ["--verbose", "--durations", "25", "--numprocesses"]
    waiting = [*pytest, str(_WAITING), "-m", "soak and not soak(computes=True)"]
    computing = [*pytest, str(_COMPUTING), "-m", "soak(computes=True)"]
    mutants = [sys.executable, "-m", "tests.tools.mutants", "--jobs", str(_COMPUTING)]
    mutants += ["--minutes", str(mutant_minutes)]
    return (
        (Step("processes", waiting),),
        (Step("computing", computing, _NICE), Step("mutants", mutants, _NICE)),
    )


def run_lane(steps: Sequence[Step], folder: Path) -> Iterator[tuple[Step, int, float]]:
    """Run a lane's steps, whatever becomes of any; each with its exit code and seconds."""
    for step in steps:
        began = time.monotonic()
        with ExitStack() as stack:
            output = stack.enter_context((folder / f"{step.name}.txt").open("wb"))
            child = subprocess.Popen(
                ["nice", "-n", str(step.nice), *step.command],
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                cwd=_ROOT,
            )
            stack.callback(child.terminate)
            code = child.wait()
        yield step, code, time.monotonic() - began


def main(arguments: Sequence[str]) -> int:
    """Run both lanes; 1 where a step has failed."""
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    sys.stdout.write(f"what each step says: {os.path.relpath(folder)}/*.txt\n")
    sys.stdout.flush()
    began = time.monotonic()
    both = lanes(int(arguments[1]))

    def told(steps: Sequence[Step]) -> int:
        return sum(not _tell(each, folder) for each in run_lane(steps, folder))

    with ThreadPoolExecutor(len(both)) as pool:
        failed = sum(pool.map(told, both))
    minutes = (time.monotonic() - began) / 60
    sys.stdout.write(f"{failed} of the steps failed; {minutes:.0f} minutes\n")
    return 1 if failed else 0


def _tell(done: tuple[Step, int, float], folder: Path) -> bool:
    """Say how a step ended; whether well."""
    step, code, seconds = done
    lines = (folder / f"{step.name}.txt").read_text("utf-8", "replace").splitlines()
    end = "\n".join(lines[-_LAST_LINES:])
    sys.stdout.write(f"== {step.name}: exit {code} after {seconds / 60:.0f} minutes\n{end}\n")
    sys.stdout.flush()
    return code == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
