"""What builds before this one have said of logs, ledgers, journals and evidence still holds."""

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from events.types import AnyReport
from events.types.registry import TABLE_EVENTS
from shoe_driver.profiles.catalogue import profile_names
from simulators.device.reports import Disclosure
from table_core.decide.cards import RECORDED_KINDS
from table_core.rulebooks.shipped import shipped_ids
from table_core.rules.rulebook import CommissionTiming
from tests.support.kept.stories import (
    LEDGER,
    LOG,
    answer_to,
    differences,
    events_of,
    kept_stories,
    said_of,
    same,
    unpack,
)
from tests.support.log.corpus import folders

HOW = "add a scene or a story, and `make corpus`: docs/develop/changing-events.md"
MADE_UP = "0" * 64  # the profile of the one log whose shoe spoke no bytes


# What 0.1.0 told wrong, by the beginnings of the commands. It let controls of the screen
# through to it, and a line end in a text made two lines of one.
_RAW = (
    "log show table.sqlite:",
    *(f"log show table.sqlite --coup 20261127-01/{coup}:" for coup in (2, 3)),
    *(f"replay table.sqlite --coup 20261127-01/{coup}:" for coup in (1, 2, 3)),
    "cage export --ledger cage.sqlite --csv:",
    "cage report --ledger cage.sqlite --by day --odds odds-au-commission.json:",
    "cage report --ledger cage.sqlite --by day --odds odds-au-commission.json --csv patrons:",
)
# It did not say how many decimals an amount has, nor which chips a table lays.
_SHOWN = tuple(f"rulebook show ./{each}.toml:" for each in shipped_ids())
# Decision 74: its cage left out patrons who had wagered nothing but tokens; its replay took another
# coup's correction for a void coup's own, and did not show the first settlement of a first phase
# that came after the coup.
_PATRONS = ("cage report",)
_TIMINGS = ("deduct", "extras", "per-coup", "per-shoe", "prepaid")
_LISTED = ("replay table.sqlite:", "replay table.sqlite --json:")
_COUPS = tuple(f"replay table.sqlite --coup 20261127-{coup} " for coup in ("01/2", "02/4"))
# Verifying and reconciling say since what could not be judged, and which rulebooks are cited, in
# lines of their own: of evidence, only those that are not shipped. Replay says of a corrected stake
# what was staked, and takes it off what the seat is owed. A count that no shoe waits for is refused
# by a code of its own. Reports without bytes are counted where they say a card or a result.
_SAYS_MORE = re.compile(
    r"log verify table\.sqlite( --key [^:]*)?: 4 lines, now \d"
    r"|evidence verify [^:]*: 8 lines, now 9"
    r"|log verify [^:]*: line 1\.judged\.not_decoded: 0, now 82"
    r"|cage reconcile table\.sqlite --ledger [^:]*: 2 lines, now [34]"
    r"|replay table\.sqlite --coup [^:]*: line \d+: '  seat .*, now '  seat +\d+  staked "
    r"|replay table\.sqlite --at [^:]*: line 1\.refusals\.count_shoe\.code: 'no_shoe', "
    r"now 'no_ended_shoe'"
)
TOLD_WRONG = dict.fromkeys([f"money-{each}" for each in _TIMINGS], _PATRONS) | {
    "money-per-shoe": (*_PATRONS, *_LISTED, *_COUPS),
    "control-characters": _RAW,
    "judgements": _SHOWN,
}
# A table signed this one once, and nobody let it sign the eighteen settlements that followed. A key
# proves no such log since decision 132. Without one, verifying says since of how many events.
_BY_KEY = "log verify table.sqlite --key key.pub --checkpoint"
UNSIGNED = {
    "all-types": (
        "log verify table.sqlite: line 4: 'signed to 2: 18 ",
        f"{_BY_KEY} checkpoints.txt: exit code 0, now 1:",
        f"{_BY_KEY} checkpoints.txt --json: exit code 0, now 1:",
        f"{_BY_KEY} cosigned.txt --witness witness.pub --json: exit code 0, now 1:",
        f"{_BY_KEY} cosigned.txt --witness stranger-witness.pub --json: line 1.root:",
    )
}

