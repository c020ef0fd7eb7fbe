"""How long a settlement takes from its commit to whoever hears it, as a Prometheus histogram.

Measured where a cage would stand: at a subscriber, by the stamp that the commit gave the event. On
a controller both are of one clock. From the shoe's last byte to the commit nothing is measured
here, since what the shoe says is sealed to others; `baccarat bench latency` measures all of it.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from prometheus_client import Histogram
from prometheus_client.core import Metric

from baccarat.site.documents import read_document

__all__ = ["Delays"]

# Seconds. A healthy table is below 10 ms; a screen that is told after 500 ms is late for people.
_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60)
_NS: Final = 1_000_000_000


class Delays:
    """What was measured since the start.

    Args:
        table: the table's id.
    """

    def __init__(self, table: str) -> None:
        self._table = table
        self._heard = Histogram(
            "baccarat_settlement_heard_seconds",
            "From a settlement's commit to a subscriber.",
            labelnames=["table"],
            registry=None,
            buckets=_BUCKETS,
        )

    def heard(self, payload: bytes, utc_ns: int) -> None:
        """A settlement arrived.

        Args:
            payload: its envelope; what is none is not counted.
            utc_ns: when, nanoseconds since 1970.
        """
        try:
            at = datetime.fromisoformat(str(read_document(payload).get("at"))).timestamp()
        except ValueError:
            return
        # A clock that was set back in between makes no settlement quicker than at once.
        self._heard.labels(self._table).observe(max(0.0, utc_ns / _NS - at))

    def metrics(self) -> Iterator[Metric]:
        """As it stands."""
        yield from self._heard.collect()
