"""Read and check a table's TOML file: everything that a controller needs to run the table.

The reader guesses nothing and reports all faults at once.
"""

import difflib
import os
import re
import ssl
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, get_origin
from urllib.parse import urlsplit

import msgspec

from baccarat.config.errors import ConfigFault, ConfigFaults, read_toml
from baccarat.config.form import CREDENTIAL, DisplaysConfig, ScoreboardConfig, TableConfig
from baccarat.config.keys import KEYS, TABLES, example_of
from baccarat.rulebooks.library import is_file, site_rulebook
from events.commands.registry import ROLES
from events.errors import ConfigError, InputError
from events.log.schema import OWN_ACTORS
from events.mqtt.topics import SEGMENT
from events.toml_form import read_table
from shoe_driver.profiles.catalogue import load_profile
from shoe_driver.transports.endpoint import parse_url
from table_core.rules.table_limits import limit_faults

__all__ = ["load_config", "rule_faults"]

_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
_HOST_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")
_SECRET: Final = ("password", "secret", "token")


def load_config(path: Path, *, rules: bool = True) -> TableConfig:
    """Read and check a table's configuration.

    Args:
        path: the file.
        rules: whether to read the rulebooks too. An edit there must not keep a service that does
            not use them from restarting.

    Raises:
        ConfigError: the file is missing or is not TOML.
        ConfigFaults: keys in it are wrong: all of them, each with the reason and an example.
    """
    tree = read_toml(path, "the table's")
    faults: list[ConfigFault] = []
    said: list[str] = []
    if tree.pop("base", None) is not None:
        faults.append(
            ConfigFault(key="base", reason="is set by the file's place and cannot be given")
        )
    config = read_table(TableConfig, tree, "", said.append)
    faults.extend(map(_fault_of, said))
    if config is None:
        # The keys that could be read are checked all the same, so that one run reports everything.
        config = _readable_part(tree)
    if config is not None:
        config = msgspec.structs.replace(config, base=str(path.resolve().parent))
        told = {fault.key for fault in faults}
        senseless = (*_impossible_values(config), *(rule_faults(config) if rules else ()))
        faults.extend(fault for fault in senseless if fault.key not in told)
    if faults or config is None:
        raise ConfigFaults(str(path), faults)
    return config


def _fault_of(line: str) -> ConfigFault:
    """Turn a line of the form's reader into a fault with an example of the key."""
    key, _, reason = line.partition(": ")
    if not reason:
        key, _, reason = line.partition(" ")
        return ConfigFault(key=key, reason=reason, example=_example(key))
    last = key.rpartition(".")[2]
    if reason.startswith("no such key"):
        if any(word in last for word in _SECRET):
            return ConfigFault(
                key=key, reason="a secret never stands here", example=_secret_of(key)
            )
        near = difflib.get_close_matches(key, KEYS, n=1, cutoff=0.5)
        reason = reason.removesuffix(", base")  # the file's folder sets it
        return ConfigFault(key=key, reason=reason, example=_example(near[0]) if near else "")
    return ConfigFault(key=key, reason=reason.lower(), example=_example(key))


def _example(key: str) -> str:
    return f"[{key}]" if key in TABLES and key not in KEYS else example_of(key)


def _secret_of(key: str) -> str:
    return example_of(f"{key.rpartition('.')[0] or 'bus'}.password_file")


def _readable_part(tree: dict[str, Any]) -> TableConfig | None:
    """Return the configuration, its faulty keys left out or replaced by the examples."""
    whole = tomllib.loads("\n".join(f"{key} = {KEYS[key].example}" for key in _REQUIRED))
    mended = _readable_keys(TableConfig, {**whole, **tree}, whole)
    return read_table(TableConfig, mended, "", lambda _: None)


_REQUIRED: Final = ("site", "table", "rulebook", "shoe.url")


def _readable_keys(kind: type[msgspec.Struct], tree: dict[str, Any], whole: Any) -> dict[str, Any]:
    """Return the readable keys of a TOML table; take required ones that are not from `whole`."""
    good: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        stand_in = whole.get(field.name) if isinstance(whole, dict) else None
        given = tree.get(field.name, stand_in)
        nested = _struct_in(field.type)
        if given is None:
            continue
        if nested is not None:
            table = given if isinstance(given, dict) else {}
            good[field.name] = _readable_keys(nested, {**(stand_in or {}), **table}, stand_in)
        elif _reads(field.type, given):
            good[field.name] = given
        elif stand_in is not None:
            good[field.name] = stand_in
    return good


