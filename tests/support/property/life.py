"""A property as its documents bring it up: machines as folders, and the pages' own commands.

What a command would do on another machine (`ssh`, `scp`, `systemctl`) is done in that machine's
folder, and a unit is started by its own file's `ExecStart`. nats-server, PostgreSQL, workers,
witness and uplinks are real, on loopback.
"""

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg import sql

from baccarat.local_brokers.nats import find_nats_server
from baccarat.processes.children import Child
from benchmarks.instruments.postgres import Postgres
from events.proof.keys import load_signing_key, make_signing_key
from events.types.table import BettingClosed
from tests.support.console_pages import Block, Session, blocks
from tests.support.machine.commands import here
from tests.support.machine.ports import free_port
from tests.support.machine.processes import ROOT, environment
from tests.support.machine.units import Unit
from tests.support.machine.waiting import until_blocking
from tests.support.property.feeds import TableLogs

__all__ = ["PropertyLife", "running_life"]

_PAGES: Final = ROOT / "docs/property"
_DEPLOY: Final = ROOT / "deploy/property"
_OFFICE: Final = "office"
_DATABASE: Final = "postgresql://baccarat@db.property.example/property"
_PROGRAMS: Final[dict[str, list[str | Path]]] = {
    "/opt/baccarat/bin/baccarat": [sys.executable, "-m", "baccarat"],
    "/usr/bin/nats-server": [find_nats_server()],
}
# Commands whose outcome comes by and by: a person repeats them.
_REPEATED: Final = re.compile(r"curl |baccarat property (status|events|checkpoint) ")
_ENDS_S: Final = 20.0
# What raises no alarm.
_QUIET: Final = BettingClosed(coup="20261127-01/1", by="dealer")
# Certificates that `status` tells, and `pki renew` renews.
_LEFT_DAYS: Final = 20


