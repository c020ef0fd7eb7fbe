"""What keeps a configuration's screens from starting though each of its keys is in order."""

from collections.abc import Iterator
from pathlib import Path

from baccarat.config.errors import ConfigFault
from baccarat.config.form import TableConfig
from baccarat.config.keys import CREDENTIAL
from events.errors import ConfigError
from events.tls import read_pair

__all__ = ["screen_faults", "screen_pairs"]


def screen_pairs(config: TableConfig) -> Iterator[tuple[str, Path, Path]]:
    """Yield section, certificate and key of each screen; not those that others alone may read."""
    for name in ("displays", "scoreboard"):
        section = getattr(config, name)
        cert, key = (config.beside(getattr(section, each, None)) for each in ("cert", "key"))
        if cert is not None and key is not None and not section.key.startswith(CREDENTIAL):
            yield name, cert, key


def screen_faults(config: TableConfig) -> Iterator[ConfigFault]:
    """Yield each certificate whose key does not fit."""
    for name, cert, key in screen_pairs(config):
        try:
            read_pair(cert, key, name)
        except ConfigError as error:
            place, _, reason = str(error).partition(": ")
            if not isinstance(error.__cause__, PermissionError):
                yield ConfigFault(key=place, reason=reason)
