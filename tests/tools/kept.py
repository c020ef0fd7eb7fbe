"""Record what this build says: `python -m tests.tools.kept [STORY...]`.

Plays the stories of `tests.support.kept.games` and `worlds` that the folder of the present
version does not have yet, asks this build about each, and keeps files and answers there. What is
kept already stays as it is: it is what a build of its time has said.
"""

import hashlib
import logging
import lzma
import shutil
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec
import structlog

from events.proof.note import SigningKey, parse_note
from property.witness.cosignature import cosign, witness_key
from shoe_driver.profiles.catalogue import profile_names, profile_text
from table_core.rulebooks.shipped import shipped_ids, shipped_source
from tests.support.cage.ledgers import book_log
from tests.support.kept.games import GAMES
from tests.support.kept.questions import (
    CASES,
    COSIGNED,
    NOTES,
    Question,
    case_lines,
    judgements,
    questions,
)
from tests.support.kept.stories import LEDGER, LOG, PACKED, SAID, Said, answer_to, events_of
from tests.support.kept.worlds import WORLDS, play_world
from tests.support.log.corpus import CORPUS, present_version
from tests.support.log.corpus_game import KEY, MARKED

_ALL_TYPES: Final = "all-types"
_JUDGEMENTS: Final = "judgements"
_STORIES: Final = (*GAMES, *WORLDS, _ALL_TYPES, _JUDGEMENTS)
_SMALL: Final = 4_000  # bytes that are kept as they are
_STRANGER: Final = SigningKey("nobody/else", bytes([9]) * 32)
_WITNESS: Final = SigningKey("harbour/witness", bytes([7]) * 32)


def main(asked: list[str]) -> int:
    """Record, and say what was recorded."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    kept = CORPUS / present_version() / "kept"
    for story in asked or _STORIES:
        if story not in _STORIES:
            sys.stderr.write(f"kept: no story {story}; there are {', '.join(_STORIES)}\n")
            return 2
        if (kept / story).exists():
            sys.stdout.write(f"kept: {story} is there already\n")
            continue
        with tempfile.TemporaryDirectory() as there:
            said = _record(story, Path(there))
            size = _pack(Path(there), kept / story)
        sys.stdout.write(f"kept: {story}, {said} answers, {size:,} bytes\n")
    return 0


def _record(story: str, folder: Path) -> int:
    if story == _JUDGEMENTS:
        for name in shipped_ids():
            (folder / f"{name}.toml").write_bytes(shipped_source(name))
        for name in profile_names():
            (folder / f"{name}.toml").write_bytes(profile_text(name))
        (folder / CASES).write_text("".join(f"{line}\n" for line in case_lines()), "utf-8")
        asked = judgements(folder)
    else:
        _play(story, folder)
        _beside(folder)
        asked = questions(folder)
    said = [_answered(folder, question) for question in asked]
    for made in folder.glob("anew-*"):
        made.unlink()
    (folder / SAID).write_bytes(msgspec.json.format(msgspec.json.encode(said), indent=1) + b"\n")
    return len(said)


def _play(story: str, folder: Path) -> None:
    if story in GAMES:
        GAMES[story](folder)
    elif story in WORLDS:
        play_world(story, folder)
    else:
        shutil.copy(CORPUS / present_version() / LOG, folder)
        (folder / "key.pub").write_text(f"{KEY.verifier}\n", "utf-8")
        (folder / "rules-marked.toml").write_bytes(MARKED)


def _beside(folder: Path) -> None:
    """What is made of a log: its ledger, its checkpoints, and what their readers need."""
    book_log(str(folder / LEDGER), folder / LOG)
    for lock in folder.glob("*.lock"):
        lock.unlink()
    notes: dict[int, bytes] = {}
    for path in (*sorted((folder / "archive").glob("*[0-9].sqlite")), folder / LOG):
        with tempfile.TemporaryDirectory() as there:
            for each in path.parent.glob(f"{path.name}*"):
                shutil.copy(each, there)  # SQLite takes a WAL in
            with closing(sqlite3.connect(Path(there) / path.name)) as db:
                notes |= dict(db.execute("SELECT size, note FROM checkpoint").fetchall())
    (folder / NOTES).write_bytes(b"\n".join(notes[size] for size in sorted(notes)))
    newest = notes[max(notes)]
    cosigned = cosign(newest, parse_note(newest).text, _WITNESS, 1_795_900_000)
    (folder / COSIGNED).write_bytes(cosigned)
    for name, key in (("witness", _WITNESS), ("stranger-witness", _STRANGER)):
        (folder / f"{name}.pub").write_text(f"{witness_key(key)}\n", "utf-8")
    (folder / "stranger.pub").write_text(f"{_STRANGER.verifier}\n", "utf-8")
    for journal in folder.glob("*.journal"):
        profile = journal.name.split(".")[1]
        (folder / f"{profile}.toml").write_bytes(profile_text(profile))
    named = {each["data"].get("rulebook") for each in events_of(folder)}
    for name in sorted(filter(None, named)):
        odds = answer_to(folder, ["odds", "--rulebook", name, "--json"])
        (folder / f"odds-{name}.json").write_text(odds.out, "utf-8")


def _answered(folder: Path, question: Question) -> Said:
    answer = answer_to(folder, question.argv, question.stdin)
    digest = hashlib.sha256(answer.out.encode()).hexdigest() if question.long else None
    return Said(
        argv=question.argv,
        code=answer.code,
        stdin=question.stdin,
        out=None if question.long else answer.out,
        digest=digest,
        err=None if question.unsaid else answer.err,
    )


def _pack(folder: Path, to: Path) -> int:
    """Keep every file, packed where it is not small; returns the bytes of all."""
    size = 0
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        target, data = to / path.relative_to(folder), path.read_bytes()
        if len(data) > _SMALL:
            target = target.with_name(target.name + PACKED)
            data = lzma.compress(data, preset=9 | lzma.PRESET_EXTREME)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        size += len(data)
    return size


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
