"""`baccarat settle` as scripts use it: real processes, pipes, exit codes."""

import json
import resource
import subprocess
from pathlib import Path

import msgspec
import pytest

from tests.support.cage.books import source
from tests.support.machine.commands import (
    Done,
    at_work,
    complaint,
    documents,
    here,
    read_line,
    run,
    said,
)
from tests.support.machine.files import vector

COUP = "9H,2D,8S,KC,5H"
ONE = ("--rulebook", "au-commission", "--cards", COUP)
CASE = b'{"case":%d,"rules":"ez","cards":["9H","9D","KS","KC"],"wagers":[]}\n'


def settle(*options: object, sent: bytes = b"") -> Done:
    return run("settle", *options, stdin=sent)


def test_one_coup_as_a_json_document() -> None:
    done = settle(*ONE, "--wager", "3:banker=2500", "--wager", "tie=100", "--json")
    assert json.loads(said(done)) == {
        "player": ["9H", "8S"],
        "banker": ["2D", "KC", "5H"],
        "player_total": 7,
        "banker_total": 7,
        "winner": "tie",
        "settlements": [
            {
                "id": "w0",
                "bet": "banker",
                "result": "push",
                "category": "push",
                "stake": 2500,
                "winnings": 0,
                "commission": 0,
                "paid": 2500,
            },
            {
                "id": "w1",
                "bet": "tie",
                "result": "win",
                "category": "win",
                "stake": 100,
                "winnings": 800,
                "commission": 0,
                "paid": 900,
            },
        ],
    }


def test_one_coup_for_people() -> None:
    done = settle("--rulebook", "au-commission", "--cards", "10h, 2D,9S,2C", "--wager", "7:tie=5")
    for part in (
        "Player  10♥ 9♠ = 9",
        "Banker  2♦ 2♣ = 4",
        "Result  player",
        "seat  7  tie",
        "AUD",
    ):
        assert part in said(done)


def test_a_refused_wager_is_told_and_the_answer_is_no() -> None:
    done = settle(*ONE, "--wager", "player=5", "--wager", "banker=5", "--json")
    assert done.code == 1
    first, second = json.loads(done.out)["settlements"]
    assert (first["paid"], second["code"]) == (5, "opposite_sides")
    assert "refused: invalid_stake" in settle(*ONE, "--wager", "tie=-5").out


def test_a_coup_is_judged_by_a_sites_own_rulebook(tmp_path: Path) -> None:
    file = tmp_path / "harbour.toml"
    file.write_text(source("au-commission", "id=harbour", "bets.tie.minimum=500"), "utf-8")
    done = settle("--rulebook", str(file), "--cards", COUP, "--wager", "tie=100", "--json")
    assert (done.code, done.err) == (1, "")
    assert json.loads(done.out)["settlements"][0]["code"] == "below_minimum"
    file.write_text("id = 5", "utf-8")
    assert f"{file}: " in complaint(settle("--rulebook", file, "--cards", COUP))


# options -> part of the one line
BAD: list[tuple[tuple[str, ...], str]] = [
    ((), "write --rulebook R --cards"),
    (("--rulebook", "ez"), "write --rulebook R --cards"),
    (("--rulebook", "no-such-book", "--cards", COUP), "known are au-commission"),
    (("--rulebook", "../ez", "--cards", COUP), "known are au-commission"),
    (("--rulebook", "ez", "--cards", "9H,2D,8S,KC,5X"), "'5X' is not a card"),
    (("--rulebook", "ez", "--cards", "9H,,2D"), "'' is not a card"),
    (("--rulebook", "ez", "--cards", ""), "incomplete_coup"),
    (("--rulebook", "ez", "--cards", "9H,2D"), "incomplete_coup"),
    (("--rulebook", "ez", "--cards", f"{COUP},9S"), "excess_card"),
    (("--rulebook", "ez", "--cards", ",".join(["9H"] * 9)), "too_many_copies"),
    ((*ONE, "--wager", "banker"), "write [SEAT:]BET=STAKE"),
    ((*ONE, "--wager", "banker=1.5"), "write [SEAT:]BET=STAKE"),
    ((*ONE, "--wager", "x:banker=5"), "write [SEAT:]BET=STAKE"),
    ((*ONE, "--wager", "banker=" + "9" * 5000), "write [SEAT:]BET=STAKE"),
    (("--batch", *ONE), "--batch takes its cases from stdin"),
    (("--no-such-option",), "No such option"),
]


