"""What keeps a configuration's screens from starting though each of its keys is in order."""

from collections.abc import Iterator

from baccarat.config.errors import ConfigFault
from baccarat.config.form import TableConfig
from baccarat.config.keys import CREDENTIAL
from events.errors import ConfigError
from events.tls import read_pair

__all__ = ["screen_faults"]


def screen_faults(config: TableConfig) -> Iterator[ConfigFault]:
    """Yield each certificate whose key does not fit; what others alone may read is left out."""
    for name in ("displays", "scoreboard"):
        section = getattr(config, name)
        cert, key = (config.beside(getattr(section, each, None)) for each in ("cert", "key"))
        if cert is None or key is None or section.key.startswith(CREDENTIAL):
            continue
        try:
            read_pair(cert, key, name)
        except ConfigError as error:
            place, _, reason = str(error).partition(": ")
            if not isinstance(error.__cause__, PermissionError):
                yield ConfigFault(key=place, reason=reason)
