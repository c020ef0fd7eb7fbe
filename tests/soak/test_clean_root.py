"""The operator's guide, word by word, in an empty Debian with a network of its own.

A site is installed, plays, is changed, loses its broker and its power, closes its day, answers a
dispute, is restored from a backup, upgraded and brought back, on either broker. What a person does
by hand is done by the documents' own commands; what systemd would do is done by the units' own
lines, as systemd itself cannot run in a folder.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from tests.support.alarm_pages import pressed, typed
from tests.support.machine.clean_root import CleanRoot, clean_root, empty_debian, guide
from tests.support.machine.site_life import Person, Play, Services, shown
from tests.support.machine.waiting import until_blocking
from tests.support.shoe.shoe_line import ShoePort

pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(os.geteuid() != 0, reason="makes a machine: root alone may"),
]

_PASSWORD: Final = "eight decks of cards\n"  # noqa: S105 - mary's, for a minute
_DIALOUT: Final = 20
_PATIENCE_S: Final = 240
_DAYS: Final = ("20261127", "20261128")
# What the guide leaves open: message keys and limits come after it, and a folder keeps no clock.
_OPEN: Final = (
    *(f"warn {check}:" for check in ("clock", "limits", "message keys", "rulebook")),
    "warn disk",
    "FAIL alarm bus_not_authenticated:",
)

_LEFT: Final = _OPEN[:-1]
# The table service acknowledged without a code before the driver service had shown its key.
_ENROLLED: Final = (*_LEFT, "warn shoe link:")
_DOCTOR: Final = "baccarat doctor /etc/baccarat/b7.toml"
_TRAY: Final = {"signed": ["s-4", "d-17"], "chips": [{"denomination": 10_000, "pieces": 500}]}


@pytest.fixture(scope="module")
def debian(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need = subprocess.run(["sh", "tests/tools/need-debootstrap.sh"], check=False)
    if need.returncode:
        pytest.skip("debootstrap cannot be had here")
    return empty_debian(tmp_path_factory.mktemp("empty"))


@pytest.fixture
def machine(debian: Path, tmp_path: Path) -> Iterator[CleanRoot]:
    with clean_root(debian, tmp_path, f"clean{os.getpid()}") as made:
        yield made


class Life:
    """A site of which each step is taken by a document.

    Args:
        machine: an empty Debian.
        services: what runs there.
        keys: the lines that verify the log.
    """

    def __init__(self, machine: CleanRoot, services: Services) -> None:
        self.machine, self.services = machine, services
        self.keys: list[str] = []

    def follow(self, page: str, heading: str, *wanted: str) -> str:
        """Run the commands of a section that begin with any of these words, or all."""
        found = [each for each in shown(page, heading) if each.startswith(wanted or "")]
        assert found, (page, heading)
        return self.services.run("\n".join(found))

    def configure(self, section: str, key: str, value: str) -> None:
        self.machine.configure(f"[{section}]\n{key} = '{value}'")

    def install(self, broker: str) -> None:
        """The guide, step by step; with the other broker where it says how."""
        *before, start = guide()
        for step in before:
            if step.kind == "toml":
                self.machine.configure(step.text)
                self.machine.configure('[shoe]\nurl = "pty:/run/shoe"')  # there is no USB
            elif broker == "mosquitto" or "mosquitto.service.d" not in step.text:
                text = step.text
                if broker != "mosquitto" and "--kind mosquitto" in text:
                    text = "\n".join(shown("operate/install.md", "Use nats-server instead")[:-1])
                said = self.services.run(text, told=_PASSWORD)
                self.keys += re.findall(r"^harbour/b7\+\S+$", said, re.MULTILINE)
        enable, backup, doctor = start.text.splitlines()
        self.services.run(enable)
        self.services.power_on()
        self.services.run(backup)
        self.well(doctor, _OPEN)

    def well(self, doctor: str, left: tuple[str, ...]) -> None:
        """The doctor finds what is left open, and nothing else."""
        said: list[str] = []

        def odd() -> list[str]:
            said[:] = self.machine.run(doctor).stdout.splitlines()
            return [line for line in said if not line.startswith(("ok ", *left))]

        # Services may still be finding one another, and a busy broker hashes each login's password.
        until_blocking(lambda: not odd(), lambda: "\n".join(odd()), _PATIENCE_S)
        for login in ("bus", "shoe", "displays", "cage", "metrics"):
            assert any(line.startswith(f"ok   login of {login}") for line in said)
        assert self.services.ended() == {}

    def message_keys(self) -> None:
        """Made, named, handed out, and required."""
        make, hand_out, restart, _ = shown("operate/keys.md", "Message keys")
        self.services.run(make)
        self.configure("message_keys", "mode", "enrolling")
        self.configure("message_keys", "file", "credential:messages")
        for section in ("shoe", "displays", "cage"):
            self.configure(section, "message_key", "credential:messages")
        assert self.services.run(hand_out).count("-messages: a copy of ") == 4
        self.services.run(restart)
        self.well(_DOCTOR, (*_ENROLLED, "FAIL alarm bus_not_authenticated:"))
        self.configure("message_keys", "mode", "required")

    def change(self) -> None:
        """All that one command changes while a coup is played."""
        commands = shown("operate/keys.md", "Change them while the table plays")[:-1]
        ends = self.services.run(shown("operate/keys.md", "Renew certificates")[1])
        names = set(re.findall(r"^\S+  (\S+)$", ends, re.MULTILINE)) - {"ca"}
        add, remove, *others = commands
        for command in (add, *others):
            more = " ".join(names) if "site renew" in command else ""  # nothing ends soon
            said = self.services.run(f"{command.replace(' mary ', ' mia ')} {more}", _PASSWORD)
            self.keys += re.findall(r"^(harbour/b7\+\S+): signs", said, re.MULTILINE)
        handed = self.machine.path / "etc/baccarat/hand-over/b7-bank"
        assert {each.suffix for each in handed.iterdir()} >= {".pem", ".key", ".password"}
        self.services.run(remove)

    def lose_the_broker(self, broker: str, play: Play) -> None:
        with play.half():
            self.services.kill(broker)
            doctor, look, start = typed("BaccaratBusDown")[:3]
            assert "FAIL broker" in self.services.run(doctor, code=1)
            for command in (look, start):
                self.services.run(command.replace("mosquitto", broker))
            self.well(doctor, _ENROLLED)

    def lose_the_power(self, play: Play) -> None:
        """In mid-coup: nobody knows what the shoe said meanwhile, so a supervisor realigns."""
        assert "realign" in pressed("coup_misaligned")
        with play.half():
            self.services.kill()
            self.services.power_on()
            play.supervisor.press("realign", reason="the cards lie as they lay")
        self.well(_DOCTOR, _LEFT)

    def open(self, play: Play, day: str) -> None:
        """A float, a dealer and a shoe."""
        play.supervisor.press("open_float", float_id=f"{day}-01", currency="AUD", **_TRAY)
        play.supervisor.press("assign_dealer", dealer="d-17", supervisor="s-4")
        play.load(f"{day}-01")

    def close(self, play: Play) -> None:
        """The shoe ends, tray and drop are counted, and the day's report agrees with the log."""
        play.supervisor.press("end_shoe")
        play.supervisor.press("close_float", **_TRAY)
        answer = self.follow("money/drop-and-hold.md", "Record a drop box")
        assert '"result":"accepted"' in answer, answer
        assert "drop_counted" in play.types()
        self.well(_DOCTOR, _LEFT)
        report, _ = shown("operate/the-day.md", "Close")
        self.agrees()
        self.services.run(report)
        written = (self.machine.path / "srv/baccarat-table/day.html").read_text("utf-8")
        assert f"{play.types().count('coup_settled')} settled, 0 void" in written
        assert "11,900" in written, "what the box held"

    def dispute(self, coup: str) -> None:
        """One of the day before is verified, found, read and printed, in a copy of the log."""
        page, place = "money/disputes.md", "mkdir -p /tmp/dispute\ncd /tmp/dispute\n"
        copy, *_ = (each for each in shown(page, "Answer a dispute") if "log backup" in each)
        verify, *_ = shown(page, "1. Verify the log")
        find, at = shown(page, "2. Find the coup")
        (read, *_), (print_it, *_) = (
            shown(page, heading) for heading in ("3. Read what happened", "4. Print a page")
        )
        self.services.run(f"{place}{copy}")
        first = verify.replace("table.pub", f"'{self.keys[0]}'")  # the others are vouched for
        assert "table.sqlite: ok" in self.services.run(f"{place}{first}")
        said = self.services.run(f"{place}{find}")
        found = re.search(rf"^{coup} +(\S+) (\S+) ", said, re.MULTILINE)
        assert found
        then = f"{at.rsplit(maxsplit=1)[0]} {found[1]}T{found[2]}Z"
        assert "Table b7 at position " in self.services.run(f"{place}{then}")
        for command in (read, print_it):
            said = self.services.run(f"{place}{command.replace(f'{_DAYS[0]}-01/1', coup)}")
            assert coup in said

    def restore(self, play: Play, coup: str) -> None:
        """An older copy: the lost coup comes again, and the cage begins another ledger."""
        page = "operate/backup-and-restore.md"
        by_hand, *_ = shown(page, "Back up by hand")
        stop, go, put, adopt, give, start, doctor, move, cage, old = shown(page, "Restore")
        self.services.run(f"mkdir -p /mnt/backup\n{go}\n{by_hand}")
        play.coup()
        settled = play.types().count("coup_settled")
        for step in (stop, f"{go}\n{put}", adopt, give, start):
            self.services.run(step)
        until_blocking(self.services.ended, "the cage ends")
        assert self.services.ended() == {"baccarat-cage@b7": 2}
        self.services.run(f"{move}\n{cage}")
        until_blocking(lambda: play.types().count("coup_settled") == settled, "the lost coup")
        assert "staked 100.00" in self.services.run(f"{go}\n{old} --coup {coup}")
        to = {"seat": 1, "bet": "banker", "stake": 10_000}
        play.supervisor.press("correct_wager", coup=coup, to=to, reason="in the old log")
        corrected = [f"b7/{coup}/2/2"]
        play.supervisor.press("acknowledge_correction", coup=coup, settlements=corrected)
        self.well(doctor, _LEFT)
        play.coup()
        self.agrees()

    def agrees(self) -> None:
        """The ledger, with the log."""
        *_, reconcile = shown("operate/the-day.md", "Close")
        said: list[str] = []

        def booked() -> bool:
            said[:] = [self.machine.run(reconcile).stdout]
            return "agrees with the log to the unit" in said[0]

        until_blocking(booked, lambda: said[0])

    def upgrade(self, play: Play) -> None:
        """To another build, back, and on again, between coups."""
        page = "operate/upgrade.md"
        doctor, install, restart, *_ = shown(page, "Upgrade a controller")
        back, *_ = shown(page, "Go back")
        of_tomorrow = self.machine.path / "srv/baccarat-table/baccarat/tomorrow.py"
        of_tomorrow.write_text('"""Of another build."""\n')
        python = self.machine.path / "opt/baccarat/lib"
        assert "ok   backup" in self.machine.run(doctor).stdout
        for command, there in ((install, True), (back, False), (back, True)):
            assert "/opt/baccarat" in self.services.run(command)
            assert bool(list(python.rglob("baccarat/tomorrow.py"))) is there
            self.services.run(restart)
            self.well(doctor, _LEFT)
            play.coup()
        self.agrees()
        self.go_back(play)

    def go_back(self, play: Play) -> None:
        """To the logs and the ledger of before the upgrade; what was played since comes again."""
        settled = play.types().count("coup_settled")
        _, stop, restore, start, *_ = shown("operate/upgrade.md", "Go back")
        _, _, _, adopt, give, *_ = shown("operate/backup-and-restore.md", "Restore")
        self.services.run(stop)
        assert "nothing was changed" in self.services.run(restore, "no\n", code=1)
        said = self.services.run(restore, "yes\n")
        assert re.search(r"b7 loses \d+ events since position \d+, 3 of them settlements", said)
        for step in (adopt, give, start):
            self.services.run(step)
        until_blocking(lambda: play.types().count("coup_settled") == settled, "the lost coups")
        self.well(_DOCTOR, _LEFT)
        play.coup()
        self.agrees()