class PropertyLife:
    """The machines of a property, and what is typed at them.

    Args:
        folder: gets a folder for each machine.
        postgres: where the archive's database is.
        nodes: how many the hub has.
        logs: of all tables that there will ever be.
    """

    def __init__(self, folder: Path, postgres: Postgres, nodes: int, logs: TableLogs) -> None:
        self._folder, self._logs = folder, logs
        self.database = postgres.database()
        self._admin = postgres.url("postgres")
        self.nodes = [f"hub{number}" for number in range(1, nodes + 1)]
        self.tables: list[str] = []
        self._monitors = {node: free_port() for node in self.nodes}
        self._ports = {node: [free_port() for _ in range(3)] for node in self.nodes}
        self.units: dict[str, Child] = {}
        self.played: set[str] = set()
        self._pages = {path.name: blocks(path.read_text("utf-8")) for path in _PAGES.glob("*.md")}
        self.place(_OFFICE)

    # ---- machines ----

    def place(self, machine: str, path: str = "") -> Path:
        """A machine's folder, or a file of it."""
        root = self._folder / machine
        if not root.exists():
            units = root / "etc/systemd/system"
            units.mkdir(parents=True)
            for each in _DEPLOY.glob("*.service"):
                shutil.copy(each, units)
            (root / "etc/baccarat").mkdir()
            (root / "var/lib/baccarat-property").mkdir(parents=True)
        return root / path.removeprefix("/")

    def _local(self, machine: str, text: str) -> str:
        """A text of the pages as it is true on this one machine."""
        text = text.replace(_DATABASE, self.database)
        text = text.replace("/dev/null property", f"/dev/null '{self.database}'")
        # Issued a year ago, as it were.
        text = text.replace("pki issue pki", f"pki issue --days {_LEFT_DAYS} pki")
        if len(self.nodes) == 1:
            text = text.replace("property streams", "property streams --replicas 1")
        for node, (clients, *_) in self._ports.items():
            text = text.replace(f"{node}.property.example:4222", f"127.0.0.1:{clients}")
            text = text.replace(f"{node}.property.example", "127.0.0.1")
        if machine in self._monitors:
            text = text.replace("127.0.0.1:8222", f"127.0.0.1:{self._monitors[machine]}")
        return re.sub(r"(?<![\w./-])/(etc|var)/", rf"{self.place(machine)}/\1/", text)

    # ---- what is typed ----

    def play(
        self, page: str, heading: str, only: str = "", instead: str = "", times: int = 1
    ) -> list[str]:
        """Play the console blocks under a heading; returns what each command printed.

        Args:
            page: of docs/property.
            heading: above them.
            only: a text that a block must have; empty for all of them.
            instead: a table in the place of `b7`; empty for every table there is.
            times: how many blocks there are.
        """
        found = [each for each in self._under(page, heading, "console") if only in each.text]
        assert len(found) == times, (page, heading, only, len(found))
        self.played |= {each.text for each in found}
        turns = [text for block in found for text in self._turns(block, instead)]
        typed = [each for text in turns for each in Block(heading, "console", text).sessions]
        return [self.typed(each) for each in typed]

    def _under(self, page: str, heading: str, kind: str) -> list[Block]:
        found = [each for each in self._pages[page] if (each.heading, each.kind) == (heading, kind)]
        assert found, f"{page} has no {kind} under {heading!r}"
        return found

    def _turns(self, block: Block, instead: str) -> Iterator[str]:
        """A block for each node or for each table that it is for."""
        text, tables = block.text, [instead] if instead else self.tables
        if re.search(r"\bhub1\b", text) and "hub2" not in text:
            yield from (text.replace("hub1", node) for node in self.nodes)
        elif re.search(r"\bb7\b", text):
            yield from (re.sub(r"\bb7\b", each, text) for each in tables)
        else:
            yield text

    def unplayed(self) -> list[str]:
        """Console blocks of the pages that nobody has played."""
        every = (each for page in self._pages.values() for each in page)
        return [e.text for e in every if e.kind == "console" and e.text not in self.played]

    def typed(self, session: Session, machine: str = _OFFICE) -> str:
        """Type a command, and hold what it prints against what the page shows."""
        command, shown = session
        told: list[str] = []

        def done() -> bool:
            code, *told[:] = self._done(machine, command)
            printed = re.sub(rf"{self._folder}/\w+/(etc|var)/", r"/\1/", told[0])
            return code == 0 and _is_shown(printed, shown)

        if _REPEATED.search(command):
            until_blocking(done, lambda: f"{machine}: {command}: {told}", every=0.2)
        else:
            assert done(), (machine, command, told)
        return told[0]

    def _done(self, machine: str, command: str) -> tuple[int, str, str]:
        if " > " in command:
            command, _, kept = command.partition(" > ")
            found = self._done(machine, command)
            self.place(machine, kept).write_text(found[1])
            return found
        words = shlex.split(self._local(machine, command))
        if words[0] == "ssh":
            return self._done(words[1], command.split(" ", 2)[2])
        if words[0] == "scp":
            *sources, target = shlex.split(command)[1:]
            there, _, path = target.partition(":")
            for source in sources:
                shutil.copy(self.place(machine, source), self.place(there, path))
            return 0, "", ""
        if words[0] == "systemctl":
            self._systemctl(machine, words[1], words[-1])
        elif words[0] == "baccarat":
            with chdir(self.place(machine)):
                return here(*words[1:])
        elif words[0] != "chown":  # the users are the units'
            text = self._local(machine, command)
            done = subprocess.run(
                ["sh", "-c", text],
                capture_output=True,
                text=True,
                check=False,
                cwd=self.place(machine),
            )
            return done.returncode, done.stdout, done.stderr
        return 0, "", ""

    # ---- units ----

    def _systemctl(self, machine: str, verb: str, unit: str) -> None:
        if verb in {"stop", "restart", "disable"} and unit in self.units:
            self.units.pop(unit).stop(_ENDS_S)
        if verb in {"start", "restart", "enable"}:
            self.units[unit] = self._started(machine, unit)

    def _started(self, machine: str, unit: str) -> Child:
        name, _, instance = unit.partition("@")
        said = Unit(self.place(machine), name, instance)
        credentials = self.place(machine, f"run/{unit}")
        shutil.rmtree(credentials, ignore_errors=True)
        credentials.mkdir(parents=True)
        for each in said.one("LoadCredential").split():
            inside, _, stored = each.partition(":")
            if (store := self.place(machine, f"etc/credstore/{stored}")).exists():
                shutil.copy(store, credentials / inside)
        program, *words = said.one("ExecStart").split()
        return Child.start(
            [*_PROGRAMS[program], *(self._local(machine, word) for word in words)],
            name=unit,
            output=self._folder / f"{unit}.log",
            env=environment() | {"CREDENTIALS_DIRECTORY": str(credentials)},
            cwd=ROOT,
        )

    # ---- files that a person writes ----

    def plan(self) -> None:
        """Write the hub's plan, as on the nodes' own machines but for ports and folders."""
        shown = tomllib.loads((_DEPLOY / "hub.toml").read_text("utf-8"))
        nodes = {
            node: dict(zip(("clients", "cluster", "leaves"), self._ports[node], strict=True))
            | {
                "host": "127.0.0.1",
                "monitor": self._monitors[node],
                "store": str(self.place(node, "var/lib/baccarat-hub")),
                "pki": str(self.place(node, "etc/baccarat-hub/pki")),
            }
            for node in shown["nodes"]
            if node in self.nodes
        }
        tables = [f"harbour/{each}" for each in self.tables]
        self._write(_OFFICE, "hub.toml", {"tables": tables, "nodes": nodes})

    def configure(
        self, page: str, heading: str, number: int, machine: str, path: str, table: str = "b7"
    ) -> None:
        """Write a configuration that a page shows, with as many nodes as there are."""
        block = self._under(page, heading, "toml")[number]
        text = re.sub(r"\bb7\b", table, block.text)
        tree = tomllib.loads(self._local(machine, text))
        tree["hub"]["servers"] = tree["hub"]["servers"][: len(self.nodes)]
        if "witness" in tree:
            tables = (path.stem for path in self._folder.glob("*.key"))
            tree["witness"]["keys"] = {f"harbour/{e}": [self.public_key(e)] for e in tables}
        for origin, log in tree.get("uplink", {}).get("tables", {}).items():
            log["log"] = str(self._logs.paths[origin])
        self._write(machine, path, tree)

    def _write(self, machine: str, path: str, tree: dict[str, Any]) -> None:
        lines = [f"{key} = {_inline(value)}" for key, value in tree.items()]
        self.place(machine, path).write_text("\n".join(lines) + "\n", "utf-8")

    # ---- tables ----

    def _key(self, table: str) -> Path:
        return self._folder / f"{table}.key"

    def public_key(self, table: str) -> str:
        """The key that signs a table's log; made where there is none."""
        path = self._key(table)
        key = (
            load_signing_key(path) if path.exists() else make_signing_key(path, f"harbour/{table}")
        )
        self.place(_OFFICE, f"{table}.pub").write_text(f"{key.verifier}\n")
        return str(key.verifier)

    def log(self, table: str) -> Path:
        """A table's log."""
        return self._logs.paths[f"harbour/{table}"]

    @property
    def servers(self) -> tuple[str, ...]:
        """Of the hub."""
        return tuple(f"tls://127.0.0.1:{clients}" for clients, *_ in self._ports.values())

    def deal(self, table: str, count: int = 12) -> int:
        """A table's log grows by so many events, and is signed; returns its position."""
        self.public_key(table)
        origin = f"harbour/{table}"
        self._logs.grow(origin, count, event=_QUIET)
        self._logs.sign(origin, load_signing_key(self._key(table)))
        return self._logs.position(origin)

    # ---- what is found ----

    def status(self) -> dict[str, Any]:
        """The document of `status --json` at the office."""
        code, out, err = self._done(_OFFICE, "baccarat property status property.toml --json")
        assert code in {0, 1}, err
        found: dict[str, Any] = json.loads(out)
        return found

    def until(self, condition: Callable[[dict[str, Any]], object], what: str) -> dict[str, Any]:
        """Wait for a status."""
        seen: dict[str, Any] = {}

        def true() -> bool:
            seen.clear()
            seen.update(self.status())
            return bool(condition(seen))

        until_blocking(true, lambda: f"{what}: {json.dumps(seen, default=str)}", every=0.3)
        return seen

    def until_well(self) -> dict[str, Any]:
        """Wait until every table's log is archived and witnessed whole, and nothing is wrong."""

        def whole(found: dict[str, Any]) -> bool:
            has = {each["table"]: each["position"] for each in found["tables"]}
            wanted = {f"harbour/{e}": self._logs.position(f"harbour/{e}") for e in self.tables}
            return bool(found["well"]) and has.items() >= wanted.items()

        return self.until(whole, "all of it is archived, and well")

    def cosigned(self, table: str) -> None:
        """The witness cosigns a table's log as it stands."""
        asked = "ssh witness baccarat property checkpoint /etc/baccarat/property.toml"
        size = self._logs.position(f"harbour/{table}")
        self.typed(Session(f"{asked} harbour/{table}", f"harbour/{table}\n{size}\n...\n"))

    def lose_database(self) -> None:
        """The archive's database is gone, and an empty one in its place."""
        name = sql.Identifier(self.database.rpartition("?")[0].rpartition("/")[2])
        with psycopg.connect(self._admin, autocommit=True) as db:
            db.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))
            db.execute(
                sql.SQL("CREATE DATABASE {} ENCODING 'UTF8' TEMPLATE template0").format(name)
            )

    def close(self) -> None:
        """Stop everything, the hub last."""
        for unit in sorted(self.units, key=lambda name: name.startswith("baccarat-hub")):
            self.units[unit].stop(_ENDS_S)


def _is_shown(printed: str, shown: str) -> bool:
    """Whether it is what a page shows, where a line `...` is any lines."""
    if not shown:
        return True
    parts = (re.escape(line) if line != "..." else "(?s:.*)" for line in shown.splitlines())
    return re.fullmatch("\n?".join(parts), printed.strip("\n")) is not None


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        pairs = (f"{json.dumps(key)} = {_inline(inner)}" for key, inner in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    return json.dumps(value)


@contextmanager
def running_life(
    folder: Path, postgres: Postgres, tables: list[str], nodes: int
) -> Iterator[PropertyLife]:
    """The machines before anything runs on them; all of it has ended at the end."""
    with TableLogs(folder, [f"harbour/{each}" for each in tables]) as logs:
        life = PropertyLife(folder, postgres, nodes, logs)
        try:
            yield life
        finally:
            life.close()
