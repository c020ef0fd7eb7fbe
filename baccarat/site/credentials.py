"""Where a controller's credentials come from: a unit's `LoadCredential=NAME:SOURCE`.

The service manager lays a credential out for one service alone. Whoever examines a table from
beside it, as root, finds the same secret in the store that the unit names.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from baccarat.config.form import CREDENTIAL, TableConfig

__all__ = ["LAID_OUT", "STORE", "UNITS", "outdated", "with_sources"]

UNITS: Final = Path("/etc/systemd/system")
STORE: Final = Path("/etc/credstore")
LAID_OUT: Final = Path("/run/credentials")

# Section of the configuration to the service that reads what it names.
_READS: Final = {
    "bus": "table",
    "checkpoints": "table",
    "shoe": "shoe",
    "displays": "displays",
    "scoreboard": "scoreboard",
    "cage": "cage",
    "metrics": "metrics",
}
_LOAD: Final = re.compile(r"^LoadCredential=([\w-]+):(\S+)$", re.MULTILINE)


def with_sources(config: TableConfig, units: Path = UNITS, store: Path = STORE) -> TableConfig:
    """The configuration with the store's file in place of each credential that a unit names.

    Args:
        config: a table's.
        units: the folder of the installed units.
        store: the folder that a source without a path of its own is in.
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
    """Unit and credential, of a service that runs by what is not in the store any more.

    Args:
        table: its id.
        units: the folder of the installed units.
        store: the folder that a source without a path of its own is in.
        laid_out: where the service manager lays out what a service was started with.
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
        return {}  # not installed here: then it says of no credential where it is
    return {name: str(store / source.replace("%i", table)) for name, source in _LOAD.findall(text)}
