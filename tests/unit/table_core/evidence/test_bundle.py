"""Evidence for one coup of any kind: it proves itself, and what is changed in it is named."""

import hashlib
import json
import random
import sqlite3
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert

from baccarat.cli.main import main
from baccarat.history.evidence_from_log import gather
from events.cards import Card, Hand
from events.commands import (
    ConfirmResult,
    CorrectCard,
    CorrectHands,
    CorrectWager,
    EnterCard,
    MarkUnreadable,
    VoidCoup,
    WagerRequest,
)
from events.errors import InputError
from events.proof.checkpoint import Checkpoint, signed_checkpoint
from events.proof.note import SigningKey
from events.types import (
    CardUnreadable,
    CoupSettled,
    DeviceResult,
    Stored,
    TableEvent,
    decode_data,
    decode_envelope,
)
from table_core.evidence.bundle import (
    Evidence,
    EvidenceVerdict,
    encode_evidence,
    seal_evidence,
    verify_evidence,
)
from table_core.rulebooks.shipped import shipped_source
from tests.support.log.logs import forging
from tests.support.table.coups import SHOE, drawn, revealed
from tests.support.table.evidence import (
    KEY,
    OTHER_KEY,
    SignedTable,
    by_hand,
    mth,
    openssl_says,
    path_of,
    played,
    resealed,
    signed_table,
    stored_checkpoints,
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


@pytest.mark.sweep
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


@pytest.fixture
def table(tmp_path: Path) -> Iterator[SignedTable]:
    with signed_table(tmp_path / "table.sqlite") as made:
        made.ready()
        yield made


def proved(table: SignedTable) -> EvidenceVerdict:
    table.table.make_due_checkpoint()
    table.clock.now_us += 10**9
    table.table.make_due_checkpoint()
    coup = table.table.state.coup
    assert coup is not None
    verdict = verify_evidence(gather(table.log.path, coup.id, build="t"), PUBLIC)
    assert verdict.ok, verdict
    settlements = {
        each.settlement.phase: each.settlement
        for each in map(_event, table.log.read())
        if isinstance(each, CoupSettled) and each.coup == coup.id
    }
    assert verdict.expected is not None
    assert verdict.expected.paid == sum(each.paid for each in settlements.values())
    assert verdict.expected.staked == sum(each.staked for each in settlements.values())
    return verdict


def _event(stored: Stored) -> TableEvent:
    return decode_data(decode_envelope(stored.stored))


def test_a_coup_without_wagers_that_its_first_card_began(table: SignedTable) -> None:
    table.deal()
    table.say(DeviceResult(winner="player"))
    verdict = proved(table)
    data = gather(table.log.path, str(verdict.coup), build="t")
    first = json.loads(json.loads(data)["events"][0]["stored"])
    assert first["type"] == "shoe_reported"


def test_a_void_coup(table: SignedTable) -> None:
    table.open((1, "player", 1000), (2, "player_pair", 100))
    table.deal(("9S", "2D"))
    table.ask("supervisor", VoidCoup(transaction="v", reason="misdeal"))
    verdict = proved(table)
    assert verdict.expected is not None
    assert verdict.expected.void
    assert [refund.stake for refund in verdict.expected.refunds] == [1000, 100]


def test_a_void_after_the_first_phase_was_paid(table: SignedTable) -> None:
    table.open((1, "player", 1000), (2, "player_pair", 100))
    table.deal(("2S", "3D", "2H", "4C"))
    table.ask("supervisor", VoidCoup(transaction="v", reason="misdeal"))
    assert proved(table).expected is not None


def test_a_void_coup_whose_first_phase_was_put_right(tmp_path: Path) -> None:
    with signed_table(tmp_path / "table.sqlite", rulebook="nz-scale-two") as table:
        table.ready()
        table.open((1, "banker", 1000), (1, "perfect_pairs", 1000))
        table.deal(("2S", "3D", "2S", "KC"))
        table.ask("supervisor", VoidCoup(transaction="v", reason="misdeal"))
        coup, face = f"{SHOE}/1", Card.H2
        right = CorrectCard(
            transaction="c", coup=coup, hand=Hand.PLAYER, number=2, face=face, reason="seen"
        )
        table.ask("supervisor", right)
        verdict = proved(table)
    assert verdict.expected is not None
    assert (verdict.expected.void, verdict.expected.paid) == (True, 7000)


def test_a_squeezed_coup(table: SignedTable) -> None:
    table.open((1, "banker", 1000))
    faces = ("2S", "3D", "KH", "KC")
    places = ((Hand.PLAYER, 1), (Hand.BANKER, 1), (Hand.PLAYER, 2), (Hand.BANKER, 2))
    table.say(*(drawn(*place) for place in places))
    table.say(*(revealed(*place, face) for place, face in zip(places, faces, strict=True)))
    table.say(drawn(Hand.PLAYER, 3, "TD"), drawn(Hand.BANKER, 3, "2C"))
    table.say(DeviceResult(winner="banker"))
    verdict = proved(table)
    assert verdict.expected is not None
    assert verdict.expected.banker_total == 5


def test_a_card_entered_by_hand_and_one_corrected_before_the_settlement(
    table: SignedTable,
) -> None:
    table.open((1, "player", 1000), (2, "banker_pair", 300))
    table.deal(("9S", "2D", "KH"))
    table.say(CardUnreadable(hand=Hand.BANKER, number=2))
    table.ask(
        "supervisor",
        EnterCard(transaction="e", hand=Hand.BANKER, number=2, face=Card.C2, reason="seen"),
    )
    table.ask(
        "supervisor",
        CorrectCard(transaction="c", hand=Hand.BANKER, number=2, face=Card.C3, reason="seen"),
    )
    table.ask(
        "supervisor",
        MarkUnreadable(transaction="m", hand=Hand.PLAYER, number=2, reason="bent"),
    )
    table.ask(
        "supervisor",
        EnterCard(transaction="e2", hand=Hand.PLAYER, number=2, face=Card.HQ, reason="seen"),
    )
    table.ask("supervisor", ConfirmResult(transaction="y", reason="seen"))
    proved(table)


def test_corrections_after_the_settlement_are_judged_and_proved_too(table: SignedTable) -> None:
    coup = table.coup()
    table.ask(
        "supervisor",
        CorrectHands(
            transaction="h",
            coup=coup,
            player=(Card.S9, Card.HK),
            banker=(Card.D5, Card.C4),
            reason="the film shows it",
        ),
    )
    verdict = proved(table)
    assert verdict.expected is not None
    assert verdict.expected.winner is not None
    assert verdict.expected.winner.value == "tie"
    assert verdict.expected.paid == 1000 + 2000 + 500 * 9
    table.ask(
        "supervisor",
        CorrectWager(
            transaction="w",
            coup=coup,
            to=WagerRequest(seat=4, bet="tie", stake=100),
            reason="it lay there",
        ),
    )
    verdict = proved(table)
    assert verdict.expected is not None
    assert verdict.expected.paid == 1000 + 2000 + 500 * 9 + 100 * 9


# ---- the command ----


def run(capsys: pytest.CaptureFixture[str], *args: object) -> tuple[int, str, str]:
    code = main(["evidence", *map(str, args)])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_command_makes_and_verifies(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "coup.json"
    for args in ((log, "--coup", COUP, "-o", file), ("--coup", COUP, log, "--output", file)):
        code, out, err = run(capsys, *args)
        assert (code, out, err.count("\n")) == (0, "", 1)
    code, out, err = run(capsys, "verify", file, "--key", KEY.verifier, "--json")
    told = json.loads(out)
    assert (code, err, told["ok"], told["coup"], told["part"]) == (0, "", True, COUP, None)
    assert told["expected"]["paid"] == 2000
    code, out, err = run(capsys, "verify", file, "--key", KEY.verifier)
    assert (code, err) == (0, "")
    assert "Player  9S KH = 9" in out
    file.write_bytes(file.read_bytes().replace(b'"KH"', b'"QH"'))
    code, out, err = run(capsys, "verify", file, "--key", KEY.verifier, "--json")
    told = json.loads(out)
    assert (code, err, told["ok"], told["part"]) == (1, "", False, "expected")
    code, out, err = run(capsys, "verify", file, "--key", KEY.verifier)
    assert (code, err, out.count("\n")) == (1, "", 1)
    assert "NOT ok: expected" in out


def test_what_the_command_cannot_use_is_said_in_one_line(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out_file = tmp_path / "out.json"
    junk = tmp_path / "junk"
    junk.write_bytes(b"{}")
    key = KEY.verifier
    for args in (
        (tmp_path / "none", "--coup", COUP, "-o", out_file),
        (log, "--coup", "20261127-01/99", "-o", out_file),
        (log, "--coup", "", "-o", out_file),
        (log, "--coup", COUP),
        (log, "-o", out_file),
        (log, "--coup", COUP, "-o", tmp_path / "no" / "folder"),
        (log, "--coup", COUP, "-o", out_file, "--rulebook", tmp_path / "none"),
        (log, "--coup", COUP, "-o", out_file, "--rulebook", junk),
        ("verify", tmp_path / "none", "--key", key),
        ("verify", tmp_path, "--key", key),
        ("verify", junk, "--key", key),
        ("verify", log, "--key", key),
        ("verify", junk, "--key", "nonsense"),
        ("verify", junk),
    ):
        code, out, err = run(capsys, *args)
        assert (code, out, err.count("\n")) == (2, "", 1), args
    assert not out_file.exists()


def test_a_coup_that_cannot_be_proved_yet_is_answered_with_no(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with signed_table(tmp_path / "table.sqlite") as table:
        table.ready()
        table.open((1, "player", 1000))
        capsys.readouterr()
        asked = (table.log.path, "--coup", f"{SHOE}/1", "-o", tmp_path / "x")
        code, out, err = run(capsys, *asked)
        assert (code, out, err.count("\n")) == (1, "", 1)
        assert "not over yet" in err
        table.deal()
        table.say(DeviceResult(winner="player"))
        code, _, err = run(capsys, *asked)
        assert code == 1
        assert "no checkpoint covers" in err
        table.table.make_due_checkpoint()
        assert run(capsys, *asked)[0] == 0


def test_from_a_log_that_was_changed_no_evidence_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = played(tmp_path / "table.sqlite", coups=1)
    with forging(path) as db:
        db.execute("UPDATE event SET bytes = replace(bytes, 'KH', 'QH') WHERE position = 12")
    capsys.readouterr()
    code, out, err = run(capsys, path, "--coup", f"{SHOE}/1", "-o", tmp_path / "x")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "position 12" in err
    assert not (tmp_path / "x").exists()


def test_a_stored_checkpoint_that_was_changed_proves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = played(tmp_path / "table.sqlite", coups=1)
    (_, first), *_, (_, second) = stored_checkpoints(path)
    mixed = second.partition(b"\n\n")[0] + b"\n\n" + first.partition(b"\n\n")[2]
    with forging(path) as db:
        db.execute("UPDATE checkpoint SET note = ? WHERE note = ?", (mixed, second))
    code, _, err = run(capsys, path, "--coup", f"{SHOE}/1", "-o", tmp_path / "x")
    assert code == 1
    assert "badly signed" in err


@pytest.mark.process
@pytest.mark.cold_start
def test_the_verifier_needs_no_log_no_shell_and_no_clock() -> None:
    forbidden = ("sqlite3", "asyncio", "events.log", "events.proof.keys", "table_core.service")
    code = (
        "import sys, table_core.evidence.bundle, table_core.evidence.judge\n"
        f"print([m for m in sys.modules if m.startswith({forbidden!r})])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert ran.stdout == "[]\n"
