"""`baccarat roads`, `odds`, `rulebook` and `settle` as scripts use them: exit codes, JSON."""

import hashlib
import json
import re
import resource
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import pytest

from displays.http.words import LANGUAGES
from events.cards import Card
from table_core.rulebooks.shipped import shipped_ids, shipped_source
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

PUBLISHED = msgspec.json.decode(vector("odds-8-decks.json"))["bets"]


def document(*arguments: object) -> Any:
    return json.loads(said(here(*arguments)))


# ---- roads ----


def test_the_roads_as_a_json_document() -> None:
    assert document("roads", "TBPPTB", "--json") == {
        "big_road": [
            [{"winner": "B", "ties": 1}],
            [{"winner": "P", "ties": 0}, {"winner": "P", "ties": 1}],
            [{"winner": "B", "ties": 0}],
        ],
        "heights": [1, 2, 1],
        "big_eye_boy": "BB",
        "small_road": "",
        "cockroach_pig": "",
        "bead_plate": ["T", "B", "P", "P", "T", "B"],
        "next": {
            "banker": {"big_eye_boy": "R", "small_road": "B", "cockroach_pig": ""},
            "player": {"big_eye_boy": "B", "small_road": "R", "cockroach_pig": ""},
        },
    }


def test_no_results_have_empty_roads() -> None:
    nothing = {"big_eye_boy": "", "small_road": "", "cockroach_pig": ""}
    assert document("roads", "", "--json") == {
        "big_road": [],
        "heights": [],
        **nothing,
        "bead_plate": [],
        "next": {"banker": nothing, "player": nothing},
    }


def test_the_roads_for_people() -> None:
    assert said(here("roads", "BBPTPPPBTT")).splitlines() == [
        "Bead plate",
        "  B P",
        "  B B",
        "  P T",
        "  T T",
        "  P",
        "  P",
        "Big road",
        "  B  P1 B2",
        "  B  P",
        "     P",
        "     P",
        "Big eye boy    RBRB",
        "Small road",
        "Cockroach pig",
        "A win now adds, in this order",
        "  Banker  R R -",
        "  Player  B B -",
    ]


@pytest.mark.parametrize(
    ("results", "named"), [("BPX", "'X' in place 3"), ("bp", "'b' in place 1"), ("B P", "' '")]
)
def test_a_letter_that_is_no_result_ends_with_its_place(results: str, named: str) -> None:
    told = complaint(here("roads", results))
    assert named in told
    assert "write P for Player, B for Banker, T for a tie" in told


def test_results_in_no_encoding_end_in_one_line_too() -> None:
    assert "is not UTF-8" in complaint(run("roads", b"BP\xff"))


# ---- odds ----


def test_exact_odds_as_a_json_document() -> None:
    found = document("odds", "--rulebook", "mini-lucky8", "--json")
    assert (found["rulebook"], found["decks"]) == ("mini-lucky8", 8)
    names = {
        "banker": "banker_5pct",
        "player": "player",
        "tie": "tie_8",
        "lucky8_player": "lucky8_player__A_each_hand_suited",
    }
    assert set(found["bets"]) == {*names, "lucky8_banker"}
    for bet, name in names.items():
        ours, theirs = found["bets"][bet], PUBLISHED[name]
        assert (ours["edge"], ours["edge_decimal"]) == (theirs["edge"], theirs["edge_decimal"])
        assert ours["categories"] == {
            category.removesuffix("_tie"): {k: row[k] for k in ("pays", "probability")}
            for category, row in theirs["categories"].items()
        }


def test_other_decks_and_the_option_for_suits_change_the_odds(tmp_path: Path) -> None:
    site = tmp_path / "site.toml"
    site.write_text(source("mini-lucky8", "bets.lucky8_player.variant=all_six"), encoding="utf-8")
    one, all_six = (
        document("odds", "--rulebook", book, "--decks", "4", "--json")
        for book in ("mini-lucky8", str(site))
    )
    chances = [
        Fraction(found["bets"]["lucky8_player"]["categories"]["double_suited_8"]["probability"])
        for found in (one, all_six)
    ]
    assert one["decks"] == 4
    assert one["bets"]["lucky8_banker"] == all_six["bets"]["lucky8_banker"]
    assert 0 < chances[1] < chances[0] / 3


def test_the_cards_left_are_read_from_a_file(tmp_path: Path) -> None:
    left = tmp_path / "left.json"
    left.write_text('{"9D": 5, "8H": 1}', encoding="utf-8")
    found = document("odds", "--rulebook", "ez", "--composition", str(left), "--json")
    # Two of nine cards make 8, an eight makes 7 and draws none.
    assert found["bets"]["tie"]["edge_decimal"] == "-2.0000000000"
    assert found["bets"]["tie"]["categories"] == {
        "win": {"pays": "8", "probability": "1/3"},
        "lose": {"pays": "-1", "probability": "2/3"},
    }
    assert found["bets"]["dragon7"]["categories"]["win"] == {"pays": "40", "probability": "0/1"}


