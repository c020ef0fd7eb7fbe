"""The separate subscriber, a process of its own: stamps each message when it is delivered.

`python -m benchmarks.instruments.watcher BROKER_PORT REPORT_PORT TOPIC...`. The same process
watches the floor and the product. The stamp is `time.monotonic_ns()`, one clock for all processes
of a machine. It reports sightings afterwards, in datagrams: a line `NS TOPIC`, and the payload.
"""

import socket
import sys
import time
from typing import Final

from benchmarks.instruments import bare_mqtt as bare

__all__ = ["READY", "Reporter"]

READY: Final = "ready"
_HOST: Final = "127.0.0.1"


class Reporter:
    """Sends reports to the measurer.

    Args:
        port: of the measurer on this machine.
    """

    def __init__(self, port: int) -> None:
        self._line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._line.connect((_HOST, port))

    def seen(self, topic: str, payload: bytes) -> None:
        """Report a message that has just arrived."""
        now = time.monotonic_ns()
        self._line.send(b"%d %b\n%b" % (now, topic.encode(), payload))

    def ready(self, role: str) -> None:
        """Report that a process is up."""
        self.seen(READY, role.encode())


def _main(broker: int, measurer: int, topics: list[str]) -> None:
    reporter = Reporter(measurer)
    client = bare.connect(broker, "bench-watcher", *topics, received=reporter.seen)
    reporter.ready("watcher")
    bare.serve(client)


if __name__ == "__main__":
    _main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
