"""Serve a table's health as Prometheus metrics, on a loopback port of this machine.

All values come from the services' messages on the bus (`state`, `link/shoe`, `shoe/ack`,
`settlement`, `status/...`) and from the disk. So this module cannot slow or stop a table, and a
service that has died cannot hide it. It uses `prometheus-client` and the standard text format.

The delay from a settlement's commit to its arrival at a subscriber, as a Prometheus histogram. It
is measured in a cage's position: at a subscriber, by the stamp of the event's commit. On a
controller both use one clock. The time from the shoe's last byte to the commit is not measured
here, because the shoe's reports are sealed; `baccarat bench latency` measures all of it.
"""

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    Metric,
)
from prometheus_client.exposition import start_http_server
from prometheus_client.registry import Collector

from baccarat.site.findings import read_document
from baccarat.site.machine_metrics import machine_metrics
from events.clock import Clock
from events.errors import ConfigError
from events.free_text import show_text
from events.mqtt.bus import Bus, BusSettings, Handler
from events.mqtt.messages import Message
from events.mqtt.presence import Presence, read_status
from events.mqtt.topics import Topics

__all__ = ["SettlementDelays", "TableHealth", "serve"]

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


_US: Final = 1_000_000
_LINK_STATES: Final = ("down", "open", "up", "stalled")
_STATUS: Final = "+"
_LOOPBACK: Final = "127.0.0.1"


class TableHealth(Struct):
    """The known state of a table. The bus writes it; the collector reads it.

    Args:
        table: its id.
        disks: name to a folder on the disk to watch.
        clock: the time source.
        certificates: PEM files by the key of the configuration that names each.
    """

    table: str
    disks: Mapping[str, Path]
    clock: Clock
    certificates: Mapping[str, Path] = {}
    connected: bool = False
    state: dict[str, Any] = {}
    state_at: float | None = None
    link: dict[str, Any] = {}
    link_at: float | None = None
    ack: dict[str, Any] = {}
    services: dict[str, Presence] = {}
    delays: SettlementDelays | None = None

    def __post_init__(self) -> None:
        self.delays = self.delays or SettlementDelays(self.table)

    def on_state(self, payload: bytes) -> None:
        """Store the newest `state`."""
        if found := read_document(payload):
            self.state, self.state_at = found, self._now()

    def on_link(self, payload: bytes) -> None:
        """Store the newest `link/shoe`."""
        if found := read_document(payload):
            self.link, self.link_at = found, self._now()

    def on_ack(self, payload: bytes) -> None:
        """Store the newest `shoe/ack`."""
        if found := read_document(payload):
            self.ack = found

    def on_settlement(self, payload: bytes) -> None:
        """Measure a settlement that has arrived."""
        if self.delays:
            self.delays.heard(payload, self.clock.utc_ns())

    async def on_status(self, message: Message) -> None:
        """Store a service's birth, heartbeat or Will."""
        if found := read_status(message.payload):
            service = message.topic.rpartition("/")[2]
            self.services[service] = self.services.get(service, Presence()).with_message(
                found,
                retained=message.retain,
                utc_ns=self.clock.utc_ns(),
                mono_us=self.clock.mono_us(),
            )

    async def on_connect(self) -> None:
        """Note that the broker is connected."""
        self.connected = True

    def on_disconnect(self) -> None:
        """Note that the broker is not connected."""
        self.connected = False
        for service, known in self.services.items():
            self.services[service] = known.disconnected()

    def _now(self) -> float:
        return self.clock.mono_us() / _US

    def metrics(self) -> Iterator[Metric]:
        """Yield all metrics as of now."""
        now = self._now()
        yield _single(
            GaugeMetricFamily,
            "baccarat_bus_connected",
            "Whether the broker can be reached.",
            self.table,
            self.connected,
        )
        yield from self._of_services(self.clock.mono_us())
        if self.state_at is not None:
            age = now - self.state_at
            yield _single(
                GaugeMetricFamily,
                "baccarat_state_age_seconds",
                "Seconds since the table last published its state.",
                self.table,
                age,
            )
            yield from _of_table(self.table, self.state)
        if self.link_at is not None:
            yield from _of_link(self.table, self.link)
            yield from _of_queue(self.table, self.link, self.ack)
        if self.delays:
            yield from self.delays.metrics()
        yield from self._of_disks()
        yield from machine_metrics(self.table, self.certificates, self.clock.utc_ns() / _NS)

    def _of_services(self, now_us: int) -> Iterator[Metric]:
        online = GaugeMetricFamily(
            "baccarat_service_online",
            "Whether the service runs, and runs once.",
            labels=["table", "service"],
        )
        age = GaugeMetricFamily(
            "baccarat_service_beat_age_seconds",
            "Seconds since the service's last beat.",
            labels=["table", "service"],
        )
        ahead = GaugeMetricFamily(
            "baccarat_service_clock_ahead_seconds",
            "Seconds by which the service's clock is ahead of the exporter's.",
            labels=["table", "service"],
        )
        for service, known in sorted(self.services.items()):
            there = known.online(now_us) and not known.doubled(now_us)
            online.add_metric([self.table, service], there)
            age.add_metric([self.table, service], (now_us - known.beat_us) / _US)
            if (difference := known.clock_ahead_s()) is not None:
                ahead.add_metric([self.table, service], difference)
        yield online
        yield age
        yield ahead

    def _of_disks(self) -> Iterator[Metric]:
        free = GaugeMetricFamily(
            "baccarat_disk_free_bytes",
            "Bytes that the service may still write on the disk.",
            labels=["table", "disk"],
        )
        for name, folder in self.disks.items():
            try:
                found = os.statvfs(folder)
            except OSError:
                continue  # absent from the scrape, for which there is an alert
            free.add_metric([self.table, name], found.f_bavail * found.f_frsize)
        yield free


