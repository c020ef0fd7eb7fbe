"""`baccarat keys`: make and show the keys that sign checkpoints."""

from pathlib import Path

import click
import msgspec

from baccarat.cli.main import EXIT_DONE
from events.proof.keys import load_signing_key, make_signing_key
from events.proof.note import VerifierKey
from property.witness.cosignature import WitnessKey, witness_key

__all__ = ["keys"]


@click.group()
def keys() -> None:
    """Make and show the keys that a log's checkpoints are signed with."""


@keys.command("new")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--name", help="Whose it is, such as <site>/<table>; else the file's name.")
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


def _print_key(key: VerifierKey | WitnessKey, *, as_json: bool) -> int:
    if as_json:
        told = {"name": key.name, "id": key.key_id.hex(), "key": str(key)}
        click.echo(msgspec.json.encode(told))
    else:
        click.echo(str(key))
    return EXIT_DONE
