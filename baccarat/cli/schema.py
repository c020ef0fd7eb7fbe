"""`baccarat schema`: generate the JSON Schemas and the AsyncAPI document from the message types."""

import json
from pathlib import Path
from typing import Any, Final

import click

from baccarat.cli.shown import say
from baccarat.contract.asyncapi import document
from baccarat.contract.schemas import MESSAGES, bundle, known_types, one_message

__all__ = ["ASYNCAPI_FILE", "BUNDLE_FILE", "TYPES_FILE", "document_text", "schema"]

BUNDLE_FILE: Final = "messages.schema.json"
ASYNCAPI_FILE: Final = "asyncapi.json"
TYPES_FILE: Final = "types.json"


def document_text(made: dict[str, Any]) -> str:
    """Return the document as text for output and files: one field a line, for diffs."""
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


@click.group()
def schema() -> None:
    """JSON Schemas of every message on the bus, and the AsyncAPI document."""


_folder = click.option(
    "--dir",
    "folder",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write files there instead of printing.",
)


@schema.command("json")
@_folder
def _json_schema(*, folder: Path | None) -> None:
    """JSON Schema 2020-12 of every message.

    Printed, it is one document with all of them under $defs. With --dir there is also a file for
    each message that needs no other.
    """
    if folder is None:
        click.echo(document_text(bundle()), nl=False)
        return
    files = {f"{name}.schema.json": one_message(name) for name in MESSAGES}
    _write(folder, {BUNDLE_FILE: bundle()} | files)


@schema.command("asyncapi")
@_folder
def _asyncapi(*, folder: Path | None) -> None:
    """AsyncAPI 3.0: topics, who sends and who receives, and the messages with examples."""
    if folder is None:
        click.echo(document_text(document()), nl=False)
        return
    _write(folder, {ASYNCAPI_FILE: document()})


@schema.command("types")
@_folder
def _types(*, folder: Path | None) -> None:
    """Every type of event with its versions, and every command: what a program may know."""
    if folder is None:
        click.echo(document_text(known_types()), nl=False)
        return
    _write(folder, {TYPES_FILE: known_types()})


def _write(folder: Path, files: dict[str, dict[str, Any]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, made in files.items():
        (folder / name).write_text(document_text(made), encoding="utf-8")
    say(f"{len(files)} {'file' if len(files) == 1 else 'files'} in {folder}", err=True)
