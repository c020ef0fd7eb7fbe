"""Read and check a machine's TOML file for the property's services; report all faults at once."""

import ipaddress
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from baccarat.config.errors import ConfigFault, ConfigFaults, read_toml
from baccarat.config.form import CREDENTIAL
from baccarat.config.property_form import PropertyConfig
from baccarat.config.property_keys import example_of
from events.errors import InputError
from events.proof.keys import load_signing_key
from events.proof.note import parse_verifier_key
from events.toml_form import read_table
from property.archive.database import parse_archive_url
from property.hub.subjects import split_origin

__all__ = ["load_property"]

_SECTIONS: Final = ("uplink", "archive", "witness", "page")


def load_property(path: Path, *, runs: bool = True) -> PropertyConfig:
    """Read and check a property's configuration.

    Args:
        path: the file.
        runs: whether a service is to run or be asked here; a person who keeps the hub needs [hub]
            alone.

    Raises:
        ConfigError: the file is missing or is not TOML.
        ConfigFaults: keys in it are wrong: all of them, each with the reason and an example.
    """
    tree = read_toml(path, "the property's")
    faults: list[ConfigFault] = []
    said: list[str] = []
    if tree.pop("base", None) is not None:
        faults.append(
            ConfigFault(key="base", reason="is set by the file's place and cannot be given")
        )
    config = read_table(PropertyConfig, tree, "", said.append) or _readable_sections(tree)
    config = msgspec.structs.replace(config, base=str(path.resolve().parent))
    faults += map(_fault_of, said)
    told = {fault.key for fault in faults}
    # A section that could not be read is not missing.
    told |= {fault.key.partition(".")[0] for fault in faults}
    faults += [
        fault
        for fault in _impossible_values(config, whole=runs and not faults)
        if fault.key not in told
    ]
    if faults:
        raise ConfigFaults(str(path), faults)
    return config


def _readable_sections(tree: dict[str, Any]) -> PropertyConfig:
    """Return the sections that can be read, so that one run reports their faults too."""
    good = {}
    for field in msgspec.structs.fields(PropertyConfig):
        given = {field.name: tree[field.name]} if field.name in tree else {}
        read = read_table(PropertyConfig, given, "", lambda _: None)
        if read is not None:
            good[field.name] = getattr(read, field.name)
    return PropertyConfig(**good)


def _fault_of(line: str) -> ConfigFault:
    """Turn a line of the form's reader into a fault with an example of the key."""
    key, _, reason = line.partition(": ")
    if not reason:
        key, _, reason = line.partition(" ")
    if reason.startswith("no such key"):
        return ConfigFault(key=key, reason=reason.removesuffix(", base"))
    return ConfigFault(key=key, reason=reason[:1].lower() + reason[1:], example=example_of(key))


def _impossible_values(config: PropertyConfig, *, whole: bool) -> Iterator[ConfigFault]:
    """Yield faults of values that are well formed but impossible."""
    for look in (_hub, _uplink, _archive, _witness, _page, _secrets):
        yield from look(config)
    if whole and all(getattr(config, name) is None for name in _SECTIONS):
        reason = f"nothing is to run here: give one of {', '.join(f'[{s}]' for s in _SECTIONS)}"
        yield ConfigFault(key="", reason=reason)


def _hub(config: PropertyConfig) -> Iterator[ConfigFault]:
    hub = config.hub
    if hub is None:
        wanted = [name for name in ("uplink", "witness") if getattr(config, name) is not None]
        wanted += ["archive"] if config.archive and config.archive.workers else []
        if wanted:
            reason = f"is missing: [{wanted[0]}] reaches the hub"
            yield ConfigFault(key="hub", reason=reason, example=example_of("hub.servers"))
        return
    for at, server in enumerate(hub.servers):
        yield from _server(f"hub.servers[{at}]", server, secured=hub.ca is not None)
    if (hub.cert is None) is not (hub.key is None):
        missing = f"hub.{'cert' if hub.cert is None else 'key'}"
        reason = "is missing: give both `cert` and `key`, or neither"
        yield ConfigFault(key=missing, reason=reason, example=example_of(missing))
    for key, given in (("hub.ca", hub.ca), ("hub.cert", hub.cert), ("hub.key", hub.key)):
        if given is not None:
            yield from _unreadable(config, key, given, _opens if key == "hub.key" else _pem)


