"""A property as its documents bring it up: machines as folders, and the pages' own commands.

What a command would do on another machine (`ssh`, `scp`, `systemctl`) is done in that machine's
folder, and a unit is started by its own file's `ExecStart`. nats-server, PostgreSQL, workers,
witness and uplinks are real, on loopback.
"""

import asyncio
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import chdir, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import psycopg

from baccarat.config.property import load_property
from baccarat.local_brokers.nats import find_nats_server
from baccarat.processes.children import Child
from benchmarks.instruments.postgres import Postgres
from events.errors import InputError
from events.proof.keys import load_signing_key, make_signing_key
from events.types import AlarmRaised, BettingClosed
from property.hub.connection import connect
from property.hub.replicated_event import HASH, POSITION
from property.hub.subjects import event_subject
from tests.support.console_pages import Block, Session, blocks
from tests.support.machine.commands import here
from tests.support.machine.ports import free_port
from tests.support.machine.processes import ROOT, environment
from tests.support.machine.units import Unit
from tests.support.machine.waiting import until_blocking
from tests.support.property.feeds import TableLogs
from tests.support.property.logs import carried_in
from tests.support.property.stories import forged_after

_DEPLOY: Final = ROOT / "deploy/property"
_OFFICE: Final = "office"
_PROGRAMS: Final[dict[str, list[str | Path]]] = {
    "/opt/baccarat/bin/baccarat": [sys.executable, "-m", "baccarat"],
    "/usr/bin/nats-server": [find_nats_server()],
}
# Commands whose outcome comes by and by: a person repeats them.
_REPEATED: Final = re.compile(r"curl |baccarat property (status|checkpoint) ")
_ENDS_S: Final = 20.0
# What raises no alarm.
_QUIET: Final = BettingClosed(coup="20261127-01/1", by="dealer")


