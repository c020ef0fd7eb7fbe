"""Ends: no child outlives its parent, each is stopped in order, and a closed stream is no crash."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from baccarat.processes.children import GRACE_SECONDS, Child
from events.errors import InputError, OurBug
from tests.support.machine.processes import ROOT, alive, environment
from tests.support.machine.waiting import until_blocking

TRIES = 3  # of a machine that is busy with other suites

# Starts a child that ignores every polite request, says its id, and then meets its end.
_PARENT = """
import os, signal, sys, time
from pathlib import Path
from baccarat.processes.children import Child

# Whatever started the suite may ignore some of them (nohup, a shell's &), and that is inherited.
signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
    signal.signal(number, signal.SIG_DFL)

STUBBORN = '''
import signal, time
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
print("up", flush=True)
time.sleep(600)
'''
output = Path(sys.argv[1])
child = Child.start([sys.executable, "-c", STUBBORN], name="stubborn", output=output)
while not output.read_text():
    time.sleep(0.005)
print(child.pid, flush=True)
match sys.argv[2]:
    case "exception": raise RuntimeError("as planned")
    case "exit": sys.exit(0)
    case "hard exit": os._exit(3)
    case "abort": os.abort()
    case _: time.sleep(600)
"""


def parent(tmp_path: Path, end: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", _PARENT, str(tmp_path / "output"), end],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


@pytest.mark.parametrize("end", ["SIGTERM", "SIGINT", "SIGHUP", "SIGKILL", "SIGQUIT"])
def test_a_child_dies_with_a_parent_that_is_killed(tmp_path: Path, end: str) -> None:
    with parent(tmp_path, end) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        assert alive(child)
        process.send_signal(signal.Signals[end])
        assert process.wait(10) != 0
    until_blocking(lambda: not alive(child), "the child dies too")


@pytest.mark.parametrize("end", ["exception", "exit", "hard exit", "abort"])
def test_a_child_dies_with_a_parent_that_ends_by_itself(tmp_path: Path, end: str) -> None:
    with parent(tmp_path, end) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        process.wait(10)
    until_blocking(lambda: not alive(child), "the child dies too")


def test_a_child_whose_parent_has_gone_before_the_tie_never_runs(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    tether = ROOT / "baccarat" / "processes" / "tether.py"
    nobody = str(os.getppid())  # not the parent of what we start
    done = subprocess.run(
        [sys.executable, "-I", "-S", tether, nobody, "/bin/touch", marker],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "the parent has gone" in done.stderr
    assert not marker.exists()


def test_ctrl_c_at_the_terminal_reaches_the_parent_alone() -> None:
    with Child.start(["/bin/sleep", "600"], name="sleeper") as child:
        assert os.getsid(child.pid) == os.getpgid(child.pid) == child.pid
        assert os.getsid(0) != child.pid


def test_a_child_hears_signals_that_its_parent_ignores(tmp_path: Path) -> None:
    """A shell's `&` leaves SIGINT ignored, and Python SIGPIPE; a child must not inherit that."""
    said = tmp_path / "said"
    program = (
        "import signal; print(*(signal.getsignal(n) is signal.SIG_IGN for n in "
        "(signal.SIGTERM,)), signal.pthread_sigmask(signal.SIG_BLOCK, ()))"
    )
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        child = Child.start([sys.executable, "-c", program], name="child", output=said)
    finally:
        signal.signal(signal.SIGTERM, before)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    until_blocking(lambda: child.code is not None, "it ends")
    assert said.read_text() == "False set()\n"


def test_stop_asks_first() -> None:
    child = Child.start(["/bin/sleep", "600"], name="sleeper")
    assert child.code is None
    assert child.stop() == -signal.SIGTERM
    assert child.stop() == -signal.SIGTERM  # and twice does no harm


