"""A build is changed for another only if it takes every event that is there, forwards and back.

The install script is the real one; in place of pip's work of half a minute stands a program that
is this checkout. 0.1.0 is its own code, taken from the history; a clone without that history has
the stand-in alone, which knows the events that 0.1.0 knew and nothing else of it.
"""

import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from events.clock import SystemClock
from events.log.store import EventLog
from events.mqtt.topics import Topics
from events.proof.chain import next_hash
from table_core.rulebooks.shipped import load_rulebook
from table_core.service.table import Table
from tests.support.log.logs import json_bytes
from tests.support.machine.commands import here

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes users in a root: root alone may")

_HERE: Final = Path.cwd()
_VENV: Final = """\
#!/bin/sh
# Makes what `python -m venv` would: DIR/bin/python, which takes what pip is asked for as done.
mkdir -p "$3/bin"
cat >"$3/bin/python" <<'END'
#!/bin/sh
[ "$2" != pip ] || exit 0
[ "$1" != -I ] || shift  # the checkout is no installed package
PYTHONPATH={here} exec {python} -P "$@"
END
chmod +x "$3/bin/python"
"""


# The build that called itself 0.1.0 and recorded `tests/corpus/0.1.0`.
_FIRST_COMMIT: Final = "acb1d14a"
_CHECKOUT: Final = """\
#!/bin/sh
shift
PYTHONPATH={here} exec {python} -P "$@"
"""
# In place of 0.1.0: it takes a log whose events are all of the types and versions that it had.
_FIRST_RELEASE: Final = """\
#!/bin/sh
exec {python} - "$6" <<'END'
import json, sqlite3, sys
known = json.load(open("{here}/tests/corpus/0.1.0/types.json"))
for position, kind, version in sqlite3.connect(sys.argv[1]).execute(
    "SELECT position, type, version FROM event ORDER BY position"
):
    if f"{{kind}}/{{version}}" not in known:
        sys.exit(f"not ok at position {{position}}: {{kind}} version {{version}}")
END
"""

_UNIT: Final = "baccarat-table@.service"


class Machine:
    """A root with a table's log in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.log = root / "var/lib/baccarat/b7/log/table.sqlite"
        self._python = root / "python"

    def prepare(self) -> None:
        """Make what there is before anything is installed."""
        for each in ("etc", "run", "opt"):
            (self.root / each).mkdir(parents=True)
        (self.root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
        (self.root / "etc/group").write_text("root:x:0:\ndialout:x:20:\n")
        self.log.parent.mkdir(parents=True)
        shutil.copy("tests/corpus/0.1.0/table.sqlite", self.log)
        self._python.write_text(_VENV.format(here=_HERE, python=sys.executable))
        self._python.chmod(0o755)

    def install(self, *options: str, answer: str = "") -> tuple[int, str]:
        """Run the script: its exit code, and what it said."""
        command = ["sh", "deploy/install.sh", "--root", str(self.root), *options]
        env = {**os.environ, "PYTHON": str(self._python)}
        done = subprocess.run(
            command, input=answer, capture_output=True, text=True, timeout=60, check=False, env=env
        )
        return done.returncode, done.stdout + done.stderr

    @property
    def builds(self) -> list[str]:
        """What is in /opt, and which build it is."""
        places = sorted((self.root / "opt").iterdir())
        return [f"{each.name} {(each / 'build').read_text().strip()[:8]}" for each in places]

    def older(self) -> None:
        """What is installed was another build, with another unit."""
        (self.root / "opt/baccarat/build").write_text("earlier\n")
        (self.root / f"opt/baccarat/systemd/{_UNIT}").write_text("earlier\n")

    @property
    def unit(self) -> str:
        """The first line of a unit that is installed."""
        return (self.root / f"etc/systemd/system/{_UNIT}").read_text().splitlines()[0]

    def event_of_tomorrow(self) -> None:
        """The log goes on with an event that only a later build knows; its chain is whole."""
        with closing(sqlite3.connect(self.log)) as db:
            sql = "SELECT * FROM event ORDER BY position DESC LIMIT 1"
            position, _, _, at, stored, head = db.execute(sql).fetchone()
            said = json.loads(stored)
            said |= {"type": "chips_counted_by_camera", "position": position + 1}
            new = json_bytes(said)
            row = (position + 1, said["type"], 1, at, new, next_hash(head, new))
            db.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?)", row)
            db.commit()


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root of a machine on which this build is installed."""
    made = Machine(tmp_path_factory.mktemp("installed") / "machine")
    made.prepare()
    code, said = made.install()
    assert code == 0, said
    return made.root


