"""Run the screens' web servers from a table's configuration."""

import asyncio

import msgspec

from baccarat.config.form import ScreensConfig, TableConfig
from baccarat.pages.coup_page import told_coup_page
from baccarat.services.registry import Probe
from baccarat.services.rules_in_force import RulesInForce
from displays.consoles.layout import TableLayout
from displays.http.site_look import COLOURS, SiteLook, read_logo
from displays.service import DisplayService, DisplaySettings
from events.clock import SystemClock
from events.errors import ConfigError
from events.mqtt.bus import BusSettings
from events.mqtt.process import no_probe

__all__ = ["serve_displays", "serve_scoreboard"]


async def serve_displays(
    config: TableConfig,
    stop: asyncio.Event,
    probe: Probe = no_probe,  # noqa: ARG001 - a display has no step that matters to a crash test
) -> None:
    """Run the screens' web server until `stop` is set.

    Raises:
        TableError: the users file, the certificate, the address or the broker cannot be used.
    """
    given = config.displays
    if given is None:
        raise ConfigError("displays: the configuration has no [displays]")
    settings = msgspec.structs.replace(
        _screens(config, "displays", given),
        users=config.beside(given.users),
        idle_s=given.idle_minutes * 60,
        record=config.beside(given.record),
        password_days=given.password_days,
        one_session=given.one_session,
        layout=TableLayout(seats=given.seats, chips=given.chips),
        sessions=config.beside(given.sessions),
        countersign=given.countersign,
    )
    await _serve_screens(config, settings, config.own_bus("displays"), stop)


async def serve_scoreboard(
    config: TableConfig,
    stop: asyncio.Event,
    probe: Probe = no_probe,  # noqa: ARG001 - the same
) -> None:
    """Run the web server of the scoreboard alone until `stop` is set.

    Raises:
        TableError: the certificate, the address or the broker cannot be used.
    """
    given = config.scoreboard
    if given is None:
        raise ConfigError("scoreboard: the configuration has no [scoreboard]")
    settings = _screens(config, "scoreboard", given)
    await _serve_screens(config, settings, config.own_bus("scoreboard"), stop)


def _screens(config: TableConfig, section: str, given: ScreensConfig) -> DisplaySettings:
    return DisplaySettings(
        section=section,
        host=given.host,
        port=given.port,
        names=given.names,
        cert=config.beside(given.cert),
        key=config.beside(given.key),
        betting_s=given.betting_s,
        site=_look(config),
    )


def _look(config: TableConfig) -> SiteLook:
    look = config.look
    path = config.beside(look.logo)
    logo, kind = read_logo(path) if path else (None, "")
    colours = {name: found for name in COLOURS if (found := getattr(look, name))}
    return SiteLook(name=look.name, logo=logo, logo_kind=kind, colours=colours)


async def _serve_screens(
    config: TableConfig, settings: DisplaySettings, bus: BusSettings, stop: asyncio.Event
) -> None:
    clock = SystemClock()
    service = DisplayService(
        settings,
        config.topics,
        bus,
        clock,
        session=clock.utc_ns() // 1_000_000,
        rules=RulesInForce(config.log_path, [config.rulebook_name, *config.library_files]),
        keys=config.own_keys("displays"),
        printer=told_coup_page,
    )
    await service.run(stop)
