"""The verifier by another hand agrees with ours: verdict, part, payment, roads and odds.

`verifier/` is JavaScript, written from the documents alone. One node process answers a test's
questions. The long runs are in `tests/soak/test_second_verifier.py`.
"""

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from events.commands import CloseFloat, OpenFloat, VoidCoup
from events.proof.keys import read_verifier_key
from events.types import AlarmCleared, FloatOpened, Pieces, event_id
from table_core.evidence.bundle import verify_evidence
from table_core.roads.columns import project_roads, read_results
from table_core.rules.rulebook_file import parse_rulebook
from tests.support.cage.books import book, source
from tests.support.log.corpus import CORPUS
from tests.support.log.corpus_game import KEY
from tests.support.log.logs import forging, json_bytes, keep, rehash
from tests.support.machine.commands import here
from tests.support.shoe.foreign import profile_text
from tests.support.shoe.made_up import check_bytes, cobs, slip
from tests.support.table import evidence
from tests.support.table.evidence import OTHER_KEY, signed_table
from tests.support.verifier.ours import as_json, ours, settled, theirs
from tests.support.verifier.second import (
    VERIFIER,
    KeptEvidence,
    Question,
    answers,
    evidence_question,
    forge_log,
    forged_evidence,
    kept_evidence,
    mutated,
    node,
    random_coup,
    rulebook_texts,
    signed_anew,
    unpacked_log,
)

pytestmark = pytest.mark.process

MUTATIONS, FORGERIES, COUPS, SHOES, LOGS, LINES = 300, 150, 40, 30, 6, 20
FORGED = ("money-per-shoe", "world-1", "world-3", "world-7")
STORIES = ("by-hand", "killed", "money-deduct", "world-7")
MOST_LINES = 2600
UNSEEN = ("shoe_booted", "error_cleared", "report_lost", "copy_conflict")


def test_kept_evidence_and_its_mutations_have_one_verdict(tmp_path: Path) -> None:
    random, kept = Random("mutations"), kept_evidence()
    cases = [(case.data, case.key) for case in kept]
    for _ in range(MUTATIONS):
        case = random.choice(kept)
        cases.append((mutated(random, case.data), case.key))
    answered = answers([evidence_question(*case) for case in cases], tmp_path)
    verdicts = list(map(theirs, answered))
    assert verdicts == [ours(*case) for case in cases]
    assert verdicts[: len(kept)] == [(0, None)] * len(kept)
    assert len(set(verdicts)) > len(kept)


def test_evidence_that_a_forger_signs_has_one_verdict(tmp_path: Path) -> None:
    cases, places = forged_evidence(Random("forgeries"), FORGERIES)
    answered = answers([evidence_question(*case) for case in cases], tmp_path)
    for case, place, answer in zip(cases, places, answered, strict=True):
        assert theirs(answer) == ours(*case), (place, answer)
    parts = {answer["part"] for answer in answered}
    assert {None, "settlement"} < parts
    assert not parts & {"form", "checkpoint", "origin", "seal"}


@pytest.mark.parametrize("name", ["wagers_placed", "wager_corrected"])
def test_evidence_in_which_two_wagers_have_one_id_is_refused(name: str, tmp_path: Path) -> None:
    for kept in kept_evidence():
        file = json.loads(kept.data)
        events = [json.loads(each["stored"]) for each in file["events"]]
        made = [each for each in events if each["type"] == name and not each["data"].get("was")]
        settled = [each for each in events if each["type"] == "coup_settled"]
        if made and settled:
            break
    forged = made[-1]
    if name == "wagers_placed":
        forged["data"]["wagers"] *= 2
    else:
        forged["data"]["wager"]["id"] = settled[0]["data"]["settlement"]["lines"][0]["wager"]
    file["events"][events.index(forged)]["stored"] = json_bytes(forged).decode()
    data, key = signed_anew(file)
    (answer,) = answers([evidence_question(data, key)], tmp_path)
    verdict = verify_evidence(data, {read_verifier_key(key)})
    assert theirs(answer) == ours(data, key) == (1, f"event at {forged['position']}")
    assert "stands already" in (verdict.reason or "")
    assert "stands already" in answer["reason"]


