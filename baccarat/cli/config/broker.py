"""`baccarat config broker`: write a broker's configuration from those of its tables."""

import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import click

from baccarat.atomic_files import write_atomically
from baccarat.cli.shown import say
from baccarat.config.table import load_config
from baccarat.read_files import read_password
from baccarat.site.brokers import (
    BrokerFiles,
    mosquitto_acl,
    mosquitto_conf,
    mosquitto_passwords,
    nats_conf,
)
from baccarat.site.identities import Identity, identities_of
from events.errors import InputError

__all__ = ["broker"]

# The same as mosquitto's own tool.
_SALT_BYTES: Final = 12
# bcrypt's cost: 50 ms a login. nats-server spends it again at each connect.
_BCRYPT_ROUNDS: Final = 10
_PATH: Final = click.Path(path_type=Path)


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
    kind: str,
    pki: Path,
    out: Path,
    host: str,
    port: int,
    websockets: int,
) -> None:
    """Write a broker's configuration for the tables that CONFIGS describe.

    A password is made for each login that has none yet, in OUT/secrets, one file each.
    """
    if port == websockets:
        raise InputError(f"--websockets: {port} is --port already; give it another, such as 8884")
    identities = _identities(configs)
    place = BrokerFiles(
        folder=out.absolute(),
        host=host,
        port=port,
        websockets=websockets,
        ca=_existing_folder(pki / "ca.pem"),
        cert=_existing_folder(pki / "broker.pem"),
        key=_existing_folder(pki / "broker.key"),
    )
    out.mkdir(parents=True, exist_ok=True)
    passwords = {each.login: _password(out / "secrets", each.login) for each in identities}
    if kind == "mosquitto":
        salts = {login: secrets.token_bytes(_SALT_BYTES) for login in passwords}
        _write(out / "mosquitto.conf", mosquitto_conf(place))
        _write(out / "acl", mosquitto_acl(identities), private=True)
        _write(out / "passwords", mosquitto_passwords(passwords, salts), private=True)
    else:
        text = nats_conf(place, identities, passwords, _BCRYPT_ROUNDS)
        _write(out / "nats-server.conf", text, private=True)
    for each in identities:
        say(each.login)


def _identities(configs: Iterable[Path]) -> list[Identity]:
    found: dict[str, tuple[Path, Identity]] = {}
    for path in configs:
        config = load_config(path)
        for each in identities_of(config.topics, config.users):
            if each.login in found:
                raise InputError(
                    f"{path}: {each.login} is also a login of {found[each.login][0]}: "
                    "tables at one broker need names of their own"
                )
            found[each.login] = path, each
    return [each for _, each in found.values()]


def _existing_folder(path: Path) -> Path:
    if not path.is_file():
        raise InputError(f"{path}: is not there; `baccarat pki issue {path.parent} {path.stem}`")
    return path.absolute()


def _password(folder: Path, login: str) -> str:
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / login
    if not path.exists():
        _write(path, secrets.token_urlsafe(24) + "\n", private=True)
    # A power cut may have emptied the file; it must not become a login without a password.
    if path.stat().st_size == 0:
        raise InputError(f"{path}: is empty; take the file away, and a password is made")
    return read_password(path)


def _write(path: Path, text: str, *, private: bool = False) -> None:
    write_atomically(path, text.encode(), 0o600 if private else 0o644)