class PropertyLife:
    """The machines of a property, and what happens to them.

    Args:
        folder: gets a folder for each machine.
        postgres: where the archive's database is.
        nodes: how many the hub has.
        logs: of all tables that there will ever be.
    """

    def __init__(self, folder: Path, postgres: Postgres, nodes: int, logs: TableLogs) -> None:
        self._folder, self._logs, self._admin = folder, logs, postgres.url("postgres")
        self.database = postgres.database()
        self._nodes = {f"hub{n}": [free_port() for _ in range(4)] for n in range(1, nodes + 1)}
        self.tables: list[str] = []
        self.units: dict[str, Child] = {}
        pages = (ROOT / "docs/property").glob("*.md")
        self._pages = {path.name: blocks(path.read_text("utf-8")) for path in pages}
        self.unplayed = {e.text for p in self._pages.values() for e in p if e.kind == "console"}
        # What the pages say, and what it is on this one machine.
        self._names = {
            "postgresql://baccarat@db.property.example/property": self.database,
            "/dev/null property": f"/dev/null '{self.database}'",
            # Issued a year ago, as it were.
            "pki issue pki": "pki issue --days 20 pki",
            "streams property.toml": f"streams property.toml --replicas {nodes}",
        }
        for node, (clients, *_) in self._nodes.items():
            self._names[f"{node}.property.example:4222"] = f"127.0.0.1:{clients}"
            self._names[f"{node}.property.example"] = "127.0.0.1"

        self.place(_OFFICE, "var/lib/postgresql/data")  # whose disk is reported

    def perform(self, script: str) -> None:
        """Let a life's lines happen: `PAGE / HEADING / TEXT [/ TABLE]`, or a method and its words.

        The first plays the console block under a heading that has the text, and with `b7` every
        table's, unless one is named.
        """
        for line in filter(None, map(str.strip, script.splitlines())):
            if " / " in line:
                self.play(*line.split(" / "))
            else:
                verb, *words = line.split()
                getattr(self, verb)(*words)

    # ---- machines ----

    def place(self, machine: str, path: str = "") -> Path:
        """A file of a machine, in a folder that is there."""
        root = self._folder / machine
        if not root.exists():
            shutil.copytree(_DEPLOY, root / "etc/systemd/system")
        found = root / path.removeprefix("/")
        found.parent.mkdir(parents=True, exist_ok=True)
        return found

    def _local(self, machine: str, text: str) -> str:
        for said, here_is in self._names.items():
            text = text.replace(said, here_is)
        if machine in self._nodes:
            text = text.replace(":8222", f":{self._nodes[machine][3]}")
        return re.sub(r"(?<![\w./-])/(etc|var)/", rf"{self.place(machine)}/\1/", text)

    # ---- what is typed ----

    def play(self, page: str, heading: str, having: str, table: str = "") -> str:
        """Play the block under a heading that has a text; returns what its last command printed."""
        found = self._under(page, heading, "console")
        (text,) = (each for each in found if having in each)
        self.unplayed.discard(text)
        turns = [text]
        if re.search(r"\bhub1\b", text) and "hub2" not in text:
            turns = [text.replace("hub1", node) for node in self._nodes]
        elif re.search(r"\bb7\b", text):
            tables = [table] if table else self.tables
            turns = [re.sub(r"\bb7\b", each, text) for each in tables]
        typed = [each for turn in turns for each in Block("", "console", turn).sessions]
        return [self.typed(each) for each in typed][-1]

    def _under(self, page: str, heading: str, kind: str) -> list[str]:
        return [each.text for each in self._pages[page] if each[:2] == (heading, kind)]

    def typed(self, session: Session) -> str:
        """Type a command at the office, and hold what it prints against what the page shows."""
        told: list[str] = []

        def done() -> bool:
            code, *told[:] = self._done(_OFFICE, session.command)
            printed = re.sub(rf"{self._folder}/\w+/(etc|var)/", r"/\1/", told[0])
            return code == 0 and _is_shown(printed, session.shown)

        if _REPEATED.search(session.command):
            until_blocking(done, lambda: f"{session.command}: {told}", every=0.2)
        else:
            assert done(), (session.command, told)
        return told[0]

    def _done(self, machine: str, command: str) -> tuple[int, str, str]:
        command, _, kept = command.partition(" > ")
        if kept:
            found = self._done(machine, command)
            self.place(machine, kept).write_text(found[1])
            return found
        match shlex.split(self._local(machine, command)):
            case ["ssh", there, *_]:
                return self._done(there, command.split(" ", 2)[2])
            case ["scp", *_]:
                *sources, target = command.split()[1:]
                there, _, path = target.partition(":")
                for source in sources:
                    shutil.copy(self.place(machine, source), self.place(there, path))
            case ["systemctl", verb, *_, unit]:
                if verb in {"stop", "restart", "disable"} and unit in self.units:
                    self.units.pop(unit).stop(_ENDS_S)
                if verb in {"start", "restart", "enable"}:
                    self.units[unit] = self._started(machine, unit)
            case ["baccarat", *words]:
                with chdir(self.place(machine)):
                    return here(*words)
            case ["chown", *_]:  # the users are the units'
                pass
            case _:
                line = ["sh", "-c", self._local(machine, command)]
                done = subprocess.run(
                    line, capture_output=True, text=True, check=False, cwd=self.place(machine)
                )
                return done.returncode, done.stdout, done.stderr
        return 0, "", ""

    def _started(self, machine: str, unit: str) -> Child:
        name, _, instance = unit.partition("@")
        said = Unit(self.place(machine), name, instance)
        credentials = self.place(machine, f"run/{unit}")
        for each in said.one("LoadCredential").split():
            inside, _, stored = each.partition(":")
            with suppress(FileNotFoundError):
                store = self.place(machine, f"etc/credstore/{stored}")
                shutil.copy(store, self.place(machine, f"run/{unit}/{inside}"))
        self.place(machine, f"var/lib/{said.one('StateDirectory')}/there")
        program, *words = said.one("ExecStart").split()
        return Child.start(
            [*_PROGRAMS[program], *(self._local(machine, word) for word in words)],
            name=unit,
            output=self._folder / f"{unit}.log",
            env=environment() | {"CREDENTIALS_DIRECTORY": str(credentials)},
            cwd=ROOT,
        )

    # ---- files that a person writes ----

    def plan(self, *tables: str) -> None:
        """The hub's plan has these tables from now on; a person writes it, for one machine."""
        self.tables = list(tables)
        names = ("clients", "cluster", "leaves", "monitor")
        nodes: dict[str, Any] = {
            node: dict(zip(names, ports, strict=True))
            | {"host": "127.0.0.1", "store": str(self.place(node, "var/lib/baccarat-hub"))}
            | {"pki": str(self.place(node, "etc/baccarat-hub/pki"))}
            for node, ports in self._nodes.items()
        }
        origins = [f"harbour/{each}" for each in tables]
        self._write(_OFFICE, "hub.toml", {"tables": origins, "nodes": nodes})

    def configure(self, page: str, number: str, machine: str, path: str) -> None:
        """Write a configuration that a page shows, with as many nodes as there are."""
        block = [each.text for each in self._pages[page] if each.kind == "toml"][int(number)]
        tree = tomllib.loads(self._local(machine, re.sub(r"\bb7\b", machine, block)))
        tree["hub"]["servers"] = tree["hub"]["servers"][: len(self._nodes)]
        if "witness" in tree:
            keys = {
                path.stem: path.read_text().strip()
                for path in self.place("keys", "_").parent.glob("*.pub")
            }
            tree["witness"]["keys"] = {f"harbour/{name}": [key] for name, key in keys.items()}
        for origin, log in tree.get("uplink", {}).get("tables", {}).items():
            log["log"] = str(self._logs.paths[origin])
        self._write(machine, path, tree)

    def _write(self, machine: str, path: str, tree: dict[str, Any]) -> None:
        lines = "".join(f"{key} = {_inline(value)}\n" for key, value in tree.items())
        self.place(machine, path).write_text(lines, "utf-8")

    # ---- what happens ----

    def deal(self, *tables: str) -> None:
        """Tables' logs grow, and are signed; the keys are made where there are none."""
        for each in tables:
            path, origin = self.place("keys", each), f"harbour/{each}"
            with suppress(InputError):
                make_signing_key(path, origin)
            key = load_signing_key(path)
            for public in (path.with_suffix(".pub"), self.place(_OFFICE, f"{each}.pub")):
                public.write_text(f"{key.verifier}\n")
            self._logs.grow(origin, 12, event=_QUIET)
            self._logs.sign(origin, key)

    def kill(self, *units: str) -> None:
        """SIGKILL."""
        for each in units:
            self.units.pop(f"baccarat-{each}").kill()

    def wipe(self, *nodes: str) -> None:
        """What nodes have stored is gone."""
        for each in nodes:
            shutil.rmtree(self.place(each, "var/lib/baccarat-hub"))

    def lose_database(self) -> None:
        """The archive's database is gone, and an empty one in its place."""
        name = self.database.rpartition("?")[0].rpartition("/")[2]
        with psycopg.connect(self._admin, autocommit=True) as db:
            db.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
            db.execute(f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0".encode())

    def forge(self, table: str) -> None:
        """Somebody with a table's password publishes events of his own; the table goes on."""
        last = carried_in(self._logs.paths[f"harbour/{table}"])[-1]
        false = forged_after(last, *(AlarmRaised(alarm="x", text=f"no. {n}") for n in range(2)))
        self._publish(
            f"harbour/{table}",
            table,
            *((e.stored, {POSITION: str(e.position), HASH: e.hash.hex()}) for e in false),
        )
        self.until(table, "position", str(false[-1].position))
        self.deal(table)

    def nonsense(self, table: str) -> None:
        """Somebody publishes what is no event."""
        self._publish("keeper", table, (b"nonsense", {}))

    def _publish(self, who: str, table: str, *said: tuple[bytes, dict[str, str]]) -> None:
        config = load_property(self.place(_OFFICE, "property.toml"))
        hub = config.hub_settings(who, f"hub/passwords/{who.replace('/', '.')}")

        async def publish() -> None:
            client = await connect(hub, 0)
            for body, headers in said:
                await client.publish(event_subject("harbour", table), body, headers=headers)
            await client.close()

        asyncio.run(publish())

    def role(self, name: str) -> None:
        """The database's administrator makes a login."""
        with psycopg.connect(self.database) as db:
            db.execute(f"CREATE ROLE {name} LOGIN".encode())

    # ---- what is found ----

    def until(self, table: str, key: str, value: str) -> None:
        """Wait until `status` says this of a table."""
        origin = f"harbour/{table}"
        self._until(
            lambda told: (origin, value) in ((e["table"], str(e[key])) for e in told["tables"])
        )

    def finds(self, code: str) -> None:
        """Wait until `status` finds this."""
        self._until(lambda told: code in {each["code"] for each in told["findings"]})

    def finds_no(self, code: str) -> None:
        """Wait until `status` finds this no more."""
        self._until(lambda told: code not in {each["code"] for each in told["findings"]})

    def well(self) -> None:
        """Wait until every table's log is archived and cosigned whole, and nothing is wrong."""
        wanted = {f"harbour/{e}": self._logs.position(f"harbour/{e}") for e in self.tables}

        def whole(told: dict[str, Any]) -> bool:
            has = {each["table"]: each["position"] for each in told["tables"]}
            return bool(told["well"]) and has.items() >= wanted.items()

        self._until(whole)
        for origin, size in wanted.items():
            asked = f"ssh witness baccarat property checkpoint /etc/baccarat/property.toml {origin}"
            self.typed(Session(asked, f"{origin}\n{size}\n...\n"))

    def _until(self, condition: Any) -> None:
        seen: list[str] = []

        def true() -> bool:
            code, *seen[:] = self._done(_OFFICE, "baccarat property status property.toml --json")
            return code in {0, 1} and bool(condition(json.loads(seen[0])))

        until_blocking(true, lambda: str(seen), every=0.3)


def _texts(found: dict[str, Any]) -> Any:
    return {key: str(value) for key, value in found.items()}.items()


def _is_shown(printed: str, shown: str) -> bool:
    """Whether it is what a page shows, where a line `...` is any lines."""
    parts = (re.escape(line) if line != "..." else "(?s:.*)" for line in shown.splitlines())
    return not shown or re.fullmatch("\n?".join(parts), printed.strip("\n")) is not None


def _inline(value: Any) -> str:
    """TOML of one line; a list of texts is as in JSON."""
    if not isinstance(value, dict):
        return json.dumps(value)
    pairs = (f"{json.dumps(key)} = {_inline(inner)}" for key, inner in value.items())
    return f"{{ {', '.join(pairs)} }}"


@contextmanager
def living(folder: Path, postgres: Postgres, tables: str, nodes: int) -> Iterator[PropertyLife]:
    """The machines before anything runs on them; all of it has ended at the end, the hub last."""
    with TableLogs(folder, [f"harbour/{each}" for each in tables.split()]) as logs:
        life = PropertyLife(folder, postgres, nodes, logs)
        try:
            yield life
        finally:
            for unit in sorted(life.units, key=lambda name: name.startswith("baccarat-hub")):
                life.units[unit].stop(_ENDS_S)