def test_a_full_composition_is_the_full_shoe(tmp_path: Path) -> None:
    left = tmp_path / "left.json"
    left.write_bytes(msgspec.json.encode({card.value: 6 for card in Card}))
    asked = ("odds", "--rulebook", "ez", "--decks", "6", "--json")
    assert document(*asked, "--composition", str(left)) == document(*asked)


def test_exact_odds_for_people() -> None:
    told = said(here("odds", "--rulebook", "au-even-money"))
    assert told.startswith("au-even-money: 416 cards left of 8 decks\n")
    assert "banker                 the house keeps    1.4581 %" in told
    assert "  win_on_6             pays    1/2  comes    5.386372 %" in told


BAD_ODDS = {
    ("--rulebook", "nope"): "known are au-commission",
    ("--rulebook", "missing.toml"): "missing.toml: cannot be read",
    ("--rulebook", "ez", "--decks", "5"): "'5' is not one of",
    (): "--rulebook",
}


@pytest.mark.parametrize("options", BAD_ODDS, ids=" ".join)
def test_bad_usage_of_odds_is_told_in_one_line(options: tuple[str, ...]) -> None:
    assert BAD_ODDS[options] in complaint(here("odds", *options))


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ('{"9D": 9}', "9D: 9 is no count; of 8 decks 0 to 8 copies can be left"),
        ('{"9D": 5}', "cards left: 5; a coup can need 6"),
        ('{"9X": 5}', "'9X' is not a card"),
        ("nine", "not a JSON document"),
    ],
)
def test_a_bad_composition_is_told_in_one_line(tmp_path: Path, content: str, named: str) -> None:
    left = tmp_path / "left.json"
    left.write_text(content, encoding="utf-8")
    told = complaint(here("odds", "--rulebook", "ez", "--composition", left))
    assert f"{left}: " in told
    assert named in told


# ---- rulebooks ----


def test_the_shipped_rulebooks_are_listed() -> None:
    found = document("rulebook", "list", "--json")
    assert [book["id"] for book in found] == list(shipped_ids())
    assert [book["hash"] for book in found] == [
        hashlib.sha256(shipped_source(name)).hexdigest() for name in shipped_ids()
    ]
    lines = said(here("rulebook", "list")).splitlines()
    assert [line.split()[0] for line in lines] == list(shipped_ids())


def test_a_rulebook_is_shown_as_a_json_document() -> None:
    found = document("rulebook", "show", "mini-lucky8", "--json")
    assert (found["id"], found["decks"], found["currency"]) == ("mini-lucky8", 8, "USD")
    assert found["commission"] == {"rate": "1/20", "timing": "prepaid", "block": 1}
    options = {"allow_opposite": False, "max_options": 3}
    assert found["options"] == options | {"tie_is_main": None, "side_bet_first": True}
    assert found["bets"]["banker"]["pays"] == {"win": "1", "push": "push"}
    lucky = found["bets"]["lucky8_player"]
    assert lucky["pays"]["double_suited_8"] == "200"
    assert (lucky["variant"], lucky["maximum"], lucky["requirement"]) == (
        "each_hand",
        30000,
        "any_main",
    )
    assert found["caps"][0]["maximum"] == 3_000_000


def test_a_rulebook_is_shown_to_people() -> None:
    told = said(here("rulebook", "show", "nz-scale-one"))
    assert "perfect_pairs        mixed 5, coloured 10, perfect 30; by player; phase 1" in told
    assert "Commission 1/20 of winnings, deduct" in told


def test_a_site_copies_a_shipped_file_and_changes_it(tmp_path: Path) -> None:
    shown = said(here("rulebook", "show", "au-commission", "--source")).encode()
    assert shown == shipped_source("au-commission")
    own = tmp_path / "own.toml"
    own.write_bytes(shown.replace(b'"au-commission"', b'"own"'))
    checked = document("rulebook", "check", str(own), "--json")
    odds = document("odds", "--rulebook", str(own), "--json")["bets"]
    assert checked == {
        "ok": True,
        "id": "own",
        "hash": hashlib.sha256(own.read_bytes()).hexdigest(),
        "reason": None,
        "faults": [],
        "edges": {bet: row["edge"] for bet, row in odds.items()},
    }
    assert document("rulebook", "show", str(own), "--json")["id"] == "own"
    assert ": ok, own, " in said(here("rulebook", "check", own))


