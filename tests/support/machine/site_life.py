"""A site in a root of its own: units as systemd would run them, a person at its pages, a shoe.

systemd cannot run in a folder. What the documents' commands ask of `systemctl` is written down
there, and `Services.obey` does it.
"""

import json
import random
import re
import sqlite3
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Final

from baccarat.processes.children import Child
from tests.support.machine.clean_root import CleanRoot
from tests.support.machine.units import Unit, in_root
from tests.support.machine.waiting import until_blocking
from tests.support.shoe.shoe_bytes import frames
from tests.support.shoe.shoe_line import ShoePort

__all__ = ["Person", "Play", "Services", "shown"]

_NAMES: Final = ("shoe", "table", "displays", "cage", "metrics")
_PAGE_COMMAND: Final = re.compile(
    r"^ *\$ (.+)$"
    r"|^((?:baccarat|sh deploy|chown|install|systemctl) .+)$"
    r"|`((?:baccarat|sh deploy|systemctl|chown|cd) [^`\n]+)`",
    re.MULTILINE,
)
_PRESSES: Final = """
import http.cookiejar, json, re, sys, time, urllib.error, urllib.parse, urllib.request
at, name, password = "http://127.0.0.1:8080", *sys.argv[1:]
jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
opener = urllib.request.build_opener(jar)
def get(path):
    return opener.open(at + path, timeout=20).read().decode()
def log_in():
    form = re.search(r'name="csrf" value="([^"]+)"', get("/login"))
    said = {"user": name, "password": password, "csrf": form[1]}
    opener.open(at + "/login", urllib.parse.urlencode(said).encode(), timeout=20).read()
def press(command, fields):
    found = re.search(r'name="csrf" content="([^"]+)"', get("/dealer"))
    if not found:
        log_in()
        found = re.search(r'name="csrf" content="([^"]+)"', get("/dealer"))
    head = {"x-csrf-token": found[1], "content-type": "application/json"}
    asked = urllib.request.Request(at + "/command/" + command, json.dumps(fields).encode(), head)
    return json.loads(opener.open(asked, timeout=20).read())
for line in sys.stdin:
    try:
        answer = press(*json.loads(line))
    except Exception as error:
        answer = {"result": "none", "error": repr(error)}
    print(json.dumps(answer), flush=True)
"""


def shown(page: str, heading: str) -> list[str]:
    """Return the commands that a section of a document shows, in their order."""
    text = Path("docs", page).read_text("utf-8").split(f"# {heading}\n")[1]
    section = re.split(r"^#+ ", text, maxsplit=1, flags=re.MULTILINE)[0]
    return [next(filter(None, found)) for found in _PAGE_COMMAND.findall(section)]


class Services:
    """What runs of a machine's units, for table `b7`.

    Args:
        machine: the root.
        folder: for what they write.
        broker: `mosquitto` or `baccarat-broker`.
    """

    def __init__(self, machine: CleanRoot, folder: Path, broker: str) -> None:
        self._machine, self._folder, self._broker = machine, folder, broker
        self._asked = machine.path / "run/systemctl.asked"
        self._read = 0
        self._running: dict[str, tuple[ExitStack, Child]] = {}

    def run(self, script: str, told: str = "", code: int = 0) -> str:
        """Run a document's commands, and what they ask of systemd; all that they wrote."""
        done = self._machine.run(script, told)
        assert done.returncode == code, f"{script}\n{done.stdout}{done.stderr}"
        self.obey()
        return done.stdout + done.stderr

    def obey(self) -> None:
        """Do what was asked of systemd since the last time."""
        lines = self._asked.read_text().splitlines() if self._asked.exists() else []
        for line in lines[self._read :]:
            verb, *words = line.split()
            if "--now" in words:
                verb = {"enable": "start", "disable": "stop"}[verb]
            names = [name for word in words for name in self._named(word)]
            for each in ("stop", "start") if verb == "restart" else (verb,):  # all, then all
                for name in names:
                    self._do(each, name)
        self._read = len(lines)

    def _named(self, word: str) -> list[str]:
        wanted = word.removesuffix(".service")
        every = [self._broker, *(f"baccarat-{name}@b7" for name in (*_NAMES, "backup"))]
        running = [name for name in every if name in self._running]
        return [name for name in (running if "*" in wanted else every) if fnmatch(name, wanted)]

    def _do(self, verb: str, name: str) -> None:
        if verb == "start" and name == "baccarat-backup@b7":
            copied = self._machine.run(Unit(self._machine.path, name[:-3], "b7").one("ExecStart"))
            assert copied.returncode == 0, copied.stderr
        elif verb == "start":
            self._start(name)
        elif verb == "stop":
            self._stop(name)

    def _stop(self, name: str) -> None:
        if name in self._running:
            self._running.pop(name)[0].close()

    def _start(self, name: str) -> None:
        if name in self._running and self._running[name][1].code is None:
            return
        self._stop(name)
        with ExitStack() as stack:
            if name == self._broker:
                output = self._folder / f"{name}.log"
                child = Child.start(self._broker_command(), name=name, output=output)
                stack.enter_context(child)
            else:
                unit = Unit(self._machine.path, name[:-3], "b7", self._machine.within)
                output = self._folder / f"{name[9:-3]}.log"
                child = stack.enter_context(unit.running(output))
            self._running[name] = stack.pop_all(), child

    def _broker_command(self) -> list[str | Path]:
        etc = self._machine.path / "etc/systemd/system"
        own = {"mosquitto": "mosquitto.service.d/baccarat.conf"}
        text = (etc / own.get(self._broker, f"{self._broker}.service")).read_text()
        said = dict(re.findall(r"^(ExecStart|User|Group)=(.+)$", text, re.MULTILINE))
        user = f"{said['User']}:{said['Group']}" if "User" in said else "root:root"
        return in_root(
            self._machine.path, user, "", said["ExecStart"].split(), self._machine.within
        )

    def power_on(self) -> None:
        """Start the broker, and all that is enabled."""
        wanted = self._machine.path / "etc/systemd/system/multi-user.target.wants"
        self._start(self._broker)
        enabled = {each.name.removesuffix(".service") for each in wanted.glob("baccarat-*@b7*")}
        assert enabled == {f"baccarat-{name}@b7" for name in _NAMES}
        for name in _NAMES:
            self._start(f"baccarat-{name}@b7")

    def kill(self, *names: str) -> None:
        """End some at once, or all, as a power cut does."""
        for name in names or list(self._running):
            stack, child = self._running.pop(name)
            child.kill()
            stack.close()

    def ended(self) -> dict[str, int]:
        """The services that have ended by themselves, with their exit codes."""
        codes = {name: child.code for name, (_, child) in self._running.items()}
        return {name: code for name, code in codes.items() if code is not None}


