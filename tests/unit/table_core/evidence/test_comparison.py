"""Evidence of one coup is whole or refused; two files of it are compared."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from baccarat.cli.main import main
from baccarat.history.evidence_from_log import NoEvidence, gather
from displays.verifier.page import verify_page
from events.cards import Card
from events.commands import (
    AssignDealer,
    CloseBetting,
    CorrectHands,
    OpenBetting,
    PlaceWager,
    VoidCoup,
    WagerRequest,
)
from events.errors import InputError
from events.free_text import FORBIDDEN_CHARACTERS
from events.log.verify import verify
from events.proof.note import SigningKey
from table_core.evidence.bundle import (
    read_evidence,
    verify_evidence,
)
from table_core.evidence.comparison import compare_evidence
from tests.support.machine.commands import here
from tests.support.table.coups import COUP
from tests.support.table.evidence import KEY, resealed, signed_table
from tests.support.table.hostile import ACCEPTED, REFUSED, rewrite_hostile

PUBLIC = frozenset({KEY.verifier})
AFTER_THE_CARDS = (
    *("deal_completed", "result_confirmed", "coup_settled"),
    *("commission_reversed", "commission_accrued", "commission_collected", "commission_refunded"),
)
_HARMFUL = re.compile(f"[{FORBIDDEN_CHARACTERS}]")
NEIGHBOUR = SigningKey("site/t2", bytes(range(9, 41)))


def of(path: Path, coup: str = COUP) -> bytes:
    return gather(path, coup, build="test")


def bet(path: Path, stake: int, *, key: SigningKey = KEY) -> Path:
    """A log of one coup on which so much was staked."""
    with signed_table(path, key=key) as table:
        table.ready()
        table.open((1, "player", stake))
        table.coup_dealt()
    return path


@pytest.fixture(scope="module")
def corrected(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    """The evidence of a coup before its sides were exchanged, and after."""
    path = tmp_path_factory.mktemp("log") / "table.sqlite"
    with signed_table(path) as table:
        table.coup()
        before = of(path)
        player, banker = (Card("2D"), Card("3C")), (Card("9S"), Card("KH"))
        table.ask(
            "supervisor",
            CorrectHands(
                transaction=table.transaction(),
                coup=COUP,
                player=player,
                banker=banker,
                reason="sides exchanged",
            ),
        )
        table.table.make_due_checkpoint()
        after = of(path)
    return before, after


def without(*types: str) -> Callable[[dict[str, Any]], None]:
    def change(told: dict[str, Any]) -> None:
        names = [json.loads(each["stored"])["type"] for each in told["events"]]
        over = names.index("coup_settled")
        told["events"] = [
            each
            for index, (each, name) in enumerate(zip(told["events"], names, strict=True))
            if index <= over or name not in types
        ]

    return change


@pytest.mark.parametrize(
    ("left_out", "part"),
    [
        (("coup_settled",), "events"),
        (("hands_corrected",), "events"),
        (AFTER_THE_CARDS, "settlement"),
    ],
)
def test_half_a_correction_proves_nothing(
    corrected: tuple[bytes, bytes], left_out: tuple[str, ...], part: str
) -> None:
    assert verify_evidence(corrected[1], PUBLIC).ok
    verdict = verify_evidence(resealed(corrected[1], without(*left_out)), PUBLIC)
    assert not verdict.ok
    assert str(verdict.part).startswith(part)


def test_a_correction_left_out_whole_is_older_and_shown_by_the_other(
    corrected: tuple[bytes, bytes],
) -> None:
    before, after = map(read_evidence, corrected)
    found = compare_evidence(before, after)
    assert (found.result, found.newer) == ("newer", "second")
    assert compare_evidence(after, before)._replace(reason="") == found._replace(
        newer="first", reason=""
    )
    assert compare_evidence(after, after).result == "same"
    everything = without(*{json.loads(each.stored)["type"] for each in after.events[-8:]})
    hidden = read_evidence(resealed(corrected[1], everything))
    told = compare_evidence(hidden, after)
    assert (told.result, told.position) == ("contradicting", found.position)
    assert "the first: " in told.reason


def test_two_histories_of_one_key_both_verify_and_contradict_one_another(tmp_path: Path) -> None:
    files = []
    for stake in (5000, 50_000):
        data = of(bet(tmp_path / f"{stake}.sqlite", stake))
        assert verify_evidence(data, PUBLIC).ok
        files.append(tmp_path / f"{stake}.json")
        files[-1].write_bytes(data)
    first, second = (read_evidence(file.read_bytes()) for file in files)
    assert compare_evidence(first, second).result == "contradicting"


def test_the_key_of_another_table_proves_nothing(tmp_path: Path) -> None:
    path = bet(tmp_path / "table.sqlite", 1000, key=NEIGHBOUR)
    with pytest.raises(NoEvidence, match="signed by site/t2, another table's key"):
        of(path)
    told = verify(path, keys=frozenset({NEIGHBOUR.verifier}))
    assert not told.ok


def test_two_coups_are_not_compared(tmp_path: Path) -> None:
    path = tmp_path / "table.sqlite"
    with signed_table(path) as table:
        coups = [table.coup() for _ in range(2)]
    first, second = (read_evidence(of(path, coup)) for coup in coups)
    with pytest.raises(InputError, match="two files about one coup"):
        compare_evidence(first, second)


def test_the_command_answers_with_its_exit_code(
    corrected: tuple[bytes, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after, forged = (tmp_path / name for name in ("a.json", "b.json", "c.json"))
    before.write_bytes(corrected[0])
    after.write_bytes(corrected[1])
    forged.write_bytes(of(bet(tmp_path / "table.sqlite", 7000)))
    key = ["--key", str(KEY.verifier)]
    rows: list[tuple[list[object], int, str]] = [
        ([before, after, *key], 0, "newer: the second one goes on"),
        ([after, after], 0, "same: the same events; no signature was checked, give --key"),
        ([before, forged, *key], 1, "contradicting: two events at position"),
        ([before, forged, "--key", str(NEIGHBOUR.verifier)], 1, "does not verify"),
    ]
    for args, code, told in rows:
        assert main(["evidence", "compare", *map(str, args)]) == code
        assert told in capsys.readouterr().out
    assert main(["evidence", "compare", str(before), str(after), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["newer"] == "second"


@pytest.mark.parametrize("more", ["".join(REFUSED.values()), "".join(ACCEPTED.values())])
def test_evidence_of_a_hostile_log_draws_on_no_terminal_and_no_page(
    more: str, tmp_path: Path
) -> None:
    """An earlier build took any text as a reason, a patron or a dealer's reference."""
    honest, log = tmp_path / "honest.sqlite", tmp_path / "table.sqlite"
    with signed_table(honest) as table:
        said = table.transaction
        table.ready()
        table.ask("supervisor", AssignDealer(transaction=said(), dealer="d-1", supervisor="s-1"))
        table.ask("dealer", OpenBetting(transaction=said()))
        wager = WagerRequest(seat=3, bet="player", stake=1000, patron="p-17")
        table.ask("wagers", PlaceWager(transaction=said(), wagers=(wager,)))
        table.ask("dealer", CloseBetting(transaction=said()))
        table.deal()
        table.ask("supervisor", VoidCoup(transaction=said(), reason="a patron fell ill"))
    rewrite_hostile(honest, log, KEY.name, more)
    with signed_table(log) as table:
        table.coup()  # which signs what came before it
    first, second, page = (tmp_path / name for name in ("a.json", "b.json", "a.html"))
    shown = [here("evidence", log, "--coup", COUP, "-o", first, "--html", page)]
    assert json.loads(_voiding(first))["data"]["reason"] == f"{more}a patron fell ill{more}"
    second.write_bytes(resealed(first.read_bytes(), _without_voiding))
    key = ("--key", str(KEY.verifier))
    shown += [
        here("evidence", "verify", first, *key),
        here("evidence", "compare", first, first, *key),
        here("evidence", "verify", second, *key),
        here("evidence", "compare", first, second, *key),
    ]
    assert [each.code for each in shown] == [0, 0, 0, 1, 1]
    for each in shown:
        assert not _HARMFUL.search((each.out + each.err).replace("\n", ""))
    written = page.read_text("utf-8")
    assert not _HARMFUL.search(written.replace("\n", ""))
    assert written.count("<script") == verify_page().count("<script")


def _voiding(file: Path) -> str:
    events = [str(each["stored"]) for each in json.loads(file.read_bytes())["events"]]
    return next(each for each in events if json.loads(each)["type"] == "coup_voided")


def _without_voiding(told: dict[str, Any]) -> None:
    told["events"] = [each for each in told["events"] if "coup_voided" not in each["stored"]]
