"""Cases as lines: the outside vectors in full, junk, and what is given back."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from events.errors import InputError
from table_core.batch import CaseError, CaseJudge, Judgement, answer_line, judge_case
from table_core.rulebooks.shipped import load_rulebook, shipped_ids
from tests.support.cage.books import book
from tests.support.machine.files import vector
from tests.support.table.deals import cards, wagers

COUP = ["9H", "2D", "8S", "KC", "5H"]  # a tie, 7 each


JUDGES = {name: CaseJudge(load_rulebook(name)) for name in shipped_ids()}


def answer(line: bytes | str) -> Any:
    sent = line if isinstance(line, bytes) else line.encode()
    return msgspec.json.decode(answer_line(sent, JUDGES.get))


def case(**fields: Any) -> bytes:
    usual = {"case": "c", "rules": "au-commission", "cards": COUP, "wagers": []}
    return msgspec.json.encode({k: v for k, v in (usual | fields).items() if v is not ...})


VECTORS = vector("settlement.jsonl").splitlines()


@pytest.mark.parametrize("line", VECTORS, ids=lambda line: msgspec.json.decode(line)["case"])
def test_a_case_is_settled_as_it_was_elsewhere(line: bytes) -> None:
    sent = msgspec.json.decode(line)
    got = answer(line)
    if "error" in sent["expect"]:
        assert got["error"].pop("text")
        assert got == {"case": sent["case"], "error": {"code": sent["expect"]["error"]}}
    else:
        assert got == {"case": sent["case"], **sent["expect"]}


# cards, with `*n` for n copies -> code; 8 decks
CARDS = """
9H 2D 8S KC        -> incomplete_coup
                   -> incomplete_coup
