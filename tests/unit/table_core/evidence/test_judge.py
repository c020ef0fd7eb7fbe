"""Evidence for coups of every kind: void, squeezed, entered by hand, corrected; and the command."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from baccarat.cli.main import main
from baccarat.history.evidence_from_log import gather
from events.cards import Card, Hand
from events.commands.cards import CorrectCard, EnterCard, MarkUnreadable
from events.commands.corrections import CorrectHands, CorrectWager
from events.commands.coup import ConfirmResult, VoidCoup
from events.commands.wagers import WagerRequest
from events.log.store import Stored
from events.types.envelope import decode_data, decode_envelope
from events.types.shoe_reports import CardUnreadable, DeviceResult
from events.types.table import CoupSettled, TableEvent
from table_core.evidence.bundle import EvidenceVerdict, verify_evidence
from tests.support.log.logs import forging
from tests.support.table.coups import SHOE, drawn, revealed
from tests.support.table.evidence import KEY, SignedTable, played, signed_table, stored_checkpoints

PUBLIC = frozenset({KEY.verifier})
COUP = f"{SHOE}/2"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return played(tmp_path_factory.mktemp("log") / "table.sqlite", coups=3)


@pytest.fixture
def table(tmp_path: Path) -> Iterator[SignedTable]:
    with signed_table(tmp_path / "table.sqlite") as made:
        made.ready()
        yield made


def proved(table: SignedTable) -> EvidenceVerdict:
    table.checkpoints.look()
    table.clock.now_us += 10**9
    table.checkpoints.look()
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
        table.checkpoints.look()
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
    (_, first), (_, second) = stored_checkpoints(path)
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
