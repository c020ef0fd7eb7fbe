"""`baccarat keys`: the keys that sign checkpoints, and those that prove messages on the bus."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click
import msgspec

from baccarat.atomic_files import FileWrite, write_all_atomically
from baccarat.cli.main import EXIT_DONE
from baccarat.cli.shown import say
from baccarat.cli.value_types import NAME
from baccarat.config.form import TableConfig
from baccarat.config.keys import CREDENTIAL
from baccarat.config.table import load_config
from events.errors import InputError
from events.proof.keys import load_signing_key, make_signing_key
from events.proof.message_keys import load_message_keys, make_message_key
from events.proof.message_mac import MessageKey
from events.proof.note import VerifierKey
from property.witness.cosignature import WitnessKey, witness_key

__all__ = ["ASKING", "keys", "make_message_keys", "message_ring"]

ASKING: Final = frozenset({"cage", "console", "dealer", "supervisor", "technician", "wagers"})
"""The roles that send requests, which a key can prove: a display asks for nothing."""
_OVERLAP_HOURS: Final = 24
_MS_IN_HOUR: Final = 3_600_000
_PRIVATE: Final = 0o600


@click.group()
def keys() -> None:
    """The keys that sign a log's checkpoints, and those that prove messages on the bus."""


@keys.command("new")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--name", type=NAME, help="Whose it is, such as <site>/<table>; else the file's name."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def _new(file: Path, name: str | None, as_json: bool) -> int:
    """Make a private key in FILE, which must not exist, and print its public key.

    Keep FILE on the controller, and give the printed line to whoever verifies. Exit code 2: it
    cannot be made.
    """
    made = make_signing_key(file, name or file.stem)
    return _print_key(made.verifier, as_json=as_json)


@keys.command("show")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--witness", is_flag=True, help="In the form for those who verify cosignatures.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def _show(file: Path, witness: bool, as_json: bool) -> int:
    """Print the public key of the private key in FILE."""
    key = load_signing_key(file)
    return _print_key(witness_key(key) if witness else key.verifier, as_json=as_json)


@keys.command("messages")
@click.argument("config", type=click.Path(path_type=Path))
@click.argument("names", nargs=-1, type=NAME)
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), help="Of the owners' files."
)
@click.option(
    "--overlap",
    type=click.IntRange(0, 8760),
    default=_OVERLAP_HOURS,
    show_default=True,
    help="Hours for which a key that another follows still counts.",
)
def _messages(config: Path, names: tuple[str, ...], out: Path | None, overlap: int) -> int:
    """Make message keys for NAMES at the table of CONFIG; without any, for all that have none.

    A name is `shoe`, for the driver, or one of [users]. The table's own file, which
    `message_keys.file` names, gets every key; each owner's file in --out gets that owner's alone. A
    running table takes them at once.
    """
    table = load_config(config, rules=False)
    for path in make_message_keys(table, names, out, overlap):
        click.echo(str(path))
    if table.message_keys is None:
        text = f'[message_keys] file = "{message_ring(table)}", mode = "enrolling"'
        say(f"add to {config}: {text}", err=True)
    return EXIT_DONE


def message_ring(table: TableConfig) -> Path:
    """Return the table's own file of message keys, of which a credential is a copy."""
    given = table.message_keys.file if table.message_keys else None
    if given is None or given.startswith(CREDENTIAL):
        return table.beside(f"secrets/{table.table}-core.messagekeys")
    return table.beside(given)


def make_message_keys(
    table: TableConfig, names: tuple[str, ...], out: Path | None, overlap: int
) -> list[Path]:
    """Make message keys, and return the files that were written.

    Args:
        table: whose keys they are.
        names: their owners; without any, all that have none.
        out: the folder of the owners' files; None for that of the table's own file.
        overlap: hours for which a key that another follows still counts.

    Raises:
        InputError: an owner can use none, or a file cannot be read or written.
    """
    ring, now_ms = message_ring(table), round(datetime.now(UTC).timestamp() * 1000)
    known = load_message_keys(ring, table.origin) if ring.exists() else ()
    kept = tuple(key for key in known if key.is_valid(now_ms))
    new = tuple(make_message_key(table.origin, name) for name in _chosen(table, names, kept))
    ending = _ending(kept, new, now_ms, overlap)
    return _write_keys(ring, out or ring.parent, table.table, new, ending)


def _chosen(table: TableConfig, names: tuple[str, ...], kept: tuple[MessageKey, ...]) -> list[str]:
    able = ["shoe", *(user for user, roles in table.users.items() if ASKING & set(roles))]
    for name in names:
        if name not in able:
            raise InputError(f"{name!r} sends nothing that a key could prove; there are {able}")
    return list(dict.fromkeys(names)) or [
        name for name in able if name not in {key.owner for key in kept}
    ]


def _ending(
    kept: tuple[MessageKey, ...], new: tuple[MessageKey, ...], now_ms: int, overlap: int
) -> tuple[MessageKey, ...]:
    """Return the earlier keys; those that another follows end after the overlap."""
    owners, until_ms = {key.owner for key in new}, now_ms + overlap * _MS_IN_HOUR
    return tuple(
        msgspec.structs.replace(key, until_ms=min(key.until_ms or until_ms, until_ms))
        if key.owner in owners
        else key
        for key in kept
    )


def _write_keys(
    ring: Path, out: Path, table: str, new: tuple[MessageKey, ...], kept: tuple[MessageKey, ...]
) -> list[Path]:
    """Write the table's file and those of the owners of new keys; return the files."""
    every = (*new, *kept)
    files = [FileWrite(ring, "".join(key.line for key in every).encode(), _PRIVATE)]
    for key in new:
        own = "".join(each.line for each in every if each.owner == key.owner)
        files.append(FileWrite(out / f"{table}-{key.owner}.messagekey", own.encode(), _PRIVATE))
    try:
        for folder in {file.path.parent for file in files}:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_all_atomically(files)
    except OSError as error:
        raise InputError(f"{error.filename}: cannot keep a key here: {error.strerror}") from error
    return [file.path for file in files]


def _print_key(key: VerifierKey | WitnessKey, *, as_json: bool) -> int:
    if as_json:
        told = {"name": key.name, "id": key.key_id.hex(), "key": str(key)}
        click.echo(msgspec.json.encode(told))
    else:
        click.echo(str(key))
    return EXIT_DONE
