"""Signed checkpoints with real brokers and real processes; evidence for a whole simulated game."""

import json
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from baccarat.history.evidence_from_log import gather
from events.clock import SystemClock
from events.log.reader import reading
from events.log.verify import parse_kept_checkpoints, verify
from events.mqtt.bus import Bus, BusSettings
from events.mqtt.messages import Message
from events.mqtt.presence import PresencePublisher
from events.mqtt.topics import Topics
from events.proof.checkpoint import parse_checkpoint
from events.proof.keys import make_signing_key, read_verifier_key
from events.proof.note import signed_by
from events.types import decode_envelope
from table_core.evidence.bundle import verify_evidence
from tests.support.brokers.brokers import Broker
from tests.support.machine.commands import at_work, here, said
from tests.support.machine.tasks import background
from tests.support.machine.waiting import until, until_blocking
from tests.support.service.table_service import TOPICS, Table1, played, service
from tests.support.table.evidence import KEY, stored_checkpoints

PUBLIC = frozenset({KEY.verifier})


@asynccontextmanager
async def keeping(port: int, topics: Topics) -> AsyncIterator[list[Message]]:
    """A consumer that keeps the checkpoints it sees."""
    kept: list[Message] = []

    async def keep(message: Message) -> None:
        kept.append(message)

    will = PresencePublisher(topics.status("keeper"), 1, SystemClock().utc_ns()).will
    settings = BusSettings("127.0.0.1", port, "keeper")
    bus = Bus(settings, will=will, subscriptions={topics.checkpoint: keep})
    async with background(bus.run()):
        yield kept


async def test_the_newest_checkpoint_is_retained_and_proves_what_the_log_said(
    table: Table1, tmp_path: Path
) -> None:
    path = tmp_path / "table.sqlite"
    async with keeping(table.port, TOPICS) as live, played(table, tmp_path, key=KEY):
        settled = table.settlements[-1].position
        await until(
            lambda: live and parse_checkpoint(live[-1].payload)[0].size >= settled,
            "no checkpoint covers the settlement",
        )
    async with keeping(table.port, TOPICS) as late:
        await until(lambda: late, "no checkpoint is retained")
    assert late[0].retain
    assert late[0].payload == live[-1].payload
    checkpoint, note = parse_checkpoint(late[0].payload)
    assert signed_by(note, PUBLIC) == PUBLIC
    assert (checkpoint.size, late[0].payload) in stored_checkpoints(path)
    kept = b"\n".join(message.payload for message in live)
    verdict = verify(path, held=parse_kept_checkpoints("kept", kept), keys=PUBLIC)
    assert verdict.ok, verdict


async def test_a_broker_that_forgot_the_checkpoint_is_told_again(
    broker: Broker, table: Table1, tmp_path: Path
) -> None:
    async with service(table.port, tmp_path, key=KEY):
        async with keeping(table.port, TOPICS) as before:
            await until(lambda: before, "no checkpoint is retained")
        broker.restart(wipe=True)
        async with keeping(table.port, TOPICS) as after:
            await until(lambda: after, "no checkpoint after the broker was wiped")
    assert after[0].payload == before[-1].payload


# ---- processes ----

TOML = """\
site = "site"
table = "t1"
rulebook = "au-commission"
[shoe]
url = "pty:{folder}/shoe"
[bus]
port = {port}
"""


@contextmanager
def table_process(folder: Path, port: int, extra: str = "") -> Iterator["subprocess.Popen[bytes]"]:
    config = folder / "table.toml"
    config.write_text(TOML.format(folder=folder, port=port) + extra)
    with (
        (folder / "said").open("w") as said,
        at_work("run", config, "--only", "table", stdout=said, stderr=said) as process,
    ):
        yield process


def ends(process: "subprocess.Popen[bytes]") -> None:
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0


def test_without_a_key_the_table_says_once_that_it_makes_no_checkpoints(
    nats: Broker, tmp_path: Path
) -> None:
    told = tmp_path / "said"
    with table_process(tmp_path, nats.port) as process:
        until_blocking(lambda: "checkpoints.off" in told.read_text(), "it says nothing")
        until_blocking((tmp_path / "table.sqlite").exists, "it keeps no log")
        ends(process)
    assert told.read_text().count("checkpoints.off") == 1
    assert stored_checkpoints(tmp_path / "table.sqlite") == []


def test_a_key_that_others_may_read_keeps_the_table_from_starting(tmp_path: Path) -> None:
    make_signing_key(tmp_path / "table.key", "site/t1")
    (tmp_path / "table.key").chmod(0o644)
    extra = '[checkpoints]\nkey = "table.key"\n'
    with table_process(tmp_path, 1, extra) as process:
        assert process.wait(20) == 2
    (line,) = (tmp_path / "said").read_text().splitlines()
    assert "chmod 600" in line
    assert not (tmp_path / "table.sqlite").exists()


def test_a_rotation_by_configuration(nats: Broker, tmp_path: Path) -> None:
    path, told = tmp_path / "table.sqlite", tmp_path / "said"
    old, new = (make_signing_key(tmp_path / name, "site/t1") for name in ("old.key", "new.key"))
    for keys in ('key = "old.key"\n', 'key = "new.key"\nretiring = "old.key"\n'):
        with table_process(tmp_path, nats.port, f"[checkpoints]\n{keys}") as process:
            until_blocking(lambda: "checkpoint.key" in told.read_text(), "it announces no key")
            ends(process)
    for key in (old, new):
        assert verify(path, keys={key.verifier}).ok
    signed = [len(parse_checkpoint(note)[1].signatures) for _, note in stored_checkpoints(path)]
    assert signed == [1, 2]


@pytest.mark.parametrize(
    ("rulebook", "disclosure"), [("au-commission", "immediate"), ("nz-scale-two", "deferred")]
)
def test_every_coup_of_a_game_with_faults_proves_itself(
    rulebook: str, disclosure: str, tmp_path: Path
) -> None:
    options = ["--rounds", "12", "--seed", "11", "--speed", "0", "--faults", "all"]
    options += ["--rulebook", rulebook, "--disclosure", disclosure, "--data", str(tmp_path / "d")]
    assert here("demo", *options, "--json").code == 0
    path, public = tmp_path / "d" / "table.sqlite", tmp_path / "d" / "table.pub"
    key = read_verifier_key(str(public))
    with reading(path) as log:
        coups = {decode_envelope(each.stored).correlation for each in log.read()} - {""}
    assert len(coups) == 12
    for coup in sorted(coups):
        verdict = verify_evidence(gather(path, coup, build="test"), {key})
        assert verdict.ok, (coup, verdict)
    assert json.loads(said(here("log", "verify", path, "--key", public, "--json")))["ok"]
