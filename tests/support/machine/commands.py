"""The command line as scripts use it: what it answers, in this process or in one of its own."""

import io
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, Final, NamedTuple

from baccarat.cli.main import main
from tests.support.machine.processes import environment

__all__ = [
    "COMMAND",
    "Done",
    "at_work",
    "complaint",
    "documents",
    "here",
    "read_line",
    "run",
    "said",
]

COMMAND: Final = (sys.executable, "-m", "baccarat")
_PATIENCE_S: Final = 120


class Done(NamedTuple):
    """What a command comes to: the exit code, and all that it wrote."""

    code: int
    out: str
    err: str


def here(*words: object, stdin: bytes = b"") -> Done:
    """Run the command in this process: the interpreter's start would be most of the time.

    How it sets up the process's logs and umask, `tests/conftest.py` takes back.
    """
    out, err, before = _stream(), _stream(), sys.stdin
    sys.stdin = _stream(stdin)
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = main(list(map(str, words)))
    finally:
        sys.stdin = before
    return Done(code, _text(out), _text(err))


def _stream(data: bytes = b"") -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def run(
    *words: object,
    stdin: bytes = b"",
    within: Sequence[str] = (),
    program: Sequence[str] = COMMAND,
    timeout: float = _PATIENCE_S,
) -> Done:
    """Run the command in a process of its own, to its end.

    Args:
        words: behind `baccarat`.
        stdin: its standard input.
        within: what it is run by.
        program: another one in place of `baccarat`.
        timeout: seconds.
    """
    done = subprocess.run(
        [*within, *program, *_words(words)],
        input=stdin,
        capture_output=True,
        check=False,
        timeout=timeout,
        env=environment(),
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def _words(words: Sequence[object]) -> list[str | bytes]:
    return [word if isinstance(word, bytes) else str(word) for word in words]


def said(done: Done) -> str:
    """What a command that ends well wrote to stdout; it wrote nothing to stderr."""
    assert (done.code, done.err) == (0, ""), done
    return done.out


def documents(done: Done) -> list[dict[str, Any]]:
    """The lines of JSON that a command wrote; how it ended is another matter."""
    return [json.loads(line) for line in done.out.splitlines()]


def complaint(done: Done) -> str:
    """What a command says of bad input: one line, and nothing on stdout."""
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done
    assert done.err.startswith("baccarat: ")
    return done.err


@contextmanager
def at_work(*words: object, **options: Any) -> Iterator["subprocess.Popen[bytes]"]:
    """The command while it runs, with pipes for all that it writes; killed at the end.

    Args:
        words: behind `baccarat`.
        options: of `Popen`.
    """
    pipes: dict[str, Any] = {
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "env": environment(),
    }
    with subprocess.Popen([*COMMAND, *_words(words)], bufsize=0, **(pipes | options)) as process:
        try:
            yield process
        finally:
            process.kill()


def read_line(process: "subprocess.Popen[bytes]") -> str:
    """The next line of a command at work."""
    assert process.stdout is not None
    return process.stdout.readline().decode()
