"""Metrics of the machine that a table needs: certificates, backup, clock. Read at each scrape.

The folder of backups is closed to the service of the metrics, but for the age of one empty file
that the backup touches when it has a proved copy.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from cryptography import x509
from prometheus_client.core import GaugeMetricFamily, Metric

__all__ = ["BACKUPS", "SYNCHRONISED", "machine_metrics"]

BACKUPS: Final = Path("/var/backups/baccarat")
SYNCHRONISED: Final = (Path("/run/systemd/timesync/synchronized"), Path("/run/chrony/chronyd.sock"))
"""Files of which one exists while the network keeps the clock."""


def machine_metrics(
    table: str,
    certificates: Mapping[str, Path],
    utc_s: float,
    backups: Path = BACKUPS,
    synchronised: tuple[Path, ...] = SYNCHRONISED,
) -> Iterator[Metric]:
    """Yield the metrics; what cannot be read is absent from them, and there are alerts for that.

    Args:
        table: its id.
        certificates: PEM files by the key of the configuration that names each.
        utc_s: the time, seconds since 1970.
        backups: the folder of the log's copies.
        synchronised: as `SYNCHRONISED`.
    """
    ends = GaugeMetricFamily(
        "baccarat_certificate_expires_timestamp_seconds",
        "When the certificate ends, seconds since 1970.",
        labels=["table", "certificate"],
    )
    for name, path in certificates.items():
        try:
            found = x509.load_pem_x509_certificate(path.read_bytes())
        except (OSError, ValueError):
            continue
        ends.add_metric([table, name], found.not_valid_after_utc.timestamp())
    yield ends
    age = GaugeMetricFamily(
        "baccarat_backup_age_seconds",
        "Seconds since the newest proved copy of the log.",
        labels=["table"],
    )
    with suppress(OSError):
        age.add_metric([table], max(0.0, utc_s - (backups / f"{table}.newest").stat().st_mtime))
    yield age
    kept = GaugeMetricFamily(
        "baccarat_clock_synchronized", "Whether the network keeps the clock.", labels=["table"]
    )
    kept.add_metric([table], any(path.exists() for path in synchronised))
    yield kept
