"""`baccarat site`: change a site while its tables play; no coup ends, and nothing is started again.

Each command makes its change, gives it to the running services and the broker, and says what it
did. `apply` does the second half alone, after a change by hand.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

from baccarat.atomic_files import write_atomically
from baccarat.cli.keys import ASKING, make_message_keys, message_ring
from baccarat.cli.main import EXIT_DONE, EXIT_NO
from baccarat.cli.pki import due
from baccarat.cli.shown import say
from baccarat.cli.value_types import NAME
from baccarat.config.form import TableConfig
from baccarat.config.table import load_config
from baccarat.site.broker_files import BrokerRecord, new_password, read_record
from baccarat.site.changes import apply_changes, set_user
from baccarat.site.credentials import with_sources
from baccarat.site.identities import Identity, identities_of
from baccarat.site.pki import Pki
from events.commands.registry import ROLES
from events.errors import InputError
from events.log.vouching import head_of
from events.mqtt.topics import require_segment
from events.proof.checkpoint import parse_checkpoint
from events.proof.keys import load_signing_key, make_signing_key
from events.proof.note import SigningKey, signed_by

__all__ = ["add", "apply", "message_key", "password", "remove", "renew", "signing_key", "site"]

_TAKEN_S: Final = 10.0
_LOOK_S: Final = 0.2
_PRIVATE: Final = 0o600

_CONFIG = click.argument("config", type=click.Path(path_type=Path))
_NAME = click.argument("name", type=NAME)
_BROKER = click.option(
    "--broker",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder that `config broker` wrote; else `broker` next to CONFIG.",
)


@click.group()
def site() -> None:
    """Change keys, passwords, certificates and logins while the tables play."""


@site.command()
@_CONFIG
@_BROKER
def apply(config: Path, broker: Path | None) -> None:
    """Bring broker and services in line with the files, after a change by hand."""
    _apply(_folder(config, broker))


@site.command()
@_CONFIG
@_NAME
@click.option(
    "--role", "roles", multiple=True, required=True, type=click.Choice(sorted(ROLES)),
    help="What it may do; may be repeated.",
)  # fmt: skip
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False),
    help="Folder for what you hand over; else `hand-over/LOGIN` next to CONFIG.",
)  # fmt: skip
@_BROKER
def add(
    config: Path, name: str, roles: tuple[str, ...], out: Path | None, broker: Path | None
) -> None:
    """Let an outside system in as the user NAME of the table of CONFIG.

    It gets rights and a password at the broker, a certificate, and a message key where the table
    has message keys. All that it needs is then in one folder, for you to hand over.
    """
    require_segment("user", name)
    folder = _folder(config, broker)
    record, table = read_record(folder), load_config(config, rules=False)
    login = f"{table.table}-{name}"
    pki = Pki(Path(record.pki), datetime.now(UTC))
    if not (Path(record.pki) / f"{login}.pem").exists():
        say(f"{pki.issue(login)}: issued")
    if set_user(config, name, roles):
        say(f"{config}: {name} is {' and '.join(roles)}")
    table = load_config(config, rules=False)
    own = message_ring(table).parent / f"{login}.messagekey"
    if table.message_keys and ASKING & set(roles) and not own.exists():
        for path in make_message_keys(table, (name,), None, 0):
            say(f"{path}: has its message key")
    _apply(folder)
    place = out or table.beside(f"hand-over/{login}")
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    given = {
        "ca.pem": Path(record.pki) / "ca.pem",
        f"{login}.pem": Path(record.pki) / f"{login}.pem",
        f"{login}.key": Path(record.pki) / f"{login}.key",
        f"{login}.password": folder / "secrets" / login,
        own.name: own,
    }
    say("hand over:")
    for file, source in given.items():
        if source.exists():
            say(f"  {write_atomically(place / file, source.read_bytes(), _PRIVATE)}")
    _say_rights(table, record, login, pki)


def _say_rights(table: TableConfig, record: BrokerRecord, login: str, pki: Pki) -> None:
    mine: Identity = next(
        each for each in identities_of(table.topics, table.users) if each.login == login
    )
    names = [each for each in pki.hosts("broker") if each not in {"localhost", "127.0.0.1"}]
    host = names[0] if names else record.host
    say(f"it connects to mqtts://{login}@{host}:{record.port}/{table.origin}")
    say(f"it may publish {', '.join(mine.says) or 'nothing'}")
    say(f"it may read {', '.join(mine.hears) or 'nothing'}")
    if record.host in {"127.0.0.1", "localhost", "::1"}:
        text = "to let other machines in, run `baccarat config broker` with --host"
        say(f"the broker listens on this machine alone: {text}", err=True)


@site.command()
@_CONFIG
@_NAME
@_BROKER
def remove(config: Path, name: str, broker: Path | None) -> None:
    """Take the user NAME out: its login, its rights and its message key count for nothing."""
    folder = _folder(config, broker)
    read_record(folder)
    table = load_config(config, rules=False)
    if name not in table.users:
        raise InputError(f"{config}: there is no user {name}; there are {', '.join(table.users)}")
    ring = message_ring(table)
    if ring.exists():
        lines = ring.read_text("utf-8").splitlines(keepends=True)
        others = [line for line in lines if f" {table.origin}/{name} " not in line]
        write_atomically(ring, "".join(others).encode(), _PRIVATE)
    set_user(config, name, ())
    login = f"{table.table}-{name}"
    for path in (folder / "secrets" / login, ring.parent / f"{login}.messagekey"):
        path.unlink(missing_ok=True)
    say(f"{config}: {name} is out")
    _apply(folder)


@site.command()
@_CONFIG
@_NAME
@_BROKER
def password(config: Path, name: str, broker: Path | None) -> None:
    """Give a login another password; NAME is its name without the table's, such as `cage`.

    The old password counts until the broker has read its files again.
    """
    folder = _folder(config, broker)
    path = new_password(folder, f"{load_config(config, rules=False).table}-{name}")
    say(f"{path}: has another password; hand it over if its owner is not on this machine")
    _apply(folder)


@site.command("message-key")
@_CONFIG
@_NAME
@click.option("--overlap", type=click.IntRange(0, 8760), default=24, show_default=True,
              help="Hours for which the key before still counts.")  # fmt: skip
@_BROKER
def message_key(config: Path, name: str, overlap: int, broker: Path | None) -> None:
    """Give a sender another message key; NAME is `shoe` or one of [users]."""
    folder = _folder(config, broker)
    for path in make_message_keys(load_config(config, rules=False), (name,), None, overlap):
        say(f"{path}: has the new key")
    _apply(folder)


@site.command()
@_CONFIG
@click.argument("names", nargs=-1, type=NAME)
@_BROKER
def renew(config: Path, names: tuple[str, ...], broker: Path | None) -> None:
    """Renew the certificates NAMES, or all that end within 30 days, with new keys."""
    folder = _folder(config, broker)
    pki = Pki(Path(read_record(folder).pki), datetime.now(UTC))
    for name in names or due(pki, 30):
        say(f"{pki.renew(name)}: renewed; hand it over if its owner is not on this machine")
    _apply(folder)


@site.command("signing-key")
@_CONFIG
@_BROKER
def signing_key(config: Path, broker: Path | None) -> int:
    """Let another key sign the log; the running table signs once by both, and the old one goes.

    Exit code 1: the table did not take it within ten seconds, and the old key is in place again.
    """
    folder = _folder(config, broker)
    table = with_sources(load_config(config, rules=False))
    path = table.beside(table.checkpoints.key)
    if path is None:
        raise InputError(f"{config}: checkpoints.key names no key that another could follow")
    load_signing_key(path)
    old, before = path.read_bytes(), path.with_name(f"{path.name}.before")
    write_atomically(before, old, _PRIVATE)
    staged = path.with_name(f".{path.name}.next")
    staged.unlink(missing_ok=True)
    made = make_signing_key(staged, table.origin)
    write_atomically(path, staged.read_bytes(), _PRIVATE)
    staged.unlink()
    _apply(folder)
    head = table.beside(table.checkpoints.head) or head_of(table.log_path)
    if _until(lambda: _signs(made, head)):
        before.unlink()
        say(f"{made.verifier}: signs the log; give this line to everybody who verifies")
        return EXIT_DONE
    write_atomically(path, old, _PRIVATE)
    before.unlink()
    _apply(folder)
    say(f"{path}: the table did not take another key; the old one is back. Does it run?", err=True)
    return EXIT_NO


def _signs(key: SigningKey, head: Path) -> bool:
    """Return whether the newest checkpoint is signed by a key."""
    try:
        _, note = parse_checkpoint(head.read_bytes())
    except (OSError, InputError):
        return False  # none is kept yet
    return bool(signed_by(note, (key.verifier,)))


def _until(holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + _TAKEN_S
    while not (found := holds()) and time.monotonic() < until:
        time.sleep(_LOOK_S)
    return found


def _folder(config: Path, broker: Path | None) -> Path:
    return broker or config.absolute().parent / "broker"


def _apply(folder: Path) -> None:
    for line in apply_changes(folder):
        say(line)