KEPT = CORPUS / "0.1.0" / "kept"


def exported(log: Path) -> Path:
    target = log.with_name("log.jsonl")
    assert here("log", "export", log, "-o", target).code == 0
    return target


def key_of(story: str) -> str:
    return min((KEPT / story).glob("key*.pub")).read_text("utf-8").strip()


def verified(log: Path, *words: str) -> dict[str, Any]:
    """What `log verify` says, without who vouches for a rulebook, which the other cannot know."""
    said: dict[str, Any] = json.loads(here("log", "verify", log, *words, "--json").out)
    for cited in said["rulebooks"]:
        del cited["known"]
    return said


def test_kept_logs_are_judged_the_same_to_the_last_figure(tmp_path: Path) -> None:
    questions, said = [], []
    for name in STORIES:
        log, key = unpacked_log(KEPT / name, tmp_path / name), key_of(name)
        questions.append({"ask": "log", "path": str(exported(log)), "keys": [key]})
        said.append(verified(log, "--key", key))
    assert answers(questions, tmp_path) == said
    assert all(verdict["ok"] for verdict in said)


def test_a_first_phase_that_a_void_takes_back_verifies(tmp_path: Path) -> None:
    log, changes = (
        tmp_path / "table.sqlite",
        ("nz-scale-one", "procedure.void_after_phase_one=reverse_all"),
    )
    rulebook = book(*changes)
    (editions := tmp_path / "rulebooks").mkdir()
    (editions / f"{rulebook.hash}.toml").write_text(source(*changes), "utf-8")
    with signed_table(log, rulebook=rulebook) as table:
        table.ready()
        table.open((1, "player", 1000), (1, "perfect_pairs", 500))
        table.deal(("9S", "2D", "9D", "3C"))
        table.ask("supervisor", VoidCoup(transaction="void", reason="r"))
    said = verified(log)
    assert (said["ok"], said["judged"]["settlements"]) == (True, 2)
    assert answers([{"ask": "log", "path": str(exported(log)), "keys": []}], tmp_path) == [said]


def short_pieces(told: list[dict[str, Any]]) -> None:
    told[-2]["data"]["amount"] += 1


def one_transaction(told: list[dict[str, Any]]) -> None:
    told[-1].update(cause=told[-2]["cause"], event_id=event_id(told[-2]["cause"], 1))


def another_id(told: list[dict[str, Any]]) -> None:
    told[-1]["event_id"] = told[-2]["event_id"]


def honest(told: list[dict[str, Any]]) -> None:
    pass


@pytest.mark.parametrize("keep", ["every checkpoint", "the first two"])
@pytest.mark.parametrize("change", [honest, short_pieces, one_transaction, another_id])
def test_unsigned_money_and_chips_are_judged_the_same(
    tmp_path: Path, change: Callable[[list[dict[str, Any]]], None], keep: str
) -> None:
    log, chips = tmp_path / "table.sqlite", (Pieces(denomination=100, pieces=3),)
    with signed_table(log) as table:
        table.coup()
    with signed_table(log, key=OTHER_KEY, retiring=evidence.KEY) as table:
        signed = ("p-1", "p-2")
        opening = OpenFloat(
            transaction="o", float_id="20261127-01", currency="AUD", chips=chips, signed=signed
        )
        table.ask("supervisor", opening)
        table.ask("supervisor", CloseFloat(transaction="c", chips=chips, signed=signed))
    with forging(log) as db:
        rows = db.execute("SELECT bytes FROM event ORDER BY position").fetchall()
        told = [json.loads(stored) for (stored,) in rows]
        change(told)
        for each in told[-2:]:
            new, position = json_bytes(each), each["position"]
            db.execute("UPDATE event SET bytes = ? WHERE position = ?", (new, position))
        if change is one_transaction:
            db.execute("DELETE FROM request WHERE position = ?", (told[-2]["position"],))
            request = (told[-1]["cause"], told[-1]["position"])
            db.execute("UPDATE request SET transaction_id = ? WHERE position = ?", request)
        if change is not honest:
            rehash(db, evidence.ORIGIN)
        if keep == "the first two" or change is not honest:
            db.execute("DELETE FROM checkpoint WHERE size > ?", (told[-3]["position"],))
    key = str(evidence.KEY.verifier)
    question = {"ask": "log", "path": str(exported(log)), "keys": [key]}
    (theirs_,) = answers([question], tmp_path)
    said = verified(log, "--key", key)
    places = [(each["ok"], each["first_bad"]) for each in (theirs_, said)]
    assert places == [(change is honest and keep == "every checkpoint", said["first_bad"])] * 2
    if said["ok"]:
        assert theirs_ == said
        assert len(said["hand_overs"]) == 1