# Of each story a third of the commands is asked, in turn from story to story; `make soak` asks all.
_TURNS = [(story, at % 3, 3) for at, story in enumerate(kept_stories())]
_WHOLE = [
    pytest.param(story, 0, 1, marks=pytest.mark.soak(computes=True)) for story in kept_stories()
]


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("story", "turn", "every"),
    [*_TURNS, *_WHOLE],
    ids=lambda value: value.name if isinstance(value, Path) else None,
)
def test_this_build_says_what_the_build_of_its_time_said(
    story: Path, turn: int, every: int, tmp_path: Path
) -> None:
    known = TOLD_WRONG if story.parents[1].name == "0.1.0" else UNSIGNED
    wrong = known.get(story.name, ())
    said = differences(unpack(story, tmp_path), turn, every=every)
    found = [each for each in said if not _SAYS_MORE.match(each)]
    assert [each for each in found if not each.startswith(wrong)] == []
    if every == 1:
        assert all(any(each.startswith(words) for each in found) for words in wrong)


# ---- and nothing that there is, is missing ----


@pytest.fixture(scope="module")
def stories(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """All of them, unpacked."""
    there = tmp_path_factory.mktemp("kept")
    return [unpack(story, there / story.name) for story in kept_stories()]


@pytest.fixture(scope="module")
def events(stories: list[Path]) -> list[dict[str, Any]]:
    """Every event of every log of the corpus."""
    logs = [folder for folder in (*stories, *folders()) if (folder / LOG).exists()]
    return [event for folder in logs for event in events_of(folder)]


def reports(events: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Every report of every shoe."""
    return (each["data"]["source"] for each in events if each["type"] == "shoe_reported")


def timings(stories: list[Path]) -> dict[str, str | None]:
    """The hash of each rulebook to its timing of commission, by the command line."""
    found: dict[str, str | None] = {}
    for path in (path for story in stories for path in story.rglob("*.toml")):
        told = answer_to(path.parent, ["rulebook", "show", f"./{path.name}", "--json"])
        if told.code == 0:
            book = json.loads(told.out)
            found[book["hash"]] = (book["commission"] or {}).get("timing")
    return found


def test_every_type_of_event_stands_in_a_log(events: list[dict[str, Any]]) -> None:
    assert {(each["type"], each["v"]) for each in events} >= set(TABLE_EVENTS), HOW


def test_everything_that_a_shoe_says_stands_in_a_log(events: list[dict[str, Any]]) -> None:
    kinds = {kind.__struct_config__.tag for kind in get_args(AnyReport)}
    assert {each["report"]["kind"] for each in reports(events)} >= kinds, HOW


def test_every_irregularity_stands_in_a_log(events: list[dict[str, Any]]) -> None:
    recorded = {e["data"]["kind"] for e in events if e["type"] == "irregularity_recorded"}
    assert recorded >= RECORDED_KINDS, HOW


def test_every_shipped_rulebook_was_played(events: list[dict[str, Any]]) -> None:
    adopted = {e["data"]["rulebook"] for e in events if e["type"] == "rulebook_adopted"}
    assert adopted >= set(shipped_ids()), HOW


def test_every_timing_of_commission_was_played(
    stories: list[Path], events: list[dict[str, Any]]
) -> None:
    known = timings(stories)
    settled = {
        e["data"]["settlement"]["rulebook_hash"] for e in events if e["type"] == "coup_settled"
    }
    assert {known[each] for each in settled} >= {timing.value for timing in CommissionTiming}, HOW


def test_every_wire_profile_spoke_and_has_a_journal(
    stories: list[Path], events: list[dict[str, Any]]
) -> None:
    assert {each["profile"] for each in reports(events)} >= set(profile_names()), HOW
    journals = {path.name.split(".")[1] for story in stories for path in story.glob("*.journal")}
    assert journals >= set(profile_names()), HOW


def test_faces_were_told_at_once_and_later(events: list[dict[str, Any]]) -> None:
    told: dict[str, Disclosure] = {"card_drawn": "immediate", "card_revealed": "deferred"}
    faces = (each["report"] for each in reports(events) if each["report"].get("face"))
    found = {told[each["kind"]] for each in faces if each["kind"] in told}
    assert found == set(get_args(Disclosure)), HOW


def test_settled_coups_were_void_and_corrected_in_every_way(events: list[dict[str, Any]]) -> None:
    settled, after = set(), set()
    for each in events:
        coup = each["correlation"], each["stream"]
        if coup in settled:
            after.add(each["type"])
        if each["type"] == "coup_settled":
            settled.add(coup)
    assert after >= {"hands_corrected", "wager_corrected", "rulebook_corrected", "coup_voided"}


def test_rulebooks_and_profiles_that_a_log_names_are_kept_beside_it(
    stories: list[Path], events: list[dict[str, Any]]
) -> None:
    files = {
        hashlib.sha256(path.read_bytes()).hexdigest()
        for story in stories
        for path in story.rglob("*.toml")
    }
    named = {each["profile_hash"] for each in reports(events)} - {MADE_UP}
    named |= {e["data"]["rulebook_hash"] for e in events if "rulebook_hash" in e["data"]}
    assert named <= files


def test_each_log_has_a_ledger_checkpoints_and_evidence(stories: list[Path]) -> None:
    logs = [story for story in stories if (story / LOG).exists()]
    assert len(logs) > 1
    for story in logs:
        there = {path.name for path in story.iterdir()}
        assert {LEDGER, "checkpoints.txt", "evidence-1.json"} <= there


def test_no_private_key_is_kept(stories: list[Path]) -> None:
    files = [path for story in stories for path in story.rglob("*") if path.is_file()]
    assert [path for path in files if b"PRIVATE+KEY" in path.read_bytes()] == []
    assert any(path.suffix == ".pub" for path in files)


def test_control_characters_stand_in_a_log_and_in_a_ledger(stories: list[Path]) -> None:
    (story,) = [story for story in stories if story.name == "control-characters"]
    assert b"\\u0000" in (story / LOG).read_bytes()
    booked = answer_to(story, ["cage", "statement", "--ledger", LEDGER, "--json"]).out
    patrons = {
        p["patron"]
        for line in booked.rstrip("\n").split("\n")
        for p in json.loads(line)["postings"]
    }
    assert "p\0" in patrons


# ---- how it is compared ----


@pytest.mark.parametrize(
    ("now", "holds"),
    [
        ('{"a":1,"b":[{"c":null}]}', True),
        ('{"b":[{"c":null,"new":2}],"a":1,"newer":[]}', True),
        ('{"a":1}', False),
        ('{"a":1,"b":[]}', False),
        ('{"a":1,"b":[{"c":null},{}]}', False),
        ('{"a":true,"b":[{"c":null}]}', False),
        ('{"a":1.0,"b":[{"c":null}]}', False),
        ('{"a":1,"b":[{"c":null}]}\n{}', False),
        ("a", False),
    ],
)
def test_a_document_may_have_got_more_keys_and_nothing_else(now: str, holds: bool) -> None:
    assert same('{"a":1,"b":[{"c":null}]}', now) is holds
    assert same("coup 1 was settled", f"{now}") is False


def test_another_answer_is_told_with_its_place(tmp_path: Path) -> None:
    story = unpack(next(path for path in kept_stories() if path.name == "judgements"), tmp_path)
    said = json.loads((story / "said.json").read_text("utf-8"))
    text, document = (each for each in said if each["argv"][0] == "settle" and said.index(each) < 5)
    text["out"] = text["out"].replace("Player", "Nobody", 1)
    document["code"] = 1
    (story / "said.json").write_text(json.dumps([text, document]), "utf-8")
    told, code = differences(story)
    assert told.startswith("settle ")
    assert ": line 1: " in told
    assert "Player" in told
    assert "Nobody" in told
    assert code.startswith("settle ")
    assert "--json: exit code 1, now 0" in code
    assert len(said_of(story)) == 2
