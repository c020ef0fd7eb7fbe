"""The second verifier, asked by the file: one node process answers all questions of a test."""

import base64
import copy
import hashlib
import json
import lzma
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import IO, Any, NamedTuple

from events.proof.checkpoint import Checkpoint, signed_checkpoint
from events.proof.merkle import inclusion_proofs, leaf_hash, root_of
from events.proof.note import SigningKey
from table_core.rulebooks.shipped import shipped_ids
from tests.support.kept.stories import LOG, kept_stories
from tests.support.log.logs import forging, json_bytes, rehash

ROOT = Path(__file__).parents[3]
VERIFIER = ROOT / "verifier"
_ANSWERS = Path(__file__).with_name("answer.mjs")
_RULEBOOKS = ROOT / "table_core" / "rulebooks"
_SUITS, _RANKS = "SHDC", "A23456789TJQK"
_POOL = ("KS", "9D", "tie", "player", "banker", "win", "push", "void", "x", "")

# Events that a coup is judged by.
_JUDGED = (
    "aggregate_capped",
    "betting_opened",
    "card_corrected",
    "card_dealt",
    "commission_accrued",
    "commission_collected",
    "commission_prepaid",
    "commission_recovered",
    "commission_refunded",
    "commission_returned",
    "commission_reversed",
    "commission_uncollected",
    "coup_settled",
    "coup_voided",
    "deal_completed",
    "hands_corrected",
    "rulebook_corrected",
    "shoe_reported",
    "wager_corrected",
    "wagers_placed",
    "wagers_voided",
    "wagers_withdrawn",
)

Question = dict[str, Any]


class KeptEvidence(NamedTuple):
    """A file of evidence in the corpus, and the key that verifies it."""

    name: str
    data: bytes
    key: str


def node(
    *args: str | Path, stdout: IO[str] | int = subprocess.PIPE
) -> subprocess.CompletedProcess[str]:
    """Run node and return what it said; the suite fails where there is none."""
    program = shutil.which("node")
    assert program, "the second verifier is tested with node: sh tests/tools/need-node.sh"
    command = [program, *map(str, args)]
    return subprocess.run(
        command, stdout=stdout, stderr=subprocess.PIPE, encoding="utf-8", check=False
    )


def answers(questions: Iterable[Question], folder: Path) -> list[Any]:
    """Return the second verifier's answers, in the order of the questions."""
    asked = folder / "questions.jsonl"
    asked.write_text("".join(json.dumps(question) + "\n" for question in questions), "utf-8")
    ran = node(_ANSWERS, asked)
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.split("\n") if line]


def rulebook_texts() -> dict[str, str]:
    """Return every shipped rulebook by its file's name, in both forms."""
    files = sorted(_RULEBOOKS.glob("*.toml"))
    assert {file.name.split(".")[0] for file in files} == set(shipped_ids())
    return {file.name: file.read_text("utf-8") for file in files}


def kept_evidence() -> list[KeptEvidence]:
    """Return the evidence that earlier builds made, each with a key of its log."""
    found = []
    for story in kept_stories():
        keys = {line.split("+")[1]: line for line in _keys(story)}
        for packed in sorted(story.glob("evidence-*.json.xz")):
            data = lzma.decompress(packed.read_bytes())
            signature = json.loads(data)["checkpoint"].split("\u2014 ")[1].split(" ")[1]
            key = keys[base64.b64decode(signature)[:4].hex()]
            found.append(KeptEvidence(f"{story.parts[-3]}/{story.name}/{packed.stem}", data, key))
    return found


def _keys(story: Path) -> Iterable[str]:
    for file in sorted(story.glob("key*.pub")):
        yield file.read_text("utf-8").strip()


def unpacked_log(story: Path, to: Path) -> Path:
    """Unpack a story's log with its editions, without ledger and journals, and return its path."""
    to.mkdir()
    for file in story.glob("table.sqlite*.xz"):
        (to / file.stem).write_bytes(lzma.decompress(file.read_bytes()))
    for name in ("rulebooks", "profiles"):
        if (story / name).is_dir():
            shutil.copytree(story / name, to / name)
    return to / LOG


def evidence_question(data: bytes, key: str) -> Question:
    """Ask for the verdict on a file of evidence."""
    return {"ask": "evidence", "base64": base64.b64encode(data).decode(), "key": key}


def random_coup(random: Random, bets: Sequence[str], decks: int) -> Question:
    """Draw six cards from a full shoe and wagers of every kind; the deal takes what it needs."""
    shoe = [rank + suit for rank in _RANKS for suit in _SUITS] * decks
    wagers = [
        {
            "id": f"w/{index}",
            "seat": random.randint(1, 9),
            "bet": random.choice(bets),
            "stake": random.choice((1, 3, 50, 2500, 30000, random.randint(1, 10**7))),
            "kind": random.choice(("chips", "chips", "promo", "toke")),
            **({"patron": random.choice("ab")} if random.random() < 0.3 else {}),
        }
        for index in range(random.randint(1, 12))
    ]
    return {"ask": "settle", "cards": random.sample(shoe, 6), "wagers": wagers}


