"""Run as a script: tie this process to its parent, then become the command that follows.

`python -I -S tether.py PARENT COMMAND...`. From then on the kernel kills the command when the
parent ends, in whatever way. A script of its own, since the tie must be made between fork and exec,
where a process that may have threads can run nothing of its own safely. Standard library only.
"""

import ctypes
import os
import signal
import sys
from typing import Final

__all__: list[str] = []

_PR_SET_PDEATHSIG: Final = 1  # <linux/prctl.h>
_NOT_RUN: Final = 127  # what a shell answers for a command that it cannot run


def _main(parent: int, command: list[str]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        sys.exit(f"cannot be tied to the parent: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != parent:
        sys.exit("the parent has gone already")
    # A shell's `&` lets children inherit a deaf SIGINT, Python a deaf SIGPIPE: neither is the
    # command's to suffer.
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