def _of_table(table: str, state: Mapping[str, Any]) -> Iterator[Metric]:
    totals = state.get("totals") or {}
    yield _single(
        CounterMetricFamily,
        "baccarat_log_position",
        "Events in the log.",
        table,
        state.get("position", 0),
    )
    yield _single(
        CounterMetricFamily, "baccarat_coups", "Coups that count.", table, totals.get("coups", 0)
    )
    yield _single(
        CounterMetricFamily,
        "baccarat_voids",
        "Coups that were void.",
        table,
        totals.get("voids", 0),
    )
    yield _single(
        GaugeMetricFamily,
        "baccarat_catching_up",
        "Whether the table waits for the driver before it takes bets.",
        table,
        state.get("catching_up", False),
    )
    alarm = GaugeMetricFamily("baccarat_alarm", "A raised alarm.", labels=["table", "alarm"])
    for each in state.get("alarms") or ():
        alarm.add_metric([table, show_text(str(each["name"]))], 1)
    yield alarm
    waiting = GaugeMetricFamily(
        "baccarat_consumer_waiting_seconds",
        "Age of the oldest settlement that a consumer has not acknowledged.",
        labels=["table", "consumer"],
    )
    behind = GaugeMetricFamily(
        "baccarat_consumer_behind_events",
        "Events that the consumer has not acknowledged.",
        labels=["table", "consumer"],
    )
    for each in state.get("consumers") or ():
        labels = [table, show_text(str(each["name"]))]
        waiting.add_metric(labels, each["waiting_s"] or 0)
        behind.add_metric(labels, max(0, state.get("position", 0) - each["position"]))
    yield waiting
    yield behind
    yield _of_commission(table, state)


