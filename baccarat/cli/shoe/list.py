"""`baccarat shoe list`: list this machine's serial ports with their stable names."""

import os
from pathlib import Path
from typing import Final

import click
import msgspec
from msgspec import Struct
from rich.table import Table
from serial.tools import list_ports as pyserial_ports

from baccarat.cli.shown import add_shown_row
from baccarat.cli.whole_table import print_whole
from shoe_driver.transports.serial_port import holder

__all__ = ["FoundPort", "found_ports", "list_ports"]

_BY_ID: Final = Path("/dev/serial/by-id")


class FoundPort(Struct, frozen=True, kw_only=True):
    """A serial port.

    Args:
        device: its name today.
        stable: its stable name under `/dev/serial/by-id`, or None.
        description: the adapter's own description.
        serial_number: the adapter's, or None.
        usb: vendor and product, hex, or None.
        held_by: the process that has it open, or None.
        url: the value for a table's file.
    """

    device: str
    stable: str | None
    description: str
    serial_number: str | None
    usb: str | None
    held_by: str | None
    url: str


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="one JSON document a line")
def list_ports(as_json: bool) -> None:
    """List the serial ports, their stable names, and who has them open."""
    ports = found_ports()
    if as_json:
        for port in ports:
            click.echo(msgspec.json.encode(port))
        return
    if not ports:
        click.echo("no serial ports: look at cable and adapter", err=True)
        return
    table = Table("port", "what it is", "held by", "shoe.url in the table's file")
    for port in ports:
        add_shown_row(table, port.device, port.description, port.held_by or "", port.url)
    print_whole(table)


def found_ports(by_id: Path = _BY_ID) -> list[FoundPort]:
    """Return the serial ports of this machine.

    Args:
        by_id: the folder of stable names.
    """
    stable = {os.path.realpath(link): str(link) for link in sorted(by_id.glob("*"))}
    known = {str(info.device): info for info in pyserial_ports.comports()}
    found = []
    for device in sorted({*known, *stable}):
        info = known.get(device)
        usb = f"{info.vid:04x}:{info.pid:04x}" if info is not None and info.vid else None
        found.append(
            FoundPort(
                device=device,
                stable=stable.get(device),
                description=info.description if info is not None else Path(device).name,
                serial_number=info.serial_number if info is not None else None,
                usb=usb,
                held_by=holder(device),
                url=f"serial://{stable.get(device, device)}",
            )
        )
    return found
