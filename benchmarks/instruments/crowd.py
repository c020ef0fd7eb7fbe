"""A crowd of simulated screens: streams that are read and discarded.

`python -m benchmarks.instruments.crowd REPORT_PORT ROLE COUNT PORT PATH`. It reports `ROLE` once
every stream has sent something.
"""

import select
import socket
import sys
from typing import Final

from benchmarks.instruments.watcher import Reporter

__all__: list[str] = []

_HOST: Final = "127.0.0.1"
_READ_SIZE: Final = 65_536


def _main(report: int, role: str, count: int, port: int, path: str) -> None:
    poll, lines, silent = select.poll(), {}, set()
    for _ in range(count):
        line = socket.create_connection((_HOST, port))
        line.sendall(f"GET {path} HTTP/1.1\r\nhost: {_HOST}\r\n\r\n".encode())
        lines[line.fileno()] = line
        silent.add(line.fileno())
        poll.register(line, select.POLLIN)
    while lines:
        for descriptor, _ in poll.poll():
            if not lines[descriptor].recv(_READ_SIZE):
                poll.unregister(descriptor)
                lines.pop(descriptor).close()
            elif descriptor in silent:
                silent.remove(descriptor)
                if not silent:
                    Reporter(report).ready(role)


if __name__ == "__main__":
    _main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