9H 2D 8S KC 5H 5H  -> excess_card
9H 2D 8S KC 5X     -> invalid_card
9H 2D 8S KC 1H     -> invalid_card
9H 2D 8S KC ??     -> invalid_card
XX                 -> invalid_card
9H*8               -> excess_card
9H*9               -> too_many_copies
9H*9 XX            -> invalid_card
"""


@pytest.mark.parametrize("line", CARDS.strip("\n").splitlines())
def test_cards_that_are_no_coup_have_their_code(line: str) -> None:
    dealt, _, code = line.partition("->")
    row: list[str] = []
    for word in dealt.split():
        face, _, times = word.partition("*")
        row += [face] * int(times or 1)
    assert answer(case(cards=row))["error"]["code"] == code.strip()


def test_a_shoe_of_fewer_decks_holds_fewer_copies() -> None:
    row = cards("2H 2H 2H 2H 2H")
    judged = judge_case(book("au-commission", "decks=4"), row, ())
    assert judged == CaseError(code="too_many_copies", text="2H comes 5 times; 4 decks hold 4")


def test_a_face_twice_running_is_no_mistake() -> None:
    assert answer(case(cards=["9H", "9H", "KS", "KS"]))["winner"] == "tie"


def test_tens_may_be_written_both_ways() -> None:
    got = answer(case(cards=["9H", "10D", "10s", "tc"]))
    assert (got["player"], got["banker"]) == (["9H", "TS"], ["TD", "TC"])


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"rules": ...}, "unknown_rulebook"),
        ({"rules": None}, "unknown_rulebook"),
        ({"rules": 7}, "unknown_rulebook"),
        ({"rules": "no-such-book"}, "unknown_rulebook"),
        ({"rules": "../rulebooks/ez"}, "unknown_rulebook"),
        ({"rules": "no-such-book", "cards": ["XX"]}, "unknown_rulebook"),
        ({"cards": ...}, "incomplete_coup"),
        ({"cards": None}, "incomplete_coup"),
        ({"cards": "9H,2D"}, "invalid_card"),
        ({"cards": {"a": 1}}, "invalid_card"),
        ({"cards": [9]}, "invalid_card"),
        ({"cards": [["9H"]]}, "invalid_card"),
        ({"cards": ["9H" * 100_000]}, "invalid_card"),
    ],
)
def test_a_case_with_odd_values_is_answered_by_its_code(fields: dict[str, Any], code: str) -> None:
    line = answer_line(case(**fields), JUDGES.get)
    assert msgspec.json.decode(line)["error"]["code"] == code
    assert len(line) < 200


STAKES = ["0", "-1", "-0", "1.5", "100.0", "1e2", "1e400", "true", "null", '"100"', "[]", "{}"]


@pytest.mark.parametrize("stake", [*STAKES, "9007199254740992", "9" * 30, "9" * 6000])
def test_a_stake_that_is_no_amount_is_refused(stake: str) -> None:
    asked = f'[{{"id":"w","seat":1,"bet":"tie","stake":{stake}}}]'
    line = case(wagers=...)[:-1].decode() + f',"wagers":{asked}}}'
    assert answer(line)["settlements"] == [
        {"id": "w", "bet": "tie", "result": "refused", "code": "invalid_stake"}
    ]


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"id": "w"}, "unknown_bet"),
        ({"id": "w", "bet": None, "seat": 1, "stake": 1}, "unknown_bet"),
        ({"id": "w", "bet": ["tie"], "seat": 1, "stake": 1}, "unknown_bet"),
        ({"id": "w", "bet": "", "seat": 1, "stake": 1}, "unknown_bet"),
        ({"id": "w", "bet": "tie", "seat": 1}, "invalid_stake"),
        ({"id": "w", "bet": "tie", "stake": 1}, "invalid_seat"),
        ({"id": "w", "bet": "tie", "seat": 0, "stake": 1}, "invalid_seat"),
        ({"id": "w", "bet": "tie", "seat": 100, "stake": 1}, "invalid_seat"),
        ({"id": "w", "bet": "tie", "seat": 1.5, "stake": 1}, "invalid_seat"),
        ({"id": "w", "bet": "tie", "seat": "1", "stake": 1}, "invalid_seat"),
    ],
)
def test_a_wager_with_odd_values_is_refused_and_the_others_stand(
    asked: dict[str, Any], code: str
) -> None:
    good = {"id": "g", "seat": 1, "bet": "tie", "stake": 5}
    refused, settled = answer(case(wagers=[asked, good]))["settlements"]
    assert (refused["result"], refused["code"]) == ("refused", code)
    assert (settled["id"], settled["paid"]) == ("g", 45)


def test_an_id_twice_names_two_lines_in_their_order() -> None:
    tie = {"id": "a", "seat": 1, "bet": "tie", "stake": 5}
    lines = answer(case(wagers=[tie, tie | {"stake": 7}, tie | {"id": "b"}]))["settlements"]
    assert [line.get("code", line["result"]) for line in lines] == [
        "win",
        "duplicate_wager",
        "win",
    ]


def test_a_patron_reference_joins_seats() -> None:
    asked = [
        {"id": "a", "seat": 1, "bet": "player", "stake": 5, "patron": "p"},
        {"id": "b", "seat": 2, "bet": "banker", "stake": 5, "patron": "p"},
    ]
    lines = answer(case(wagers=asked))["settlements"]
    assert lines[1]["code"] == "opposite_sides"


def test_a_maximum_binds_the_sum_in_the_order_of_the_list() -> None:
    stakes = {"player": [500], "lucky8_player": [10_000, 20_000, 1, 30_000]}
    asked = [
        {"id": f"{bet}/{n}", "seat": 1, "bet": bet, "stake": stake}
        for bet, row in stakes.items()
        for n, stake in enumerate(row)
    ]
    lines = answer(case(rules="mini-lucky8", wagers=asked))["settlements"]
    assert [line.get("code", "-") for line in lines] == ["-", "-", "-", *["above_maximum"] * 2]


@pytest.mark.parametrize(
    "name", ['"11-4"', "7", "null", "1e400", '{"a":[1]}', '"\\u00e9"', "123456789012345678901"]
)
def test_the_cases_name_is_given_back_as_it_was_written(name: str) -> None:
    line = f'{{"case":{name},"rules":"ez","cards":[]}}'
    assert answer_line(line.encode(), JUDGES.get).startswith(f'{{"case":{name},'.encode())


def test_a_case_without_name_or_wagers_is_a_case() -> None:
    got = answer(case(case=..., wagers=...))
    assert (got["case"], got["winner"], got["settlements"]) == (None, "tie", [])


def test_a_colon_in_a_text_is_no_key() -> None:
    tie = {"id": "7:tie", "seat": 1, "bet": "tie", "stake": 5, "patron": "p"}
    got = answer(case(case="21:40:07", wagers=[tie, tie | {"id": "b", "patron": None}]))
    assert [line["paid"] for line in got["settlements"]] == [45, 45]


def test_fields_beside_a_case_are_left_alone() -> None:
    assert answer(case(expect={"error": 1}, note=[1.5], kind="\\"))["winner"] == "tie"


# line -> part of the reason
JUNK: list[tuple[bytes, str]] = [
    (b"", "not a case in JSON: it is empty"),
    (b"\n", "not a case in JSON: it is empty"),
    (b"{", "not a case in JSON"),
    (b"nonsense", "not a case in JSON"),
    (b"\xff", "can't decode byte 0xff"),
    (b'{"case":"\xff"}', "can't decode byte 0xff"),
    (b'{"unknown":"\xff"}', "can't decode byte 0xff"),
    (b"\xef\xbb\xbf{}", "not a case in JSON"),
    (b'{"case":"\\ud800"', "not a case in JSON"),
    (b"[" * 100_000, "recursion"),
    (b'{"case":1,"wagers":7', "Input data was truncated"),
    (b'[] {"case":1}', "trailing characters"),
    (b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "recursion"),
    (b'{"rules":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "recursion"),
    (b'{"case":NaN}', "not a case in JSON"),
    (case(wagers=7)[:-1] + b",}", "JSON is malformed"),
]
STAKED = case(wagers=[{"id": "w", "seat": 1, "bet": "tie", "stake": 5}])
# What is JSON and no case -> part of the reason
SHAPES: list[tuple[bytes, str]] = [
    (b"[]", "Expected `object`, got `array`"),
    (b"null", "Expected `object`, got `null`"),
    (b"7", "Expected `object`, got `int`"),
    (case(wagers={"id": "w"}), "Expected `array`, got `object` - at `$.wagers`"),
    (case(wagers=None), "Expected `array`, got `null` - at `$.wagers`"),
    (case(wagers=[{"id": "w"}, 7]), "Expected `object`, got `int` - at `$.wagers[1]`"),
    (case(wagers=[{"bet": "tie"}]), "missing required field `id` - at `$.wagers[0]`"),
    (case(wagers=[{"id": 7}]), "Expected `str`, got `int` - at `$.wagers[0].id`"),
    (case(wagers=[{"id": "w", "kind": "promo"}]), "unknown field `kind` - at `$.wagers[0]`"),
    (
        case(wagers=[{"id": "w", "_": "chips"}]).replace(b'"_"', rb'"\u006bind"'),
        "unknown field `kind` - at `$.wagers[0]`",
    ),
    (case(wagers=[{"id": "w", "patron": 7}]), "got `int` - at `$.wagers[0].patron`"),
    (case(x="@").replace(b"@", rb"\ud800"), "half of a character"),
    (case(wagers=[{"id": "@"}]).replace(b"@", rb"\udc00\ud800"), "half of a character"),
    (case(wagers=[{"id": 7, "bet": "@"}]).replace(b"@", rb"\udc00"), "Expected `str`, got `int`"),
    (b'{"case":1,' + case()[1:], "the key 'case' is there twice"),
    (case()[:-1] + b',"rules":"ez"}', "the key 'rules' is there twice"),
    (case(case=...)[:-1] + b',"rules":"ez","case":"c"}', "the key 'rules' is there twice"),
    (case(cards=...)[:-1] + rb',"cards":[],"c\u0061rds":[]}', "the key 'cards' is there twice"),
    (STAKED[:-1] + b',"wagers":[]}', "the key 'wagers' is there twice"),
    (STAKED.replace(b'"stake"', b'"stake":900,"stake"'), "the key 'stake' is there twice"),
    (STAKED.replace(b'"stake"', b'"stake":1.5,"stake"'), "the key 'stake' is there twice"),
    (STAKED.replace(b'"id"', b'"patron":"p","patron":null,"id"'), "'patron' is there twice"),
]


@pytest.mark.parametrize(("line", "reason"), JUNK)
def test_what_is_no_case_is_bad_input_and_says_where(line: bytes, reason: str) -> None:
    with pytest.raises(InputError) as raised:
        answer_line(line, JUDGES.get)
    assert reason in str(raised.value)
    assert len(str(raised.value)) < 200


@pytest.mark.parametrize(("line", "reason"), SHAPES)
def test_json_of_another_shape_is_answered_and_says_where(line: bytes, reason: str) -> None:
    got = answer(line)
    named = "c" if line.startswith(b"{") else None
    assert got == {"case": named, "error": {"code": "invalid_case", "text": got["error"]["text"]}}
    assert reason in got["error"]["text"]
    assert len(got["error"]["text"]) < 200


def test_a_line_of_another_shape_keeps_its_name_as_it_was_written() -> None:
    line = b'{"wagers":7,"case":{"a":[1e400]}}'
    assert answer_line(line, JUDGES.get).startswith(b'{"case":{"a":[1e400]},"error":')
    halved = rb'{"case":"a\ud800\ud83c\udca1\\ud800"}'
    named = rb'{"case":"a\ufffd\ud83c\udca1\\ud800","error":'
    assert answer_line(halved, JUDGES.get).startswith(named)


# A few awkward characters; drawing from all of Unicode costs seconds to set up.
texts = st.text('a9" \\{\n\0é♥\U0001f0a1', max_size=6)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
faces = st.sampled_from([*COUP, "10H", "XX", ""])
asked_wagers = st.fixed_dictionaries(
    {"id": texts},
    optional={"seat": json_values, "bet": st.sampled_from(["tie", "x"]) | json_values}
    | {"stake": st.integers(-5, 2**54) | json_values},
)
odd_cases = st.fixed_dictionaries(
    {},
    optional={
        "case": json_values,
        "rules": st.sampled_from(shipped_ids()) | json_values,
        "cards": st.lists(faces, max_size=7) | json_values,
        "wagers": st.lists(asked_wagers, max_size=4) | json_values,
    },
)


@given(odd_cases)
@example({"case": 1, "rules": "ez", "cards": COUP, "wagers": [{"id": "", "stake": 10**30}]})
def test_whatever_is_sent_is_answered_or_bad_input(sent: dict[str, Any]) -> None:
    try:
        line = msgspec.json.encode(sent)
    except (OverflowError, UnicodeEncodeError, msgspec.MsgspecError):
        return
    try:
        got = answer(line)
    except InputError:
        return
    assert set(got) in ({"case", "error"}, {"case", *Judgement.__struct_fields__})


@given(st.sampled_from(VECTORS).map(lambda line: line[:-7]))
def test_a_line_cut_short_is_bad_input(line: bytes) -> None:
    with pytest.raises(InputError, match="not a case in JSON"):
        answer_line(line, JUDGES.get)


@given(st.binary(max_size=40))
@example(b"0")
@example(b'"a" ')
@example(b"{}")
def test_bytes_from_anywhere_are_bad_input_or_no_case(line: bytes) -> None:
    try:
        document = json.loads(line.decode())
    except (ValueError, RecursionError):
        with pytest.raises(InputError, match="not a case in JSON"):
            answer_line(line, JUDGES.get)
    else:
        # An object without a field of a case's has the shape of one, whose rulebook is unnamed.
        code = "unknown_rulebook" if isinstance(document, dict) else "invalid_case"
        assert answer(line)["error"]["code"] == code


def test_one_coup_is_judged_without_lines() -> None:
    judged = judge_case(load_rulebook("au-commission"), cards(" ".join(COUP)), wagers("tie=100"))
    assert isinstance(judged, Judgement)
    (line,) = judged.settlements
    assert (line.id, line.bet, line.result) == ("w0", "tie", "win")