@pytest.mark.parametrize("broker", ["mosquitto", "baccarat-broker"])
def test_a_site_lives_by_its_documents(machine: CleanRoot, tmp_path: Path, broker: str) -> None:
    port = ShoePort(machine.path / "run/shoe")
    line = port.link.readlink()
    os.chown(line, 0, _DIALOUT)
    line.chmod(0o660)
    services = Services(machine, tmp_path, broker)
    life = Life(machine, services)
    with ExitStack() as stack:
        stack.callback(services.kill)
        life.install(broker)
        services.run("baccarat user add /etc/baccarat/people.toml dora --role dealer", _PASSWORD)
        people = [
            stack.enter_context(Person.at(machine, name, _PASSWORD.strip()))
            for name in ("dora", "mary")
        ]
        play = Play(machine, port, *people)
        life.open(play, _DAYS[0])
        for _ in range(10):
            play.coup()
        life.message_keys()
        with play.half():
            life.change()
        life.lose_the_broker(broker, play)
        life.lose_the_power(play)
        life.close(play)
        life.open(play, _DAYS[1])
        play.coup()
        life.dispute(f"{_DAYS[0]}-01/3")
        life.restore(play, f"{_DAYS[1]}-01/2")
        life.upgrade(play)
        assert "coup_voided" not in play.types()
        assert play.types().count("coup_misaligned") == 1  # when the power was cut
        assert services.ended() == {}
    port.unplug()