@pytest.mark.parametrize(
    ("section", "instead", "wrong"),
    [
        (r"form = 2([\s\S]*?)decimals = 2\n", r"form = 1\1", "sign.lines: "),
        (r"\[bets\.tie\]\n[^\[]*", "", "bets.tie: missing"),
    ],
)
def test_a_rulebook_without_a_sign_or_a_main_wager_is_not_played_by(
    tmp_path: Path, section: str, instead: str, wrong: str
) -> None:
    text = shipped_source("ez").decode().replace('"ez"', '"own"')
    less = re.sub(section, instead, text)
    assert less != text
    own = tmp_path / "own.toml"
    own.write_text(less, encoding="utf-8")
    done = here("rulebook", "check", own)
    assert (done.code, wrong in done.out) == (1, True)
    assert here("rulebook", "show", own).code == 0  # a coup can be judged by it


def test_the_rules_are_written_as_pages_that_load_nothing(tmp_path: Path) -> None:
    told = said(here("rulebook", "page", "nz-scale-one", "-o", tmp_path / "pages"))
    pages = {path.name: path.read_text("utf-8") for path in (tmp_path / "pages").iterdir()}
    assert set(pages) == {f"nz-scale-one.{tag}.html" for tag in LANGUAGES}
    assert [Path(line).name for line in told.splitlines()] == sorted(pages)
    for tag, text in pages.items():
        assert f'<html lang="{tag.split(".")[1]}">' in text
        assert "default-src 'none'" in text
        assert re.findall(r"<script|<link|<img|\ssrc=|https?://|url\(|@import", text) == []
        assert set(re.findall(r'href="([^"]+)"', text)) == set(pages)
        # Pay scale one of seed 1, 11A.7.
        cells = re.findall(r"<td>([^<]*)</td>", text)
        assert all(any(re.search(rf"\b{odds}\b", cell) for cell in cells) for odds in (5, 10, 30))
    first = told.splitlines()[0]
    assert here("rulebook", "page", "nz-scale-one", "-o", first).code == 2


def test_the_cards_left_may_come_on_standard_input() -> None:
    left = msgspec.json.encode({"9D": 8, "AS": 8, "KH": 8, "2C": 4})
    told = said(here("odds", "--rulebook", "ez", "--composition", "-", stdin=left))
    assert told.startswith("ez: 28 cards left of 8 decks")


def test_a_bad_rulebook_is_refused_with_file_key_and_every_reason(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(source("ez", "bets.tie.pays.draw=9", "unit=0"), encoding="utf-8")
    done = here("rulebook", "check", own)
    assert (done.code, done.err) == (1, "")
    told = here("rulebook", "check", own, "--json")
    verdict = json.loads(told.out)
    assert (told.code, verdict["ok"], verdict["id"]) == (1, False, None)
    assert done.out.splitlines() == [
        f"{own}: NOT ok: {each['where']}: {each['text']}; {each['remedy']} [{each['code']}]"
        for each in verdict["faults"]
    ]
    found = [(each["where"], each["code"]) for each in verdict["faults"]]
    assert found == [
        ("unit", "wrong_value"),
        ("bets.tie.pays.draw", "unknown_category"),
        ("id", "shipped_id"),
    ]
    assert "tie" not in verdict["edges"]
    assert verdict["edges"]["player"] == "241149546272/19524993263685"
    own.write_text("unit = [", encoding="utf-8")
    assert "not a TOML file" in complaint(here("rulebook", "check", own, "--json"))
    own.write_text(source("ez", "bets.tie.pays.draw=9"), encoding="utf-8")
    assert "own.toml: " in complaint(here("odds", "--rulebook", str(own)))


def test_a_file_far_too_long_for_a_rulebook_is_none(tmp_path: Path) -> None:
    path = tmp_path / "long.toml"
    path.write_bytes(b"#" * (1024 * 1024 + 1))
    assert "longer than" in complaint(here("rulebook", "check", str(path)))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("check", "missing.toml"), "missing.toml: cannot be read: No such file"),
        (("check", "/"), "cannot be read"),
        (("check", "/dev/zero"), "is no file"),
        (("show", "nope"), "known are"),
        (("show",), "Missing argument"),
    ],
)
def test_bad_usage_of_rulebook_is_told_in_one_line(arguments: tuple[str, ...], named: str) -> None:
    assert named in complaint(here("rulebook", *arguments))


COUP = "9H,2D,8S,KC,5H"
ONE = ("--rulebook", "au-commission", "--cards", COUP)
CASE = b'{"case":%d,"rules":"ez","cards":["9H","9D","KS","KC"],"wagers":[]}\n'


def settle(*options: object, sent: bytes = b"") -> Done:
    return here("settle", *options, stdin=sent)


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
