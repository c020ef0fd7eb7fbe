"""Run the cage's ledger, from a table's configuration or from a broker's URL alone."""

import asyncio
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import msgspec
from msgspec import Struct
from sqlalchemy import URL

from baccarat.config.form import CageConfig, TableConfig
from baccarat.services.broker_at import LoginFiles, broker_at, broker_url
from cage.ledger.database import parse_ledger_url
from cage.ledger.received_event import LedgerEvent
from cage.ledger.store import LedgerStore
from cage.service import CageService
from events.clock import SystemClock
from events.errors import ConfigError, InputError, LedgerUnavailable
from events.mqtt.bus import BusSettings
from events.mqtt.peer_keys import PeerKeys
from events.mqtt.process import no_probe
from events.mqtt.topics import Topics
from events.proof.key_file import KeyFile
from events.structured_log import structlog

__all__ = ["LedgerSettings", "ledger_settings", "ledger_settings_at", "make_cage", "serve"]

_FORM: Final = "mqtt[s]://[user[:password]@]host[:port]/<site>/<table>"
# Interval between two attempts to reach a database that is not there yet, seconds.
_DATABASE_S: Final = 0.5
_RELATIVE: Final = re.compile(r"(?![a-z]+://)")

_log: Final = structlog.get_logger()


class LedgerSettings(Struct, frozen=True, kw_only=True):
    """The table whose settlements are booked, and the ledger for them.

    Args:
        topics: the table.
        bus: the broker and the login there.
        ledger: the database.
        user: the name under which the table knows the cage.
        consumer: the name under which the table remembers the cage's acknowledgements.
        keys: its message keys.
    """

    topics: Topics
    bus: BusSettings
    ledger: URL
    user: str = "cage"
    consumer: str = "cage"
    keys: PeerKeys = msgspec.field(default_factory=PeerKeys)


def ledger_settings(config: TableConfig, ledger: str | None = None) -> LedgerSettings:
    """Return it from a table's configuration.

    Args:
        config: the table's.
        ledger: a path or URL instead of the configuration's.

    Raises:
        ConfigError: it has no `[cage]`, and no ledger was named.
        InputError: the ledger's URL is wrong, or a password's file cannot be read.
    """
    cage = config.cage
    if cage is None and ledger is None:
        raise ConfigError(
            "this table keeps no ledger: add a section [cage] to its configuration, or --ledger"
        )
    cage = cage or CageConfig()
    if ledger is None and _RELATIVE.match(cage.ledger):
        ledger = str(config.beside(cage.ledger))
    return LedgerSettings(
        topics=config.topics,
        bus=config.own_bus("cage"),
        ledger=parse_ledger_url(ledger or cage.ledger),
        user=cage.user,
        consumer=cage.consumer,
        keys=config.own_keys("cage"),
    )


def ledger_settings_at(
    url: str, ledger: str, files: LoginFiles, message_key: Path | None = None
) -> LedgerSettings:
    """Return it from a URL, as `cage run --url` has it, for a cage on another machine.

    Args:
        url: the broker and the table.
        ledger: a path or URL.
        files: of the login.
        message_key: the file of the cage's message key, if it has one.

    Raises:
        InputError: one of them is wrong.
    """
    parts = broker_url(url, _FORM)
    site, slash, table = parts.path.strip("/").partition("/")
    if not slash:
        raise InputError(f"--url: write {_FORM}")
    topics = Topics(site, table)
    topics.validate()
    user = unquote(parts.username) if parts.username else None
    return LedgerSettings(
        topics=topics,
        bus=broker_at(parts, f"bac-{site}-{table}-{user or 'cage'}", files),
        ledger=parse_ledger_url(ledger),
        # A site's login is named by table and user, as `config broker` writes it: b7-cage.
        user=(user or "cage").removeprefix(f"{table}-"),
        keys=PeerKeys(read=KeyFile(message_key, f"{site}/{table}") if message_key else None),
    )


def make_cage(
    place: LedgerSettings,
    *,
    probe: Callable[[str], None] = no_probe,
    on_booked: Callable[[Sequence[LedgerEvent]], None] = lambda _: None,
) -> CageService:
    """Make the consumer.

    Args:
        place: the table and the ledger.
        probe: called at each step.
        on_booked: called with the events that were booked, each once; must not wait.

    Raises:
        LedgerUnavailable: the database does not answer.
        LedgerError: another writer has the book, or a newer build has migrated it.
    """
    origin = f"{place.topics.site}/{place.topics.table}"
    return CageService(
        place.bus,
        place.topics,
        partial(LedgerStore.open, place.ledger, origin),
        SystemClock(),
        user=place.user,
        consumer=place.consumer,
        keys=place.keys,
        probe=probe,
        on_booked=on_booked,
    )


async def serve(
    place: LedgerSettings, stop: asyncio.Event, probe: Callable[[str], None], *, patient: bool
) -> None:
    """Run the consumer until `stop` is set.

    Args:
        place: the table and the ledger.
        stop: ends it.
        probe: called at each step.
        patient: wait for a database that does not answer yet.

    Raises:
        TableError: the ledger, the broker or the table refuses; one line names it.
    """
    said = False
    while not stop.is_set():
        try:
            service = make_cage(place, probe=probe)
        except LedgerUnavailable as error:
            if not patient:
                raise
            if not said:
                _log.error("ledger.away", reason=str(error))
            said = True
            await _pause(stop)
        else:
            await service.run(stop)


async def _pause(stop: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(_DATABASE_S):
            await stop.wait()
    except TimeoutError:
        return
