"""The verifier by another hand agrees with ours: verdict, part, payment, roads and odds.

`verifier/` is JavaScript, written from the documents alone. One node process answers a test's
questions. The long runs are in `tests/soak/test_second_verifier.py`.
"""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from events.cards import parse_card
from events.errors import InputError
from events.proof.keys import read_verifier_key
from events.types.table import Wager
from table_core.evidence.bundle import verify_evidence
from table_core.roads.columns import project_roads, read_results
from table_core.rules.draw import Outcome, deal_cards
from table_core.rules.rulebook_file import parse_rulebook
from table_core.rules.settlement import settle_with_caps
from tests.support.log.corpus_game import KEY
from tests.support.table.deals import trimmed
from tests.support.verifier.second import (
    VERIFIER,
    KeptEvidence,
    Question,
    answers,
    evidence_question,
    forged,
    kept_evidence,
    mutated,
    node,
    random_coup,
    rulebook_texts,
    signed_anew,
)

pytestmark = pytest.mark.process

MUTATIONS, FORGERIES, COUPS, SHOES = 300, 150, 40, 30
MOST_LINES = 2500
# What the JavaScript verifier refuses in evidence that its own table has signed, and ours may not.
STRICTER = (
    "aggregate_capped",
    "betting_opened",
    "card_",
    "commission_",
    "coup_",
    "deal_completed: rules",
    "hands_corrected",
    "result_confirmed",
    "rulebook_corrected",
    "shoe_reported",
    "wager",
)


def ours(data: bytes, key: str) -> tuple[int, str | None]:
    """Return exit code and part of our own verdict."""
    try:
        verdict = verify_evidence(data, {read_verifier_key(key)})
    except InputError:
        return 2, None
    return (0 if verdict.ok else 1), verdict.part


def as_json(value: object) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


def theirs(answer: dict[str, Any]) -> tuple[int, str | None]:
    return answer["code"], answer.get("part")


def test_kept_evidence_and_its_mutations_have_one_verdict(tmp_path: Path) -> None:
    random, kept = Random("mutations"), kept_evidence()
    cases = [(case.data, case.key) for case in kept]
    for _ in range(MUTATIONS):
        case = random.choice(kept)
        cases.append((mutated(random, case.data), case.key))
    answered = answers([evidence_question(*case) for case in cases], tmp_path)
    verdicts = [ours(*case) for case in cases]
    assert [theirs(answer) for answer in answered] == verdicts
    assert verdicts[: len(kept)] == [(0, None)] * len(kept)
    assert len(set(verdicts)) > len(kept)


def test_evidence_that_a_forger_signs_is_refused_by_both(tmp_path: Path) -> None:
    random, kept = Random("forgeries"), kept_evidence()
    cases, places = [], []
    for _ in range(FORGERIES):
        changed, place = forged(random, json.loads(random.choice(kept).data))
        cases.append(signed_anew(changed))
        places.append(place)
    answered = answers([evidence_question(*case) for case in cases], tmp_path)
    for case, place, answer in zip(cases, places, answered, strict=True):
        code, part = ours(*case)
        if code:
            assert theirs(answer)[0] == 1, (place, part)
        else:
            assert not answer["code"] or place.startswith(STRICTER), (place, answer)


def coup_questions() -> Iterator[Question]:
    random = Random("coups")
    for name, text in rulebook_texts().items():
        rulebook = parse_rulebook(name, text.encode("utf-8"))
        for _ in range(COUPS):
            yield random_coup(random, sorted(rulebook.bets), rulebook.decks) | {"rules": text}


def settled(question: Question) -> tuple[list[Any], list[Any]]:
    """Return the lines and the cuts of aggregate maxima that our own rules make."""
    rulebook = parse_rulebook("rulebook", question["rules"].encode("utf-8"))
    outcome = deal_cards(trimmed([parse_card(card) for card in question["cards"]]))
    assert isinstance(outcome, Outcome)
    placed = msgspec.convert(question["wagers"], list[Wager])
    lines, cuts = settle_with_caps(rulebook, outcome, placed)
    shares = [
        [{"wager": wager, "winnings": won, "paid": paid} for wager, won, paid in cut.shares]
        for cut in cuts
    ]
    return as_json(lines), shares


