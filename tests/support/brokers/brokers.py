"""Both brokers that the product must work on, as one thing to start, kill, wipe and start again."""

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol, Self

import pytest

from baccarat.local_brokers.nats import LOOPBACK, READY_SECONDS, EmbeddedBroker, answers_mqtt
from baccarat.processes.children import Child
from tests.support.machine.ports import free_port
from tests.support.machine.waiting import until_blocking

# Where Debian and Ubuntu put it, which is not on every user's PATH.
_MOSQUITTO_PATHS: Final = ("mosquitto", "/usr/sbin/mosquitto", "/usr/local/sbin/mosquitto")

# `user root`: started by root, it would drop to a user that cannot read a temporary folder.
_MOSQUITTO_CONF: Final = """\
listener {port} {host}
allow_anonymous true
user root
set_tcp_nodelay true
persistence true
persistence_location {store}/
autosave_interval 1
message_size_limit 8388608
max_queued_messages 1000
log_dest stderr
"""


class Broker(Protocol):
    """A running broker on loopback."""

    @property
    def port(self) -> int:
        """Its MQTT port, the same after every restart."""
        ...

    @property
    def pid(self) -> int:
        """Its process id."""
        ...

    def kill(self) -> None:
        """SIGKILL."""
        ...

    def restart(self, *, wipe: bool = False) -> None:
        """Stop it if it runs, wipe its store if wanted, start it on the same port."""
        ...

    def stop(self) -> None:
        """Stop it in order."""
        ...


class Mosquitto:
    """The distribution's broker, as a controller runs it, but without logins."""

    def __init__(self, data: Path) -> None:
        self._program = find_mosquitto()
        self._store = data / "store"
        self._conf = data / "mosquitto.conf"
        self._log = data / "mosquitto.log"
        self._child: Child | None = None
        self.port = 0

    @classmethod
    def start(cls, data: Path) -> Self:
        """Start one; between finding a free port and binding it, another may take it: try again."""
        broker = cls(data)
        for _ in range(5):
            broker.port = free_port()
            if broker._launch():
                return broker
        pytest.fail(f"mosquitto does not start; see {broker._log}")

    @property
    def pid(self) -> int:
        assert self._child is not None
        return self._child.pid

    def kill(self) -> None:
        assert self._child is not None
        self._child.kill()

    def stop(self) -> None:
        if self._child is not None:
            self._child.stop()

    def restart(self, *, wipe: bool = False) -> None:
        self.stop()
        if wipe:
            shutil.rmtree(self._store)
        assert self._launch(), f"mosquitto does not come up again; see {self._log}"

    def _launch(self) -> bool:
        self._store.mkdir(parents=True, exist_ok=True)
        text = _MOSQUITTO_CONF.format(port=self.port, host=LOOPBACK, store=self._store)
        self._conf.write_text(text, encoding="utf-8")
        self._child = Child.start(
            [self._program, "-c", self._conf], name="mosquitto", output=self._log
        )
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline and self._child.code is None:
            if answers_mqtt(self.port):
                return True
            time.sleep(0.01)
        self._child.stop()
        return False


def find_mosquitto() -> str:
    """The program; without it the suite fails, since the product promises to work on it."""
    found = next(filter(None, map(shutil.which, _MOSQUITTO_PATHS)), None)
    if found is None:
        pytest.fail("mosquitto is not installed: apt-get install mosquitto", pytrace=False)
    return found


BROKERS: Final[dict[str, Callable[[Path], Broker]]] = {
    "mosquitto": Mosquitto.start,
    "nats": EmbeddedBroker.start,
}


@contextmanager
def running(kind: str, data: Path) -> Iterator[Broker]:
    """A broker of that kind, stopped at the end."""
    broker = BROKERS[kind](data)
    try:
        yield broker
    finally:
        broker.stop()


def freeze(broker: Broker) -> None:
    """SIGSTOP, and wait until every thread of it has stopped."""
    os.kill(broker.pid, signal.SIGSTOP)
    threads = Path(f"/proc/{broker.pid}/task")

    def stopped() -> bool:
        states = [(thread / "stat").read_text().rpartition(")")[2] for thread in threads.iterdir()]
        return all(state.split()[0] == "T" for state in states)

    until_blocking(stopped, "the broker stops")


def thaw(broker: Broker) -> None:
    """SIGCONT."""
    os.kill(broker.pid, signal.SIGCONT)
