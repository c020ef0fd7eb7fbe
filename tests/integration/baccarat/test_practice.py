"""`baccarat practice`: a person deals at the console, the shoe when told; the coach judges."""

import re
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.machine.waiting import until_blocking

PLACED = re.compile(r"seat (\d): ([\d,]+)\.00 on (\w+)")


class Pupil:
    """Somebody at the console of a practice table.

    Args:
        process: the session.
        said: the file of what it prints.
    """

    def __init__(self, process: "subprocess.Popen[str]", said: Path) -> None:
        self.process, self._said = process, said
        shown = self.sees(r"(http://\S+/)dealer as you, password (\S+)")
        self.web = httpx.Client(base_url=shown[1], timeout=30)
        until_blocking(self._up, "the console is up")
        token = re.search(r'name="csrf" value="([^"]+)"', self.web.get("/login").text)
        assert token is not None
        form = {"user": "you", "password": shown[2], "csrf": token[1]}
        self.web.post("/login", data=form, headers={"origin": shown[1].rstrip("/")})
        page = self.web.get("/dealer").text
        found = re.search(r'name="csrf" content="([^"]+)"', page)
        assert found is not None
        self.headers = {"x-csrf-token": found[1], "origin": shown[1].rstrip("/")}

    def _up(self) -> bool:
        try:
            return self.web.get("/health").status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

    def sees(self, pattern: str) -> "re.Match[str]":
        """Wait until the session has printed this."""
        return until_blocking(lambda: re.search(pattern, self._said.read_text("utf-8")), pattern)

    def told(self) -> str:
        return self._said.read_text("utf-8")

    def does(self, command: str, **fields: Any) -> None:
        """Give a command at the console, as often as it takes the table to read the shoe."""

        def answer() -> bool:
            body = {"transaction": secrets.token_hex(16), **fields}
            said = self.web.post(f"/command/{command}", json=body, headers=self.headers)
            return said.status_code == httpx.codes.OK and said.json()["result"] == "accepted"

        until_blocking(answer, f"{command} is accepted", every=0.3)

    def draws(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()


@pytest.fixture
def pupil(tmp_path: Path) -> Iterator[Pupil]:
    said = tmp_path / "said.txt"
    command = [sys.executable, "-m", "baccarat", "practice", "--coups", "1", "--seed", "3"]
    with (
        said.open("w") as output,
        subprocess.Popen(
            [*command, "--data", str(tmp_path / "kept")],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process,
    ):
        try:
            pupil = Pupil(process, said)
            yield pupil
            pupil.web.close()
        finally:
            process.terminate()


def test_a_coup_that_the_person_deals_is_judged_by_the_coach(pupil: Pupil) -> None:
    pupil.sees("Load a shoe at the console")
    pupil.does("load_shoe", shoe="20260101-01")
    pupil.sees("Open betting, and place")
    pupil.does("open_betting")
    for seat, stake, bet in PLACED.findall(pupil.told()):
        minor = 100 * int(stake.replace(",", ""))
        pupil.does("place_wager", wagers=[{"seat": int(seat), "bet": bet.lower(), "stake": minor}])
    pupil.does("close_betting")
    while "last coup" not in pupil.told():
        pupil.draws()
        time.sleep(0.3)  # a hand takes its time
    assert "right: Every wager is on record as it was laid." in pupil.told()
    assert "right: You called no more bets before the first card." in pupil.told()
    assert "WRONG" not in pupil.told()
    assert pupil.process.wait(30) == 0