def test_transactions_of_one_cause_are_judged_the_same(tmp_path: Path) -> None:
    log, chips = tmp_path / "table.sqlite", (Pieces(denomination=100, pieces=3),)
    with signed_table(log) as table:
        table.coup()
        first = table.log.position + 1
        opened = FloatOpened(
            float_id="20261127-01", currency="AUD", chips=chips, amount=300, signed=("p", "q")
        )
        at = next(table.log.read(table.log.position)).at
        for between in (0, 1):
            alarms = [AlarmCleared(alarm="x")] * between
            keep(table.log, [*alarms, opened], at=at, cause="j9/1")
            keep(table.log, [AlarmCleared(alarm="x")], at=at)
    key = str(evidence.KEY.verifier)
    (theirs_,) = answers([{"ask": "log", "path": str(exported(log)), "keys": [key]}], tmp_path)
    said = json.loads(here("log", "verify", log, "--key", key, "--json").out)
    for each in (theirs_, said):
        assert (each["ok"], each["first_bad"]) == (False, first), each
        assert "more money moved" in each["reason"]


def test_a_request_that_comes_back_is_no_log(tmp_path: Path) -> None:
    log = tmp_path / "table.sqlite"
    with signed_table(log) as table:
        table.coup()
        for number in range(3):
            asked = f"anna/{number}"
            keep(table.log, [AlarmCleared(alarm="x")], actor="anna", cause=asked)
        newest = table.log.position
    with forging(log) as db:
        sql = "SELECT bytes FROM event WHERE position = ?"
        told = json.loads(db.execute(sql, (newest,)).fetchone()[0])
        told |= {"cause": "anna/0", "event_id": event_id("anna/0", 0)}
        db.execute("UPDATE event SET bytes = ? WHERE position = ?", (json_bytes(told), newest))
        db.execute("DELETE FROM request WHERE position = ?", (newest,))
        sql = "UPDATE request SET position = ? WHERE transaction_id = 'anna/0'"
        db.execute(sql, (newest,))
        rehash(db, evidence.ORIGIN)
    (theirs_,) = answers([{"ask": "log", "path": str(exported(log)), "keys": []}], tmp_path)
    assert (theirs_["ok"], theirs_["first_bad"]) == (False, newest)
    assert "its request anna/0 was carried out before" in theirs_["reason"]
    assert not json.loads(here("log", "verify", log, "--json").out)["ok"]


def test_no_line_of_an_export_can_be_changed(tmp_path: Path) -> None:
    random = Random("lines")
    log, key = unpacked_log(KEPT / "killed", tmp_path / "story"), key_of("killed")
    lines = exported(log).read_text("utf-8").splitlines(keepends=True)
    changed = []
    for _ in range(LINES):
        at, other = random.randrange(len(lines)), random.randrange(len(lines))
        row = json.loads(lines[at])
        edited = [json.dumps({**row, random.choice(sorted(row)): "x"}) + "\n"]
        changed.append(lines[:at] + random.choice(([], edited, [lines[at]] * 2)) + lines[at + 1 :])
        if lines[at] != lines[other]:
            swapped = list(lines)
            swapped[at], swapped[other] = lines[other], lines[at]
            changed.append(swapped)
    texts = ["".join(one) for one in changed]
    answered = answers([{"ask": "log", "text": text, "keys": [key]} for text in texts], tmp_path)
    harmless = [text for text, answer in zip(texts, answered, strict=True) if answer["ok"]]
    # The program's name is for people, parsed content for programs that have no TOML.
    assert all(told_nothing(text, "".join(lines)) for text in harmless)


