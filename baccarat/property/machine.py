"""Read the machine that a property's service runs on: its disk and its certificates."""

import shutil
import socket
from pathlib import Path

from cryptography import x509

from baccarat.config.property_form import PropertyConfig
from property.health.readings import Reading

__all__ = ["machine_readings"]


def machine_readings(config: PropertyConfig) -> list[Reading]:
    """Return how disk and certificates stand, each by this machine's name and what it is."""
    host = socket.gethostname()
    files = {"ca": config.hub.ca, "cert": config.hub.cert} if config.hub else {}
    found = [_disk(host, config.beside("."))]
    for name, file in files.items():
        if (path := config.beside(file)) is not None:
            found.append(_certificate(f"{host} hub.{name}", path))
    return found


def _disk(host: str, folder: Path) -> Reading:
    try:
        usage = shutil.disk_usage(folder)
    except OSError as error:
        return Reading(kind="disk", name=host, error=f"{folder}: {error.strerror}")
    return Reading(kind="disk", name=host, free=usage.free / max(usage.free + usage.used, 1))


def _certificate(name: str, path: Path) -> Reading:
    try:
        found = x509.load_pem_x509_certificate(path.read_bytes())
    except (OSError, ValueError) as error:
        return Reading(kind="certificate", name=name, error=f"{path}: {error}")
    return Reading(kind="certificate", name=name, at_s=found.not_valid_after_utc.timestamp())
