"""`baccarat doctor CONFIG`: examine a table's machine, and print a remedy for each fault."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
import msgspec

from baccarat.cli.main import EXIT_DONE, EXIT_NO
from baccarat.cli.shown import say
from baccarat.config.errors import ConfigFaults
from baccarat.config.table import load_config
from baccarat.services.registry import configure_logging
from baccarat.site.credentials import with_sources
from baccarat.site.doctor import examine, examine_broker, examine_port
from baccarat.site.findings import DoctorFinding, fails, passes

__all__ = ["doctor"]

_SIGN: Final = {"ok": "ok   ", "warn": "warn ", "fail": "FAIL "}


@click.command()
@click.argument("config", type=click.Path(path_type=Path))
@click.option("--backups", type=click.Path(path_type=Path), default="/var/backups/baccarat",
              show_default=True, help="Folder of the log's copies.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def doctor(config: Path, backups: Path, *, as_json: bool) -> int:
    """Examine the table that CONFIG describes, running or not; nothing is changed.

    Exit code 0: it can go on as it is; 1: something fails, and what to do stands beside it.
    """
    configure_logging("doctor", quiet=True)
    found = []
    for each in _findings(config, backups):
        found.append(each)
        if not as_json:
            remedy = f" -> {each.remedy}" if each.remedy else ""
            say(f"{_SIGN[each.verdict]}{each.check}: {each.says}{remedy}")
    failed = any(each.verdict == "fail" for each in found)
    if as_json:
        document = {"ok": not failed, "checks": [each._asdict() for each in found]}
        click.echo(msgspec.json.encode(document))
    return EXIT_NO if failed else EXIT_DONE


def _findings(path: Path, backups: Path) -> Iterator[DoctorFinding]:
    """Yield each finding as it is made: the broker's take ten seconds."""
    try:
        config = load_config(path)
    except ConfigFaults as error:
        for fault in error.faults:
            remedy = f"for example {fault.example}" if fault.example else "change it"
            yield fails(f"configuration: {fault.key}", fault.reason, remedy)
        return
    config = with_sources(config)
    yield passes("configuration", f"{path} is in order")
    yield from examine(config, backups)
    of_broker, has_driver = asyncio.run(examine_broker(config))
    yield from of_broker
    if not has_driver:
        yield examine_port(config)
