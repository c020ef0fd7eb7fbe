"""Who may do what at a table, and which message keys it knows: read again when a file has changed.

The table asks before each request. Looking at three files costs microseconds, and a person who was
demoted, or a key that was taken out, counts for nothing from the next message on.
"""

from pathlib import Path
from typing import Final

from msgspec.structs import replace

from baccarat.config.form import TableConfig
from baccarat.config.table import load_config
from events.errors import ConfigError, InputError
from events.file_stamp import FileWatch
from events.proof.message_keys import load_message_keys
from events.proof.message_mac import MessageKey
from events.structured_log import structlog
from table_core.trust.access import Access, BusPolicy

__all__ = ["SiteAccess"]

_log: Final = structlog.get_logger()


class SiteAccess:
    """The present access of one table.

    It follows from the users file, the message keys, and two sections of the configuration:
    `[users]`, and `[message_keys]` but for the place of the file.

    Args:
        config: the table's.

    Raises:
        InputError: a file cannot be used.
    """

    def __init__(self, config: TableConfig) -> None:
        self._config = config
        given = config.message_keys
        users = config.beside(config.displays.users) if config.displays else None
        self._keys_file = config.beside(given.file) if given else None
        own = Path(config.file) if config.file else None
        self._watch = FileWatch(*(path for path in (own, users, self._keys_file) if path))
        self._keys = self._read_keys()
        self._access = Access(roles=config.roles()[0], bus=self._policy(""))

    def __call__(self) -> Access:
        """Return the access; the same object until a file has changed."""
        if self._watch.changed():
            self._access = self._read()
        return self._access

    def _read(self) -> Access:
        """Read the files; where one cannot be used, nobody gets anything by it."""
        self._take_config()
        config, fault = self._config, ""
        try:
            roles, wrong = config.roles()
        except InputError as error:
            wrong = str(error)
            roles = {user: frozenset(each) for user, each in config.users.items()}
        if wrong:
            _log.error("users.faulty", reason=wrong)
        try:
            self._keys = self._read_keys()
        except InputError as error:
            fault = f"{error}; the keys before it still count"
            _log.error("message_keys.unreadable", reason=str(error))
        _log.info("access.changed", users=len(roles), keys=len(self._keys))
        return Access(roles=roles, bus=self._policy(fault))

    def _take_config(self) -> None:
        if not self._config.file:
            return
        try:
            new = load_config(Path(self._config.file), rules=False)
        except ConfigError as error:
            _log.error("configuration.unreadable", reason=str(error))
            return
        keys = new.message_keys if self._config.message_keys else None
        self._config = replace(self._config, users=new.users, message_keys=keys)

    def _read_keys(self) -> tuple[MessageKey, ...]:
        return load_message_keys(self._keys_file, self._config.origin) if self._keys_file else ()

    def _policy(self, fault: str) -> BusPolicy:
        given = self._config.message_keys
        if given is None:
            return BusPolicy(mode="off")
        owners = dict.fromkeys(key.owner for key in self._keys)
        keys = {name: tuple(key for key in self._keys if key.owner == name) for name in owners}
        return BusPolicy(mode=given.mode, keys=keys, without=frozenset(given.without), fault=fault)
