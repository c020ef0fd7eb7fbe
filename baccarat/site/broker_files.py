"""The folder of a site's broker: what was asked for, the broker's files, a password for each login.

`config broker` writes it for the first time. Every later change is written from the record in it.
"""

import os
import secrets
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

import msgspec
from msgspec import Struct

from baccarat.atomic_files import write_atomically
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

__all__ = ["BrokerRecord", "new_password", "read_record", "reload_broker", "write_broker"]

_RECORD: Final = "site.json"
_CONF: Final = {"mosquitto": "mosquitto.conf", "nats": "nats-server.conf"}
# bcrypt's cost: 50 ms a login. nats-server spends it again at each connect.
_BCRYPT_ROUNDS: Final = 10
_PASSWORD_BYTES: Final = 24
_PROCESSES: Final = Path("/proc")


class BrokerRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a broker was asked to be.

    Args:
        kind: of broker.
        pki: the folder of the site's authority.
        host: the address to listen at.
        port: of MQTT over TLS.
        websockets: of MQTT over secure websockets.
        tables: the configurations of the tables that it serves.
    """

    kind: Literal["mosquitto", "nats"]
    pki: str
    host: str
    port: int
    websockets: int
    tables: tuple[str, ...]


def read_record(folder: Path) -> BrokerRecord:
    """Return the record of a broker's folder.

    Raises:
        InputError: there is none, as in a folder of an earlier build.
    """
    path = folder / _RECORD
    try:
        return msgspec.json.decode(path.read_bytes(), type=BrokerRecord)
    except FileNotFoundError as error:
        raise InputError(
            f"{path}: is not there; run `baccarat config broker` once more, which writes it"
        ) from error
    except msgspec.MsgspecError as error:
        raise InputError(f"{path}: {error}; `baccarat config broker` writes another") from error


def write_broker(record: BrokerRecord, folder: Path) -> list[Identity]:
    """Write the broker's files; a password is made for each login that has none.

    The hash of a password that has not changed stays, so that its login is not disconnected.

    Raises:
        InputError: a configuration, a certificate or a password cannot be used.
    """
    identities, pki = _identities(record.tables), Path(record.pki)
    place = BrokerFiles(
        folder=folder.absolute(),
        host=record.host,
        port=record.port,
        websockets=record.websockets,
        ca=_existing(pki / "ca.pem"),
        cert=_existing(pki / "broker.pem"),
        key=_existing(pki / "broker.key"),
    )
    folder.mkdir(parents=True, exist_ok=True)
    passwords = {each.login: _password(folder / "secrets", each.login) for each in identities}
    if record.kind == "mosquitto":
        before = _text(folder / "passwords")
        _write(folder / "mosquitto.conf", mosquitto_conf(place))
        _write(folder / "acl", mosquitto_acl(identities), private=True)
        _write(folder / "passwords", mosquitto_passwords(passwords, before), private=True)
    else:
        before = _text(folder / "nats-server.conf")
        text = nats_conf(place, identities, passwords, _BCRYPT_ROUNDS, before)
        _write(folder / "nats-server.conf", text, private=True)
    _write(folder / _RECORD, msgspec.json.encode(record).decode() + "\n", private=True)
    return identities


def new_password(folder: Path, login: str) -> Path:
    """Give a login another password, which the broker takes with its next files."""
    path = folder / "secrets" / login
    if not path.exists():
        known = ", ".join(sorted(each.name for each in path.parent.glob("*")))
        raise InputError(f"{login}: is no login of this broker; there are {known}")
    _write(path, secrets.token_urlsafe(_PASSWORD_BYTES) + "\n", private=True)
    return path


def reload_broker(record: BrokerRecord, folder: Path) -> Iterator[str]:
    """Let the running broker read its files again, which keeps its connections; say so.

    Raises:
        InputError: it is another user's.
    """
    conf, found = folder.absolute() / _CONF[record.kind], False
    for process in _PROCESSES.glob("[0-9]*"):
        try:
            program, *words = map(os.fsdecode, (process / "cmdline").read_bytes().split(b"\0"))
            if not program.rpartition("/")[2].startswith(("mosquitto", "nats-server")):
                continue
        except OSError:
            continue  # it has ended
        if any(word and _same(_place(process) / word, conf) for word in words):
            found, number = True, int(process.name)
            try:
                os.kill(number, signal.SIGHUP)
            except PermissionError as error:
                raise InputError(f"{conf}: its broker is another user's: run as root") from error
            yield f"broker: process {number} reads its files again"
    if not found:
        yield f"broker: none runs by {conf} on this machine; it reads its files as it starts"


def _place(process: Path) -> Path:
    """Return the folder from which the paths in a process's command count."""
    try:
        return (process / "cwd").readlink()
    except OSError:  # it is another user's
        return Path("/")


def _same(path: Path, conf: Path) -> bool:
    return os.path.realpath(path) == os.path.realpath(conf)


def _identities(configs: tuple[str, ...]) -> list[Identity]:
    found: dict[str, tuple[str, Identity]] = {}
    for path in configs:
        config = load_config(Path(path), passwords=False)  # they are made here
        for each in identities_of(config.topics, config.users):
            if each.login in found:
                raise InputError(
                    f"{path}: {each.login} is also a login of {found[each.login][0]}: "
                    "tables at one broker need names of their own"
                )
            found[each.login] = path, each
    return [each for _, each in found.values()]


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise InputError(f"{path}: is not there; `baccarat pki issue {path.parent} {path.stem}`")
    return path.absolute()


def _password(folder: Path, login: str) -> str:
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / login
    if not path.exists():
        _write(path, secrets.token_urlsafe(_PASSWORD_BYTES) + "\n", private=True)
    # A power cut may have emptied the file; it must not become a login without a password.
    if path.stat().st_size == 0:
        raise InputError(f"{path}: is empty; take the file away, and a password is made")
    return read_password(path)


def _text(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""


def _write(path: Path, text: str, *, private: bool = False) -> None:
    write_atomically(path, text.encode(), 0o600 if private else 0o644)
