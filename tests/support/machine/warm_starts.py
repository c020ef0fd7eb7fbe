"""Python children of the tests, made by a parent that has imported the product already.

Starting Python and importing the product takes 0.3 s, and a run of the suite does so 900 times.
`warm_starts` makes `subprocess` ask the `warm_parent` for such a child instead, which takes 0.02 s.
The child is this process's own: waiting, signals, exit codes, streams, environment, folder and
session are as before. A start is left to `subprocess` where anything about it is unusual, in tests
marked `cold_start`, and while everything is late on purpose (`make late`).
"""

import ctypes
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from typing import Any, Final

import msgspec

from baccarat.processes import tether
from tests.support.machine.processes import ROOT
from tests.support.machine.warm_parent import Start

__all__ = ["cold_starts", "is_warm", "no_starts", "warm_starts"]

_PR_SET_CHILD_SUBREAPER: Final = 36  # <linux/prctl.h>
_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_MODULE: Final = "tests.support.machine.warm_parent"
# What the interpreter, the C library and our packages read before a program's first line.
_READ_EARLY: Final = (
    "PYTHON", "LC_", "LANG", "LD_", "TZ", "MALLOC_", "GLIBC_", "OPENSSL_", "NO_COLOR",
    "FORCE_COLOR",
)  # fmt: skip
_ROOT_IS_FOUND: Final = {"PYTHONPATH": str(ROOT)}
# These measure a process from its first byte on.
_MEASURING: Final = frozenset({"bench", "casino"})
_USUAL: Final = {
    "executable": None, "preexec_fn": None, "close_fds": True, "pass_fds": (), "shell": False,
    "restore_signals": True, "gid": None, "gids": None, "uid": None, "umask": -1,
    "process_group": -1,
}  # fmt: skip
# Lines of /proc/self/status that a child inherits.
_INHERITED: Final = (
    "Umask", "Uid", "Gid", "Groups", "SigBlk", "SigIgn", "CapEff", "NoNewPrivs", "Seccomp",
    "Cpus_allowed",
)  # fmt: skip
_COLD: Final = subprocess.Popen
_NAMES: Final = signature(_COLD._execute_child)  # type: ignore[attr-defined]  # what it is given


class _Parent:
    """The warm parent of this process and of no other, as seen from here."""

    def __init__(self) -> None:
        self.made: set[int] = set()
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._surroundings = _surroundings()
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = _COLD(
                [sys.executable, "-m", _MODULE, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                cwd=ROOT,
            )

    def serves(self) -> bool:
        """Whether a child of the parent would inherit what a child of this process inherits."""
        return os.getpid() == self._owner and self._surroundings == _surroundings()

    def child(self, start: Start, streams: list[int]) -> int:
        """Make a child of this process and return its id."""
        request = msgspec.json.encode(start)
        with self._lock:
            _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
            try:
                socket.send_fds(self._line, [request], streams)
                made = self._line.recv(4)
            finally:
                _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        assert made, "the warm parent has ended"
        child = int.from_bytes(made, "big")
        self.made.add(child)
        return child

    def close(self) -> None:
        """End the parent; its children stay."""
        self._line.close()
        self._process.wait()


class _Popen(subprocess.Popen[Any]):
    """A `Popen` whose Python children come from the warm parent where they can."""

    parent: _Parent | None = None
    cold = False
    forbidden = False

    def _execute_child(self, *given: Any) -> None:
        assert not self.forbidden, "a test of tests/unit that starts a process is marked `process`"
        asked = _NAMES.bind(self, *given).arguments
        start = None if self.cold else _usual_start(asked)
        if start is None or not (parent := _parent()).serves():
            super()._execute_child(*given)  # type: ignore[misc]  # typeshed leaves it out
            return
        streams = (asked["p2cread"], asked["c2pwrite"], asked["errwrite"])
        own = [number if stream == -1 else stream for number, stream in enumerate(streams)]
        self.pid = parent.child(start, own)
        self._child_created = True
        ends = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        self._close_pipe_fds(*(asked[end] for end in ends))  # type: ignore[attr-defined]  # the same


@contextmanager
def warm_starts() -> Iterator[None]:
    """Start usual Python children warm, in the whole process."""
    subprocess.Popen = _Popen  # type: ignore[misc]  # asyncio and `run` look it up here
    try:
        yield
    finally:
        subprocess.Popen = _COLD  # type: ignore[misc]  # as it was
        if _Popen.parent is not None:
            _Popen.parent.close()
            _Popen.parent = None


@contextmanager
def cold_starts() -> Iterator[None]:
    """Start everything cold meanwhile."""
    _Popen.cold = True
    try:
        yield
    finally:
        _Popen.cold = False


@contextmanager
def no_starts() -> Iterator[None]:
    """Let every start fail meanwhile."""
    _Popen.forbidden = True
    try:
        yield
    finally:
        _Popen.forbidden = False


def is_warm(child: int) -> bool:
    """Whether the warm parent has made this child."""
    return _Popen.parent is not None and child in _Popen.parent.made


def _parent() -> _Parent:
    if _Popen.parent is None:
        _Popen.parent = _Parent()
    return _Popen.parent


def _usual_start(asked: Mapping[str, Any]) -> Start | None:
    """Return the start if it is a usual one of `-m MODULE` or `-c CODE`, in this environment."""
    if any(asked[name] != usual for name, usual in _USUAL.items()):
        return None
    command = [os.fspath(word) for word in asked["args"]]
    env = dict(os.environ if asked["env"] is None else asked["env"])
    cwd = os.fspath(asked["cwd"] or Path.cwd())
    if not all(_is_text(word) for word in (*command, cwd, *env, *env.values())):
        return None
    tie, arguments = _parts(command)
    if arguments[:1] not in (["-m"], ["-c"]) or _MEASURING.intersection(arguments[2:4]):
        return None
    if _read_early(env) != _read_early(os.environ):
        return None
    if not Path(cwd).is_dir() or (Path(cwd) != ROOT and Path(cwd, "baccarat").exists()):
        return None  # it cannot run there, or is another build
    return Start(tie, arguments, env, cwd, bool(asked["start_new_session"]))


def _parts(command: list[str]) -> tuple[list[str], list[str]]:
    """Return the arguments of the tether, if it is one, and those of the program."""
    if command[:4] == [sys.executable, "-I", "-S", tether.__file__]:
        words = command[4:]
        return (words, words[2:]) if words[1] == sys.executable else ([], [])
    return [], command[1:] if command[0] == sys.executable else []


def _is_text(word: object) -> bool:
    """Whether it can be sent: no bytes that are no UTF-8, and no end within."""
    return isinstance(word, str) and not any(c == "\0" or "\ud800" <= c <= "\udfff" for c in word)


def _read_early(env: Mapping[str, str]) -> dict[str, str]:
    """Return what of an environment is read before a program's first line."""
    found = {key: value for key, value in env.items() if key.startswith(_READ_EARLY)}
    return _ROOT_IS_FOUND | found


def _surroundings() -> list[object]:
    """Return what a child inherits from this process besides environment, folder and streams."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    limits = Path("/proc/self/limits").read_text("ascii")
    spaces = [each.readlink() for each in sorted(Path("/proc/self/ns").iterdir())]
    inherited = [line for line in lines if line.startswith(_INHERITED)]
    return [*inherited, limits, *spaces, os.getpriority(os.PRIO_PROCESS, 0)]