@pytest.fixture
def machine(installed: Path, tmp_path: Path) -> Machine:
    """A machine of a test's own, which is a copy of that one: nothing in it names its root."""
    subprocess.run(["cp", "-a", installed, tmp_path / "machine"], check=True)
    return Machine(tmp_path / "machine")


@pytest.fixture(params=["its own code", "a stand-in"])
def first(machine: Machine, request: pytest.FixtureRequest) -> Machine:
    """A machine on which 0.1.0 is installed."""
    here, text = _HERE, _FIRST_RELEASE
    if request.param == "its own code":
        here, text = machine.root / "0.1.0", _CHECKOUT
        here.mkdir()
        tree = subprocess.run(["git", "archive", _FIRST_COMMIT], capture_output=True, check=False)
        if tree.returncode:
            pytest.skip("this clone has no history; the stand-in is tried")
        subprocess.run(["tar", "x", "-C", here], input=tree.stdout, check=True)
        assert 'version = "0.1.0"' in (here / "pyproject.toml").read_text()
    machine.older()
    before = machine.root / "opt/baccarat/bin/python"
    before.write_text(text.format(here=here, python=sys.executable))
    return machine


def test_an_upgrade_keeps_the_build_before_and_a_way_back(machine: Machine) -> None:
    machine.older()
    assert machine.install()[0] == 0
    assert machine.builds[1:] == ["baccarat.before earlier"]
    this = machine.builds[0].split()[1]
    for now, before in (("earlier", this), (this, "earlier")):
        code, said = machine.install("--back")
        assert (code, machine.builds) == (0, [f"baccarat {now}", f"baccarat.before {before}"])
        assert (machine.unit == "earlier") == (now == "earlier")
        assert "start the services again" in said


def test_an_upgrade_that_would_not_read_the_log_changes_nothing(machine: Machine) -> None:
    machine.older()
    machine.event_of_tomorrow()
    before = machine.log.read_bytes()
    code, said = machine.install()
    assert code == 1
    assert "chips_counted_by_camera" in said
    assert f"does not take {machine.log}; nothing was changed" in said
    assert machine.builds == ["baccarat earlier"]
    assert machine.log.read_bytes() == before
    assert [each.name for each in machine.log.parent.iterdir()] == ["table.sqlite"]


def test_there_is_no_way_back_behind_events_that_the_build_before_does_not_know(
    machine: Machine,
) -> None:
    machine.older()
    assert machine.install()[0] == 0
    builds = machine.builds
    machine.event_of_tomorrow()
    code, said = machine.install("--back")
    assert code == 1
    assert "chips_counted_by_camera" in said
    assert machine.builds == builds


def test_the_first_release_is_put_back_until_the_table_of_this_one_has_started(
    first: Machine,
) -> None:
    assert first.install()[0] == 0
    this = first.builds[0].split()[1]
    assert first.install("--back")[0] == 0
    assert first.builds == ["baccarat earlier", f"baccarat.before {this}"]
    assert first.install("--back")[0] == 0
    with EventLog.open(first.log, "harbour/b7") as log:
        Table(log, Topics("harbour", "b7"), load_rulebook("ez"), SystemClock(), roles={})
    code, said = first.install("--back")
    assert (code, first.builds[0]) == (1, f"baccarat {this}")
    assert re.search("(?i)not ok at position 281: .*rulebook_adopted.*version 2", said), said
    assert "--back --restore goes back to them" in said


