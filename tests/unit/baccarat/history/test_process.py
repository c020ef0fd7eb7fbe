"""The reader of the past tells what a look at the whole log tells, and not what is to be hidden."""

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator

from baccarat.contract.schemas import bundle
from baccarat.history.evidence_from_log import gather, proofs
from baccarat.history.log_facts import replay, state_at, view_of
from baccarat.history.process import HistoryQueries
from baccarat.rulebooks.editions import available_rulebooks
from events.cards import Card, Hand
from events.commands import OpenBetting, Refusal, ResolveIrregularity, VoidCoup
from events.commands.registry import ROWS, Decider, Row
from events.log.reader import reading
from events.log.store import EventLog
from events.proof.merkle import inclusion_proofs, leaf_hash
from events.types import CardCarriedOver, DeviceResult, LinkDown
from table_core.evidence.bundle import verify_evidence
from table_core.fold.snapshot import decode_state
from table_core.history.index import BLOCK, HistoryIndex
from table_core.narrative.coup import narrate_coup
from table_core.process.coup_recall import recall_coup
from table_core.process.history_client import RECALL, HistoryQuestion
from table_core.projections.table_document import encode_state_view
from table_core.replay.coup_events import CoupCollector
from table_core.service.history_child import REFUSED, SHOWN
from tests.support.log.corpus import folders
from tests.support.log.logs import keep_alarms
from tests.support.table.commands import example
from tests.support.table.coups import SHOE, drawn
from tests.support.table.evidence import KEY, signed_table
from tests.support.table.stories import BOOKS