def _server(key: str, server: str, *, secured: bool) -> Iterator[ConfigFault]:
    example = example_of("hub.servers")
    try:
        parts = urlsplit(server)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        yield ConfigFault(key=key, reason=f"{server!r}: {error}", example=example)
        return
    if parts.scheme not in {"tls", "nats"} or not host or port is None:
        yield ConfigFault(key=key, reason=f"{server!r}: write tls://host:port", example=example)
    elif parts.username or parts.password:
        yield ConfigFault(key=key, reason="a login never stands here", example=example)
    elif parts.scheme == "nats" and not _is_loopback(host):
        yield ConfigFault(
            key=key, reason=f"{server!r}: beyond loopback the hub is reached by tls://"
        )
    elif parts.scheme == "tls" and not secured:
        reason = "is missing: without it nobody knows whether that is the hub"
        yield ConfigFault(key="hub.ca", reason=reason, example=example_of("hub.ca"))


def _uplink(config: PropertyConfig) -> Iterator[ConfigFault]:
    if config.uplink is None:
        return
    if not config.uplink.tables:
        yield ConfigFault(
            key="uplink.tables", reason="names no table", example=example_of("uplink.tables")
        )
    for origin in config.uplink.tables:
        yield from _origin("uplink.tables", origin)


def _archive(config: PropertyConfig) -> Iterator[ConfigFault]:
    archive = config.archive
    if archive is None:
        return
    key, example = "archive.database", example_of("archive.database")
    try:
        parse_archive_url(archive.database)
    except InputError as error:
        yield ConfigFault(key=key, reason=str(error), example=example)
    else:
        if urlsplit(archive.database).password:
            reason = "a password never stands here: it comes from the file that PGPASSFILE names"
            yield ConfigFault(key=key, reason=reason, example=example)
    if archive.workers and archive.password_file is None:
        missing = "archive.password_file"
        reason = "is missing: workers log in at the hub"
        yield ConfigFault(key=missing, reason=reason, example=example_of(missing))


def _witness(config: PropertyConfig) -> Iterator[ConfigFault]:
    witness = config.witness
    if witness is None:
        return
    if not witness.key.startswith(CREDENTIAL):
        try:
            load_signing_key(config.beside(witness.key))
        except InputError as error:
            yield ConfigFault(
                key="witness.key", reason=str(error), example=example_of("witness.key")
            )
    for origin, keys in witness.keys.items():
        yield from _origin("witness.keys", origin)
        for key in keys:
            try:
                parse_verifier_key(key)
            except InputError as error:
                yield ConfigFault(key=f"witness.keys.{origin}", reason=str(error))


def _page(config: PropertyConfig) -> Iterator[ConfigFault]:
    page = config.page
    if page is None:
        return
    if config.archive is None:
        reason = "is missing: the page shows what is in the archive"
        yield ConfigFault(key="archive", reason=reason, example=example_of("archive.database"))
    if not _is_loopback(page.host) and not page.exposed:
        reason = (
            f"{page.host} is not of this machine alone, and the page asks for no login: put "
            "something in front of it that does, and say `exposed = true`"
        )
        yield ConfigFault(key="page.host", reason=reason, example=example_of("page.host"))


def _secrets(config: PropertyConfig) -> Iterator[ConfigFault]:
    for key, given in config.password_files().items():
        yield from _unreadable(config, key, given, _opens)


def _origin(table: str, origin: str) -> Iterator[ConfigFault]:
    try:
        split_origin(origin)
    except InputError as error:
        yield ConfigFault(key=f"{table}.{origin}", reason=str(error), example=example_of(table))


def _unreadable(
    config: PropertyConfig, key: str, given: str, read: Callable[[Path], object]
) -> Iterator[ConfigFault]:
    if given.startswith(CREDENTIAL):
        return  # only the service that uses a credential can read it
    path = config.beside(given)
    try:
        read(path)
    except ssl.SSLError as error:
        yield ConfigFault(key=key, reason=f"{path}: no PEM of that kind: {error.reason or error}")
    except OSError as error:
        yield ConfigFault(key=key, reason=f"{path} cannot be read: {error.strerror or error}")


def _opens(path: Path) -> None:
    path.open("rb").close()


def _pem(path: Path) -> None:
    # PEM is ASCII, and other text is refused as the wrong type.
    ssl.create_default_context(cadata=path.read_text("ascii", "ignore"))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
