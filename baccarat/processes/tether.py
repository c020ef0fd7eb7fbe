"""A script that ties this process to its parent, then becomes the command that follows.

`python -I -S tether.py PARENT COMMAND...`. The kernel then kills the command when the parent ends,
in whatever way. It is a script of its own because the tie must be made between fork and exec, where
a process with threads can run none of its own code safely. Standard library only.
"""

import ctypes
import os
import signal
import sys
from typing import Final

__all__: list[str] = []

_PR_SET_PDEATHSIG: Final = 1  # <linux/prctl.h>
_NOT_RUN: Final = 127  # a shell's exit code for a command that it cannot run


def _main(parent: int, command: list[str]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        sys.exit(f"cannot be tied to the parent: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != parent:
        sys.exit("the parent has gone already")
    # A shell's `&` makes children ignore SIGINT, and Python makes them ignore SIGPIPE: restore both
    # for the command.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    try:
        os.execv(command[0], command)  # noqa: S606 - becoming the command is what this is for
    except OSError as error:
        print(f"cannot run {command[0]}: {error.strerror}", file=sys.stderr)  # noqa: T201 - to the log
        sys.exit(_NOT_RUN)


if __name__ == "__main__":
    _main(int(sys.argv[1]), sys.argv[2:])