class Asked:
    """A reader of one log, asked as the table asks it.

    Args:
        path: the log.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.past = HistoryQueries(path, available_rulebooks(path))

    def said(self, name: str, to: int, body: object) -> bytes | Refusal:
        answer = self.past.answer(HistoryQuestion(name, to, body))
        if answer[:1] == REFUSED:
            return msgspec.json.decode(answer[1:], type=Refusal)
        assert answer[:1] == SHOWN
        return answer[1:]

    def shown(self, name: str, **fields: Any) -> Any:
        said = self.said(name, self.end, {"transaction": "t", **fields})
        assert isinstance(said, bytes), said
        return json.loads(said)

    def code(self, name: str, **fields: Any) -> str:
        said = self.said(name, self.end, {"transaction": "t", **fields})
        assert isinstance(said, Refusal), said
        assert said.text
        return said.code

    @property
    def end(self) -> int:
        with reading(self.path) as log:
            return log.end


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    """Every kind of coup there is, in three shoes."""
    path = tmp_path_factory.mktemp("corpus") / "table.sqlite"
    return Asked(Path(shutil.copy(folders()[-1] / "table.sqlite", path)))


def names(asked: Asked, **fields: Any) -> list[str]:
    return [each["coup"] for each in asked.shown("find_coups", **fields)["coups"]]


@pytest.fixture(scope="module")
def coups(corpus: Asked) -> list[str]:
    found = names(corpus, limit=50)
    assert len(found) > 10
    return found


def test_each_coup_is_told_as_by_one_who_reads_the_whole_log(
    corpus: Asked, coups: list[str]
) -> None:
    for coup in coups:
        collector = CoupCollector(coup)
        with reading(corpus.path) as log:
            for moment in replay(log):
                collector.take(moment)
        record = collector.record()
        assert record is not None
        story = narrate_coup(record, origin=log.origin, rulebooks=BOOKS)
        told = corpus.shown("tell_coup", coup=coup)
        assert told["story"] == json.loads(msgspec.json.encode(story))
        assert [each["position"] for each in told["steps"]] == [
            each["position"] for each in told["story"]["lines"]
        ]
        last = told["steps"][-1]
        for hand in ("player", "banker"):
            cards = [each["card"] for each in last["cards"] if each["hand"] == hand]
            assert cards == told["story"][hand]["cards"]


@pytest.mark.parametrize("row", [row for row in ROWS if row.decider is Decider.HISTORY])
def test_every_question_of_the_registry_is_read_here(corpus: Asked, row: Row) -> None:
    said = corpus.said(row.name, corpus.end, msgspec.to_builtins(example(row)))
    assert not isinstance(said, Refusal) or said.code != "unknown_command"


def test_each_coup_is_recalled_as_from_the_log_itself(corpus: Asked, coups: list[str]) -> None:
    with EventLog.open(Path(shutil.copy(corpus.path, f"{corpus.path}.2")), "harbour/b7") as log:
        for coup in coups:
            said = corpus.said(RECALL, corpus.end, coup)
            assert isinstance(said, bytes)
            mine, whole = decode_state(said), recall_coup(log.read, log.position, coup)
            assert whole is not None
            assert (mine.shoe, mine.coup) == (whole.shoe, whole.coup)
            assert list(mine.past) == [each for each in whole.past if each.id == coup]
    assert corpus.said(RECALL, corpus.end, "20990101-01/1") == b"null"


def test_the_table_is_shown_as_it_was_published(corpus: Asked) -> None:
    rng = random.Random("positions")
    with reading(corpus.path) as log:
        for position in (1, log.end, *rng.sample(range(2, log.end), 10)):
            state = state_at(log, position)
            if state.rulebook_hash not in BOOKS:  # a site's own
                assert corpus.code("show_table", position=position) == "unknown_rulebook"
                continue
            shown = corpus.shown("show_table", position=position)
            assert shown == json.loads(encode_state_view(view_of(state, log, BOOKS)))
        assert corpus.code("show_table", position=log.end + 1) == "unknown_position"
    assert corpus.code("show_table", position=0) == "unknown_position"


def test_coups_are_found_by_whatever_is_known_of_them(corpus: Asked, coups: list[str]) -> None:
    stories = {coup: corpus.shown("tell_coup", coup=coup) for coup in coups}
    shoe = coups[-1].partition("/")[0]
    assert names(corpus, shoe=shoe, limit=50) == [c for c in coups if c.startswith(f"{shoe}/")]
    assert names(corpus, number=2) == [c for c in coups if c.endswith("/2")]
    for result in ("player", "banker", "tie"):
        assert names(corpus, result=result) == [
            c
            for c, told in stories.items()
            if told["story"]["result"] == result and told["story"]["phase"] != "voided"
        ]
    assert names(corpus, result="void") == [
        c for c, told in stories.items() if told["story"]["phase"] == "voided"
    ]
    with_it = names(corpus, face="2D", limit=50)
    assert set(with_it) >= {
        c
        for c, told in stories.items()
        if "2D" in [each["card"] for each in told["steps"][-1]["cards"]]
    }
    assert 0 < len(with_it) < len(coups)
    opened = {c: told["story"]["opened_at"] for c, told in stories.items()}
    since, until = opened[coups[6]], opened[coups[2]]
    assert names(corpus, since=since, until=until) == coups[3:7]
    assert names(corpus, seat=99) == []
    for seat in (1, 2, 3):
        assert set(names(corpus, seat=seat, limit=50)) >= {
            c for c, told in stories.items() if seat in [w["seat"] for w in told["wagers"]]
        }


def test_what_is_found_comes_in_pages(corpus: Asked, coups: list[str]) -> None:
    first = corpus.shown("find_coups", limit=4)
    assert first["more"]
    rest = corpus.shown("find_coups", limit=50, before=first["coups"][-1]["coup"])
    assert not rest["more"]
    assert [each["coup"] for each in (*first["coups"], *rest["coups"])] == coups
    assert corpus.code("find_coups", before="20990101-01/1") == "unknown_coup"
    for limit in (0, 51, -1):
        assert corpus.code("find_coups", limit=limit) == "invalid_limit"
    for wrong in ("yesterday", "2026-11-27", "2026-11-27T20:30:00+01:00", ""):
        assert corpus.code("find_coups", since=wrong) == "invalid_time"


@pytest.fixture
def signed(tmp_path: Path) -> Iterator[Any]:
    with signed_table(tmp_path / "table.sqlite") as table:
        table.ready()
        yield table


def test_a_coup_in_progress_is_found_and_not_told(signed: Any, tmp_path: Path) -> None:
    coup = signed.coup()
    signed.open((1, "player", 1000))
    signed.deal(("9S", "2D"))
    asked, now = Asked(tmp_path / "table.sqlite"), f"{SHOE}/2"
    assert names(asked) == [now, coup]
    for name in ("tell_coup", "prove_coup"):
        assert asked.code(name, coup=now) == "coup_in_progress"
        assert asked.code(name, coup="20990101-01/1") == "unknown_coup"
        assert asked.shown(name, coup=coup)
    change = [{"position": 20, "face": "9D"}]
    assert asked.code("what_if", coup=now, changes=change) == "coup_in_progress"


def test_a_coup_is_not_told_while_cards_of_its_round_may_come(signed: Any, tmp_path: Path) -> None:
    """A void in mid-deal: what the shoe still says of the round, nobody has seen."""
    signed.open((1, "player", 1000))
    signed.deal(("9S", "2D"))
    signed.ask("supervisor", VoidCoup(transaction="v", reason="misdeal"))
    asked = Asked(tmp_path / "table.sqlite")
    assert asked.code("tell_coup", coup=f"{SHOE}/1") == "face_withheld"
    signed.say(drawn(Hand.PLAYER, 2, "KH"), DeviceResult(winner="player"))
    assert asked.shown("tell_coup", coup=f"{SHOE}/1")


def test_a_coup_whose_card_is_the_next_coups_first_is_not_told_before_that_is_over(
    signed: Any, tmp_path: Path
) -> None:
    """Else a supervisor could read it while betting is open."""
    asked, coup = Asked(tmp_path / "table.sqlite"), f"{SHOE}/1"

    def told() -> bool:
        said = asked.said("tell_coup", asked.end, {"transaction": "t", "coup": coup})
        assert isinstance(said, bytes) or said.code == "face_withheld"
        return isinstance(said, bytes)

    signed.open((1, "player", 1000))
    signed.deal()
    signed.say(drawn(Hand.PLAYER, 3, "8C"), DeviceResult(winner="player"))
    signed.ask(
        "supervisor",
        ResolveIrregularity(transaction="r", kind="excess_card", seen=False, reason="face down"),
    )
    assert signed.table.state.link.carried
    assert not told()
    # Betting opens, and is void before a card; and opens again.
    signed.ask("dealer", OpenBetting(transaction="o2"))
    assert not told()
    signed.ask("supervisor", VoidCoup(transaction="v2", reason="chips fell"))
    assert not told()
    signed.open((1, "player", 1000))
    assert not told()
    signed.say(CardCarriedOver(hand=Hand.PLAYER, number=1, face=Card.C8))
    assert not told()
    signed.say(drawn(Hand.BANKER, 1, "2D"), drawn(Hand.PLAYER, 2, "KH"))
    signed.say(drawn(Hand.BANKER, 2, "3C"), DeviceResult(winner="player"))
    assert told()


def test_what_if_says_what_would_have_been_and_refuses_nonsense(
    signed: Any, tmp_path: Path
) -> None:
    coup = signed.coup()
    asked = Asked(tmp_path / "table.sqlite")
    lines = asked.shown("tell_coup", coup=coup)["story"]["lines"]
    position = [each["position"] for each in lines if each["type"] == "card_dealt"][1]
    # Player 9 against 5; with a six for Banker's two it is nine all.
    shown = asked.shown("what_if", coup=coup, changes=[{"position": position, "face": "6D"}])
    assert (shown["happened"]["winner"], shown["instead"]["winner"]) == ("player", "tie")
    assert shown["instead"]["banker"] == ["6D", "3C"]
    assert [each["difference"] for each in shown["wagers"]] == [-1000, 2000, 4500]

    def wrong(*changes: tuple[int, str]) -> str:
        said = [{"position": at, "face": face} for at, face in changes]
        return asked.code("what_if", coup=coup, changes=said)

    assert wrong() == wrong(*[(position, "2C")] * 2) == "invalid_changes"
    assert wrong((1, "2C")) == wrong((position, "2D")) == "no_such_card"


def test_evidence_is_the_very_file_that_the_command_makes(signed: Any, tmp_path: Path) -> None:
    """Across blocks of the tree: whole ones, and one that is still growing."""
    first = signed.coup()
    keep_alarms(signed.log, 2 * BLOCK)
    signed.table.writer.state = msgspec.structs.replace(
        signed.table.state, position=signed.log.position
    )
    last = signed.coup()
    asked = Asked(tmp_path / "table.sqlite")
    for coup in (first, last):
        shown = asked.shown("prove_coup", coup=coup)
        made = gather(tmp_path / "table.sqlite", coup, build="another")
        mine, other = json.loads(shown["evidence"]), json.loads(made)
        for document in (mine, other):
            del document["build"], document["seal"]
        assert mine == other
        assert verify_evidence(shown["evidence"].encode(), {KEY.verifier}).ok
        assert shown["file"] == f"coup-site-t1-{coup.replace('/', '-')}.json"


def test_what_is_shown_is_what_the_schemas_say(signed: Any, tmp_path: Path) -> None:
    coup, asked = signed.coup(), Asked(tmp_path / "table.sqlite")
    everything = bundle()
    shown = {
        "CoupsFound": asked.shown("find_coups"),
        "CoupProved": asked.shown("prove_coup", coup=coup),
        "StateView": asked.shown("show_table", position=asked.end),
        "": asked.shown("tell_coup", coup=coup),
    }
    answers = Draft202012Validator(everything | {"$ref": "#/$defs/answer"})
    for name, document in shown.items():
        answers.validate({"transaction": "t", "result": "accepted", "shown": document})
        assert not answers.is_valid({"transaction": "t", "result": "accepted", "shown": {"x": 1}})
        if name:
            Draft202012Validator(everything | {"$ref": f"#/$defs/{name}"}).validate(document)


def test_without_a_checkpoint_there_is_no_evidence(signed: Any, tmp_path: Path) -> None:
    signed.open((1, "player", 1000))
    signed.deal()
    signed.say(DeviceResult(winner="player"))
    assert Asked(tmp_path / "table.sqlite").code("prove_coup", coup=f"{SHOE}/1") == "no_evidence"


@pytest.mark.parametrize("events", [1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7])
def test_proofs_are_those_of_the_whole_tree(events: int, tmp_path: Path) -> None:
    path, rng = tmp_path / "table.sqlite", random.Random(events)
    with EventLog.open(path, "site/t1") as log:
        keep_alarms(log, events)
    with reading(path) as source:
        index, leaves = HistoryIndex(source.origin), []
        for row in source.bare():
            index.take(row)
            leaves.append(leaf_hash(row[1]))
        for _ in range(20):
            size = rng.randint(1, events)
            indices = sorted(rng.randrange(size) for _ in range(5))
            found = proofs(index, source.bare_after, indices, size)
            assert found == inclusion_proofs(leaves[:size], indices), (size, indices)


def test_a_long_log_is_read_in_slices_and_says_how_far(tmp_path: Path) -> None:
    path = tmp_path / "table.sqlite"
    with EventLog.open(path, "site/t1") as log:
        keep_alarms(log, 3000)
    past = HistoryQueries(path, available_rulebooks(path))
    slices = 1
    while not past.catch_up(3000, 0.0):
        slices += 1
    assert slices == 3000 // 256 + 1
    assert past.answer(HistoryQuestion("find_coups", 3000, {"transaction": "t"}))[:1] == SHOWN


def test_a_log_that_was_changed_behind_its_reader_is_not_told_from(
    signed: Any, tmp_path: Path
) -> None:
    asked = Asked(tmp_path / "table.sqlite")
    coup = signed.coup()
    assert names(asked) == [coup]
    index = asked.past._index
    assert index is not None
    index.newest = index.newest._replace(head=bytes(32))
    signed.say(LinkDown(reason="unplugged"))
    assert asked.code("find_coups") == "past_unavailable"
