"""`baccarat config broker`: write a broker's configuration from those of its tables."""

import os
from pathlib import Path
from typing import Final, Literal

import click

from baccarat.cli.shown import say
from baccarat.site.broker_files import BrokerRecord, write_broker
from events.errors import InputError

__all__ = ["broker"]

_PATH: Final = click.Path(path_type=Path)
_OWNED: Final = {
    "mosquitto": ("mosquitto", ("acl", "passwords")),
    "nats": ("baccarat-broker", ("nats-server.conf",)),
}
"""By kind of broker, the user that runs it, and the private files that this user must read."""


@click.command()
@click.argument("configs", nargs=-1, required=True, type=_PATH)
@click.option("--kind", required=True, type=click.Choice(["mosquitto", "nats"]))
@click.option(
    "--pki", required=True, type=_PATH, help="Folder with ca.pem, broker.pem, broker.key."
)
@click.option("-o", "--out", required=True, type=_PATH, help="Folder to write to.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where it listens.")
@click.option("--port", type=click.IntRange(1, 65535), default=8883, show_default=True)
@click.option("--websockets", type=click.IntRange(1, 65535), default=8884, show_default=True)
def broker(
    configs: tuple[Path, ...],
    kind: Literal["mosquitto", "nats"],
    pki: Path,
    out: Path,
    host: str,
    port: int,
    websockets: int,
) -> None:
    """Write a broker's configuration for the tables that CONFIGS describe.

    A password is made for each login that has none yet, in OUT/secrets, one file each. `baccarat
    site` makes later changes from what is said here.
    """
    if port == websockets:
        raise InputError(f"--websockets: {port} is --port already; give it another, such as 8884")
    record = BrokerRecord(
        kind=kind,
        pki=str(pki.absolute()),
        host=host,
        port=port,
        websockets=websockets,
        tables=tuple(str(path.absolute()) for path in configs),
    )
    for each in write_broker(record, out):
        say(each.login)
    if os.geteuid() == 0:
        owner, names = _OWNED[kind]
        files = [*(out / name for name in names), pki / "broker.key"]
        say(f"the broker's user must read: chown {owner} {' '.join(map(str, files))}", err=True)
