"""What keeps a configuration's screens from starting though each of its keys is in order."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from baccarat.config.errors import ConfigFault
from baccarat.config.form import TableConfig
from baccarat.config.keys import CREDENTIAL
from events.errors import ConfigError
from events.tls import read_pair

__all__ = ["screen_faults", "screen_pairs"]

_LOOPBACK: Final = "127.0.0.1"  # where metrics are served
_EVERYWHERE: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared, not bound


def screen_pairs(config: TableConfig) -> Iterator[tuple[str, Path, Path]]:
    """Yield section, certificate and key of each screen; not those that others alone may read."""
    for name in ("displays", "scoreboard"):
        section = getattr(config, name)
        cert, key = (config.beside(getattr(section, each, None)) for each in ("cert", "key"))
        if cert is not None and key is not None and not section.key.startswith(CREDENTIAL):
            yield name, cert, key


def screen_faults(config: TableConfig) -> Iterator[ConfigFault]:
    """Yield each certificate whose key does not fit, and each port that two servers would take.

    What others alone may read is left out.
    """
    yield from _port_faults(config)
    for name, cert, key in screen_pairs(config):
        try:
            read_pair(cert, key, name)
        except ConfigError as error:
            place, _, reason = str(error).partition(": ")
            if not isinstance(error.__cause__, PermissionError):
                yield ConfigFault(key=place, reason=reason)


def _port_faults(config: TableConfig) -> Iterator[ConfigFault]:
    taken: list[tuple[str, str, int]] = []
    for name in ("displays", "scoreboard", "metrics"):
        section = getattr(config, name)
        if section is None:
            continue
        host, port = getattr(section, "host", _LOOPBACK), section.port
        for other, at, used in taken:
            if port == used and (host == at or _EVERYWHERE & {host, at}):
                reason = f"{port} is the port of [{other}] already; give one of them another"
                yield ConfigFault(key=f"{name}.port", reason=reason)
        taken.append((name, host, port))