def test_stop_kills_what_does_not_listen_and_reaps_it(tmp_path: Path) -> None:
    output = tmp_path / "output"
    program = "trap '' TERM; echo up; while :; do sleep 0.1; done"
    took: list[float] = []
    while len(took) < TRIES and (not took or took[-1] >= GRACE_SECONDS):
        output.write_bytes(b"")
        child = Child.start(["/bin/sh", "-c", program], name="deaf", output=output)
        until_blocking(output.read_text, "it is up")
        began = time.monotonic()
        assert child.stop(grace=0.2) == -signal.SIGKILL
        took.append(time.monotonic() - began)
        assert not Path(f"/proc/{child.pid}").exists()
    assert 0.2 <= min(took) < GRACE_SECONDS  # the grace it was given, and not the usual one


async def test_the_loop_learns_of_an_end_without_waiting_in_it() -> None:
    child = Child.start(["/bin/sh", "-c", "exit 7"], name="seven")
    assert await asyncio.wait_for(child.ended(), 10) == 7
    assert await child.ended() == 7


async def test_waiting_for_an_end_can_be_given_up() -> None:
    with Child.start(["/bin/sleep", "600"], name="sleeper") as child:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(child.ended(), 0.01)
        child.terminate()
        assert await asyncio.wait_for(child.ended(), 10) == -signal.SIGTERM


def test_output_environment_and_folder_are_the_callers(tmp_path: Path) -> None:
    output = tmp_path / "output"
    output.write_text("before\n")
    child = Child.start(
        ["sh", "-c", "echo $WORD; pwd; echo bad >&2; cat"],
        name="shell",
        output=output,
        env={"WORD": "shoe"},
        cwd=tmp_path,
    )
    until_blocking(lambda: child.code is not None, "it ends, having found no input")
    assert output.read_text().splitlines() == ["before", "shoe", str(tmp_path), "bad"]


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match=r"^broker: there is no program nats-serverr$"):
        Child.start(["nats-serverr"], name="broker")


def test_a_thread_that_may_end_before_us_cannot_start_one() -> None:
    with ThreadPoolExecutor(1) as pool:
        starting = pool.submit(Child.start, ["/bin/sleep", "600"], name="sleeper")
        with pytest.raises(OurBug, match="main thread"):
            starting.result()


LOG = Path(__file__).parents[2] / "corpus" / "0.1.0" / "table.sqlite"
BACCARAT = f"{sys.executable} -m baccarat"


def shell(command: str) -> tuple[int, str]:
    done = subprocess.run(
        ["/bin/bash", "-c", command], capture_output=True, check=False, timeout=120, text=True
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("command", "what"), [(f"log show {LOG}", "shown"), (f"log verify --json {LOG}", "said")]
)
def test_results_that_can_go_nowhere_are_an_error_in_one_line(command: str, what: str) -> None:
    code, said = shell(f"{BACCARAT} {command} >&-")
    assert code == 2
    assert said == f"baccarat: standard output is closed; what is {what} needs somewhere to go\n"


def test_no_file_takes_the_place_of_a_closed_stream() -> None:
    code, _ = shell(f"{BACCARAT} log verify {LOG} <&- >/dev/null 2>&-")
    assert code == 0


def test_a_reader_that_goes_is_no_news() -> None:
    code, said = shell(f"{BACCARAT} log show {LOG} | head -1 >/dev/null; exit ${{PIPESTATUS[0]}}")
    assert (code, said) == (1, "")


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ("--coup NOSUCH", 1, "no event names a coup NOSUCH"),
        ("--from 2 --coup 20261127-01/1 --to 3", 1, "no event between these positions names a"),
        ("--from 5 --to 3", 2, "--from 5 --to 3: no position lies between them"),
        ("--from 999999", 1, "none from 999,999 on"),
    ],
)
def test_what_is_not_there_is_said(options: str, code: int, said: str) -> None:
    ended, told = shell(f"{BACCARAT} log show {options} {LOG}")
    assert ended == code
    assert said in told
    assert told.count("\n") == 1


# The command `cage run` with another coroutine in place of the ledger's.
CHILD = """
import asyncio, errno, sys
from baccarat.cli.main import main
from baccarat.services import cage_ledger
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

cage_ledger.serve = serve
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
