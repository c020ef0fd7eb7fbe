"""A service that is told to stop ends, whatever hangs: by itself, or by force at its deadline."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.brokers.brokers import Broker, freeze, thaw
from tests.support.machine.processes import environment
from tests.support.machine.waiting import until_blocking
from tests.support.shoe.shoe_line import ShoePort

UNIT_STOPS_S = 15  # TimeoutStopSec of its unit: whoever is later is killed

HANGING = """
import sys, threading, time
from baccarat.deadline import Deadline
hangs = sys.argv[1] == "hangs"
threading.Thread(target=time.sleep, args=(600 if hangs else 0.1,)).start()
deadline = Deadline(1.5 if hangs else 60)
deadline.start()
deadline.settle()
"""


@pytest.mark.parametrize(("what", "code"), [("hangs", 1), ("ends", 0)])
def test_a_thread_that_hangs_does_not_keep_the_process(what: str, code: int) -> None:
    """Row 13: a shutdown deadline, then a hard exit."""
    done = subprocess.run(
        [sys.executable, "-c", HANGING, what],
        env=environment(),
        capture_output=True,
        check=False,
        timeout=60,  # the thread takes ten minutes
    )
    assert done.returncode == code
    assert (b"service.hung" in done.stdout) is (what == "hangs")


def config(folder: Path, broker: Broker, shoe: ShoePort) -> Path:
    path = folder / "table.toml"
    path.write_text(
        f'site = "sydney"\ntable = "t1"\nrulebook = "au-commission"\n'
        f'[shoe]\nurl = "{shoe.url}"\n[bus]\nport = {broker.port}\n',
        encoding="utf-8",
    )
    return path


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_driver_whose_broker_is_frozen_ends_in_time(
    number: signal.Signals, mosquitto: Broker, shoe: ShoePort, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "baccarat", "run"]
    command += [str(config(tmp_path, mosquitto, shoe)), "--only", "shoe"]
    log = tmp_path / "driver.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment(), stderr=output)
    try:
        until_blocking(lambda: b"bus_connected" in log.read_bytes(), "it is at work")
        freeze(mosquitto)
        process.send_signal(number)
        assert process.wait(timeout=UNIT_STOPS_S) in {0, 1}
    finally:
        thaw(mosquitto)
        process.kill()
        process.wait()
