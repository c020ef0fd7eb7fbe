"""Serve a property's health as Prometheus metrics, on a loopback port: what `status` says, always.

The archive is read every second, so a node, worker or database that hangs shows in its readings'
age. The archive's own silence is one of the findings.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import start_http_server
from prometheus_client.registry import Collector

from baccarat.config.property_form import PropertyConfig
from events.clock import Clock, SystemClock
from events.errors import ArchiveError, ConfigError
from property.archive.client import ArchiveClient
from property.archive.readings import read_readings
from property.health.readings import Reading
from property.health.verdict import PropertyHealth, judge_property

__all__ = ["PropertyMetrics", "property_metrics", "serve"]

_LOOPBACK: Final = "127.0.0.1"
_EVERY_S: Final = 1.0
# Without a reading of the archive for so long it counts as away; a server that hangs says nothing.
_STALE_US: Final = 5_000_000
_NS: Final = 1_000_000_000


def property_metrics(health: PropertyHealth, readings: Sequence[Reading]) -> Iterator[Metric]:
    """Yield all metrics.

    Args:
        health: the property, judged.
        readings: what it was judged by.
    """
    yield GaugeMetricFamily(
        "baccarat_property_well", "Whether nothing is wrong with the property.", value=health.well
    )
    finding = GaugeMetricFamily(
        "baccarat_property_finding",
        "Something that is not well with a part of the property.",
        labels=["part", "name", "code"],
    )
    for each in health.findings:
        if each.grave or each.code == "unknown":
            finding.add_metric([each.kind, each.name, each.code], 1)
    yield finding
    age = GaugeMetricFamily(
        "baccarat_property_pulse_age_seconds",
        "Seconds since the uplink's newest status was stored in the archive.",
        labels=["table"],
    )
    events = GaugeMetricFamily(
        "baccarat_property_lag_events",
        "Events that the table's log has and the archive has not.",
        labels=["table"],
    )
    behind = GaugeMetricFamily(
        "baccarat_property_lag_seconds",
        "Seconds between the newest event of the table's log and of the archive.",
        labels=["table"],
    )
    for name, pulse in health.tables.items():
        if pulse.age_s is not None and pulse.state != "ended":
            age.add_metric([name], pulse.age_s)
            events.add_metric([name], pulse.lag_events or 0)
            behind.add_metric([name], pulse.lag_s)
    yield age
    yield events
    yield behind
    yield from _of_parts(readings)


def _of_parts(readings: Sequence[Reading]) -> Iterator[Metric]:
    labels = ["part", "name"]
    ends = GaugeMetricFamily(
        "baccarat_property_certificate_expires_timestamp_seconds",
        "When a certificate of the property ends, seconds since 1970.",
        labels=labels,
    )
    free = GaugeMetricFamily(
        "baccarat_property_free_ratio", "The share of a disk or stream that is free.", labels=labels
    )
    for each in readings:
        if each.certificate_ends_s is not None and each.state != "ended":
            ends.add_metric([each.kind, each.name], each.certificate_ends_s)
        if each.free is not None:
            free.add_metric([each.kind, each.name], each.free)
    yield ends
    yield free


class PropertyMetrics(Collector):
    """The property as it was last read; the collector reads it at each scrape.

    Args:
        clock: for the readings' age.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._read_us: int | None = None
        self._error = "not asked yet"
        self._health = judge_property({}, (), 0.0, self._error)
        self._readings: Sequence[Reading] = ()

    async def read(self, asker: ArchiveClient) -> None:
        """Read the archive once.

        Raises:
            ArchiveError: it does not answer.
        """
        tables, self._readings = await read_readings(asker)
        now_s = self._clock.utc_ns() / _NS
        self._health = judge_property(tables, self._readings, now_s)
        self._read_us = self._clock.mono_us()

    def away(self, error: str) -> None:
        """Note why the archive does not answer."""
        self._error, self._read_us = error, None

    def collect(self) -> Iterator[Metric]:
        """Return the metrics as of now; prometheus-client calls this at each scrape."""
        read_us, health = self._read_us, self._health
        if read_us is None or self._clock.mono_us() - read_us > _STALE_US:
            error = self._error if read_us is None else "it hangs"
            health = judge_property({}, (), 0.0, error)
        return property_metrics(health, self._readings)


async def serve(config: PropertyConfig, stop: asyncio.Event) -> None:
    """Serve `/metrics` until `stop` is set; wait for an archive that is away.

    Raises:
        ConfigError: the configuration has no metrics or no archive, or the port is in use.
    """
    if config.metrics is None or config.archive is None:
        raise ConfigError("metrics: the configuration has no [metrics], or no [archive] to read")
    found = PropertyMetrics(SystemClock())
    registry = CollectorRegistry(auto_describe=False)
    registry.register(found)
    port = config.metrics.port
    try:
        server, thread = start_http_server(port, addr=_LOOPBACK, registry=registry)
    except OSError as error:
        raise ConfigError(f"metrics.port: {port}: {error.strerror}; choose another") from error
    reading = asyncio.create_task(_read(found, config.archive.database))
    try:
        await stop.wait()
    finally:
        reading.cancel()
        with suppress(asyncio.CancelledError):
            await reading
        server.shutdown()
        server.server_close()
        thread.join()


async def _read(found: PropertyMetrics, url: str) -> None:
    while True:
        try:
            async with await ArchiveClient.open(url) as asker:
                while True:
                    await found.read(asker)
                    await asyncio.sleep(_EVERY_S)
        except ArchiveError as error:
            found.away(str(error))
            await asyncio.sleep(_EVERY_S)
