"""The floor of the settlement latency: the product's hops without any of the product.

    pty -> reader: append, fdatasync, publish -> broker -> keeper: one row, committed with
    synchronous=FULL, publish -> broker -> the watcher

Real processes, the product's own broker, bare paho. Nothing is decoded, checked, decided, hashed or
kept for a resend. Every cost above the floor is the product's.
"""

import os
import sqlite3
import sys
import time
import tty
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Self

from baccarat.processes.children import Child
from benchmarks.instruments import bare_mqtt as bare
from benchmarks.instruments.watcher import Reporter

__all__ = ["ARRIVED", "Floor"]

ARRIVED: Final = "floor/arrived"
_READ: Final = "floor/read"
_READ_SIZE: Final = 4096
_FRAME: Final = b"%09d"  # the same size as a result report of the shoe


class Floor:
    """The floor's processes; as a context manager they end with it.

    Args:
        folder: for its journal and its database; on the same disk as the product's.
        broker: port of the broker.
        measurer: port to which the processes report that they are up.
    """

    def __init__(self, folder: Path, broker: int, measurer: int) -> None:
        self._folder = folder
        self._ports = (str(broker), str(measurer))
        self._stack = ExitStack()
        self._children: list[Child] = []
        self._said = 0

    def __enter__(self) -> Self:
        self._folder.mkdir()
        self._master, slave = os.openpty()
        self._stack.callback(os.close, self._master)
        self._stack.callback(os.close, slave)  # held open: the reader may come and go
        tty.setraw(slave)
        with self._stack:
            for role, place in (
                ("reader", os.ttyname(slave)),
                ("keeper", str(self._folder / "keeper.sqlite")),
            ):
                command = [
                    sys.executable,
                    "-m",
                    "benchmarks.instruments.floor",
                    role,
                    *self._ports,
                    place,
                ]
                output = self._folder / f"{role}.log"
                child = Child.start(
                    [*command, str(self._folder / "reader.journal")], name=role, output=output
                )
                self._children.append(self._stack.enter_context(child))
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def pids(self) -> list[int]:
        """Its processes, without the broker."""
        return [child.pid for child in self._children]

    def say(self) -> tuple[str, int]:
        """Hand the next frame to the line.

        Returns:
            The watcher's report of it, and `time.monotonic_ns()` just before the last byte.
        """
        self._said += 1
        frame = _FRAME % self._said
        now = time.monotonic_ns()
        os.write(self._master, frame)
        return frame.decode(), now


def _reader(broker: int, reporter: Reporter, port: str, journal: str) -> None:
    line = os.open(port, os.O_RDONLY | os.O_NOCTTY)
    file = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    client = bare.connect(broker, "bench-reader")

    def arrived() -> None:
        data = os.read(line, _READ_SIZE)
        os.write(file, data)
        os.fdatasync(file)
        bare.send(client, _READ, data)

    reporter.ready("reader")
    bare.serve(client, (line, arrived))


def _keeper(broker: int, reporter: Reporter, database: str) -> None:
    log = sqlite3.connect(database, isolation_level=None)
    log.execute("PRAGMA journal_mode=WAL")
    log.execute("PRAGMA synchronous=FULL")
    log.execute("CREATE TABLE event (position INTEGER PRIMARY KEY, bytes BLOB NOT NULL)")

    def received(_: str, payload: bytes) -> None:
        log.execute("INSERT INTO event (bytes) VALUES (?)", (payload,))
        bare.send(client, ARRIVED, payload)

    client = bare.connect(broker, "bench-keeper", _READ, received=received)
    reporter.ready("keeper")
    bare.serve(client)


def _main(role: str, broker: str, measurer: str, place: str, journal: str) -> None:
    reporter = Reporter(int(measurer))
    if role == "reader":
        _reader(int(broker), reporter, place, journal)
    else:
        _keeper(int(broker), reporter, place)


if __name__ == "__main__":
    _main(*sys.argv[1:])
