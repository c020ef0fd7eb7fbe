"""The operator's guide, word by word, in an empty Debian with a network of its own.

What a person does by hand is done by the guide's own commands; what systemd would do is done by
the units' own lines, as systemd itself cannot run in a folder.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from baccarat.processes.children import Child
from tests.support.machine.clean_root import CleanRoot, clean_root, guide
from tests.support.machine.units import Unit, in_root
from tests.support.shoe.shoe_line import ShoePort

pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(os.geteuid() != 0, reason="makes a machine: root alone may"),
]

_PASSWORD: Final = "eight decks of cards\n"  # noqa: S105 - mary's, for a minute
_DIALOUT: Final = 20
_WANTED: Final = "etc/systemd/system/multi-user.target.wants"
# What the guide leaves open: message keys and limits come after it, and a folder keeps no clock.
_OPEN: Final = (
    *(f"warn {check}:" for check in ("clock", "limits", "message keys", "rulebook")),
    "warn disk",
    "FAIL alarm bus_not_authenticated:",
)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[CleanRoot]:
    need = subprocess.run(["sh", "tests/tools/need-debootstrap.sh"], check=False)
    if need.returncode:
        pytest.skip("debootstrap cannot be had here")
    with clean_root(tmp_path, f"clean{os.getpid()}") as made:
        yield made


def test_the_guide_brings_up_a_table_in_an_empty_debian(machine: CleanRoot, tmp_path: Path) -> None:
    port = ShoePort(machine.path / "run/shoe")
    line = port.link.readlink()
    os.chown(line, 0, _DIALOUT)
    line.chmod(0o660)
    *before, start = guide()
    for step in before:
        if step.kind == "toml":
            machine.configure(step.text)
            machine.configure('[shoe]\nurl = "pty:/run/shoe"')  # there is no USB
            continue
        done = machine.run(step.text, told=_PASSWORD)
        assert done.returncode == 0, f"{step.text}\n{done.stdout}{done.stderr}"
    install, backup, doctor = start.text.splitlines()
    asked = (machine.path / "run/systemctl.asked").read_text().splitlines()
    assert "restart mosquitto" in asked
    for _ in ("first", "after a power cut"):
        with ExitStack() as stack:
            stack.enter_context(broker(machine, tmp_path))
            done = machine.run(install)
            assert done.returncode == 0, done.stderr
            units = sorted(each.name for each in (machine.path / _WANTED).glob("baccarat-*"))
            assert units == [
                f"baccarat-{name}@b7.service"
                for name in ("cage", "displays", "metrics", "shoe", "table")
            ]
            children = []
            for name in ("shoe", "table", "displays", "cage", "metrics"):
                unit = Unit(machine.path, f"baccarat-{name}", "b7", machine.within)
                children.append(stack.enter_context(unit.running(tmp_path / f"{name}.log")))
            assert backup == "systemctl start baccarat-backup@b7.service"
            copied = machine.run(Unit(machine.path, "baccarat-backup", "b7").one("ExecStart"))
            assert copied.returncode == 0, copied.stderr
            well(machine, doctor)
            for child in children:
                child.kill()
    port.unplug()


def broker(machine: CleanRoot, folder: Path) -> Child:
    """mosquitto by Debian's unit, with the guide's line in its place."""
    drop_in = machine.path / "etc/systemd/system/mosquitto.service.d/baccarat.conf"
    said = [line for line in drop_in.read_text().splitlines() if line.startswith("ExecStart=")]
    assert said[0] == "ExecStart="  # a unit has one command: the distribution's is taken away
    command = said[1].removeprefix("ExecStart=").split()
    inside = in_root(machine.path, "root:root", "", command, machine.within)
    return Child.start(inside, name="broker", output=folder / "broker.log")


def well(machine: CleanRoot, doctor: str) -> None:
    """The doctor finds what the guide leaves open, keys and limits, and nothing else that fails."""
    for _ in range(5):  # services may still be finding one another
        done = machine.run(doctor)
        odd = [line for line in done.stdout.splitlines() if not line.startswith("ok ")]
        if all(line.startswith(_OPEN) for line in odd):
            break
    assert all(line.startswith(_OPEN) for line in odd), done.stdout + done.stderr
    assert done.returncode == 1
    for login in ("bus", "shoe", "displays", "cage", "metrics"):
        assert f"ok   login of {login}" in done.stdout
