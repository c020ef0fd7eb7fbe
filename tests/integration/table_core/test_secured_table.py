"""A whole table over TLS, each service by a login of its own, at both brokers.

A coup from betting to settlement while others forge, replay, retain and flood what they may not.
"""

import json
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from tests.support.brokers.tls_broker import Login, secured_broker
from tests.support.machine.waiting import until_blocking
from tests.support.service.secured_table import ROOT, SecuredTable, secured_table
from tests.support.shoe.shoe_bytes import frames

# In `make soak` 100,000; each is a request that means nothing.
_JUNK: Final = int(os.environ.get("JUNK_MESSAGES", "5000"))
_BLOCK: Final = 1_000


@pytest.fixture(params=["mosquitto", "nats"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SecuredTable]:
    with (
        secured_broker(tmp_path, request.param, ("b7", "b8")) as broker,
        secured_table(broker, tmp_path) as found,
    ):
        yield found


def test_a_coup_is_played_while_others_forge_and_flood(table: SecuredTable) -> None:
    wager, placed = table.first_wager()
    # The limits of the configuration are in force, and in the log.
    more = table.ask("wagers", "place_wager", wagers=[wager | {"seat": 2, "stake": 10_001}])
    assert (more["result"], more["code"]) == ("refused", "table_maximum")
    before = table.events()
    assert before.count("limits_set") == 1

    # Replayed, as it was and with another stake; in the wrong role; for another table.
    again = table.ask("wagers", "place_wager", transaction="w1", wagers=[wager])
    assert (again["result"], again["position"]) == ("exists", placed["position"])
    other = table.ask("wagers", "place_wager", transaction="w1", wagers=[wager | {"stake": 90_000}])
    assert (other["result"], other["code"]) == ("refused", "exists_with_different_wagers")
    for command, fields in (
        ("void_coup", {"reason": "mine"}),
        ("set_limits", {"table_maximum": 10**9}),
        ("load_shoe", {"shoe": "20261128-02"}),
    ):
        assert table.ask("wagers", command, **fields)["code"] == "not_allowed"
    for forger in ("display", "stranger", "wagers"):
        for topic in ("request/supervisor/void_coup", "settlement", "state", "shoe/event"):
            body = json.dumps({"transaction": f"{forger}-{topic}", "reason": "forged"})
            table.people[forger].say(f"{ROOT}/{topic}", body.encode())
    flood(table.people["wagers"], f"{ROOT}/request/wagers")
    say_too_much(table)
    assert table.ask("dealer", "close_betting")["result"] == "accepted"
    new = table.events()[len(before) :]
    assert new == ["betting_closed"]

    table.shoe.say(
        b"".join(frame * 3 for frame in frames("D P1 9S, D B1 7D, D P2 KH, D B2 KC, G player", 4))
    )
    until_blocking(lambda: "coup_settled" in table.events(), "the coup settles")
    witness = table.people["witness"]
    until_blocking(lambda: any(t == f"{ROOT}/settlement" for t, _ in witness.heard), "it is told")
    assert not any(b"forged" in payload for _, payload in witness.heard)
    assert table.events().count("shoe_loaded") == 1  # and not what lay at the broker
    refused = (table.folder / "table.log").read_bytes()
    for code in ("not_allowed", "too_large", "invalid_request", "unknown_command", "retained"):
        assert f'"code": "{code}'.encode() in refused


def say_too_much(table: SecuredTable) -> None:
    """What a broker carries is refused by the table, and what is larger by the broker."""
    large = {"transaction": "large", "wagers": [], "actor": "x" * 5_000_000}
    assert table.tell("wagers", "place_wager", large)["code"] == "too_large"
    witness, topic = table.people["witness"], f"{ROOT}/request/wagers/place_wager"
    with Login(table.broker, "b7-wagers") as login:
        login.say(topic, b"x" * (8 * 1024 * 1024 + 1))
        if table.broker.kind == "nats":
            log = table.folder / "broker.log"
            until_blocking(lambda: b"maximum payload exceeded" in log.read_bytes(), "it is cut off")
        else:  # which acknowledges what it drops
            until_blocking(lambda: login.said, "the broker has it")
    assert not [topic for topic, payload in witness.heard if len(payload) > 8 * 1024 * 1024]


def _has_said(login: Login, least: int) -> bool:
    return len(login.said) >= least


def flood(login: Login, topic: str) -> None:
    """Junk of many kinds, as fast as the broker takes it."""
    junk = (b"", b"{", b"\xff\xfe", b"[" * 5_000, b'{"transaction": 5}', b"null", b"0" * 20_000)
    begun = len(login.said)
    for number in range(_JUNK):
        login.say(f"{topic}/{('place_wager', 'nonsense', 'ack')[number % 3]}", junk[number % 7])
        if number % _BLOCK == _BLOCK - 1:
            said = begun + number + 1
            until_blocking(partial(_has_said, login, said), "the broker takes the junk")