def test_random_coups_pay_the_same_by_every_rulebook(tmp_path: Path) -> None:
    questions = list(coup_questions())
    for question, answer in zip(questions, answers(questions, tmp_path), strict=True):
        lines, cuts = settled(question)
        assert answer["lines"] == lines
        assert answer["capped"] == cuts


def test_shoes_have_the_same_roads(tmp_path: Path) -> None:
    random = Random("roads")
    shoes = [
        "".join(random.choices("PBT", (45, 46, 9), k=random.randint(0, 90))) for _ in range(SHOES)
    ]
    answered = answers([{"ask": "roads", "results": shoe} for shoe in shoes], tmp_path)
    assert answered == [as_json(project_roads(read_results(shoe))) for shoe in shoes]


def test_odds_are_those_that_were_computed_elsewhere(tmp_path: Path) -> None:
    edges = {
        ("au-commission", "player"): "241149546272/19524993263685",
        ("au-commission", "banker"): "114753351728/10847218479825",
        ("au-commission", "tie"): "103841353768/723147898655",
        ("au-even-money", "banker"): "284694798368/19524993263685",
    }
    texts = rulebook_texts()
    names = sorted({name for name, _ in edges})
    questions = [{"ask": "odds", "rules": texts[f"{name}.2.toml"]} for name in names]
    found = dict(zip(names, answers(questions, tmp_path), strict=True))
    assert {key: found[key[0]][key[1]]["edge"] for key in edges} == edges


def test_its_hash_is_the_platforms(tmp_path: Path) -> None:
    lengths = (0, 1, 55, 56, 63, 64, 65, 119, 120, 1000)
    texts = [base64.b64encode(bytes(range(256)) * 4)[:length] for length in lengths]
    questions = [{"ask": "sha256", "base64": base64.b64encode(t).decode()} for t in texts]
    assert all(answers(questions, tmp_path))


@pytest.fixture(scope="module")
def kept() -> KeptEvidence:
    return kept_evidence()[0]


def test_the_command_answers_as_evidence_verify(kept: KeptEvidence, tmp_path: Path) -> None:
    file = tmp_path / "evidence.json"
    file.write_bytes(kept.data)
    done = node(VERIFIER / "cli.mjs", file, "--key", kept.key, "--json")
    verdict = verify_evidence(kept.data, {read_verifier_key(kept.key)})
    assert done.returncode == 0
    assert json.loads(done.stdout) == as_json(verdict._asdict())
    stranger = node(
        VERIFIER / "cli.mjs", file, "--key", str(KEY._replace(seed=bytes([9] * 32)).verifier)
    )
    assert (stranger.returncode, "NOT ok: checkpoint" in stranger.stdout) == (1, True)
    nothing = node(VERIFIER / "cli.mjs", file)
    assert (nothing.returncode, nothing.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize("script", ["make_types.mjs", "make_page.mjs"])
def test_what_is_made_from_the_sources_is_current(script: str) -> None:
    done = node(VERIFIER / "tools" / script, "--check")
    assert done.returncode == 0, f"{done.stderr}: make verifier"


def test_it_is_small_and_stands_alone() -> None:
    made = {VERIFIER / "event_types.js", *VERIFIER.glob("tools/*")}
    sources = set(VERIFIER.rglob("*.*js")) - made
    lines = [line.strip() for path in sources for line in path.read_text("utf-8").splitlines()]
    code = [line for line in lines if line and not line.startswith(("/*", "*", "//"))]
    assert len(code) <= MOST_LINES
    imported = {
        line.split(" from ")[1].strip('";')
        for line in code
        if line.startswith(("import", "} from")) and " from " in line
    }
    assert all(name.startswith(("./", "../", "node:")) for name in imported)
