"""The witness of the world's bus notices what must not be said; and its tree is the log's."""

from pathlib import Path
from random import Random

import msgspec
import pytest

from events.commands import Ack
from events.log.store import EventLog
from events.mqtt.topics import Topics
from events.proof.checkpoint import Checkpoint, signed_checkpoint
from events.proof.note import SigningKey
from events.types import ShoeAck, Stored
from simulators.world.auditor.audited_coup import Violation
from simulators.world.auditor.publication_witness import PublicationWitness
from simulators.world.people.logins import signing_key
from table_core.process.publishers import public_bytes
from tests.support.table.evidence import mth, played

TOPICS = Topics("site", "t1")
KEY = signing_key(TOPICS)


def a_log(path: Path) -> list[Stored]:
    """A table's coups, with reports of its shoe and settlements."""
    with EventLog.open(played(path), "site/t1") as log:
        return list(log.read())


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> list[Stored]:
    return a_log(tmp_path_factory.mktemp("log") / "table.sqlite")


def a_witness(stored: list[Stored]) -> PublicationWitness:
    witness = PublicationWitness(TOPICS, KEY.verifier.public, lambda _: 3, lambda: len(stored))
    for each in stored:
        witness.stored(each)
    return witness


def _ack(position: int) -> bytes:
    return msgspec.json.encode(Ack(transaction="a", consumer="cage-1", position=position))


def a_checkpoint(stored: list[Stored], size: int, key: SigningKey = KEY) -> bytes:
    root = mth([each.stored for each in stored[:size]])
    return signed_checkpoint(Checkpoint("site/t1", size, root), (key,))


def test_what_the_table_says_is_true(stored: list[Stored]) -> None:
    witness = a_witness(stored)
    for each in stored:
        witness.hear(TOPICS.event, public_bytes(each))
        if each.type == "coup_settled":
            witness.hear(TOPICS.settlement, public_bytes(each))
    witness.hear(TOPICS.checkpoint, a_checkpoint(stored, len(stored)))
    witness.hear(TOPICS.shoe_ack, msgspec.json.encode(ShoeAck(journal="j", seq=3)))
    assert "never acknowledges" in witness.lacks
    witness.hear(TOPICS.request("cage", "ack"), _ack(len(stored)))
    assert witness.lacks == ""


def test_what_is_not_stored_yet_is_not_told(stored: list[Stored]) -> None:
    witness = a_witness(stored[:-1])
    with pytest.raises(Violation, match="told before it is stored"):
        witness.hear(TOPICS.event, public_bytes(stored[-1]))


def test_every_field_is_what_was_stored(stored: list[Stored]) -> None:
    witness = a_witness(stored)
    fields = msgspec.json.decode(public_bytes(stored[0]))
    for name, value in fields.items():
        wrong = {**fields, name: 3 if name == "position" else f"{value}x"}
        with pytest.raises(Violation):
            witness.hear(TOPICS.event, msgspec.json.encode(wrong))
        with pytest.raises(Violation):
            witness.hear(TOPICS.event, msgspec.json.encode({**fields, "more": 1}))


def test_a_report_of_the_shoe_that_is_not_sealed_is_noticed(stored: list[Stored]) -> None:
    report = next(each for each in stored if each.type == "shoe_reported")
    open_ = b'%b,"hash":"%b"}' % (report.stored[:-1], report.hash.hex().encode())
    with pytest.raises(Violation):
        a_witness(stored).hear(TOPICS.event, open_)


def test_only_settlements_are_told_as_settlements_and_each_is(stored: list[Stored]) -> None:
    witness = a_witness(stored)
    other = next(each for each in stored if each.type == "betting_opened")
    with pytest.raises(Violation, match="is no settlement"):
        witness.hear(TOPICS.settlement, public_bytes(other))
    assert witness.lacks.startswith("settlements at")
    for each in stored:
        if each.type == "coup_settled":
            witness.hear(TOPICS.settlement, public_bytes(each))
    assert witness.lacks.startswith("events at [1, 2,")


def test_a_settlement_that_is_signed_nowhere_is_noticed(stored: list[Stored]) -> None:
    witness = a_witness(stored)
    newest = 0
    for each in stored:
        witness.hear(TOPICS.event, public_bytes(each))
        if each.type == "coup_settled":
            witness.hear(TOPICS.settlement, public_bytes(each))
            newest = each.position
    witness.hear(TOPICS.checkpoint, a_checkpoint(stored, newest - 1))
    assert "signed nowhere" in witness.lacks


def test_a_checkpoint_of_another_log_or_key_or_of_what_is_not_there_yet(
    stored: list[Stored],
) -> None:
    other = [stored[1], stored[0], *stored[2:]]
    stranger = SigningKey(KEY.name, bytes(32))
    for note, said in (
        (a_checkpoint(other, 4), "another log"),
        (a_checkpoint(stored, 4, stranger), "not signed by the table's key"),
        (a_checkpoint([*stored, stored[0]], len(stored) + 1), "ahead of the log"),
        (b"no checkpoint\n\nat all", "is none"),
    ):
        with pytest.raises(Violation, match=said):
            a_witness(stored).hear(TOPICS.checkpoint, note)


def test_the_tree_is_rfc_6962s_for_sizes_in_any_order(stored: list[Stored]) -> None:
    rng, witness = Random(6962), a_witness(stored)
    for size in rng.sample(range(len(stored) + 1), 30):
        witness.hear(TOPICS.checkpoint, a_checkpoint(stored, size))


def test_nobody_acknowledges_what_he_does_not_have(stored: list[Stored]) -> None:
    witness = a_witness(stored)
    with pytest.raises(Violation, match="the log has 3"):
        witness.hear(TOPICS.shoe_ack, msgspec.json.encode(ShoeAck(journal="j", seq=4)))
    witness.hear(TOPICS.request("cage", "ack"), _ack(len(stored)))
    with pytest.raises(Violation, match=f"has booked {len(stored)}"):
        witness.hear(TOPICS.request("cage", "ack"), _ack(len(stored) + 1))


def test_events_are_stored_in_their_order(stored: list[Stored]) -> None:
    with pytest.raises(Violation, match="stored at 2"):
        a_witness([]).stored(stored[1])
