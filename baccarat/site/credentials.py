"""Find a controller's credentials by their systemd units: `LoadCredential=NAME:SOURCE`.

The service manager provides a credential to one service alone. A root user who examines a table
from outside finds the same secret in the store that the unit names.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from baccarat.config.form import TableConfig
from baccarat.config.keys import CREDENTIAL

__all__ = ["LAID_OUT", "STORE", "UNITS", "outdated", "with_sources"]

UNITS: Final = Path("/etc/systemd/system")
STORE: Final = Path("/etc/credstore")
LAID_OUT: Final = Path("/run/credentials")

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
    table: str, units: Path = UNITS, store: Path = STORE, laid_out: Path = LAID_OUT
) -> Iterator[tuple[str, str]]:
    """Yield (unit, credential) of each service that still runs by a secret the store has replaced.

    Args:
        table: its id.
        units: the folder of the installed units.
        store: the folder for a source without a path of its own.
        laid_out: the folder in which the service manager provides credentials to running services.
    """
    for unit in sorted(units.glob("baccarat-*@.service")):
        name = unit.name.replace("@.", f"@{table}.")
        for credential, source in sorted(_sources(unit, table, store).items()):
            with suppress(OSError):  # it does not run, has none, or is not ours to read
                if (laid_out / name / credential).read_bytes() != Path(source).read_bytes():
                    yield name, credential


def _sources(unit: Path, table: str, store: Path) -> dict[str, str]:
    try:
        text = unit.read_text("utf-8")
    except OSError:
        return {}  # not installed here, so it names no credential's source
    return {name: str(store / source.replace("%i", table)) for name, source in _LOAD.findall(text)}
