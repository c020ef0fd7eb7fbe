"""Events that somebody without a key adds to an honest log: both verifiers refuse the same one.

Each is appended as a forger does it: the chain goes on, and nothing is signed.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from baccarat.history.log_judging import opening_judge
from events.errors import LogRefused
from events.log.store import EventLog
from events.types import event_id
from tests.support.log.corpus import CORPUS
from tests.support.log.logs import forging, json_bytes, rehash
from tests.support.machine.commands import here
from tests.support.table.evidence import KEY, ORIGIN, SignedTable, signed_table
from tests.support.verifier.second import answers, unpacked_log

pytestmark = pytest.mark.process

OWED = [{"seat": 1, "amount": 77_000_000}]


class Forged(NamedTuple):
    """An event to add: its type, version and data, and the coup of its envelope."""

    kind: str
    v: int
    data: dict[str, Any]
    correlation: str = ""


def add(log: Path, events: list[Forged], cause: str = "core/x/1") -> None:
    with forging(log) as db:
        ((position, at),) = db.execute("SELECT max(position), at FROM event").fetchall()
        for index, each in enumerate(events):
            stored = json_bytes(
                {
                    "event_id": event_id(cause, index),
                    "stream": ORIGIN,
                    "position": (position := position + 1),
                    "type": each.kind,
                    "v": each.v,
                    "at": at,
                    "actor": "core",
                    "cause": cause,
                    "correlation": each.correlation,
                    "data": each.data,
                }
            )
            row = (position, each.kind, each.v, at, stored, b"")
            db.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?)", row)
        rehash(db, ORIGIN)


def last(log: Path, kind: str) -> dict[str, Any]:
    """The data of the newest event of a type."""
    query = "SELECT bytes FROM event WHERE type = ? ORDER BY position DESC LIMIT 1"
    with forging(log) as db:
        ((stored,),) = db.execute(query, (kind,)).fetchall()
    data: dict[str, Any] = json.loads(stored)["data"]
    return data


def verdicts(log: Path, folder: Path, *words: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What `baccarat log verify` and the second verifier say."""
    said = json.loads(here("log", "verify", log, "--json", *words).out)
    export = folder / "log.jsonl"
    assert here("log", "export", log, "-o", export).code == 0
    question = {"ask": "log", "path": str(export), "keys": list(words[1:])}
    (theirs,) = answers([question], folder)
    return said, theirs