def commands(heading: str) -> list[list[str]]:
    """The commands of a section of the operator's page, without those for systemd."""
    page = Path("docs/operate/upgrade.md").read_text(encoding="utf-8")
    section = page.split(f"## {heading}\n")[1].split("\n## ")[0]
    found = re.findall(r"`((?:sh deploy|baccarat) [^`]+)`|^ *\$ (.+)$", section, re.MULTILINE)
    return [shlex.split(one or other) for one, other in found]


def test_a_site_of_the_first_release_goes_to_this_one_and_back_by_the_page(
    first: Machine,
) -> None:
    ledger = first.log.parents[1] / "cage/cage.sqlite"
    ledger.parent.mkdir()
    with closing(sqlite3.connect(ledger)) as db:
        db.execute("CREATE TABLE of_0_1_0 (one)")
    stored = events_of(first.log)
    _, upgrade = commands("Upgrade a controller")
    assert first.install(*upgrade[2:])[0] == 0
    with EventLog.open(first.log, "harbour/b7") as log:
        Table(log, Topics("harbour", "b7"), load_rulebook("ez"), SystemClock(), roles={})
    played = events_of(first.log)
    assert len(played) > len(stored)
    ledger.write_bytes(b"migrated")
    plain, back, undo = commands("Go back")
    assert first.install(*plain[2:])[0] == 1
    for answer in ("", "no\n"):
        code, said = first.install(*back[2:], answer=answer)
        assert (code, events_of(first.log)) == (1, played)
        assert f"b7 loses {len(played) - len(stored)} events since position {len(stored)}" in said
    code, said = first.install(*back[2:], answer="yes\n")
    assert (code, first.builds[0]) == (0, "baccarat earlier"), said
    assert events_of(first.log) == stored
    with closing(sqlite3.connect(ledger)) as db:
        assert db.execute("SELECT name FROM sqlite_master").fetchall() == [("of_0_1_0",)]
    # And forward again: the same script takes the later build, the printed command its log.
    assert first.install("--back")[0] == 0
    (line,) = [line for line in said.splitlines() if "undo: " in line]
    printed = line.partition("undo: ")[2].split()
    assert printed[:4] == undo[:4]
    words = [f"{first.root}{word}" if word.startswith("/") else word for word in printed[1:]]
    assert here(*words).code == 0
    assert events_of(first.log) == played


def events_of(log: Path) -> list[tuple[int, bytes]]:
    """Positions and hashes of a log."""
    with closing(sqlite3.connect(log)) as db:
        found: list[tuple[int, bytes]] = db.execute("SELECT position, hash FROM event").fetchall()
    return found


def test_a_format_of_tomorrow_is_refused_like_an_event(machine: Machine) -> None:
    machine.older()
    with closing(sqlite3.connect(machine.log)) as db:
        db.execute("PRAGMA user_version = 99")
    code, said = machine.install()
    assert (code, machine.builds) == (1, ["baccarat earlier"])
    assert "newer" in said


@pytest.mark.parametrize("moves", [1, 2])
def test_a_way_back_that_was_cut_short_is_gone_to_its_end(machine: Machine, moves: int) -> None:
    machine.older()
    assert machine.install()[0] == 0
    this = machine.builds[0].split()[1]
    now = machine.root / "opt/baccarat"
    now.rename(f"{now}.undone")
    if moves == 2:
        Path(f"{now}.before").rename(now)
    assert machine.install("--back")[0] == 0
    assert machine.builds == ["baccarat earlier", f"baccarat.before {this}"]
    assert machine.unit == "earlier"


def test_without_a_build_before_there_is_no_way_back(machine: Machine) -> None:
    assert machine.install("--back")[0] == 2
