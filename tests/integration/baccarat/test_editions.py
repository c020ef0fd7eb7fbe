"""The next build touches what it ships: yesterday's coups are still judged and proved."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace

from events.commands import ProveCoup
from events.log.editions import PROFILES, RULEBOOKS, read_editions, write_editions
from events.proof.keys import make_signing_key
from events.types import UnknownReport
from tests.support.machine.processes import ROOT
from tests.support.machine.waiting import until
from tests.support.service.table_service import Table1, play
from tests.support.table.coups import COUP, shoe_event
from tests.support.table.settled_coups import hands
from tests.tools.broken_builds import copy_of

_PATIENCE_S: Final = 120


class Build:
    """What is installed somewhere, run as people run it.

    Args:
        folder: where its rooms are.
    """

    def __init__(self, folder: Path = ROOT) -> None:
        self.folder = folder
        self._env = {**os.environ, "PYTHONPATH": str(folder)}

    @classmethod
    def next(cls, folder: Path) -> "Build":
        """The next one, so far without a difference."""
        return cls(copy_of(folder))

    def touch(self, file: str, change: tuple[bytes, bytes] = (b"", b"")) -> None:
        """Change a shipped file: one text in it for another, and a line at its end."""
        path = self.folder / file
        old, new = change
        source = path.read_bytes()
        assert source.count(old) == 1 or not old, f"{old!r} is not in {file} once"
        path.write_bytes(source.replace(old, new) + b"# touched\n")

    def add(self, file: str, older: str, change: tuple[bytes, bytes]) -> None:
        """Ship one more file, made of an older one."""
        shutil.copyfile(self.folder / older, self.folder / file)
        self.touch(file, change)

    def said(self, *words: object) -> str:
        """What the command says that ends well."""
        command, env = self._command(*words), self._env
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_PATIENCE_S,
            env=env, cwd=self.folder,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    @asynccontextmanager
    async def serving(self, config: Path, service: str) -> AsyncIterator[None]:
        """One service of a table, in a process of its own."""
        process = await asyncio.create_subprocess_exec(
            *self._command("run", config, "--only", service), env=self._env, cwd=self.folder
        )
        try:
            yield
        finally:
            if process.returncode is None:
                process.terminate()
            async with asyncio.timeout(_PATIENCE_S):
                assert await process.wait() == 0

    def _command(self, *words: object) -> list[str]:
        return [sys.executable, "-m", "baccarat", *map(str, words)]


_CONFIG: Final = """\
site = "site"
table = "t1"
rulebook = "au-commission"
[shoe]
url = "pty:/nowhere"
[bus]
port = {port}
[data]
log = "log/table.sqlite"
[checkpoints]
key = "t1.key"
"""
_BOOK: Final = "table_core/rulebooks/au-commission.2.toml"  # the newest edition
_PROFILE: Final = "shoe_driver/profiles/enq-bcc.toml"
# Every commission of the past would come out otherwise by this one.
_DEARER: Final = (b'rate = "1/20"', b'rate = "1/20"\nblock = 100000')
THIS: Final = Build()


def hash_of(file: str) -> str:
    return sha256((THIS.folder / file).read_bytes()).hexdigest()


@pytest.fixture
async def config(one: Table1, tmp_path: Path) -> Path:
    """Of a table that has played one coup by this build, and was stopped."""
    make_signing_key(tmp_path / "t1.key", "site/t1")
    (tmp_path / "log").mkdir()
    path = tmp_path / "t1.toml"
    path.write_text(_CONFIG.format(port=one.port), "utf-8")
    async with THIS.serving(path, "table"):
        await one.driver_comes()
        await play(one)
    return path


@pytest.fixture
def later(tmp_path: Path) -> Build:
    """The next build, which has touched the rulebook and the wire profile."""
    build = Build.next(tmp_path / "next")
    build.touch(_BOOK, _DEARER)
    build.touch(_PROFILE)
    return build


async def test_a_coup_of_the_build_before_is_corrected_and_proved_by_what_it_was_played_by(
    one: Table1, config: Path, later: Build
) -> None:
    one.acks.clear()
    async with later.serving(config, "table"):
        await one.driver_comes()
        assert one.states[-1].rulebook.hash != hash_of(_BOOK)  # what it plays by from now on
        proof = await one.ask_past("supervisor", ProveCoup(transaction="p", coup=COUP))
        assert proof.code is None
        before = len(one.settlements)
        await one.must("supervisor", hands("4S 4H", "2D 5C"))
        await until(lambda: len(one.settlements) > before, "it was not issued again")
        await a_driver_reads_by_its_own_edition(one, config.parent)
    again = json.loads(bytes(one.settlements[-1].data))["settlement"]
    assert (again["rulebook_hash"], again["revision"]) == (hash_of(_BOOK), 2)


async def test_its_log_and_the_logs_backup_are_replayed_and_proved_by_the_next_build(
    config: Path, later: Build, tmp_path: Path
) -> None:
    log, copy = config.parent / "log" / "table.sqlite", tmp_path / "backup" / "copy.sqlite"
    told = THIS.said("replay", log, "--coup", COUP, "--json")
    thought = THIS.said("replay", log, "--what-if", eight_first(told), "--json")
    key = tmp_path / "t1.pub"
    key.write_text(THIS.said("keys", "show", config.parent / "t1.key"), "utf-8")
    copy.parent.mkdir()
    later.said("log", "backup", log, copy)
    restored = tmp_path / "restored" / "table.sqlite"
    restored.parent.mkdir()
    later.said("log", "restore", copy, restored)
    for each in (log, copy, restored):
        assert later.said("replay", each, "--coup", COUP, "--json") == told
        assert later.said("replay", each, "--what-if", eight_first(told), "--json") == thought
        evidence = each.with_name("coup.json")
        later.said("evidence", each, "--coup", COUP, "-o", evidence)
        later.said("evidence", "verify", evidence, "--key", key)
        kept = each.parent / PROFILES / f"{hash_of(_PROFILE)}.toml"
        assert kept.read_bytes() == (THIS.folder / _PROFILE).read_bytes()


async def test_a_build_that_ships_both_editions_finds_the_older_one_by_its_hash(
    config: Path, tmp_path: Path
) -> None:
    build = Build.next(tmp_path / "next")
    build.add(_BOOK.replace(".2.", ".3."), _BOOK, _DEARER)
    log = config.parent / "log" / "table.sqlite"
    told = THIS.said("replay", log, "--coup", COUP, "--json")
    shutil.rmtree(log.parent / RULEBOOKS)  # as of a log that an older build has left
    assert build.said("replay", log, "--coup", COUP, "--json") == told
    [newest] = [
        book
        for book in json.loads(build.said("rulebook", "list", "--json"))
        if book["id"] == "au-commission"
    ]
    assert newest["hash"] != hash_of(_BOOK)
    settle = ("settle", "--rulebook", "au-commission", "--cards", "2D,9H,KC,KH")
    settled = build.said(*settle, "--wager", "banker=10000", "--json")
    # A part of a block counts as the whole block of 100,000, of which a twentieth is kept.
    assert json.loads(settled)["settlements"][0]["commission"] == 5_000


async def a_driver_reads_by_its_own_edition(one: Table1, folder: Path) -> None:
    """A journal is read to its end by what it began with, whatever the table's build ships."""
    (digest,) = write_editions(folder / "journal" / PROFILES, [b"# as the journal has it"])
    one.acks.clear()
    event = replace(shoe_event(8, UnknownReport(raw="5A")), profile_hash=digest)
    await one.say(event)
    await until(lambda: any(ack.seq == 8 for ack in one.acks), "it was not appended")
    assert digest in read_editions(folder / "log" / PROFILES).sources


def eight_first(told: str) -> str:
    """What `--what-if` is asked: an eight in place of the coup's first card."""
    dealt = (line for line in json.loads(told)["lines"] if line["type"] == "card_dealt")
    return f"{next(dealt)['position']}=8S"
