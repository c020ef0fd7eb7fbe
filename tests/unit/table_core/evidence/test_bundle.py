"""Evidence for one coup: it proves itself, and whatever is changed in it is found and named."""

import hashlib
import json
import random
import sqlite3
from base64 import b64encode
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert

from baccarat.history.evidence_from_log import gather
from events.errors import InputError
from events.proof.checkpoint import Checkpoint, signed_checkpoint
from events.proof.note import SigningKey
from table_core.evidence.bundle import (
    Evidence,
    EvidenceVerdict,
    encode_evidence,
    seal_evidence,
    verify_evidence,
)
from table_core.rulebooks.shipped import shipped_source
from tests.support.table.coups import SHOE
from tests.support.table.evidence import (
    KEY,
    OTHER_KEY,
    by_hand,
    mth,
    openssl_says,
    path_of,
    played,
    signed_table,
)

PUBLIC = frozenset({KEY.verifier})
COUP = f"{SHOE}/2"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return played(tmp_path_factory.mktemp("log") / "table.sqlite", coups=3)


@pytest.fixture(scope="module")
def data(log: Path) -> bytes:
    return gather(log, COUP, build="test 1")


def judged(data: bytes) -> EvidenceVerdict:
    verdict = verify_evidence(data, PUBLIC)
    assert verdict.reason is None or "\n" not in verdict.reason
    return verdict


def test_a_coup_proves_itself_and_says_how_it_stands(data: bytes) -> None:
    verdict = judged(data)
    assert (verdict.ok, verdict.coup, verdict.origin) == (True, COUP, "site/t1")
    assert verdict.key == str(KEY.verifier)
    result = verdict.expected
    assert result is not None
    assert [card.value for card in result.player] == ["9S", "KH"]
    assert (result.player_total, result.banker_total, result.void) == (9, 5, False)
    # 1,000 on Player wins even money; 2,000 on Banker and 500 on the tie lose.
    assert (result.staked, result.paid, result.commission) == (3500, 2000, 0)
    assert [(line.bet, line.result, line.paid) for line in result.lines] == [
        ("player", "win", 2000),
        ("banker", "lose", 0),
        ("tie", "lose", 0),
    ]


@pytest.mark.process
def test_a_stranger_with_the_two_specifications_and_openssl_comes_to_the_same(
    log: Path, data: bytes, tmp_path: Path
) -> None:
    told = json.loads(data)
    with closing(sqlite3.connect(log)) as db:
        leaves = [row[0] for row in db.execute("SELECT bytes FROM event ORDER BY position")]
    (origin, size, root), text, _, signature = by_hand(told["checkpoint"].encode())
    assert origin == told["origin"] == "site/t1"
    assert openssl_says(tmp_path, KEY.verifier.public, text, signature)
    for event in told["events"]:
        index = event["position"] - 1
        assert event["stored"].encode() == leaves[index]
        assert [bytes.fromhex(h) for h in event["proof"]] == path_of(index, leaves[: int(size)])
    assert b64encode(mth(leaves[: int(size)])).decode() == root
    (rulebook,) = told["rulebooks"]
    assert rulebook.encode() == shipped_source("au-commission")
    settled = json.loads(told["events"][-1]["stored"])["data"]["settlement"]
    assert settled["rulebook_hash"] == hashlib.sha256(rulebook.encode()).hexdigest()


def test_from_the_first_event_to_the_end_nothing_is_left_out(data: bytes) -> None:
    positions = [event["position"] for event in json.loads(data)["events"]]
    assert positions == list(range(positions[0], positions[-1] + 1))
    types = [json.loads(event["stored"])["type"] for event in json.loads(data)["events"]]
    assert (types[0], types[-1]) == ("betting_opened", "coup_settled")
    assert types.count("shoe_reported") == 5


def test_every_change_of_one_byte_is_found_and_named(data: bytes) -> None:
    rng = random.Random(6962)
    parts: dict[str | None, int] = {}
    for at in range(len(data)):
        changed = data[:at] + bytes([data[at] ^ rng.randrange(1, 256)]) + data[at + 1 :]
        verdict = judged(changed)
        assert not verdict.ok, at
        parts[verdict.part] = parts.get(verdict.part, 0) + 1
    assert None not in parts
    events = {f"event at {event['position']}" for event in json.loads(data)["events"]}
    named = {"form", "origin", "coup", "checkpoint", "rulebook", "expected", "seal", *events}
    # A digit of a position makes another position, which is named in its place.
    assert {part for part in parts if not str(part).startswith("event at ")} <= named
    assert named - set(parts) <= {"coup"}


def test_white_space_and_order_are_part_of_the_form(data: bytes) -> None:
    told = json.loads(data)
    for other in (
        data + b"\n",
        data[:-1],
        b" " + data,
        data.replace(b"\n", b"\r\n"),
        json.dumps(told).encode(),
        json.dumps(told, indent=2, sort_keys=True).encode() + b"\n",
        data.replace(b'"seal"', b'"coup": "x",\n  "seal"'),
        b"\xef\xbb\xbf" + data,
    ):
        verdict = verify_evidence(other, PUBLIC)
        assert (verdict.ok, verdict.part) == (False, "form")
    with pytest.raises(InputError, match="no evidence"):
        verify_evidence(data.decode().encode("utf-16"), PUBLIC)


# ---- a forger who seals what he has changed ----