class Person:
    """Somebody who has logged in at the pages, with a browser of the machine's own."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    @classmethod
    @contextmanager
    def at(cls, machine: CleanRoot, name: str, password: str) -> Iterator["Person"]:
        """A person at the machine's pages."""
        python = ["/opt/baccarat/bin/python", "-c", _PRESSES, name, password]
        command = in_root(machine.path, "root:root", "", python, machine.within)
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
            try:
                yield cls(process)
            finally:
                process.kill()

    def press(self, command: str, **fields: Any) -> dict[str, Any]:
        """Press a button until the table has decided; it is accepted."""
        fields.setdefault("transaction", uuid.uuid4().hex)
        said: list[dict[str, Any]] = []
        until_blocking(
            lambda: self._answer(said, command, fields) in {"accepted", "exists"},
            lambda: f"{command}: {said[-1]}",
        )
        return said[-1]

    def _answer(self, said: list[dict[str, Any]], command: str, fields: dict[str, Any]) -> str:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps([command, fields]) + "\n")
        self._process.stdin.flush()
        said.append(json.loads(self._process.stdout.readline()))
        return str(said[-1]["result"])


class Play:
    """Coups at the table, by its shoe and its people.

    Args:
        machine: the root.
        port: of the shoe.
        dealer: presses and places wagers.
        supervisor: signs.
    """

    def __init__(
        self, machine: CleanRoot, port: ShoePort, dealer: Person, supervisor: Person
    ) -> None:
        self.log = machine.path / "var/lib/baccarat/b7/log/table.sqlite"
        self._port, self.dealer, self.supervisor = port, dealer, supervisor
        self._said = 0
        self._draw = random.Random(20261127)

    def types(self) -> list[str]:
        """Of all events in the log."""
        with closing(sqlite3.connect(self.log, timeout=20)) as log:
            return [row[0] for row in log.execute("SELECT type FROM event ORDER BY position")]

    def say(self, reports: str, until: str) -> None:
        """The shoe says; the log then holds one more `until`."""
        before = self.types().count(until)
        self._port.say(b"".join(frame * 3 for frame in frames(reports, self._said + 1)))
        self._said = (self._said + len(reports.split(","))) * (not reports.startswith("S"))
        self._said = self._said or len(reports.split(",")) - 1
        until_blocking(lambda: self.types().count(until) > before, until)

    def load(self, shoe: str) -> None:
        """A shoe, its first card and the burn."""
        self.dealer.press("load_shoe", shoe=shoe)
        self.say("S, D first 2C:1, D burn JD:1, D burn 2C:0", "burn_recorded")

    def coup(self) -> None:
        """One that is dealt and settles."""
        with self.half():
            pass

    @contextmanager
    def half(self) -> Iterator[None]:
        """One of which two cards lie while something is done; then it goes on and settles."""
        faces, winner = self._faces()
        self.dealer.press("open_betting")
        wager = {"seat": 1, "bet": "banker", "stake": 10_000}
        self.dealer.press("place_wager", wagers=[wager])
        self.dealer.press("close_betting")
        for place, face in zip(("P1", "B1"), faces, strict=False):
            self.say(f"D {place} {face}", "card_dealt")
        yield
        for place, face in zip(("P2", "B2"), faces[2:], strict=True):
            self.say(f"D {place} {face}", "card_dealt")
        self.say(f"G {winner}", "coup_settled")

    def _faces(self) -> tuple[list[str], str]:
        """Four cards by which one hand has a natural, no hand a pair, and nobody ties."""
        while True:
            ranks = [self._draw.choice("A23456789TJQK") for _ in range(4)]
            worth = ["A23456789".find(rank) + 1 for rank in ranks]
            player, banker = (worth[0] + worth[2]) % 10, (worth[1] + worth[3]) % 10
            pairs = ranks[0] == ranks[2] or ranks[1] == ranks[3]
            if max(player, banker) >= 8 and player != banker and not pairs:
                faces = [rank + self._draw.choice("SHDC") for rank in ranks]
                return faces, "player" if player > banker else "banker"
