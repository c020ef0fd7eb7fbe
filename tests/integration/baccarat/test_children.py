"""No child outlives its parent, whatever the parent dies of; and each is stopped in order."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
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
