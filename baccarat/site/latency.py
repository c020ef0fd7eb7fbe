"""The delay from a settlement's commit to its arrival at a subscriber, as a Prometheus histogram.

It is measured in a cage's position: at a subscriber, by the stamp of the event's commit. On a
controller both use one clock. The time from the shoe's last byte to the commit is not measured
here, because the shoe's reports are sealed; `baccarat bench latency` measures all of it.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from prometheus_client import Histogram
from prometheus_client.core import Metric

from baccarat.site.service_documents import read_document

__all__ = ["SettlementDelays"]

# Seconds. A healthy table is below 10 ms; people notice a screen that is 500 ms late.
_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60)
_NS: Final = 1_000_000_000


class SettlementDelays:
    """The delays measured since the start.

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
        """Count a settlement that arrived.

        Args:
            payload: its envelope; any other payload is not counted.
            utc_ns: the time of arrival, nanoseconds since 1970.
        """
        try:
            at = datetime.fromisoformat(str(read_document(payload).get("at"))).timestamp()
        except ValueError:
            return
        # If the clock was set back in between, the delay counts as zero.
        self._heard.labels(self._table).observe(max(0.0, utc_ns / _NS - at))

    def metrics(self) -> Iterator[Metric]:
        """Yield the current histogram."""
        yield from self._heard.collect()
