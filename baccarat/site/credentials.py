"""Find a controller's credentials by their systemd units: `LoadCredential=NAME:SOURCE`.

The service manager provides a credential to one service alone, as it was at the service's start. A
root user who examines a table from outside finds the same secret in the store that the unit names.

A service reads its secrets in its runtime folder, where it links to its credentials as it starts.
There root puts a secret that has changed since, and the service reads it again (decision 103).
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from baccarat.config.form import TableConfig
from baccarat.config.keys import CREDENTIAL

__all__ = [
    "LAID_OUT",
    "LIVE",
    "STORE",
    "UNITS",
    "hand_over",
    "link_credentials",
    "outdated",
    "with_sources",
]

UNITS: Final = Path("/etc/systemd/system")
STORE: Final = Path("/etc/credstore")
LAID_OUT: Final = Path("/run/credentials")
LIVE: Final = Path("/run/baccarat")

# Section of the configuration to the service that reads its secret.
_READS: Final = {
    "bus": "table",
    "checkpoints": "table",
    "message_keys": "table",
    "shoe": "shoe",
    "displays": "displays",
    "scoreboard": "scoreboard",
    "cage": "cage",
    "metrics": "metrics",
}
_LOAD: Final = re.compile(r"^LoadCredential=([\w-]+):(\S+)$", re.MULTILINE)


def with_sources(config: TableConfig, units: Path = UNITS, store: Path = STORE) -> TableConfig:
    """Return the configuration with the store's file in place of each credential that a unit names.

    Args:
        config: a table's.
        units: the folder of the installed units.
        store: the folder for a source without a path of its own.
    """
    sections: dict[str, Struct] = {}
    for name, service in _READS.items():
        section = getattr(config, name)
        if section is None:
            continue
        sources = _sources(units / f"baccarat-{service}@.service", config.table, store)
        found = {
            key: sources[value.removeprefix(CREDENTIAL)]
            for key, value in msgspec.structs.asdict(section).items()
            if isinstance(value, str)
            and value.startswith(CREDENTIAL)
            and value.removeprefix(CREDENTIAL) in sources
        }
        sections[name] = msgspec.structs.replace(section, **found)
    return msgspec.structs.replace(config, **sections)


def outdated(
    table: str,
    units: Path = UNITS,
    store: Path = STORE,
    laid_out: Path = LAID_OUT,
    live: Path = LIVE,
) -> Iterator[tuple[str, str]]:
    """Yield (unit, credential) of each service that still runs by a secret the store has replaced.

    Args:
        table: its id.
        units: the folder of the installed units.
        store: the folder for a source without a path of its own.
        laid_out: the folder in which the service manager provides credentials to running services.
        live: the folder of the services' runtime folders.
    """
    for unit, credential, source, own in _loaded(table, units, store, live):
        there = own if own.exists() else laid_out / unit / credential
        with suppress(OSError):  # it does not run, has none, or is not ours to read
            if there.read_bytes() != source.read_bytes():
                yield unit, credential


def hand_over(
    table: str, units: Path = UNITS, store: Path = STORE, live: Path = LIVE
) -> Iterator[tuple[str, str]]:
    """Give each running service the secrets of the store; yield (unit, credential) of each changed.

    Args: as `outdated`.

    Raises:
        OSError: a secret cannot be read or written, as by a user who is not root.
    """
    for unit, credential, source, own in _loaded(table, units, store, live):
        if own.parent.is_dir() and source.exists():
            secret = source.read_bytes()
            if not own.exists() or own.read_bytes() != secret:
                _replace(own, secret)
                yield unit, credential


def link_credentials() -> None:
    """Link to this service's credentials in its runtime folder; a service does so as it starts."""
    given, live = os.environ.get("CREDENTIALS_DIRECTORY"), os.environ.get("RUNTIME_DIRECTORY")
    if given and live:
        for credential in Path(given).iterdir():
            link = Path(live) / credential.name
            link.unlink(missing_ok=True)
            link.symlink_to(credential)


def _replace(path: Path, secret: bytes) -> None:
    """Write a secret into a service's own folder, to be read by that service alone."""
    owner = path.parent.stat()
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    # The folder is the service's: no link of its own making is followed.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(new, flags, 0o600), "wb") as file:
        os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
        file.write(secret)
    new.replace(path)


def _loaded(
    table: str, units: Path, store: Path, live: Path
) -> Iterator[tuple[str, str, Path, Path]]:
    """Yield unit, credential, its source and its place in the runtime folder."""
    for unit in sorted(units.glob("baccarat-*@.service")):
        name = unit.name.replace("@.", f"@{table}.")
        folder = live / table / unit.name.removeprefix("baccarat-").removesuffix("@.service")
        for credential, source in sorted(_sources(unit, table, store).items()):
            yield name, credential, Path(source), folder / credential


def _sources(unit: Path, table: str, store: Path) -> dict[str, str]:
    try:
        text = unit.read_text("utf-8")
    except OSError:
        return {}  # not installed here, so it names no credential's source
    return {name: str(store / source.replace("%i", table)) for name, source in _LOAD.findall(text)}
