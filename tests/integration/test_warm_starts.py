"""Children of the warm parent are as those that are started cold: each case runs as both."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from baccarat.processes.children import Child
from tests.support.machine.processes import ROOT, alive, environment
from tests.support.machine.waiting import until_blocking
from tests.support.machine.warm_starts import cold_starts, is_warm

FAILING = "raise ValueError('told')"
ENDS = {
    "pass": 0,
    "import sys; sys.exit()": 0,
    "import sys; sys.exit(3)": 3,
    "import sys; sys.exit(258)": 2,
    "import sys; sys.exit('told')": 1,
    "import os; os._exit(7)": 7,
    "import os; os.kill(os.getpid(), 9)": -signal.SIGKILL,
    "import os, signal; os.kill(os.getpid(), signal.SIGTERM)": -signal.SIGTERM,
    "import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(9)": -signal.SIGINT,
    "raise KeyboardInterrupt": -signal.SIGINT,
    FAILING: 1,
    "import os, sys; sys.stdout = open(1, 'w'); print('lost'); os.close(1)": 120,
}
SHOWN = """
import atexit, os, signal, sys, threading
atexit.register(print, "at exit")
late = lambda: threading.main_thread().join() or print("thread")
threading.Thread(target=late).start()
print(sys.argv, sys.orig_argv, sys.path[0], __name__, os.getcwd(), os.environ["GIVEN"])
print(sys.stdin.read(), sys.stdin.name, sys.stdout.encoding, sys.stderr.errors, sys.stdout.mode)
print([str(signal.getsignal(number)) for number in (2, 13, 15, 25)], sorted(os.environ))
print(os.getpgid(0) == os.getpid(), os.getsid(0) == os.getpid(), os.getppid() == int(sys.argv[2]))
print(sorted(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")))
print("told", file=sys.stderr)
"""


@pytest.fixture(params=["warm", "cold"])
def warm(request: pytest.FixtureRequest) -> Iterator[bool]:
    with cold_starts() if request.param == "cold" else nullcontext():
        yield request.param == "warm"


def python(*words: str, **options: object) -> "subprocess.CompletedProcess[str]":
    given: Any = {"capture_output": True, "text": True, "timeout": 60, "check": False, **options}
    return subprocess.run([sys.executable, *words], **given)  # noqa: PLW1510 - it is given


def shown(folder: Path, *, new_session: bool) -> "subprocess.CompletedProcess[str]":
    env = {**os.environ, "GIVEN": "é"}
    words = ("-c", SHOWN, "one", str(os.getpid()))
    return python(
        *words, input="sent\r\n", env=env, cwd=folder, start_new_session=new_session, check=True
    )


def test_these_tests_are_of_warm_starts(warm: bool) -> None:
    with subprocess.Popen([sys.executable, "-c", "pass"]) as child:
        assert is_warm(child.pid) is warm


@pytest.mark.parametrize("code", ENDS)
def test_a_child_ends_with_its_own_code(code: str, warm: bool) -> None:
    assert python("-c", code).returncode == ENDS[code], f"{warm=}"


@pytest.mark.parametrize("new_session", [False, True])
def test_a_child_has_what_it_was_given(new_session: bool, tmp_path: Path) -> None:
    mine = shown(tmp_path, new_session=new_session)
    with cold_starts():
        theirs = shown(tmp_path, new_session=new_session)
    assert (mine.stdout, mine.stderr) == (theirs.stdout, theirs.stderr)
    assert "at exit" in mine.stdout


def test_an_exception_is_told_on_stderr(warm: bool) -> None:
    last = python("-c", FAILING).stderr.splitlines()[-1]
    assert last == "ValueError: told", f"{warm=}"


def test_a_module_is_run_as_the_main_one(warm: bool) -> None:
    done = python("-m", "baccarat", "--version", cwd=ROOT)
    assert (done.returncode, done.stdout.split()[0]) == (0, "baccarat,"), f"{warm=}"
    assert python("-m", "baccarat", "nonsense").returncode == 2


def test_a_killed_child_leaves_nothing(warm: bool) -> None:
    code = "import time; print('here', flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as child:
        assert child.stdout
        assert child.stdout.readline() == b"here\n"
        assert child.poll() is None
        child.kill()
        assert child.stdout.read() == b""
        assert child.wait() == -signal.SIGKILL, f"{warm=}"
    assert not Path(f"/proc/{child.pid}").exists()


async def test_the_loop_waits_for_a_child_as_for_any_other(warm: bool) -> None:
    pipe = asyncio.subprocess.PIPE
    code = "import sys; sys.exit(len(input()))"
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdin=pipe)
    await child.communicate(b"four\n")
    assert child.returncode == 4, f"{warm=}"


def test_many_at_once_are_kept_apart() -> None:
    code = "import sys; print(sys.argv[1], input())"
    children = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(number)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for number in range(20)
    ]  # fmt: skip
    for number, child in reversed([*enumerate(children)]):
        assert child.communicate(f"{-number}\n")[0] == f"{number} {-number}\n"
        assert child.returncode == 0


def test_a_tethered_child_ends_with_its_parent(tmp_path: Path) -> None:
    """The parent is cold, as a warm one starts its own children cold."""
    code = textwrap.dedent("""
        import os, sys
        from pathlib import Path
        from baccarat.processes.children import Child
        from tests.support.machine.warm_starts import is_warm, warm_starts
        with warm_starts():
            sleep = "import os, time; print(os.getppid(), flush=True); time.sleep(600)"
            child = Child.start([sys.executable, "-c", sleep], name="it", output=Path(sys.argv[1]))
            assert is_warm(child.pid)
            print(child.pid, os.getpid(), flush=True)
            input()
            os.kill(os.getpid(), 9)
    """)
    said = tmp_path / "said"
    with cold_starts(), subprocess.Popen(
        [sys.executable, "-c", code, str(said)], env=environment(),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as parent:  # fmt: skip
        assert parent.stdout and parent.stdin  # noqa: PT018 - both are pipes
        child, own = map(int, parent.stdout.readline().split())
        until_blocking(lambda: said.exists() and said.read_text() == f"{own}\n", "it has another")
        parent.stdin.write("\n")
        parent.stdin.close()
        assert parent.wait(30) == -signal.SIGKILL
    until_blocking(lambda: not alive(child), "the child outlives its parent")


def test_a_tethered_child_of_ours_is_stopped_and_reaped(tmp_path: Path) -> None:
    code = """if True:
        import signal, sys, time
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))
        print("here", flush=True)
        while True: time.sleep(0.1)  # a signal just before one long sleep would wait for its end
    """
    said = tmp_path / "said"
    with Child.start([sys.executable, "-c", code], name="it", output=said) as child:
        assert is_warm(child.pid)
        until_blocking(lambda: said.exists() and said.read_text() == "here\n", "it does not begin")
        assert child.stop() == 5
    assert not Path(f"/proc/{child.pid}").exists()


@pytest.mark.parametrize(
    "unusual",
    [
        {"env": {**os.environ, "PYTHONHASHSEED": "1"}},
        {"env": {**os.environ, "TZ": "Asia/Macau"}},
        {"env": {**os.environ, "NO_COLOR": "1"}},
        {"env": {**os.environ, "PYTHONPATH": "/somewhere"}},
        {"umask": 0o077},
        {"process_group": 0},
        {"preexec_fn": os.getpid},
        {"close_fds": False},
    ],
    ids=["hash_seed", "time_zone", "no_color", "python_path", "umask", "group", "preexec", "fds"],
)
def test_an_unusual_start_is_a_cold_one(unusual: dict[str, object]) -> None:
    with subprocess.Popen([sys.executable, "-c", "pass"], **unusual) as child:  # type: ignore[call-overload]  # of several types
        assert not is_warm(child.pid)


@pytest.mark.parametrize(
    "command",
    [
        ["-I", "-c", "pass"],
        ["-X", "dev", "-c", "pass"],
        ["-m", "baccarat", "bench", "--help"],
        ["-c", "\udcff"],
    ],
)
def test_an_unusual_command_is_a_cold_one(command: list[str]) -> None:
    with subprocess.Popen(
        [sys.executable, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as child:
        assert not is_warm(child.pid)


def test_what_this_process_hands_down_makes_a_cold_one() -> None:
    before = os.umask(0o077)
    try:
        with subprocess.Popen([sys.executable, "-c", "pass"]) as child:
            assert not is_warm(child.pid)
    finally:
        os.umask(before)


@pytest.mark.cold_start
def test_the_mark_makes_a_cold_one() -> None:
    with subprocess.Popen([sys.executable, "-c", "pass"]) as child:
        assert not is_warm(child.pid)
