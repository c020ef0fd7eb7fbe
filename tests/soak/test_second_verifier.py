"""Both verifiers over the numbers that the ordinary suite samples; a million exported events."""

import hashlib
import json
import resource
import shutil
from base64 import b64decode, b64encode
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from events.proof.merkle import MerkleTree
from table_core.roads.columns import project_roads, read_results
from tests.support.kept.stories import kept_stories
from tests.support.log.logs import json_bytes
from tests.support.machine.commands import here
from tests.support.verifier.ours import as_json, ours, paid_otherwise, random_coups, theirs
from tests.support.verifier.second import (
    VERIFIER,
    answers,
    evidence_question,
    forge_log,
    forged_evidence,
    kept_evidence,
    mutated,
    node,
    rulebook_texts,
    unpacked_log,
)

MUTATIONS, COUPS, SHOES, EVENTS = 20_000, 200_000, 2_000, 1_000_000
LOGS = 200
SECONDS = 60.0

pytestmark = pytest.mark.soak(computes=True)


def test_mutated_evidence_has_one_verdict(tmp_path: Path) -> None:
    random, kept = Random("soak/mutations"), kept_evidence()
    cases = [(mutated(random, one.data), one.key) for one in random.choices(kept, k=MUTATIONS)]
    require_one_verdict(cases, tmp_path)


def test_evidence_that_a_forger_signs_has_one_verdict(tmp_path: Path) -> None:
    require_one_verdict(forged_evidence(Random("soak/forgeries"), MUTATIONS // 2)[0], tmp_path)


def require_one_verdict(cases: list[tuple[bytes, str]], folder: Path) -> None:
    answered = answers((evidence_question(*case) for case in cases), folder)
    for case, answer in zip(cases, answered, strict=True):
        assert theirs(answer) == ours(*case), case[0].decode("utf-8", "replace")


def test_a_forged_log_is_refused_at_the_same_position(tmp_path: Path) -> None:
    random, other = Random("soak/forged logs"), []
    for number in range(LOGS):
        folder = tmp_path / str(number)
        log = unpacked_log(random.choice(whole_stories()), folder)
        place, target = forge_log(random, log), folder / "log.jsonl"
        assert here("log", "export", log, "-o", target).code == 0
        (found,) = answers([{"ask": "log", "path": str(target), "keys": []}], tmp_path)
        said = json.loads(here("log", "verify", log, "--json").out)
        if [found[key] for key in ("ok", "first_bad")] != [
            said[key] for key in ("ok", "first_bad")
        ]:
            other.append((place, found, said))
        shutil.rmtree(folder)
    assert other == []


def whole_stories() -> list[Path]:
    return [
        story
        for story in kept_stories()
        if (story / "table.sqlite.xz").exists() and not (story / "archive").exists()
    ]


@pytest.mark.parametrize("name", rulebook_texts())
def test_coups_pay_the_same(name: str, tmp_path: Path) -> None:
    share = COUPS // len(rulebook_texts())
    coups = list(random_coups(Random(f"soak/{name}"), [name], share))
    assert paid_otherwise(coups, tmp_path) == []


def test_shoes_have_the_same_roads(tmp_path: Path) -> None:
    random = Random("soak/roads")
    shoes = ["".join(random.choices("PBT", (45, 46, 9), k=80)) for _ in range(SHOES)]
    answered = answers([{"ask": "roads", "results": shoe} for shoe in shoes], tmp_path)
    assert answered == [as_json(project_roads(read_results(shoe))) for shoe in shoes]


@pytest.mark.parametrize(
    "story", whole_stories(), ids=lambda story: f"{story.parts[-3]}-{story.name}"
)
def test_a_kept_log_is_judged_the_same(story: Path, tmp_path: Path) -> None:
    log = unpacked_log(story, tmp_path / "log")
    target = log.with_name("log.jsonl")
    assert here("log", "export", log, "-o", target).code == 0
    (found,) = answers([{"ask": "log", "path": str(target), "keys": []}], tmp_path)
    told = json.loads(here("log", "verify", log, "--json").out)
    for rulebook in told["rulebooks"]:
        del rulebook["known"]  # which the second verifier cannot say: it ships none
    assert found == told


def multiplied(source: Path, target: Path, events: int) -> None:
    """Write an export of so many events: those of `source` again, in shoes of their own."""
    rows = [json.loads(line) for line in source.read_text("utf-8").splitlines()]
    stored = [b64decode(row["bytes"]).decode("utf-8") for row in rows if "position" in row]
    said = [text for text in stored if '"type":"checkpoint_key_changed"' not in text]
    head = hashlib.sha256(rows[0]["origin"].encode()).digest()
    tree, cause, index, position = MerkleTree(), "", 0, 0
    with target.open("w", encoding="utf-8") as out:
        total = events // len(said) * len(said)
        out.write(json.dumps({**rows[0], "events": total}, separators=(",", ":")) + "\n")
        out.writelines(json.dumps(row) + "\n" for row in rows if "edition" in row)
        for again in range(total // len(said)):
            for text in said:
                # Of a shoe of its own; a wager is named after its request.
                mine = text.replace("20261127-", f"{20000000 + again}-")
                event = json.loads(mine.replace('"wagers/', f'"wagers-{again}/'))
                position += 1
                if not event["cause"].startswith("wagers-"):
                    event["cause"] = event["cause"].replace("/", f"-{again}/", 1)
                if "source" in event["data"]:
                    event["data"]["source"]["journal"] += f"-{again}"
                index = index + 1 if event["cause"] == cause else 0
                cause = event["cause"]
                event["position"] = position
                event["event_id"] = hashlib.sha256(f"{cause}\n{index}".encode()).hexdigest()[:32]
                data = json_bytes(event)
                length = len(data).to_bytes(8, "big")
                head = hashlib.sha256(b"bac/event/1" + head + length + data).digest()
                tree.add(data)
                line = {"position": position, "bytes": b64encode(data).decode(), "hash": head.hex()}
                out.write(json.dumps(line, separators=(",", ":")) + "\n")
        out.write(json.dumps({"end": position, "checkpoints": 0, "root": tree.root().hex()}) + "\n")


def test_a_million_exported_events_are_judged_within_a_minute(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    story = next(one for one in kept_stories() if one.name == "world-1")
    log = unpacked_log(story, tmp_path / "log")
    source, target = tmp_path / "log.jsonl", tmp_path / "million.jsonl"
    assert here("log", "export", log, "-o", source).code == 0
    multiplied(source, target, EVENTS)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = node(VERIFIER / "cli.mjs", target, "--json")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Of a processor: other work on the machine does not count.
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    verdict = json.loads(done.stdout)
    record_property("figures", f"{verdict['events']} events in {seconds:.1f} s")
    assert (done.returncode, verdict["ok"]) == (0, True), verdict
    assert seconds < SECONDS