def _struct_in(kind: Any) -> type[msgspec.Struct] | None:
    if get_origin(kind) is dict:  # a map with any keys: all of its entries are read, or none
        return None
    options = getattr(kind, "__args__", (kind,))
    return next((o for o in options if isinstance(o, type) and issubclass(o, msgspec.Struct)), None)


def _reads(kind: Any, value: object) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


def _impossible_values(config: TableConfig) -> Iterator[ConfigFault]:
    """Yield faults of values that are well formed but impossible."""
    for look in (_names, _shoe, _users, _bus, _displays, _secrets, _no_password):
        yield from look(config)


def _names(config: TableConfig) -> Iterator[ConfigFault]:
    for key in ("site", "table"):
        value = getattr(config, key)
        if not SEGMENT.match(value):
            reason = f"{value!r}: use lower-case letters, digits, - and _"
            yield ConfigFault(key=key, reason=reason, example=example_of(key))


def rule_faults(config: TableConfig) -> Iterator[ConfigFault]:
    """Yield the faults of the rulebooks, and of limits over them."""
    yield from _rules(config)
    yield from _limits(config)


def _rules(config: TableConfig) -> Iterator[ConfigFault]:
    yield from _library(config)
    try:
        scale = site_rulebook(config.rulebook_name).sign.pay_scale
    except InputError as error:
        if is_file(config.rulebook):
            yield ConfigFault(key="rulebook", reason=str(error))
        else:
            reason = f"{error}; or give the path of your own, a .toml"
            yield ConfigFault(key="rulebook", reason=reason, example=example_of("rulebook"))
        return
    if scale is not None and config.pay_scale not in {None, scale}:
        reason = (
            f"{config.rulebook} pays by scale {scale}, and the property's `pay_scale` is "
            f"{config.pay_scale}: one scale holds for every table of a property"
        )
        yield ConfigFault(key="rulebook", reason=reason)


def _library(config: TableConfig) -> Iterator[ConfigFault]:
    for name in config.library:
        try:
            if not is_file(name):
                raise ConfigError(
                    f"{name!r}: give the path of your own, a .toml; what is shipped is known"
                )
            site_rulebook(str(config.beside(name)))
        except InputError as error:
            yield ConfigFault(key="library", reason=str(error))


def _limits(config: TableConfig) -> Iterator[ConfigFault]:
    if config.limits is None:
        return
    try:
        rulebook = site_rulebook(config.rulebook_name)
    except InputError:
        return  # a fault of its own reports that
    for line in limit_faults(rulebook, config.limits.as_event()):
        yield ConfigFault(key="limits", reason=line, example=example_of("limits.bets"))


def _shoe(config: TableConfig) -> Iterator[ConfigFault]:
    baud = 9600
    try:
        baud = load_profile(config.profile_name).serial.baud
    except InputError as error:
        reason = str(error)
        yield ConfigFault(key="shoe.profile", reason=reason, example=example_of("shoe.profile"))
    try:
        parse_url(config.shoe.url, baud=baud)
    except InputError as error:
        yield ConfigFault(key="shoe.url", reason=str(error), example=example_of("shoe.url"))


def _users(config: TableConfig) -> Iterator[ConfigFault]:
    for user, roles in config.users.items():
        key = f"users.{user}"
        if not SEGMENT.match(user):
            reason = "use lower-case letters, digits, - and _, as in the topics that carry the name"
            yield ConfigFault(key=key, reason=reason, example='mary = ["supervisor"]')
        if user in OWN_ACTORS:
            yield ConfigFault(key=key, reason=f"{user} is the table's own name in the log")
        unknown = sorted(set(roles) - ROLES)
        if unknown:
            reason = f"no such role {', '.join(unknown)}; there are {', '.join(sorted(ROLES))}"
            yield ConfigFault(key=key, reason=reason, example=example_of(key))
    path = config.beside(config.displays.users) if config.displays else None
    if path is not None:
        try:
            config.roles()
        except InputError as error:
            yield ConfigFault(key="displays.users", reason=str(error))


