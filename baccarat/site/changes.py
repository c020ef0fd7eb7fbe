"""Changes of a site that its playing tables take at once: what each file becomes, and who reads it.

Every change ends in `apply_changes`, which may be run at any time and changes only what differs:
the broker's files, the copies of secrets that configurations and units name, the secrets of running
services, and last the broker, which reads its files again. Owners have a new password before the
broker asks for it.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from baccarat.atomic_files import write_atomically
from baccarat.config.form import TableConfig
from baccarat.config.keys import CREDENTIAL
from baccarat.config.table import load_config
from baccarat.site.broker_files import read_record, reload_broker, write_broker
from baccarat.site.credentials import hand_over, with_sources
from events.errors import InputError

__all__ = ["apply_changes", "set_user"]

_SERVICES = ("bus", "shoe", "displays", "scoreboard", "cage", "metrics")
_USERS = re.compile(r"^\[users\][ \t]*(?:#.*)?$", re.MULTILINE)


def apply_changes(folder: Path) -> Iterator[str]:
    """Bring a broker's tables in line with their files; yield a line for each thing that changed.

    Args:
        folder: of the broker.

    Raises:
        InputError: a file cannot be used; what comes after it has not been done.
        OSError: a file is not ours to read or write.
    """
    record = read_record(folder)
    write_broker(record, folder)
    for path in record.tables:
        config = load_config(Path(path), rules=False)
        for source, target in _copies(config, folder, Path(record.pki)):
            if not source.exists() or source.resolve() == target.resolve():
                continue
            if not target.exists() or target.read_bytes() != source.read_bytes():
                write_atomically(target, source.read_bytes(), 0o600)
                yield f"{target}: a copy of {source}"
        for unit, credential in hand_over(config.table):
            yield f"{unit}: has the new {credential}"
    yield from reload_broker(record, folder)


def _copies(config: TableConfig, folder: Path, pki: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the source and the place of each secret and certificate that a section names."""
    placed = with_sources(config)
    ring = config.beside(f"secrets/{config.table}-core.messagekeys")
    if config.message_keys and not str(config.message_keys.file).startswith(CREDENTIAL):
        ring = config.beside(config.message_keys.file) or ring
    cage = config.cage.user if config.cage else ""
    owners = {"shoe": "shoe", "displays": "console", "cage": cage}
    for name in _SERVICES:
        given, found = getattr(config, name), getattr(placed, name)
        if given is None:
            continue
        named = msgspec.structs.asdict(found)
        sources = {"password_file": folder / "secrets" / str(named.get("username"))}
        if name in owners:
            own = f"{config.table}-{owners[name]}.messagekey"
            sources["message_key"] = ring.parent / own
        if named.get("cert") is not None:
            pair = pki / Path(named["cert"]).name
            sources |= {"cert": pair, "key": pair.with_suffix(".key")}
        for key, source in sources.items():
            yield from _place(config, named.get(key), source)
    if placed.message_keys:
        yield from _place(config, placed.message_keys.file, ring)


def _place(config: TableConfig, value: str | None, source: Path) -> Iterator[tuple[Path, Path]]:
    if value is not None and not value.startswith(CREDENTIAL):
        yield source, config.beside(value)


def set_user(path: Path, name: str, roles: Sequence[str]) -> bool:
    """Give a user of a table's configuration other roles, or none to take it out.

    Returns:
        Whether the file has changed.

    Raises:
        InputError: the file has another form than `config init` writes; nothing was changed.
    """
    config, text = load_config(path, rules=False), path.read_text("utf-8")
    wanted = {user: list(each) for user, each in config.users.items() if user != name}
    wanted |= {name: list(roles)} if roles else {}
    if wanted == {user: list(each) for user, each in config.users.items()}:
        return False
    if _USERS.search(text) is None:  # the usual users, of whom the file says nothing
        lines = "".join(f"{user} = {_toml(each)}\n" for user, each in wanted.items())
        text = f"{text.rstrip()}\n\n[users]\n{lines}"
    else:
        text = re.sub(rf"(?m)^{re.escape(name)}[ \t]*=.*\n?", "", text)
        line = f"\n{name} = {_toml(roles)}" if roles else ""
        text = _USERS.sub(lambda found: found[0] + line, text, count=1)
    now, was = None, tomllib.loads(path.read_text("utf-8"))
    with suppress(tomllib.TOMLDecodeError):
        now = tomllib.loads(text)
    if now != was | {"users": wanted}:
        raise InputError(f"{path}: change {name} in [users] by hand: it is not a line of its own")
    write_atomically(path, text.encode(), 0o640)
    return True


def _toml(roles: Sequence[str]) -> str:
    return msgspec.json.encode(roles).decode()