def _of_commission(table: str, state: Mapping[str, Any]) -> Metric:
    sums: Counter[tuple[str, str]] = Counter()
    for debt in (state.get("commission") or {}).get("debts") or ():
        for part in ("outstanding", "uncollected"):
            sums[str(debt["currency"]), part] += debt[part]
    owed = GaugeMetricFamily(
        "baccarat_commission_owed",
        "Commission that is outstanding or uncollected, minor units.",
        labels=["table", "currency", "part"],
    )
    for (currency, part), amount in sorted(sums.items()):
        owed.add_metric([table, currency, part], amount)
    return owed


def _of_link(table: str, link: Mapping[str, Any]) -> Iterator[Metric]:
    state = GaugeMetricFamily(
        "baccarat_link_state",
        "1 for the state that the shoe link is in, else 0.",
        labels=["table", "state"],
    )
    for each in _LINK_STATES:
        state.add_metric([table, each], link.get("state") == each)
    yield state
    age = link.get("last_frame_age_ms")
    if age is not None:
        yield _single(
            GaugeMetricFamily,
            "baccarat_link_frame_age_seconds",
            "Seconds since the last frame from the shoe.",
            table,
            age / 1000,
        )
    for key, says in (
        ("reports", "Reports accepted."),
        ("rejected", "Frames rejected."),
        ("short_copies", "Reports for which some copies never came."),
        ("resends", "Reports that came again."),
        ("opened", "How often the port was opened."),
    ):
        yield _single(CounterMetricFamily, f"baccarat_link_{key}", says, table, link.get(key, 0))


def _of_queue(table: str, link: Mapping[str, Any], ack: Mapping[str, Any]) -> Iterator[Metric]:
    """Yield the reports that the driver has numbered and the table has not acknowledged."""
    head, seq = link.get("head"), ack.get("seq")
    if isinstance(head, int) and isinstance(seq, int):
        waiting = head - seq if ack.get("journal") == link.get("journal") else head
        says = "Shoe events that the table has not acknowledged."
        yield _single(
            GaugeMetricFamily, "baccarat_shoe_events_waiting", says, table, max(0, waiting)
        )


def _single(
    kind: type[GaugeMetricFamily] | type[CounterMetricFamily],
    name: str,
    says: str,
    table: str,
    value: float,
) -> Metric:
    """Return a metric with one sample: the table's."""
    family = kind(name, says, labels=["table"])
    family.add_metric([table], value)
    return family


class _Collected(Collector):
    def __init__(self, health: TableHealth) -> None:
        self._health = health

    def collect(self) -> Iterator[Metric]:
        """Return the metrics; prometheus-client calls this at each scrape."""
        return self._health.metrics()


async def serve(
    health: TableHealth, topics: Topics, settings: BusSettings, port: int, stop: asyncio.Event
) -> None:
    """Serve `/metrics` on loopback until `stop` is set.

    Args:
        health: filled from the bus, and served.
        topics: the table's.
        settings: how to reach the broker.
        port: to listen at.
        stop: ends it.

    Raises:
        ConfigError: the port is in use, or may not be used.
        BusError: the broker refuses us.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collected(health))
    try:
        server, thread = start_http_server(port, addr=_LOOPBACK, registry=registry)
    except OSError as error:
        raise ConfigError(f"metrics.port: {port}: {error.strerror}; choose another") from error
    bus = Bus(
        settings,
        subscriptions={
            topics.state: _payload_handler(health.on_state),
            topics.link_shoe: _payload_handler(health.on_link),
            topics.shoe_ack: _payload_handler(health.on_ack),
            topics.settlement: _payload_handler(health.on_settlement),
            topics.status(_STATUS): health.on_status,
        },
        on_connect=health.on_connect,
        on_disconnect=health.on_disconnect,
    )
    running = asyncio.ensure_future(bus.run())
    stopping = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            running.result()
    finally:
        running.cancel()
        stopping.cancel()
        server.shutdown()
        server.server_close()
        thread.join()


def _payload_handler(take: Callable[[bytes], None]) -> Handler:
    async def handler(message: Message) -> None:
        take(message.payload)

    return handler