def _bus(config: TableConfig) -> Iterator[ConfigFault]:
    bus = config.bus
    yield from _incomplete_pair("bus", bus.cert, bus.key)
    if bus.ca is None and bus.cert is not None:
        reason = "is missing: without it the broker is not asked for TLS"
        yield ConfigFault(key="bus.ca", reason=reason, example=example_of("bus.ca"))
    yield from _unreadable(config, "bus.cert", bus.cert, _pem)
    yield from _unreadable(config, "bus.key", bus.key, _opens)
    yield from _unreadable(config, "bus.ca", bus.ca, _ca)


def _displays(config: TableConfig) -> Iterator[ConfigFault]:
    """Refuse consoles and scoreboards that would use a network in cleartext."""
    for table, given in (("displays", config.displays), ("scoreboard", config.scoreboard)):
        if given is None:
            continue
        yield from _incomplete_pair(table, given.cert, given.key)
        yield from _cleartext(table, given)
        for at, name in enumerate(given.names):
            if not _HOST_NAME.fullmatch(name.lower()):
                reason = f"{name!r}: a host's name, without a scheme, a port or a path"
                yield ConfigFault(key=f"{table}.names[{at}]", reason=reason)
        yield from _unreadable(config, f"{table}.cert", given.cert, _pem)
        yield from _unreadable(config, f"{table}.key", given.key, _opens)
    people = config.displays.users if config.displays else None
    if config.scoreboard and config.displays and not people:
        reason = (
            "is missing: [displays] without people is a scoreboard, and [scoreboard] is another"
        )
        yield ConfigFault(key="displays.users", reason=reason, example=example_of("displays.users"))


def _cleartext(table: str, given: ScoreboardConfig) -> Iterator[ConfigFault]:
    if given.cert is not None or given.host in _LOOPBACK:
        return
    cert = f"{table}.cert"
    if isinstance(given, DisplaysConfig) and given.users:
        reason = (
            f"logins at {given.host} need TLS: give `cert` and `key`, or leave out `users` to "
            "serve the scoreboard alone"
        )
        yield ConfigFault(key=cert, reason=reason, example=example_of(cert))
    elif not given.cleartext:
        reason = (
            f"screens at {given.host} need TLS: give `cert` and `key`, or say `cleartext = true` "
            "where nobody on that network could forge what is shown"
        )
        yield ConfigFault(key=cert, reason=reason, example=example_of(cert))


def _incomplete_pair(table: str, cert: str | None, key: str | None) -> Iterator[ConfigFault]:
    if (cert is None) is not (key is None):
        missing = f"{table}.{'cert' if cert is None else 'key'}"
        reason = "is missing: give both `cert` and `key`, or neither"
        yield ConfigFault(key=missing, reason=reason, example=example_of(missing))


def _secrets(config: TableConfig) -> Iterator[ConfigFault]:
    for name, given in config.password_files().items():
        yield from _unreadable(config, f"{name}.password_file", given, _opens)


def _no_password(config: TableConfig) -> Iterator[ConfigFault]:
    """Refuse a password in a URL: logs and the list of processes show URLs."""
    if config.cage and "@" in config.cage.ledger and urlsplit(config.cage.ledger).password:
        reason = "a password never stands here: PostgreSQL reads it from the file PGPASSFILE names"
        yield ConfigFault(
            key="cage.ledger", reason=reason, example='ledger = "postgresql://b7@db/cage"'
        )


def _unreadable(
    config: TableConfig, key: str, given: str | None, read: Callable[[Path], object]
) -> Iterator[ConfigFault]:
    path = config.beside(given)
    # Only the service that uses a credential can read it.
    if given is None or path is None or given.startswith(CREDENTIAL):
        return
    try:
        read(path)
    except ssl.SSLError as error:
        yield ConfigFault(key=key, reason=f"{path}: no PEM of that kind: {error.reason or error}")
    except OSError as error:
        yield ConfigFault(key=key, reason=f"{path} cannot be read: {error.strerror or error}")


def _opens(path: Path) -> None:
    os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC))


def _pem(path: Path) -> None:
    # PEM is ASCII, and other text is refused as the wrong type.
    ssl.create_default_context(cadata=path.read_text("ascii", "ignore"))


def _ca(path: Path) -> None:
    ssl.create_default_context(cafile=str(path))
