"""An empty Debian in a folder and a network of its own, and the operator's guide as commands."""

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.support.machine.units import in_root

__all__ = ["CleanRoot", "Step", "clean_root", "empty_debian", "guide"]

_SUITE: Final = "bookworm"
# What Debian's installer leaves on a controller, and what the guide has installed first of all.
_PACKAGES: Final = "systemd,udev,ca-certificates,mosquitto,mosquitto-clients,python3,python3-venv"
_HOSTS: Final = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"
_GUIDE: Final = Path("docs/operate/install.md")
_BLOCK: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# A block that is typed is marked `sh`, an excerpt of the configuration not at all.
_KINDS: Final = {"sh": "shell", "": "toml"}
_LEFT_OUT: Final = (".git", ".venv", "dist", "__pycache__", ".*_cache", ".hypothesis")
# systemd does not run in a folder: what is asked of it is written down, but for links it makes.
_SYSTEMCTL: Final = """\
#!/bin/sh
echo "$*" >>/run/systemctl.asked
[ "$1" = enable ] || exit 0
shift
[ "$1" != --now ] || shift
exec /usr/bin/systemctl enable "$@"
"""
_ENVIRONMENT: Final = (
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/baccarat/bin",
    "HOME=/root",
    "PIP_NO_INDEX=1",
    "PIP_FIND_LINKS=/wheels",
    "DEBIAN_FRONTEND=noninteractive",
)


class Step(NamedTuple):
    """A block of the guide: `toml` to be taken into the configuration, or `shell`."""

    kind: str
    text: str


def guide() -> list[Step]:
    """The blocks of the page on installing that are typed, in their order."""
    found = _BLOCK.findall(_GUIDE.read_text("utf-8"))
    return [Step(_KINDS[mark], text) for mark, text in found if mark in _KINDS]


class CleanRoot:
    """A machine on which nothing but Debian is.

    Args:
        path: its root folder.
        network: the name of its network namespace.
    """

    def __init__(self, path: Path, network: str) -> None:
        self.path = path
        self.within = ("ip", "netns", "exec", network)

    def run(self, script: str, told: str = "") -> subprocess.CompletedProcess[str]:
        """Run commands as root in a checkout, with `told` as what is typed."""
        shell = ["env", "-i", *_ENVIRONMENT, "sh", "-euc", f"cd /srv/baccarat-table\n{script}"]
        command = in_root(self.path, "root:root", "", shell, self.within)
        return subprocess.run(
            command, input=told, capture_output=True, text=True, timeout=600, check=False
        )

    def configure(self, toml: str) -> None:
        """Take what a block of the guide says into the configuration that `init` wrote."""
        path = self.path / "etc/baccarat/b7.toml"
        lines = path.read_text("utf-8").splitlines()
        for table, keys in tomllib.loads(toml).items():
            for key, value in keys.items():
                _put(lines, table, key, value)
        path.write_text("\n".join(lines) + "\n", "utf-8")


def _put(lines: list[str], table: str, key: str, value: Any) -> None:
    """Uncomment or change a key in place, as a person with an editor would."""
    head = next(at for at, line in enumerate(lines) if line.removeprefix("# ") == f"[{table}]")
    lines[head] = f"[{table}]"
    for at in range(head + 1, len(lines)):
        if lines[at].removeprefix("# ").startswith("["):
            break
        if lines[at].removeprefix("# ").startswith(f"{key} = "):
            lines[at] = f"{key} = {value if isinstance(value, int) else repr(value)}"
            return
    raise AssertionError(f"`config init` has no {table}.{key}")


def empty_debian(folder: Path) -> Path:
    """Make one, with the packages that pip will ask for; machines are copies of it."""
    root = folder / "debian"
    make = ["debootstrap", "--variant=minbase", f"--include={_PACKAGES}", _SUITE, root]
    _must(make, "an empty Debian (is the distribution's mirror within reach?)")
    root.chmod(0o755)
    (root / "etc/hosts").write_text(_HOSTS)
    _wheels(root / "wheels")
    stub = root / "usr/local/sbin/systemctl"
    stub.write_text(_SYSTEMCTL)
    stub.chmod(0o755)
    return root


@contextmanager
def clean_root(debian: Path, folder: Path, network: str) -> Iterator[CleanRoot]:
    """A machine of its own, with a checkout of this project."""
    root = folder / "machine"
    _must(["cp", "-a", debian, root], "a copy of the empty Debian")
    ignore = shutil.ignore_patterns(*_LEFT_OUT)
    shutil.copytree(Path.cwd(), root / "srv/baccarat-table", ignore=ignore)
    _must(["ip", "netns", "add", network], "a network")
    try:
        _must(["ip", "-n", network, "link", "set", "lo", "up"], "its loopback")
        yield CleanRoot(root, network)
    finally:
        _must(["ip", "netns", "delete", network], "the network goes")


def _wheels(folder: Path) -> None:
    """What the lock names, fetched here: the machine's network leads nowhere.

    What has no wheel is built there, by setuptools.
    """
    assert sys.version_info[:2] == (3, 11), "run this by a Python 3.11, as bookworm's is"
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", folder, "--no-deps"]
    for lock in ("runtime", "build"):
        _must([*pip, "-r", f"requirements/{lock}.txt"], f"{lock}.txt's")
    _must([*pip, "setuptools"], "what builds")


def _must(command: list[Any], what: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, f"{what}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
