"""A service's own process: what it tells its manager, and the code by which it ends."""

import os
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

# The command `cage run` with another coroutine in place of the ledger's.
CHILD = """
import asyncio, errno, sys
from baccarat.cli.cage import run
from baccarat.cli.main import main
from events.errors import LogRefused

wait, number = sys.argv[1:]

async def serve(place, stop, probe, *, patient):
    if wait == "ready":
        await asyncio.sleep(0.01)
    if number == "LogRefused":
        raise LogRefused("the log was cut")
    async with asyncio.TaskGroup() as parts:
        parts.create_task(refused(getattr(errno, number)))

async def refused(number):
    raise OSError(number, "what the system says", "a file")

run.serve = serve
sys.exit(main(["cage", "run", "--url", "mqtt://127.0.0.1/site/t1"]))
"""


@pytest.mark.parametrize(
    ("wait", "error", "code", "told"),
    [
        ("ready", "ENOENT", 1, [b"READY=1"]),
        ("ready", "LogRefused", 2, [b"READY=1"]),
        ("at once", "LogRefused", 2, []),
    ],
)
def test_a_service_that_was_ready_ends_for_good_only_by_what_a_person_must_mend(
    wait: str, error: str, code: int, told: list[bytes], tmp_path: Path
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.setblocking(False)
        ended = subprocess.run(
            [sys.executable, "-c", CHILD, wait, error],
            env={**os.environ, "NOTIFY_SOCKET": str(tmp_path / "notify")},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        heard = []
        with suppress(BlockingIOError):
            while True:
                heard.append(manager.recv(100))
    assert (ended.returncode, heard) == (code, told), ended.stderr
    (line,) = ended.stderr.splitlines()
    assert line.startswith("baccarat: ")
