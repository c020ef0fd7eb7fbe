"""`baccarat property hub|streams|refill|retire`: the hub's files, its streams, a table's feed."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, TypeVar

import click
from nats.errors import Error as NatsError
from nats.js import JetStreamContext

from baccarat.cli.shown import say
from baccarat.cli.value_types import NAME
from baccarat.config.property import load_property
from baccarat.site.hub_plan import load_hub_plan, write_hub
from events.errors import BusError, ConfigError, InputError
from property.hub.connection import (
    HubSettings,
    StreamLimits,
    connect,
    ensure_streams,
    hang_up,
    publish_uplink_ended,
    purge_table,
)
from property.hub.server_conf import KEEPER
from property.hub.subjects import split_origin

__all__ = ["hub", "refill", "retire", "run_as_keeper", "streams"]

_PATH: Final = click.Path(path_type=Path)
_ANSWER_S: Final = 15
_Result = TypeVar("_Result")
_LIMITS: Final = StreamLimits()
_password = click.option(
    "--password-file", required=True, type=_PATH, help="With the password of the login `keeper`."
)


@click.command()
@click.argument("plan", type=_PATH)
@click.option("-o", "--out", required=True, type=_PATH, help="Folder to write to.")
def hub(plan: Path, out: Path) -> None:
    """Write the files of the hub's nodes and leaves that PLAN, a TOML file, describes.

    A password is made for each login that has none yet, in OUT/passwords, one file each.
    """
    try:
        written = write_hub(load_hub_plan(plan), out)
    except OSError as error:
        raise InputError(f"{error.filename}: {error.strerror}") from error
    for each in written:
        say(str(each))


@click.command()
@click.argument("config", type=_PATH)
@_password
@click.option("--replicas", type=click.IntRange(1, 5), default=_LIMITS.replicas, show_default=True)
@click.option(
    "--gigabytes",
    type=click.IntRange(1),
    default=_LIMITS.event_bytes // 1024**3,
    show_default=True,
    help="Of events, before more are refused.",
)
@click.option(
    "--days",
    type=click.IntRange(1),
    default=_LIMITS.event_days,
    show_default=True,
    help="How long an event stays.",
)
def streams(config: Path, password_file: Path, replicas: int, gigabytes: int, days: int) -> None:
    """Make the hub's streams, or bring them to these limits; what they hold stays.

    CONFIG is a property's file: its [hub] says how the hub is reached.
    """
    limits = StreamLimits(replicas=replicas, event_bytes=gigabytes * 1024**3, event_days=days)
    asyncio.run(run_as_keeper(config, password_file, lambda js: ensure_streams(js, limits)))
    click.echo("the streams are in order")


@click.command()
@click.argument("config", type=_PATH)
@click.argument("origin")
@_password
def refill(config: Path, origin: str, password_file: Path) -> int:
    """Take the events of ORIGIN, `<site>/<table>`, off the hub; its uplink fills them in again.

    For a feed into which something came that is not of the table's log, once it was looked at. Exit
    code 1: the hub has nothing of that table.
    """
    split_origin(origin)
    cleared = asyncio.run(run_as_keeper(config, password_file, lambda js: purge_table(js, origin)))
    if not cleared:
        say(f"{origin}: the hub has nothing of it", err=True)
        return 1
    say(f"{origin}: cleared; its uplink, started again, fills it from the log")
    return 0


@click.command()
@click.argument("config", type=_PATH)
@click.argument("origin")
@click.option("--by", type=NAME, required=True, help="Who says so, for the record.")
@_password
def retire(config: Path, origin: str, by: str, password_file: Path) -> None:
    """Say on the hub that ORIGIN, `<site>/<table>`, is given up: its uplink is missed no more.

    For a table whose uplink has stopped, or was killed, and will never run again. One that runs
    says so itself within seconds.
    """
    split_origin(origin)
    asyncio.run(
        run_as_keeper(config, password_file, lambda js: publish_uplink_ended(js, origin, by))
    )
    say(f"{origin}: is given up, by {by}")


async def run_as_keeper(
    config: Path, password_file: Path, act: Callable[[JetStreamContext], Awaitable[_Result]]
) -> _Result:
    """Do something on the hub with the keeper's login.

    Raises:
        BusError: no node lets the keeper in, or the hub does not answer.
    """
    settings = _settings(config, password_file)
    connection = None
    for attempt in range(len(settings.servers)):
        try:
            connection = await connect(settings, attempt)
            break
        except BusError as error:
            refused = error
    if connection is None:
        raise refused
    try:
        return await act(JetStreamContext(connection, timeout=_ANSWER_S))
    except (NatsError, TimeoutError) as error:
        raise BusError(f"the hub: {str(error) or type(error).__name__}") from error
    finally:
        await hang_up(connection)


def _settings(config: Path, password_file: Path) -> HubSettings:
    loaded = load_property(config, runs=False)
    if loaded.hub is None:
        raise ConfigError(f"{config}: hub is missing: it says how the hub is reached")
    try:
        return loaded.hub_settings(KEEPER, str(password_file.absolute()))
    except OSError as error:
        raise InputError(f"{password_file}: {error.strerror}") from error