def told_nothing(text: str, honest: str) -> bool:
    """Report whether two exports differ only in what no verifier reads."""
    kept = [
        sorted(
            json.dumps(
                {key: row[key] for key in row if key not in ("build", "content", "checkpoints")}
            )
            for row in map(json.loads, dict.fromkeys(one.splitlines()))
        )
        for one in (text, honest)
    ]
    return set(kept[0]) <= set(kept[1])


def test_a_forged_log_is_refused_at_the_same_position(tmp_path: Path) -> None:
    random = Random("forged logs")
    told, places, questions = [], [], []
    for number in range(LOGS):
        log = unpacked_log(KEPT / random.choice(FORGED), tmp_path / str(number))
        places.append(forge_log(random, log))
        told.append(json.loads(here("log", "verify", log, "--json").out))
        questions.append({"ask": "log", "path": str(exported(log)), "keys": []})
    for place, ours_said, theirs_said in zip(
        places, told, answers(questions, tmp_path), strict=True
    ):
        found = (theirs_said["ok"], theirs_said["first_bad"])
        assert found == (ours_said["ok"], ours_said["first_bad"]), (place, theirs_said, ours_said)


def coup_questions() -> Iterator[Question]:
    random = Random("coups")
    for name, text in rulebook_texts().items():
        rulebook = parse_rulebook(name, text.encode("utf-8"))
        for _ in range(COUPS):
            yield random_coup(random, [*sorted(rulebook.bets), "not_offered"], rulebook.decks) | {
                "rules": text
            }


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


# Parts of a profile of form 2, and how a device frames a content with `BODY`'s fields.
WIRES: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "delimited": (
        'start = "02"\nend = "03"\n[check]\nkind = "xor8"\nhex = true\nafter_end = true\ndrop = 1',
        lambda body: b"\x02" + body + b"\x03" + _check("xor8", body, text=True),
    ),
    "line": (
        (
            'prefix = "<"\nsuffix = ">"\n'
            '[check]\nkind = "crc16-modbus"\nhex = true\nlower = true\nstart = true'
        ),
        lambda b: b"<" + b + _check("crc16-modbus", b"<" + b, text=True).lower() + b">\r\n",
    ),
    "length": (
        'start = "AA"\nadds = 3\n[check]\nkind = "crc8"',
        lambda body: b"\xaa" + _length(body) + _check("crc8", _length(body)),
    ),
    "fixed": (
        'size = 9\n[check]\nkind = "sum8"\nskip = 1',
        lambda body: body.ljust(8) + _check("sum8", body.ljust(8)[1:]),
    ),
    "cobs": (
        '[check]\nkind = "crc32"\norder = "little"',
        lambda body: b"\0" + cobs(body + _check("crc32", body)[::-1]),
    ),
    "slip": ('[check]\nkind = "lrc"', lambda body: slip(body + _check("lrc", body))),
}
BODIES = "U DP1AS IP1AS DB24H DP1?? GP1 GB0 GF0 R?? DX1AS DP1ZZ DP4AS GP9 q F..KS B..2D cP1 N"


def _check(name: str, data: bytes, *, text: bool = False) -> bytes:
    value, size = check_bytes(name, data)
    return f"{value:0{2 * size}X}".encode() if text else value.to_bytes(size, "big")


def _length(body: bytes) -> bytes:
    """A content whose first byte is its length."""
    return bytes([len(body) - 1]) + body[1:]


@pytest.mark.parametrize("framer", WIRES)
def test_frames_of_a_composed_profile_say_the_same(framer: str, tmp_path: Path) -> None:
    keys, framed = WIRES[framer]
    text = profile_text("length")
    head = text[: text.index("[framer]")] + f'[framer]\nkind = "{framer}"\nmost = 30\n{keys}\n'
    profile = head + text[text.index("[number]") :]
    (file := tmp_path / "site.toml").write_text(profile, "utf-8")
    sent = [
        framed(b"?" + bytes([65 + at]) + body.encode()) for at, body in enumerate(BODIES.split())
    ]
    (tmp_path / "capture").write_bytes(b"".join(sent))
    said = here("shoe", "decode", "--profile", file, "--json", tmp_path / "capture").out
    rows = [json.loads(line) for line in said.splitlines()]
    raws = [row.pop("raw") for row in rows]
    reports = [{key: row[key] for key in row if key not in ("seq", "offset")} for row in rows]
    assert len({json.dumps(report) for report in reports}) >= 8
    questions = [
        {"ask": "frame", "profile": profile, "raw": raw, "reports": reports} for raw in raws
    ]
    # What one frame cannot show is never contradicted.
    assert answers(questions, tmp_path) == [
        [other != own and other["kind"] not in UNSEEN for other in reports] for own in reports
    ]


