"""Read and check a machine's TOML file for the property's services; report all faults at once."""

import ipaddress
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from baccarat.config.errors import ConfigFault
from baccarat.config.keys import CREDENTIAL
from baccarat.config.property_form import PROPERTY, PropertyConfig
from events.errors import InputError
from events.proof.keys import load_signing_key
from events.proof.note import parse_verifier_key
from property.archive.database import parse_archive_url
from property.hub.subjects import split_origin

__all__ = ["load_property"]

_SECTIONS: Final = ("uplink", "archive", "witness", "page", "metrics")


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
    looks = (*_LOOKS, _nothing) if runs else _LOOKS
    return PROPERTY.read(path, lambda config: (fault for look in looks for fault in look(config)))


def _nothing(config: PropertyConfig) -> Iterator[ConfigFault]:
    if all(getattr(config, name) is None for name in _SECTIONS):
        reason = f"nothing is to run here: give one of {', '.join(f'[{s}]' for s in _SECTIONS)}"
        yield ConfigFault(key="", reason=reason)


def _hub(config: PropertyConfig) -> Iterator[ConfigFault]:
    if config.hub is not None:
        for at, server in enumerate(config.hub.servers):
            yield from _server(f"hub.servers[{at}]", server, secured=config.hub.ca is not None)
        return
    wanted = [name for name in ("uplink", "witness") if getattr(config, name) is not None]
    wanted += ["archive"] if config.archive and config.archive.workers else []
    if wanted:
        yield _missing("hub", f"[{wanted[0]}] reaches the hub", "hub.servers")


def _server(key: str, server: str, *, secured: bool) -> Iterator[ConfigFault]:
    example = PROPERTY.example_of("hub.servers")
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
        reason = f"{server!r}: beyond loopback the hub is reached by tls://"
        yield ConfigFault(key=key, reason=reason)
    elif parts.scheme == "tls" and not secured:
        yield _missing("hub.ca", "without it nobody knows whether that is the hub")


def _uplink(config: PropertyConfig) -> Iterator[ConfigFault]:
    if config.uplink is not None:
        if not config.uplink.tables:
            yield PROPERTY.fault("uplink.tables", "names no table")
        for origin in config.uplink.tables:
            yield from _origin("uplink.tables", origin)


def _archive(config: PropertyConfig) -> Iterator[ConfigFault]:
    archive = config.archive
    if archive is None:
        return
    key = "archive.database"
    try:
        parse_archive_url(archive.database)
    except InputError as error:
        yield PROPERTY.fault(key, str(error))
    else:
        if urlsplit(archive.database).password:
            reason = "a password never stands here: it comes from the file that PGPASSFILE names"
            yield PROPERTY.fault(key, reason)
    if archive.workers and archive.password_file is None:
        yield _missing("archive.password_file", "workers log in at the hub")


def _witness(config: PropertyConfig) -> Iterator[ConfigFault]:
    witness = config.witness
    if witness is None:
        return
    if not witness.key.startswith(CREDENTIAL):
        try:
            load_signing_key(config.beside(witness.key))
        except InputError as error:
            yield PROPERTY.fault("witness.key", str(error))
    for origin, keys in witness.keys.items():
        yield from _origin("witness.keys", origin)
        for key in keys:
            try:
                parse_verifier_key(key)
            except InputError as error:
                yield ConfigFault(key=f"witness.keys.{origin}", reason=str(error))


def _metrics(config: PropertyConfig) -> Iterator[ConfigFault]:
    if config.metrics is not None and config.archive is None:
        yield _missing("archive", "the metrics are read there", "archive.database")


def _page(config: PropertyConfig) -> Iterator[ConfigFault]:
    page = config.page
    if page is None:
        return
    if page.replay and not page.replay.startswith(("https://", "http://", "/")):
        yield PROPERTY.fault("page.replay", f"{page.replay!r}: write https://host/path")
    if config.archive is None:
        yield _missing("archive", "the page shows what is in the archive", "archive.database")
    if not _is_loopback(page.host) and not page.exposed:
        lacks, gives = "has no TLS for its logins", "has"
        if page.users is None:
            lacks, gives = "asks for no login", "does"
        reason = (
            f"{page.host} is not of this machine alone, and the page {lacks}: put something in "
            f"front of it that {gives}, and say `exposed = true`"
        )
        yield PROPERTY.fault("page.host", reason)


_LOOKS: Final[tuple[Callable[[PropertyConfig], Iterator[ConfigFault]], ...]] = (
    _hub, _uplink, _archive, _witness, _page, _metrics
)  # fmt: skip


def _missing(key: str, why: str, shown: str = "") -> ConfigFault:
    example = PROPERTY.example_of(shown or key)
    return ConfigFault(key=key, reason=f"is missing: {why}", example=example)


def _origin(table: str, origin: str) -> Iterator[ConfigFault]:
    try:
        split_origin(origin)
    except InputError as error:
        yield PROPERTY.fault(f"{table}.{origin}", str(error))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
