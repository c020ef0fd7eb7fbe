"""Read and check a table's TOML file: everything that a controller needs to run the table.

The reader guesses nothing and reports all faults at once.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from baccarat.config.errors import ConfigFault
from baccarat.config.form import TABLE, DisplaysConfig, ScreensConfig, TableConfig
from events.commands.registry import ROLES
from events.errors import InputError
from events.log.schema import OWN_ACTORS
from events.mqtt.topics import SEGMENT
from shoe_driver.profiles.catalogue import load_profile
from shoe_driver.transports.endpoint import parse_url
from table_core.trust.access import SHOE

__all__ = ["load_config"]

_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
_HOST_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")


def load_config(path: Path, *, rules: bool = True, passwords: bool = True) -> TableConfig:
    """Read and check a table's configuration.

    Args:
        path: the file.
        rules: whether to read the rulebooks too. An edit there must not keep a service that does
            not use them from restarting.
        passwords: whether the files of `password_file` must be there; the broker's are not, until
            its files are written.

    Raises:
        ConfigError: the file is missing or is not TOML.
        ConfigFaults: keys in it are wrong: all of them, each with the reason and an example.
    """
    looks = _LOOKS
    if rules:
        from baccarat.config.rule_faults import rule_faults  # noqa: PLC0415 - not in every service

        looks = (*looks, rule_faults)
    return TABLE.read(
        path,
        lambda config: (fault for look in looks for fault in look(config)),
        unread=() if passwords else ("password_file",),
    )


def _names(config: TableConfig) -> Iterator[ConfigFault]:
    for key, value in (("site", config.site), ("table", config.table)):
        if not SEGMENT.match(value):
            yield TABLE.fault(key, f"{value!r}: use lower-case letters, digits, - and _")


def _shoe(config: TableConfig) -> Iterator[ConfigFault]:
    baud = 9600
    try:
        baud = load_profile(config.profile_name).serial.baud
    except InputError as error:
        yield TABLE.fault("shoe.profile", str(error))
    try:
        parse_url(config.shoe.url, baud=baud)
    except InputError as error:
        yield TABLE.fault("shoe.url", str(error))


def _users(config: TableConfig) -> Iterator[ConfigFault]:
    for user, roles in config.users.items():
        key = f"users.{user}"
        if not SEGMENT.match(user):
            reason = "use lower-case letters, digits, - and _, as in the topics that carry the name"
            yield ConfigFault(key=key, reason=reason, example='mary = ["supervisor"]')
        if user in OWN_ACTORS:
            yield ConfigFault(key=key, reason=f"{user} is the table's own name in the log")
        if unknown := sorted(set(roles) - ROLES):
            known = ", ".join(sorted(ROLES))
            yield TABLE.fault(key, f"no such role {', '.join(unknown)}; there are {known}")
    try:
        _, wrong = config.roles()
    except InputError as error:
        wrong = str(error)
    if wrong:
        yield ConfigFault(key="displays.users", reason=wrong)


def _bus(config: TableConfig) -> Iterator[ConfigFault]:
    if config.bus.ca is None and config.bus.cert is not None:
        reason = "is missing: without it the broker is not asked for TLS"
        yield TABLE.fault("bus.ca", reason)


def _message_keys(config: TableConfig) -> Iterator[ConfigFault]:
    given = config.message_keys
    if given is None:
        return
    if given.file is None and given.mode != "trust-broker":
        yield TABLE.fault("message_keys.file", 'is missing: make it, or say mode = "trust-broker"')
    if unknown := sorted(set(given.without) - {*config.users, SHOE}):
        known = ", ".join(config.users)
        yield TABLE.fault(
            "message_keys.without", f"no such user {', '.join(unknown)}; there are {known}"
        )
    if SHOE in config.users:
        yield ConfigFault(key=f"users.{SHOE}", reason="the driver's message key has this name")


def _screens(config: TableConfig) -> Iterator[ConfigFault]:
    """Refuse consoles and scoreboards that would use a network in cleartext."""
    for table, given in (("displays", config.displays), ("scoreboard", config.scoreboard)):
        if given is not None:
            yield from _cleartext(f"{table}.cert", given)
            for at, name in enumerate(given.names):
                if not _HOST_NAME.fullmatch(name.lower()):
                    reason = f"{name!r}: a host's name, without a scheme, a port or a path"
                    yield ConfigFault(key=f"{table}.names[{at}]", reason=reason)
    if config.scoreboard and config.displays and not config.displays.users:
        yield TABLE.fault(
            "displays.users",
            "is missing: [displays] without people is a scoreboard, and [scoreboard] is another",
        )


def _cleartext(cert: str, given: ScreensConfig) -> Iterator[ConfigFault]:
    if given.cert is not None or given.host in _LOOPBACK:
        return
    if isinstance(given, DisplaysConfig) and given.users:
        yield TABLE.fault(
            cert,
            f"logins at {given.host} need TLS: give `cert` and `key`, or leave out `users` to "
            "serve the scoreboard alone",
        )
    elif not given.cleartext:
        yield TABLE.fault(
            cert,
            f"screens at {given.host} need TLS: give `cert` and `key`, or say `cleartext = true` "
            "where nobody on that network could forge what is shown",
        )


def _no_password(config: TableConfig) -> Iterator[ConfigFault]:
    """Refuse a password in a URL: logs and the list of processes show URLs."""
    if config.cage and "@" in config.cage.ledger and urlsplit(config.cage.ledger).password:
        reason = "a password never stands here: PostgreSQL reads it from the file PGPASSFILE names"
        yield ConfigFault(
            key="cage.ledger", reason=reason, example='ledger = "postgresql://b7@db/cage"'
        )


_LOOKS: Final[tuple[Callable[[TableConfig], Iterator[ConfigFault]], ...]] = (
    _names, _shoe, _users, _bus, _message_keys, _screens, _no_password
)  # fmt: skip
