"""The install script in a root of its own, and a table brought up there by its units' commands."""

import os
import shutil
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import httpx
import pytest

from baccarat.processes.children import Child
from tests.support.machine.ports import free_port
from tests.support.machine.units import Unit, assert_tight, in_root
from tests.support.machine.waiting import until_blocking
from tests.support.shoe.shoe_line import ShoePort

pytestmark = [
    pytest.mark.timeout(400),
    pytest.mark.skipif(os.geteuid() != 0, reason="makes users and mounts: root alone may"),
]

_DEPLOY: Final = Path("deploy").absolute()
_UNITS: Final = ("shoe", "table", "displays", "scoreboard", "cage", "metrics", "backup")
_DIALOUT: Final = 20
_CONF: Final = "/etc/baccarat/broker/mosquitto.conf"
_CONFIG: Final = """\
site = "harbour"
table = "b7"
rulebook = "au-commission"
[shoe]
url = "pty:/run/shoe"
username = "b7-shoe"
password_file = "credential:broker"
[bus]
host = "localhost"
port = {port}
ca = "pki/ca.pem"
cert = "pki/b7.pem"
key = "credential:bus-key"
username = "b7-core"
password_file = "credential:broker"
[data]
log = "/var/lib/baccarat/b7/log/table.sqlite"
journal = "/var/lib/baccarat/b7/journal"
[checkpoints]
key = "credential:signing"
[displays]
port = {page}
users = "people.toml"
username = "b7-console"
password_file = "credential:broker"
[cage]
ledger = "/var/lib/baccarat/b7/cage/cage.sqlite"
username = "b7-cage"
password_file = "credential:broker"
[metrics]
port = {metrics}
username = "b7-metrics"
password_file = "credential:broker"
[users]
supervisor = ["supervisor"]
cage = ["cage"]
console = ["console"]
"""