@pytest.mark.parametrize(("options", "reason"), BAD)
def test_bad_input_is_one_line_and_exit_2(options: tuple[str, ...], reason: str) -> None:
    assert reason in complaint(here("settle", *options))


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_batch_answers_the_outside_cases_in_their_order(options: tuple[str, ...]) -> None:
    sent = vector("settlement.jsonl")
    done = settle("--batch", *options, sent=sent)
    said(done)
    got = documents(done)
    expected = [msgspec.json.decode(line) for line in sent.splitlines()]
    for answer in got:
        if "error" in answer:
            answer["error"] = answer["error"]["code"]
    assert got == [{"case": case["case"], **case["expect"]} for case in expected]


def test_an_empty_batch_is_done() -> None:
    assert settle("--batch") == Done(0, "", "")


@pytest.mark.parametrize(
    "junk",
    [
        b"nonsense\n",
        b"\n",
        b"\xff\xfe\n",
        b"[" * 200_000 + b"\n",
        b'{"x":' + b"[" * 200_000 + b"\n",
        b'{"case":3,"rules":"ez"',
        b" " * (17 * 1024 * 1024),
    ],
    ids=["word", "empty", "not-utf8", "array", "deep", "cut-short", "endless"],
)
def test_a_line_that_is_no_json_ends_the_batch_and_is_named(junk: bytes) -> None:
    done = settle("--batch", "--json", sent=CASE % 1 + CASE % 2 + junk)
    assert [line["case"] for line in documents(done)] == [1, 2]
    assert complaint(done._replace(out="")).startswith("baccarat: line 3: ")


def test_json_that_is_no_case_is_answered_in_its_place_and_the_batch_goes_on() -> None:
    wager = b'{"case":2,"rules":"ez","cards":[],"wagers":[{"id":"w","stakes":5}]}\n'
    done = settle("--batch", "--json", sent=CASE % 1 + wager + b"[]\n" + CASE % 4)
    said(done)
    lines = documents(done)
    assert [line["case"] for line in lines] == [1, 2, None, 4]
    assert [line.get("error", {}).get("code") for line in lines] == [
        None,
        "invalid_case",
        "invalid_case",
        None,
    ]
    assert "unknown field `stakes` - at `$.wagers[0]`" in lines[1]["error"]["text"]


def test_each_answer_comes_before_the_next_case_is_sent() -> None:
    with at_work("settle", "--batch", "--json", stdin=subprocess.PIPE) as batch:
        assert batch.stdin is not None
        for number in range(3):
            batch.stdin.write(CASE % number)
            assert json.loads(read_line(batch))["case"] == number
        assert batch.communicate() == (b"", b"")
    assert batch.returncode == 0


def test_a_reader_that_goes_away_leaves_no_traceback() -> None:
    with at_work("settle", "--batch", stdin=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        _, said = process.communicate(CASE % 1 * 1000)
    assert (process.returncode, said) == (1, b"")


def test_a_closed_stdin_is_bad_input() -> None:
    shell = ("/bin/sh", "-c", 'exec "$@" <&-', "sh")
    assert "stdin" in complaint(run("settle", "--batch", within=shell))


def test_three_thousand_coups_in_three_seconds() -> None:
    lines = vector("settlement.jsonl").splitlines(keepends=True)
    sent = b"".join((lines * 19)[:3000])
    before = _processor_s()
    done = settle("--batch", "--json", sent=sent)
    assert done.out.count("\n") == 3000
    assert _processor_s() - before < 3


def _processor_s() -> float:
    """What children that have ended have used: a busy machine changes little of it."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
