"""`baccarat property status CONFIG`: print each table's progress and the active alarms."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.table import Table

from baccarat.cli.shown import add_shown_row, say
from baccarat.cli.whole_table import print_whole
from baccarat.config.property import load_property
from baccarat.property.status import PropertyStatus, TableStatus, property_status
from events.clock import SystemClock

__all__ = ["status"]

_COLUMNS = (
    "table", "archived", "lag", "behind", "pulse", "uplink", "feed", "newest event", "link",
    "cosigned", "stands",
)  # fmt: skip


@click.command()
@click.argument("config", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def status(config: Path, *, as_json: bool) -> int:
    """Tell how far every table is archived, held by the hub and cosigned, and what stands.

    Exit code 1: a part is not well, an alarm stands, or archive, hub or witness did not answer.
    """
    found = asyncio.run(property_status(load_property(config), SystemClock()))
    if as_json:
        click.echo(msgspec.json.encode(_document(found)))
    else:
        _print(found)
    return 0 if found.well else 1


def _document(found: PropertyStatus) -> dict[str, Any]:
    return {
        "well": found.well,
        "archive": found.archive or "ok",
        "hub": found.hub or "ok",
        "witness": found.witness or "ok",
        "findings": [each._asdict() for each in found.health.findings],
        "tables": [
            msgspec.to_builtins(table, builtin_types=(datetime,)) | {"lag": table.lag}
            for table in found.tables
        ],
    }


def _print(found: PropertyStatus) -> None:
    for name in ("archive", "hub", "witness"):
        say(f"{name}: {getattr(found, name) or 'ok'}")
    for wrong in found.health.findings:
        if wrong.kind != "table":
            soon = "" if wrong.grave else "unknown: " if wrong.code == "unknown" else "soon: "
            say(f"{soon}{wrong.kind} {wrong.name}: {wrong.text}; {wrong.step}")
    table = Table(*_COLUMNS)
    for each in found.tables:
        add_shown_row(table, *_row(each))
    print_whole(table)
    for each in found.tables:
        if each.uplink_reason:
            say(f"{each.table}: its uplink has stopped: {each.uplink_reason}")
    for wrong in found.health.findings:
        if wrong.kind == "table":
            say(f"{wrong.name}: {wrong.text}; {wrong.step}")


def _row(each: TableStatus) -> tuple[str, ...]:
    newest, pulse = each.last_event_at, each.pulse
    age = None if pulse is None else pulse.age_s
    return (
        each.table,
        "" if each.position is None else f"{each.position:,}",
        "" if each.lag is None else f"{each.lag:,}",
        f"{pulse.lag_s:.0f} s" if pulse and pulse.lag_events else "",
        "" if age is None else f"{age:.0f} s",
        each.uplink or "",
        each.feed,
        newest.astimezone(UTC).isoformat(" ", "seconds") if newest else "",
        each.link or "",
        "" if each.cosigned is None else f"{each.cosigned:,}",
        ", ".join(each.standing),
    )