def install(root: Path) -> None:
    """Run the script, as a technician would, but into a folder."""
    command = ["sh", str(_DEPLOY / "install.sh"), "--root", str(root)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=os.environ | {"PYTHON": sys.executable},  # which the root is shown
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("machine")
    folder.chmod(0o755)
    for each in ("etc", "run", "tmp", "var/lib"):
        (folder / each).mkdir(parents=True)
    (folder / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (folder / "etc/group").write_text("root:x:0:\ndialout:x:20:\n")
    (folder / "etc/hosts").write_text("127.0.0.1 localhost\n")
    install(folder)
    return folder


def listing(root: Path) -> set[str]:
    """All that is there, but for what Python compiles as it goes."""
    names = (str(each.relative_to(root)) for each in root.rglob("*"))
    return {name for name in names if "__pycache__" not in name}


@pytest.mark.parametrize("unit", _UNITS)
def test_a_units_sandbox_is_tight(unit: str) -> None:
    assert_tight(_DEPLOY / f"systemd/baccarat-{unit}@.service")


def test_the_broker_on_nats_starts_by_the_guide_and_its_unit(root: Path, tmp_path: Path) -> None:
    unit = root / "etc/systemd/system/baccarat-broker.service"
    assert_tight(unit)
    verify = ["systemd-analyze", "verify", "--man=no", f"/{unit.relative_to(root)}"]
    command = in_root(root, "root:root", "", verify)
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    text, port = unit.read_text(), free_port()
    prepare(root, port, free_port(), free_port())
    guide = Path("docs/operate/install.md").read_text().partition("### Use nats-server instead")[2]
    steps = [line for line in guide.split("```")[1].splitlines()[1:] if "systemctl" not in line]
    steps[0] = f"/opt/baccarat/bin/{steps[0]} --port {port} --websockets {free_port()}"
    shell = in_root(root, "root:root", "", ["sh", "-euc", "\n".join(steps)])
    subprocess.run(shell, capture_output=True, timeout=60, check=True)
    said = dict(line.split("=", 1) for line in text.splitlines() if "=" in line and line[0] != "#")
    start = said["ExecStart"].split()
    assert said["ReadWritePaths"] == f"{Path(start[-1]).parent}/store"
    broker = in_root(root, f"{said['User']}:{said['Group']}", "", start)
    with Child.start(broker, name="broker", output=tmp_path / "broker.log") as child:
        until_blocking(lambda: _answers(port), "the broker answers")
        assert child.code is None, (tmp_path / "broker.log").read_text()
    for made in (root / "etc/baccarat/pki").iterdir():
        made.unlink()
    shutil.rmtree(root / "etc/baccarat/broker")
    for name in ("credstore/baccarat-b7-signing", "baccarat/people.toml"):
        (root / "etc" / name).unlink()


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def test_systemd_finds_nothing_wrong_with_the_units(root: Path) -> None:
    folder = root / "etc/systemd/system"
    units = []
    for unit in _UNITS:  # an instance is a link to its template
        link = folder / f"baccarat-{unit}@b7.service"
        link.unlink(missing_ok=True)
        link.symlink_to(f"baccarat-{unit}@.service")
        units.append(f"/{link.relative_to(root)}")
    command = in_root(root, "root:root", "", ["systemd-analyze", "verify", "--man=no", *units])
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    for link in folder.glob("*@b7.service"):
        link.unlink()
    assert (done.returncode, done.stderr) == (0, "")


def test_installing_again_changes_nothing_that_is_a_sites_own(root: Path) -> None:
    (root / "etc/baccarat/own.toml").write_text("mine")
    before = listing(root)
    install(root)
    after = listing(root)
    assert {name for name in after ^ before if not name.startswith("opt/baccarat.before")} == set()
    assert (root / "etc/baccarat/own.toml").read_text() == "mine"


def test_a_table_comes_up_by_its_units_commands_and_again_after_a_power_cut(
    root: Path, tmp_path: Path
) -> None:
    port, page, metrics = free_port(), free_port(), free_port()
    prepare(root, port, page, metrics)
    shoe = ShoePort(root / "run/shoe")
    line = shoe.link.readlink()
    os.chown(line, 0, _DIALOUT)
    line.chmod(0o660)
    address = f"http://127.0.0.1:{page}/health"
    collected = f"http://127.0.0.1:{metrics}/metrics"
    for boot in ("first", "second"):
        with ExitStack() as stack:
            broker = in_root(root, "root:root", "", ["mosquitto", "-c", _CONF])
            log = tmp_path / f"{boot}-broker.log"
            children = [stack.enter_context(Child.start(broker, name="broker", output=log))]
            for name in ("shoe", "table", "displays", "cage", "metrics"):
                output = tmp_path / f"{boot}-{name}.log"
                unit = Unit(root, f"baccarat-{name}", "b7")
                children.append(stack.enter_context(unit.running(output)))
            until_blocking(lambda: healthy(address), f"the {boot} start is live")
            until_blocking(lambda: told(collected), "the metrics tell of the table")
            for child in children:  # the power is cut
                child.kill()
    shoe.unplug()
    sizes = [
        (root / "var/lib/baccarat/b7" / each).stat().st_size
        for each in ("log/table.sqlite", "cage/cage.sqlite")
    ]
    assert all(sizes)
    owners = {
        pwd_name(root, (root / f"var/lib/baccarat/b7/{each}").stat().st_uid)
        for each in ("log", "journal", "cage")
    }
    assert owners == {"baccarat-table", "baccarat-shoe", "baccarat-cage"}


def test_a_python_that_no_service_may_see_is_refused_before_anything_changes(
    tmp_path: Path,
) -> None:
    python = tmp_path / "python3"
    python.write_text("#!/bin/sh\necho /root/.pyenv/versions/3.11.7\n")
    python.chmod(0o755)
    # Not into this machine, even if it were not refused.
    apart = "mount --make-rprivate / && mount -t tmpfs tmpfs /opt && exec sh deploy/install.sh"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", apart],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=os.environ | {"PYTHON": str(python)},
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"install.sh: {python} lives in /root/.pyenv/versions/3.11.7, where no service may look; "
        "say PYTHON=/usr/bin/python3 sh deploy/install.sh\n"
    )


def test_removal_leaves_what_is_evidence(root: Path) -> None:
    log = root / "var/lib/baccarat/b7/log/table.sqlite"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.touch()
    command = ["sh", str(_DEPLOY / "remove.sh"), "--root", str(root)]
    subprocess.run(command, capture_output=True, timeout=60, check=True)
    assert log.exists()
    assert (root / "etc/baccarat/own.toml").exists()
    assert not (root / "opt/baccarat").exists()
    assert not list((root / "etc/systemd/system").glob("baccarat*"))


def prepare(root: Path, port: int, page: int, metrics: int) -> None:
    """What the guide has a technician do: authority, certificates, broker, secrets, the table."""
    etc = root / "etc/baccarat"
    (etc / "b7.toml").write_text(_CONFIG.format(port=port, page=page, metrics=metrics))
    pki, broker = "/etc/baccarat/pki", "/etc/baccarat/broker"
    within(root, "pki", "init", pki, "--site", "harbour")
    within(root, "pki", "issue", pki, "broker", "--host", "localhost")
    within(root, "pki", "issue", pki, "b7")
    for name in ("ca.pem", "b7.pem"):
        (etc / "pki" / name).chmod(0o644)
    people = "/etc/baccarat/people.toml"
    within(root, "user", "add", people, "mary", "--role", "supervisor", told="eight decks of cards")
    (etc / "people.toml").chmod(0o644)
    within(root, "config", "check", "/etc/baccarat/b7.toml")
    options = ["--kind", "mosquitto", "--pki", pki, "-o", broker, "--port", str(port)]
    options += ["--websockets", str(free_port())]
    within(root, "config", "broker", *options, "/etc/baccarat/b7.toml")
    with (etc / "broker/mosquitto.conf").open("a") as conf:
        conf.write("user root\n")  # this root has no user mosquitto
    store = root / "etc/credstore"
    for service in ("core", "shoe", "console", "cage", "metrics"):
        shutil.copy(etc / f"broker/secrets/b7-{service}", store / f"baccarat-b7-{service}")
    shutil.copy(etc / "pki/b7.key", store / "baccarat-b7-bus-key")
    within(root, "keys", "new", "/etc/credstore/baccarat-b7-signing", "--name", "harbour/b7")


def within(root: Path, *command: str, told: str = "") -> None:
    """The installed command, in its root; `told` is its standard input."""
    whole = in_root(root, "root:root", "", ["/opt/baccarat/bin/baccarat", *command])
    done = subprocess.run(
        whole, input=told, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


def healthy(address: str) -> bool:
    """The screens show what is live."""
    try:
        return httpx.get(address, timeout=2).status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


def told(address: str) -> bool:
    """What Prometheus would collect says that all is there."""
    try:
        text = httpx.get(address, timeout=2).text
    except httpx.TransportError:
        return False
    there = 'baccarat_service_online{service="%s",table="b7"} 1.0'
    return all(there % name in text for name in ("table", "shoe", "cage", "console"))


def pwd_name(root: Path, uid: int) -> str:
    """A user of the root, by number."""
    lines = (root / "etc/passwd").read_text().splitlines()
    return next(
        name for name, _, number, *_ in (line.split(":") for line in lines) if number == str(uid)
    )
