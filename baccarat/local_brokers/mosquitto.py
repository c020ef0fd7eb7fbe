"""Run the distribution's mosquitto on this machine alone, as a controller does, without logins."""

import getpass
import shutil
import time
from pathlib import Path
from typing import Final, Self

from baccarat.free_port import free_port
from baccarat.local_brokers.nats import LOOPBACK, READY_SECONDS, answers_mqtt
from baccarat.processes.children import Child
from events.errors import BusError, InputError

__all__ = ["MosquittoBroker", "find_mosquitto"]

# Debian and Ubuntu install it here, which is not on every user's PATH.
_PLACES: Final = ("mosquitto", "/usr/sbin/mosquitto", "/usr/local/sbin/mosquitto")
# Another program may take the port after we found it and before mosquitto binds it.
_ATTEMPTS: Final = 5
_POLL_SECONDS: Final = 0.01
# mosquitto started by root would switch to a user who cannot read our folder: hence `user`.
_CONFIG: Final = """\
listener {port} {host}
allow_anonymous true
user {user}
set_tcp_nodelay true
message_size_limit 8388608
persistence true
persistence_location {store}/
max_queued_messages 1000
log_dest stderr
"""


class MosquittoBroker:
    """A running broker. `start` it; as a context manager it is stopped at the end.

    Args:
        child: its process.
        port: its MQTT port on loopback.
        log: its log file.
    """

    def __init__(self, child: Child, port: int, log: Path) -> None:
        self.child = child
        self.port = port
        self.log = log

    @classmethod
    def start(cls, data: Path) -> Self:
        """Start a broker and wait until it answers. Blocks; main thread only.

        Args:
            data: the folder for its store, configuration and log; it is made when missing.

        Raises:
            InputError: the program is not installed.
            BusError: it does not come up.
        """
        program = find_mosquitto()
        store, conf, log = data / "store", data / "mosquitto.conf", data / "mosquitto.log"
        store.mkdir(parents=True, exist_ok=True)
        for _ in range(_ATTEMPTS):
            port = free_port()
            user = getpass.getuser()
            text = _CONFIG.format(port=port, host=LOOPBACK, user=user, store=store.absolute())
            conf.write_text(text, encoding="utf-8")
            child = Child.start([program, "-c", conf], name="broker", output=log)
            if _answers(child, port):
                return cls(child, port, log)
            child.stop()
        raise BusError(f"broker: mosquitto does not come up; see {log}")

    @property
    def pid(self) -> int:
        """The process id."""
        return self.child.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.child.stop()


def find_mosquitto() -> str:
    """Return the program's path.

    Raises:
        InputError: it is not installed.
    """
    program = next(filter(None, map(shutil.which, _PLACES)), None)
    if program is None:
        raise InputError("broker: there is no mosquitto; install it: apt-get install mosquitto")
    return program


def _answers(child: Child, port: int) -> bool:
    end = time.monotonic() + READY_SECONDS
    while time.monotonic() < end and child.code is None:
        if answers_mqtt(port):
            return True
        time.sleep(_POLL_SECONDS)
    return False