def resealed(data: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    told = json.loads(data)
    change(told)
    return encode_evidence(seal_evidence(convert(told, Evidence)))


def _drop(index: int) -> Callable[[dict[str, Any]], None]:
    return lambda told: told["events"].pop(index)


def _swap(told: dict[str, Any]) -> None:
    events = told["events"]
    events[3], events[4] = events[4], events[3]


def _twice(told: dict[str, Any]) -> None:
    told["events"].insert(3, told["events"][3])


def _pay_more(told: dict[str, Any]) -> None:
    told["expected"]["paid"] += 1


def _other_rulebook(told: dict[str, Any]) -> None:
    told["rulebooks"] = [shipped_source("nz-scale-one").decode()]


def _no_rulebook(told: dict[str, Any]) -> None:
    told["rulebooks"] = []


def _two_rulebooks(told: dict[str, Any]) -> None:
    told["rulebooks"] *= 2


def _other_coup(told: dict[str, Any]) -> None:
    told["coup"] = f"{SHOE}/3"


def _other_place(told: dict[str, Any]) -> None:
    told["events"][0]["position"] += 100_000


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (_drop(0), "event"),
        (_drop(4), "events"),
        (_drop(-1), "events"),
        (_swap, "event"),
        (_twice, "event"),
        (_pay_more, "expected"),
        (_other_rulebook, "rulebook"),
        (_no_rulebook, "rulebook"),
        (_two_rulebooks, "rulebook"),
        (_other_coup, "coup"),
        (_other_place, "event"),
    ],
)
def test_a_forger_who_seals_his_changes_is_found_all_the_same(
    data: bytes, change: Callable[[dict[str, Any]], None], part: str
) -> None:
    verdict = judged(resealed(data, change))
    assert not verdict.ok
    assert str(verdict.part).startswith(part)


def test_the_build_alone_is_under_the_seal_and_not_under_the_signature(data: bytes) -> None:
    def other_build(told: dict[str, Any]) -> None:
        told["build"] = "another"

    assert judged(resealed(data, other_build)).ok


def test_a_settlement_that_its_cards_do_not_come_to_is_found_though_all_is_signed(
    tmp_path: Path,
) -> None:
    """The house itself may be wrong: signed bytes that pay too much do not verify."""
    path = tmp_path / "table.sqlite"
    played(path, coups=1)
    with signed_table(path) as table:
        (settled,) = [e for e in table.log.read() if e.type == "coup_settled"]
        evidence = json.loads(gather(path, f"{SHOE}/1", build="t"))
        leaves = [e.stored for e in table.log.read()]
    for old, new, part in (
        (b'"paid":2000', b'"paid":2001', "settlement"),
        (b'"winner":"player"', b'"winner":"banker"', "settlement"),
        (b'"commission":0', b'"commission":5', "settlement"),
        (b'"player":["9S","KH"]', b'"player":["9S","QH"]', "settlement"),
        (b'"revision":1', b'"revision":2', "settlement"),
    ):
        forged = settled.stored.replace(old, new)
        assert forged != settled.stored
        leaves[settled.position - 1] = forged
        signed = _signed_again(evidence, leaves, KEY)
        verdict = judged(encode_evidence(seal_evidence(signed)))
        assert (verdict.ok, verdict.part) == (False, part), new
        leaves[settled.position - 1] = settled.stored
    assert judged(encode_evidence(seal_evidence(_signed_again(evidence, leaves, KEY)))).ok


def _signed_again(told: dict[str, Any], leaves: list[bytes], key: SigningKey) -> Evidence:
    checkpoint = Checkpoint("site/t1", len(leaves), mth(leaves))
    told = told | {"checkpoint": signed_checkpoint(checkpoint, [key]).decode()}
    told["events"] = [
        {
            "position": event["position"],
            "stored": leaves[event["position"] - 1].decode(),
            "proof": [h.hex() for h in path_of(event["position"] - 1, leaves)],
        }
        for event in told["events"]
    ]
    return convert(told, Evidence)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"card":"KH"', b'"card":"QH"'),
        (b'"face":"KH"', b'"face":"QH"'),
        (b'"number":2', b'"number":1'),
    ],
)
def test_a_card_that_the_shoe_did_not_report_is_found_though_all_is_signed(
    tmp_path: Path, old: bytes, new: bytes
) -> None:
    path = played(tmp_path / "table.sqlite", coups=1)
    evidence = json.loads(gather(path, f"{SHOE}/1", build="t"))
    with signed_table(path) as table:
        events = list(table.log.read())
    leaves = [event.stored for event in events]
    place = next(n for n, e in enumerate(events) if old in e.stored and b"KH" in e.stored)
    leaves[place] = leaves[place].replace(old, new)
    verdict = judged(encode_evidence(seal_evidence(_signed_again(evidence, leaves, KEY))))
    assert not verdict.ok


# ---- keys ----


def test_only_the_key_that_was_given_counts(data: bytes) -> None:
    verdict = verify_evidence(data, {OTHER_KEY.verifier})
    assert (verdict.ok, verdict.part) == (False, "checkpoint")
    assert "not given" in str(verdict.reason)
    assert verify_evidence(data, {OTHER_KEY.verifier, KEY.verifier}).ok


def test_a_name_that_is_the_same_does_not_make_the_key_the_same(data: bytes) -> None:
    namesake = SigningKey(KEY.name, bytes(32)).verifier
    assert not verify_evidence(data, {namesake}).ok


def test_a_newer_form_is_not_guessed_at(data: bytes) -> None:
    newer = data.replace(b"bac/evidence/1", b"bac/evidence/2")
    verdict = judged(newer)
    assert (verdict.ok, verdict.part) == (False, "form")
