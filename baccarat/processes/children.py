"""Child processes that cannot be orphaned: the broker and our own services.

The kernel kills a child when its parent ends, in whatever way (see `tether`). A child has a session
of its own, so that Ctrl-C reaches the parent alone. The parent then stops its children in order:
SIGTERM, a deadline, SIGKILL.
"""

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, Self

from events.errors import InputError, OurBug

__all__ = ["GRACE_SECONDS", "Child", "first_ended"]

# Enough to publish offline and close a log, and less than a service manager grants the parent.
GRACE_SECONDS: Final = 5.0

_TETHER: Final = Path(__file__).with_name("tether.py")


class Child:
    """A process that ends before its parent. Use `start`, as a context manager or with `stop`.

    Args:
        process: the process that `start` started.
        name: for error messages.
    """

    def __init__(self, process: "subprocess.Popen[bytes]", name: str) -> None:
        self._process = process
        self.name = name

    @classmethod
    def start(
        cls,
        command: Sequence[str | Path],
        *,
        name: str,
        output: Path | None = None,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Self:
        """Start `command`; its standard input is empty.

        Args:
            command: the program (found on PATH when it has no slash) and its arguments.
            name: for error messages.
            output: the file to which stdout and stderr are appended; None leaves them with ours.
            env: variables to add to ours.
            cwd: where to run.

        Raises:
            InputError: there is no such program.
            OurBug: called from a thread other than the main one.
        """
        if threading.current_thread() is not threading.main_thread():
            # The kernel's "parent" is the forking thread, and a pool's thread may end before the
            # process.
            raise OurBug(f"{name} must be started from the main thread, or it ends with this one")
        program = shutil.which(command[0])
        if program is None:
            raise InputError(f"{name}: there is no program {command[0]}")
        tether = [sys.executable, "-I", "-S", str(_TETHER), str(os.getpid())]
        with contextlib.ExitStack() as files:
            out = files.enter_context(output.open("ab")) if output else None
            process = subprocess.Popen(  # noqa: S603 - no shell, and the caller's own words
                [*tether, str(Path(program).absolute()), *command[1:]],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out and subprocess.STDOUT,
                env={**os.environ, **(env or {})},
                cwd=cwd,
                start_new_session=True,
            )
        return cls(process, name)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def code(self) -> int | None:
        """The exit code (negative: the signal that ended it), or None while it runs."""
        return self._process.poll()

    def terminate(self) -> None:
        """Request the end (SIGTERM)."""
        self._process.terminate()

    def kill(self) -> None:
        """End the process at once (SIGKILL) and reap it."""
        self._process.kill()
        self._process.wait()

    def stop(self, grace: float = GRACE_SECONDS) -> int:
        """Request the end, wait `grace` seconds, then kill. Blocks.

        Returns:
            The exit code.
        """
        self.terminate()
        try:
            return self._process.wait(grace)
        except subprocess.TimeoutExpired:
            self.kill()
            return self._process.returncode

    async def ended(self) -> int:
        """Wait for the end without blocking the loop, and reap the process.

        Returns:
            The exit code.
        """
        if (code := self.code) is not None:
            return code
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        descriptor = os.pidfd_open(self.pid)
        try:
            loop.add_reader(descriptor, ended.set)
            await ended.wait()
        finally:
            loop.remove_reader(descriptor)
            os.close(descriptor)
        return self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


async def first_ended(children: Iterable[Child]) -> Child:
    """Wait until one of the children ends, without blocking the loop, and return it."""
    ends = {asyncio.ensure_future(child.ended()): child for child in children}
    try:
        done, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in ends:
            task.cancel()
    return ends[done.pop()]