def end_of(log: Path) -> int:
    with forging(log) as db:
        ((position,),) = db.execute("SELECT max(position) FROM event").fetchall()
    return int(position)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Two coups that are over, and one whose wagers are placed and whose first card lies."""
    path = tmp_path / "table.sqlite"
    with signed_table(path) as table:
        for _ in range(2):
            table.coup()
        begin(table)
    return path


def begin(table: SignedTable) -> None:
    table.open((2, "banker", 2000))
    table.deal(("9S",))


def paid_again(log: Path, coup: str | None = None, inside: str | None = None) -> Forged:
    """Another revision of the last settlement, in an event that names `coup`."""
    was = last(log, "coup_settled")["settlement"]
    coup = was["coup"] if coup is None else coup
    line = {**was["lines"][0], "winnings": 500_000, "paid": was["lines"][0]["stake"] + 500_000}
    paid = was["paid"] - was["lines"][0]["paid"] + line["paid"]
    settlement = was | {
        "settlement_id": was["settlement_id"].rpartition("/")[0] + "/2",
        "coup": inside or was["coup"],
        "revision": 2,
        "reverses": was["settlement_id"],
        "lines": [line, *was["lines"][1:]],
        "paid": paid,
        "difference": [{"seat": line["seat"], "paid": paid - was["paid"]}],
    }
    return Forged("coup_settled", 1, {"coup": coup, "settlement": settlement}, coup)


def commission(log: Path, coup: str, v: int = 2, **more: Any) -> Forged:
    settlement_id = last(log, "coup_settled")["settlement"]["settlement_id"]
    data = {"coup": coup, "currency": "AUD", "settlement_id": settlement_id,
            "timing": "deduct", "amounts": OWED} | more  # fmt: skip
    return Forged("commission_accrued", v, data, coup)


def over(log: Path) -> str:
    return str(last(log, "coup_settled")["coup"])


def dealing(log: Path) -> str:
    return str(last(log, "card_dealt")["coup"])


def adopted(log: Path, **more: str) -> Forged:
    return Forged("rulebook_adopted", 2, last(log, "rulebook_adopted") | more)


def unnamed(log: Path) -> Forged:
    told = last(log, "rulebook_adopted")
    del told["currency"]
    return Forged("rulebook_adopted", 1, told)


def placed(log: Path, name: str) -> Forged:
    wager = {"id": name, "seat": 1, "bet": "player", "stake": 900_000}
    return Forged("wagers_placed", 1, {"coup": dealing(log), "wagers": [wager]}, dealing(log))


def by_hand(log: Path) -> Forged:
    data = {"coup": dealing(log), "hand": "banker", "number": 1, "card": "2D", "rule": "initial",
            "source": "manual"}  # fmt: skip
    return Forged("card_dealt", 1, data, dealing(log))


def corrected(coup: str, stake: int = 1) -> Forged:
    wager = {"id": f"x/{stake}/0", "seat": 1, "bet": "banker", "stake": stake}
    return Forged("wager_corrected", 1, {"coup": coup, "wager": wager, "reason": "typo"}, coup)


def old_commission(kind: str, **more: Any) -> Forged:
    data = {"amounts": OWED} | more
    return Forged(kind, 1, data, str(data.get("coup", "")))


@pytest.mark.parametrize(
    ("forged", "reason"),
    [
        (lambda log: paid_again(log, coup=""), "coup_settled: it names no coup"),
        (lambda log: paid_again(log, inside=dealing(log)), "its settlement is of another coup"),
        (lambda _: corrected(""), "wager_corrected: it names no coup"),
        (lambda log: commission(log, ""), "commission_accrued: it names no coup"),
        (lambda log: commission(log, over(log), currency=""), "it names no currency"),
        (lambda log: commission(log, dealing(log)), "about the settlement of another coup"),
        (
            lambda _: old_commission("commission_collected", method="paid"),
            "commission_collected: it names no currency",
        ),
        (
            lambda _: old_commission("commission_uncollected", reason="x"),
            "commission_uncollected: it names no currency",
        ),
        (
            lambda log: old_commission(
                "commission_reversed",
                coup=over(log),
                settlement_id=last(log, "coup_settled")["settlement"]["settlement_id"],
            ),
            "commission_reversed: it names no currency",
        ),
        (lambda log: adopted(log, currency="JPY"), "au-commission is in AUD, not JPY"),
        (lambda log: adopted(log, rulebook="other"), "is au-commission"),
        (unnamed, "rulebook_adopted: it names no currency"),
        (lambda log: placed(log, "core/x/1/0"), "does not come while a coup is dealing"),
        (lambda log: placed(log, "core/y/0"), "a wager has not the name of its request"),
        (by_hand, "no card is dealt by manual"),
    ],
)
def test_what_was_added_is_refused_by_both_verifiers_and_by_opening(
    log: Path, tmp_path: Path, forged: Callable[[Path], Forged], reason: str
) -> None:
    assert all(each["ok"] for each in verdicts(log, tmp_path))
    add(log, [forged(log)])
    ours, theirs = verdicts(log, tmp_path)
    assert reason in ours["reason"]
    place = (False, end_of(log))
    assert [(each["ok"], each["first_bad"]) for each in (ours, theirs)] == [place, place]
    with pytest.raises(LogRefused, match=reason):
        EventLog.open(log, ORIGIN, None, opening_judge(log, ORIGIN))


def test_a_key_that_stands_twice_is_refused(log: Path, tmp_path: Path) -> None:
    query = "SELECT position, bytes FROM event WHERE type = 'coup_settled'"
    with forging(log) as db:
        position, stored = db.execute(f"{query} ORDER BY position DESC").fetchone()
        twice = stored.replace(b'"paid":', b'"paid":99999999,"paid":', 1)
        db.execute("UPDATE event SET bytes = ? WHERE position = ?", (twice, position))
        rehash(db, ORIGIN)
        db.execute("DELETE FROM checkpoint WHERE size >= ?", (position,))
    ours, theirs = verdicts(log, tmp_path)
    assert "a key stands twice" in ours["reason"]
    assert [each["first_bad"] for each in (ours, theirs)] == [position, position]
    with pytest.raises(LogRefused, match="a key stands twice"):
        EventLog.open(log, ORIGIN)


def test_a_card_without_the_bytes_of_the_shoe_is_refused(tmp_path: Path) -> None:
    log = unpacked_log(CORPUS / "0.2.0" / "kept" / "money-per-shoe", tmp_path / "story")
    at = 0
    with forging(log) as db:
        ((origin,),) = db.execute("SELECT value FROM meta WHERE name = 'origin'").fetchall()
        query = "SELECT position, bytes FROM event WHERE type = 'shoe_reported' ORDER BY position"
        for position, stored in db.execute(query).fetchall():
            told = json.loads(stored)
            if told["data"]["source"]["report"]["kind"] == "card_drawn":
                at = position
                del told["data"]["source"]["raw"]
                row = (json_bytes(told), position)
                db.execute("UPDATE event SET bytes = ? WHERE position = ?", row)
                break
        rehash(db, origin)
        db.execute("DELETE FROM checkpoint")
    ours, theirs = verdicts(log, tmp_path)
    assert "bytes are missing" in ours["reason"]
    assert [each["first_bad"] for each in (ours, theirs)] == [at, at]


def test_wagers_corrected_twice_are_more_than_a_kill_leaves(log: Path, tmp_path: Path) -> None:
    key = ("--key", str(KEY.verifier))
    add(log, [corrected(dealing(log), 1)], cause="x/1")
    first = end_of(log)
    assert [each["ok"] for each in verdicts(log, tmp_path, *key)] == [True, True]
    add(log, [corrected(dealing(log), 2)], cause="x/2")
    for said in verdicts(log, tmp_path, *key):
        assert (said["ok"], said["first_bad"]) == (False, first)
        assert "unsigned" in said["reason"]


def test_a_key_proves_nothing_of_a_log_that_nobody_signed(log: Path, tmp_path: Path) -> None:
    with forging(log) as db:
        db.execute("DELETE FROM checkpoint")
    for said in verdicts(log, tmp_path, "--key", str(KEY.verifier)):
        assert not said["ok"]
        assert "the key that was given proves nothing" in said["reason"]


def test_the_rulebooks_of_a_log_are_named_with_who_vouches_for_them(
    log: Path, tmp_path: Path
) -> None:
    told = last(log, "rulebook_adopted")
    shipped = {"id": told["rulebook"], "hash": told["rulebook_hash"]}
    own = {"id": "own", "hash": "ab" * 32}
    add(log, [Forged("rulebook_adopted", 2, {"rulebook": "own", "rulebook_hash": own["hash"],
                                             "currency": "AUD"})])  # fmt: skip
    ours, theirs = verdicts(log, tmp_path)
    assert ours["rulebooks"] == [shipped | {"known": "shipped"}, own | {"known": None}]
    assert theirs["rulebooks"] == [shipped, own]
    said = here("log", "verify", log).out
    assert f"SHA-256 {shipped['hash']}: shipped with this build\n" in said
    assert f"rulebook own, SHA-256 {own['hash']}: not known here" in said