def test_odds_are_those_that_were_computed_elsewhere(tmp_path: Path) -> None:
    edges = {
        ("au-commission", "player"): "241149546272/19524993263685",
        ("au-commission", "banker"): "114753351728/10847218479825",
        ("au-commission", "tie"): "103841353768/723147898655",
        ("au-even-money", "banker"): "284694798368/19524993263685",
    }
    texts = rulebook_texts()
    names = sorted({name for name, _ in edges})
    # Blanks around odds are read as well.
    padded = [texts[f"{name}.2.toml"].replace('"8"', '" 8\t"') for name in names]
    questions = [{"ask": "odds", "rules": text} for text in padded]
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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("FILE", "evidence takes --key PUB alone"),
        ("FOLDER --key KEY", "FOLDER: illegal operation on a directory; name evidence"),
        ("NONE --key KEY", "NONE: no such file or directory; name evidence"),
        ("EMPTY --key KEY", "EMPTY: neither evidence nor an exported log"),
        ("FILE --key FOLDER", "--key FOLDER: illegal operation on a directory; name a public key"),
        ("FILE --key EMPTY", "--key EMPTY: no public key"),
        ("LOG --checkpoint NONE", "--checkpoint NONE: no such file or directory; name a file of"),
        ("LOG --checkpoint EMPTY", "--checkpoint EMPTY: empty"),
    ],
)
def test_what_it_cannot_read_gets_one_line(
    words: str, said: str, kept: KeptEvidence, tmp_path: Path
) -> None:
    (tmp_path / "FILE").write_bytes(kept.data)
    (tmp_path / "LOG").write_text('{"format":"baccarat-log/1"}\n', "utf-8")
    (tmp_path / "EMPTY").touch()
    (tmp_path / "FOLDER").mkdir()
    given = {path.name: str(path) for path in [*tmp_path.iterdir(), tmp_path / "NONE"]}
    done = node(
        VERIFIER / "cli.mjs", *((given | {"KEY": kept.key}).get(w, w) for w in words.split())
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert said in done.stderr.replace(f"{tmp_path}/", "")


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_verdict_that_cannot_be_written_is_no_yes(
    form: list[str], kept: KeptEvidence, tmp_path: Path
) -> None:
    (file := tmp_path / "evidence.json").write_bytes(kept.data)
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = node(VERIFIER / "cli.mjs", file, "--key", kept.key, *form, stdout=full)
    assert done.returncode == 2
    assert done.stderr.startswith("verifier: standard output: no space left on device")
    assert done.stderr.count("\n") == 1


HEADER = '{"format":"baccarat-log/1","origin":"s/t","events":1}'


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "no JSON"),
        ("x", "no JSON"),
        *((text, "no JSON object") for text in ("null", "5", '"a"', "[]")),
        ("{}", "of no known kind"),
        ('{"format":"baccarat-log/1"}', "of no known kind"),
        ('{"edition":"constructor","hash":"","text":""}', "edition is no rulebook or profile"),
        ('{"position":1,"bytes":5,"hash":""}', "bytes is no string"),
        ('{"position":1,"bytes":""}', "hash is missing"),
        ('{"edition":"rulebook","hash":"","text":5}', "text is no string or null"),
        ('{"checkpoint":null}', "checkpoint is no string"),
        ('{"end":1,"root":[]}', "root is no string"),
    ],
)
def test_a_line_of_an_export_that_is_none_is_named(line: str, said: str, tmp_path: Path) -> None:
    (log := tmp_path / "log.jsonl").write_text(f"{HEADER}\n{line}\n", "utf-8")
    done = node(VERIFIER / "cli.mjs", log)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == f"{log}: NOT ok: position 1: line 2: {said}\n"


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
