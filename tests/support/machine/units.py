"""Runs a systemd unit's own command in an installed root, where systemd itself cannot run.

What it honours: ExecStart, User, Group, SupplementaryGroups, LoadCredential, StateDirectory,
RuntimeDirectory, and Type=notify with its socket. `systemd-analyze` judges the sandbox instead.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from baccarat.processes.children import Child
from tests.support.machine.waiting import until_blocking

__all__ = ["Unit", "assert_tight", "in_root"]

# Of the machine's own: what a Debian root holds besides what was installed.
_EXPOSED_MOST: Final = 1.6
_KERNELS: Final = ("dev", "proc")
_BOUND: Final = ("usr", "bin", "sbin", "lib", "lib64", *_KERNELS)
_ENTER: Final = """\
set -e
root=$1; shift
mount --make-rprivate /
for each in {bound}; do
    [ -e "/$each" ] || continue
    mkdir -p "$root/$each"
    mount --rbind "/$each" "$root/$each"
done
exec chroot "$@"
"""


def assert_tight(unit: Path) -> None:
    """A unit's sandbox, as `systemd-analyze security` judges it."""
    command = ["systemd-analyze", "security", "--offline=true", str(unit)]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    found = re.search(r"Overall exposure level for \S+: ([0-9.]+)", said)
    assert found, said
    assert float(found[1]) <= _EXPOSED_MOST, said


def in_root(
    root: Path, user: str, groups: str, command: list[str], within: Sequence[str] = ()
) -> list[str | Path]:
    """A command in a root of its own, as a user of that root.

    Args:
        root: a folder with what was installed, or a whole Debian.
        user: `name:group`.
        groups: further ones, with commas.
        command: in it.
        within: what the command is run by, such as `ip netns exec NAME`.
    """
    whole = (root / "usr/bin/dpkg").exists()
    bound = [*_KERNELS] if whole else [*_BOUND]
    if not whole and not sys.base_prefix.startswith("/usr"):
        bound.append(sys.base_prefix.strip("/"))
    script = _ENTER.format(bound=" ".join(bound))
    enter: list[str | Path] = [*within, "unshare", "--mount", "sh", "-c", script, "sh", root]
    who = [f"--userspec={user}", *([f"--groups={groups}"] if groups else [])]
    return [*enter, *who, root, *command]


class Unit:
    """A unit's file, for one table.

    Args:
        root: where it was installed.
        name: such as `baccarat-shoe`.
        table: the instance.
        within: what its command is run by.
    """

    def __init__(self, root: Path, name: str, table: str, within: Sequence[str] = ()) -> None:
        self._root, self.name, self._table, self._within = root, name, table, within
        text = (root / f"etc/systemd/system/{name}@.service").read_text("utf-8")
        self._said: dict[str, list[str]] = {}
        for line in text.splitlines():
            key, sign, value = line.partition("=")
            if sign and not line.startswith("#"):
                self._said.setdefault(key, []).append(value.replace("%i", table))

    def one(self, key: str) -> str:
        """A setting that is there once, or empty."""
        return " ".join(self._said.get(key, []))

    @property
    def user(self) -> str:
        """As whom it runs."""
        return self.one("User") or "root"

    @contextmanager
    def running(self, output: Path) -> Iterator[Child]:
        """Start it, wait until it says that it is ready, and stop it at the end."""
        assert self.one("Type") == "notify"
        place = f"run/{self.name}.notify"
        groups = ",".join(filter(None, (self.one("Group"), self.one("SupplementaryGroups"))))
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
            self._root.joinpath("run").mkdir(exist_ok=True)
            self._root.joinpath(place).unlink(missing_ok=True)
            _bind(line, self._root / place)
            self._root.joinpath(place).chmod(0o666)
            line.setblocking(False)
            env = {"NOTIFY_SOCKET": f"/{place}", "WATCHDOG_USEC": "2000000"}
            self._state()
            env |= self._credentials() | self._runtime()
            user = f"{self.user}:{self.one('Group')}"
            start = self.one("ExecStart").split()
            command = in_root(self._root, user, groups, start, self._within)
            with Child.start(command, name=self.name, output=output, env=env) as child:
                said: list[bytes] = []
                until_blocking(lambda: b"READY=1" in _hear(line, said, child), f"{self.name} ready")
                said.clear()
                until_blocking(lambda: b"WATCHDOG=1" in _hear(line, said, child), "its watchdog")
                yield child

    def _state(self) -> None:
        for name in self.one("StateDirectory").split():
            folder = self._root / "var/lib" / name
            folder.mkdir(parents=True, exist_ok=True)
            self._give(folder)

    def _runtime(self) -> dict[str, str]:
        name = self.one("RuntimeDirectory")
        folder = self._root / "run" / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700, parents=True)
        self._give(folder)
        return {"RUNTIME_DIRECTORY": f"/run/{name}"}

    def _credentials(self) -> dict[str, str]:
        folder = self._root / "run/credentials" / self.name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for each in self._said.get("LoadCredential", []):
            name, _, source = each.partition(":")
            store = self._root / "etc/credstore" / source
            if store.exists():
                shutil.copy(store, folder / name)
                self._give(folder / name)
        self._give(folder)
        return {"CREDENTIALS_DIRECTORY": f"/run/credentials/{self.name}"}

    def _give(self, path: Path) -> None:
        users = (line.split(":") for line in (self._root / "etc/passwd").read_text().splitlines())
        uid = next(int(fields[2]) for fields in users if fields[0] == self.user)
        os.chown(path, uid, -1)


def _bind(line: socket.socket, path: Path) -> None:
    """However long the path is: a socket's own may have 107 bytes."""
    folder = os.open(path.parent, os.O_PATH)
    try:
        line.bind(f"/proc/self/fd/{folder}/{path.name}")
    finally:
        os.close(folder)


def _hear(line: socket.socket, said: list[bytes], child: Child) -> list[bytes]:
    assert child.code is None, f"{child.name} ended with {child.code}"
    try:
        while True:
            said.append(line.recv(4096))
    except BlockingIOError:
        return said
