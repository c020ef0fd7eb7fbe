"""`baccarat config init|check|show`: write, check and print a table's configuration."""

from pathlib import Path
from typing import Any

import click
import msgspec

from baccarat.cli.config.broker import broker
from baccarat.cli.main import EXIT_BAD_INPUT, EXIT_DONE
from baccarat.cli.shown import say
from baccarat.config.adoption import adoption_of
from baccarat.config.advice import advice
from baccarat.config.errors import ConfigFault, ConfigFaults
from baccarat.config.form import TABLE
from baccarat.config.screens_check import screen_faults
from baccarat.config.table import load_config
from events.errors import ConfigError, InputError

__all__ = ["check", "config", "init", "show"]

_FILE = click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")


@click.group()
def config() -> None:
    """Begin, judge or read back the TOML file of a table."""


config.add_command(broker)


@config.command()
@_FILE
def init(file: Path) -> None:
    """Write FILE, a configuration with every key explained; `-` writes it to stdout."""
    text = TABLE.template()
    if str(file) == "-":
        click.echo(text, nl=False)
        return
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(text)
    except FileExistsError as error:
        raise InputError(f"{file}: is there already; choose another name") from error
    say(f"{file} is written: change site, table and shoe.url, then check it", err=True)


@config.command()
@_FILE
@_JSON
def check(file: Path, *, as_json: bool) -> int:
    """Say everything that is wrong with FILE, a line each; exit code 2 where something is.

    A rulebook that the table would not adopt is wrong. One in force, by which the table plays on,
    is a warning, and so is what a site can mean, but should look at before it opens.
    """
    faults: list[ConfigFault] = []
    warnings: list[ConfigFault] = []
    look_at: list[str] = []
    try:
        loaded = load_config(file)
    except ConfigFaults as error:
        faults += error.faults
    except ConfigError as error:
        if not as_json:
            raise
        faults.append(ConfigFault(key="", reason=str(error)))
    else:
        adoption = adoption_of(loaded)
        found = warnings if adoption.in_force else faults
        found += [
            ConfigFault(key="rulebook", reason=f"{fault.code}: {fault}")
            for fault in adoption.faults
        ]
        faults += screen_faults(loaded)
        look_at = [*map(str, advice(loaded))]
    for warning in (*warnings, *look_at):
        say(f"{file}: warning: {warning}", err=True)
    if as_json:
        answer = {"ok": not faults, "errors": faults}
        click.echo(msgspec.json.encode(answer | ({"warnings": warnings} if warnings else {})))
        return EXIT_BAD_INPUT if faults else EXIT_DONE
    if faults:
        raise ConfigFaults(str(file), faults)
    say(f"{file}: in order")
    return EXIT_DONE


@config.command()
@_FILE
@_JSON
def show(file: Path, *, as_json: bool) -> None:
    """Print what holds, defaults included. Secrets stand in files, and are not read."""
    found = msgspec.to_builtins(load_config(file))
    for own in ("base", "file"):
        found.pop(own)
    if as_json:
        click.echo(msgspec.json.encode(found))
        return
    for line in _toml(found, ""):
        say(line)


def _toml(table: dict[str, Any], name: str) -> list[str]:
    """Return a tree of plain values and tables as lines of TOML, leaving out None."""
    plain = {k: v for k, v in table.items() if v is not None and not isinstance(v, dict)}
    lines = [f"{key} = {msgspec.json.encode(value).decode()}" for key, value in plain.items()]
    if name and (lines or not table):
        lines = ["", f"[{name}]", *lines]
    for key, value in table.items():
        if isinstance(value, dict):
            lines += _toml(value, f"{name}.{key}" if name else key)
    return lines