def mutated(random: Random, data: bytes) -> bytes:
    """Change a file of evidence: some of its bytes, or some of its values, sealed again or not."""
    if random.random() < 0.4:
        return _bytes_changed(random, data)
    file = json.loads(data)
    for _ in range(random.choice((1, 1, 2))):
        _value_changed(random, file)
    if random.random() < 0.5 and isinstance(file, dict):
        file["seal"] = ""
        file["seal"] = hashlib.sha256(_written(file)).hexdigest()
    return _written(file)


def forged(random: Random, file: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Change one value of one event's data, and say where: `type: field`."""
    file = copy.deepcopy(file)
    while True:
        proved = random.choice(file["events"])
        event = json.loads(proved["stored"])
        changed = _value_changed(random, event["data"])
        if changed:
            break
    proved["stored"] = json_bytes(event).decode()
    return file, f"{event['type']}: {changed}"


def forged_evidence(random: Random, count: int) -> tuple[list[tuple[bytes, str]], list[str]]:
    """Draw so many forgeries of kept evidence, each with its forger's key; and say where."""
    kept = [json.loads(one.data) for one in kept_evidence()]
    made = [forged(random, random.choice(kept)) for _ in range(count)]
    return [signed_anew(file) for file, _ in made], [place for _, place in made]


def forge_log(random: Random, log: Path) -> str:
    """Change one value of an event behind the last closed books, and make the chain again.

    Checkpoints that cover the event are gone, as a thorough forger would have it.

    Returns:
        Where: `type: field`; of a log that has no such event, which stays as it is, that.
    """
    with forging(log) as db:
        rows = db.execute("SELECT position, type, bytes FROM event ORDER BY position").fetchall()
        books = max((position for position, name, _ in rows if name == "books_closed"), default=0)
        late = [row for row in rows if row[0] > books and row[1] in _JUDGED]
        changed = ""
        if not late:
            return "nothing to forge"
        while not changed:
            position, name, stored = random.choice(late)
            event = json.loads(stored)
            changed = _value_changed(random, event["data"])
        data = json_bytes(event)
        db.execute("UPDATE event SET bytes = ? WHERE position = ?", (data, position))
        db.execute("DELETE FROM checkpoint WHERE size >= ?", (position,))
        rehash(db, json.loads(rows[0][2])["stream"])
    return f"{name}: {changed}"


def signed_anew(file: dict[str, Any]) -> tuple[bytes, str]:
    """Prove and sign a changed file by a key of its forger, who owns the table's name."""
    key = SigningKey(file["origin"], bytes(32))
    positions = [event["position"] for event in file["events"]]
    stored = [b"another event"] * max(positions)
    for event in file["events"]:
        stored[event["position"] - 1] = event["stored"].encode("utf-8")
    leaves = list(map(leaf_hash, stored))
    proofs = inclusion_proofs(leaves, [position - 1 for position in positions])
    for event, proof in zip(file["events"], proofs, strict=True):
        event["proof"] = [step.hex() for step in proof]
    checkpoint = Checkpoint(file["origin"], len(leaves), root_of(stored))
    file["checkpoint"] = signed_checkpoint(checkpoint, [key]).decode("utf-8")
    file["seal"] = ""
    file["seal"] = hashlib.sha256(_written(file)).hexdigest()
    return _written(file), str(key.verifier)


def _written(file: Any) -> bytes:
    return (json.dumps(file, indent=2, ensure_ascii=False) + "\n").encode("utf-8")


def _bytes_changed(random: Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 3))):
        at = random.randrange(len(changed))
        match random.randrange(3):
            case 0:
                changed[at] ^= 1 << random.randrange(8)
            case 1:
                del changed[at]
            case _:
                changed.insert(at, random.choice(b'019aF" ,{}[]\n\\'))
    return bytes(changed)


def _value_changed(random: Random, root: Any) -> str:
    """Change one value below `root`, and return the names on the way to it."""
    paths = list(_paths(root))
    if not paths:
        return ""
    path = random.choice(paths)
    holder = root
    for key in path[:-1]:
        holder = holder[key]
    key, value = path[-1], holder[path[-1]]
    choice = random.randrange(4)
    if choice == 0:
        del holder[key]
    elif choice == 1 and isinstance(holder, list) and isinstance(key, int):
        holder.insert(key, copy.deepcopy(value))
    else:
        holder[key] = _other(random, value)
    return ".".join(str(key) for key in path if isinstance(key, str))


def _other(random: Random, value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return random.choice((value + 1, value - 1, 0, value * 10))
    if isinstance(value, str):
        return random.choice((value[:-1], value + "x", value.upper(), random.choice(_POOL)))
    return random.choice((None, [], {}, 0))


def _paths(value: Any, above: tuple[str | int, ...] = ()) -> Iterable[tuple[str | int, ...]]:
    if above:
        yield above
    inner: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    for key, part in inner:
        yield from _paths(part, (*above, key))
