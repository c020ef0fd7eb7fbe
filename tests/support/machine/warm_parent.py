"""A process that has imported the whole product, and becomes a fresh Python for each request.

`python -m tests.support.machine.warm_parent SOCKET` serves one test worker, which `warm_starts`
asks. It starts no thread. A request makes a child that is reparented to the worker, so that the
worker waits for it and kills it like any other. The child leaves the serving loop and runs the
program in this module's place: its exceptions and its exit are the interpreter's own.
"""

import atexit
import gc
import importlib
import os
import pkgutil
import runpy
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import msgspec
from msgspec import Struct

from baccarat.processes import tether

__all__ = ["REQUEST_BYTES", "Start"]

REQUEST_BYTES: Final = 1 << 17
"""The maximum size of a request: less than what a socket takes at once."""
_ROOMS: Final = (
    "baccarat", "cage", "displays", "events", "property", "shoe_driver", "simulators", "table_core",
)  # fmt: skip
# Run as programs, or by Alembic.
_NEVER_IMPORTED: Final = ("__main__", "migrations", "process", "tether")
_STREAMS: Final = ("stdin", "stdout", "stderr")

_codes: Final[list[int]] = []
"""The exit code of this process once it is known."""


class Start(Struct, frozen=True):
    """A Python to be started.

    Args:
        tether: the arguments of `baccarat.processes.tether` that would execute it, or none.
        arguments: after the interpreter: `-m MODULE ...` or `-c CODE ...`.
        env: the whole environment.
        cwd: where it runs.
        new_session: whether it gets a session of its own.
    """

    tether: list[str]
    arguments: list[str]
    env: dict[str, str]
    cwd: str
    new_session: bool


def _modules() -> Iterator[str]:
    """Return the names of the product's modules, but for programs and migrations."""
    for room in _ROOMS:
        for found in pkgutil.walk_packages([room], f"{room}."):
            if not {*found.name.split(".")}.intersection(_NEVER_IMPORTED):
                yield found.name


def _serve(line: socket.socket) -> Start:
    """Answer requests until the worker has gone; return in the child that is to run one."""
    while True:
        request, streams, _, _ = socket.recv_fds(line, REQUEST_BYTES, len(_STREAMS))
        if not request:
            os._exit(0)
        start = msgspec.json.decode(request, type=Start)
        if _has_made_child(line):
            _take_over(start, streams)
            return start
        for stream in streams:
            os.close(stream)


def _has_made_child(line: socket.socket) -> bool:
    """Make a child of the worker, the nearest subreaper, and report its id; True in the child."""
    told, tell = os.pipe()
    go, hold = os.pipe()
    between = os.fork()
    if between == 0:
        child = os.fork()
        if child == 0:
            os.close(hold)
            os.read(go, 1)
            return True
        os.write(tell, child.to_bytes(4, "big"))
        os._exit(0)
    os.waitpid(between, 0)
    line.send(os.read(told, 4))
    for descriptor in (told, tell, go, hold):
        os.close(descriptor)
    return False


def _take_over(start: Start, streams: list[int]) -> None:
    """Give this process what a new one has: streams, environment, folder, session, arguments."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(len(_STREAMS), os.sysconf("SC_OPEN_MAX"))
    if start.new_session:
        os.setsid()
    os.chdir(start.cwd)
    os.environ.clear()
    os.environ.update(start.env)
    time.tzset()
    tempfile.tempdir = None
    for number, name in enumerate(_STREAMS):
        _open(number, name)
    if start.tether:
        _tie(start.tether)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    sys.orig_argv = [sys.executable, *start.arguments]


def _tie(arguments: list[str]) -> None:
    """Run the product's tether as it is, but for its last step."""
    execute, os.execv = os.execv, lambda *_: None  # type: ignore[assignment]  # it comes back
    sys.argv = [tether.__file__, *arguments]
    runpy.run_path(tether.__file__, run_name="__main__")
    os.execv = execute


def _open(number: int, name: str) -> None:
    """Open a standard stream as the interpreter does."""
    mode = "w" if number else "r"
    old: Any = (sys.stdin, sys.stdout, sys.stderr)[number]
    direct = bool(number) and old.write_through
    buffer: Any = open(number, f"{mode}b", 0 if direct else -1, closefd=False)  # noqa: SIM115 - a descriptor
    raw = buffer if direct else buffer.raw
    raw.name = f"<{name}>"
    stream: Any = TextIOWrapper(
        buffer,
        encoding=old.encoding,
        errors=old.errors,
        newline="\n",
        line_buffering=name == "stderr" or raw.isatty(),
        write_through=direct,
    )
    stream.mode = mode
    setattr(sys, name, stream)
    setattr(sys, f"__{name}__", stream)


def _run(start: Start) -> None:
    """Run the program; its exceptions are the interpreter's to report.

    Where its exit code is known, modules are not taken down, which would take 0.06 s.
    """
    try:
        _run_program(start)
        _codes.append(0)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            _codes.append(end.code or 0)
        raise


def _run_program(start: Start) -> None:
    kind, what, *rest = start.arguments
    if kind == "-m":
        sys.argv = [what, *rest]
        sys.path[0] = start.cwd
        if not hasattr(sys.modules.get(what), "__path__"):
            sys.modules.pop(what, None)  # a new process has not imported what it runs
        runpy.run_module(what, run_name="__main__", alter_sys=True)
        return
    sys.argv = ["-c", *rest]
    sys.path[0] = ""
    main = sys.modules["__main__"] = ModuleType("__main__")
    exec(compile(what, "<string>", "exec"), main.__dict__)  # noqa: S102 - what `python -c` does


def _leave() -> None:
    """End with the code that is known; streams that cannot be flushed are the interpreter's."""
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
        for code in _codes:
            os._exit(code & 0xFF)


def _main(descriptor: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the worker's, which ends us
    atexit.register(_leave)  # first, so that it runs after all others
    for name in _modules():
        importlib.import_module(name)
    assert len(list(Path("/proc/self/task").iterdir())) == 1, "no child would have this thread"
    gc.freeze()
    with socket.socket(fileno=descriptor) as line:
        start = _serve(line)
        line.detach()
    _run(start)


if __name__ == "__main__":
    _main(int(sys.argv[1]))
