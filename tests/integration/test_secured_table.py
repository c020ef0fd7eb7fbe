"""A whole table over TLS, each service by a login of its own, at both brokers.

A coup from betting to settlement while others forge, replay, retain and flood what they may not.
"""

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from baccarat.children import Child
from baccarat.commands.run import service_command
from tests.support.shoe_bytes import frames
from tests.support.shoe_line import ShoePort
from tests.support.tls_broker import CONFIG, Login, SecuredBroker, secured_broker
from tests.support.waiting import until_blocking

_ROOT: Final = "bac/v1/harbour/b7"
# In `make soak` 100,000; each is a request that means nothing.
_JUNK: Final = int(os.environ.get("JUNK_MESSAGES", "5000"))
_BLOCK: Final = 1_000
_WHOLE: Final = """\
{table}
[bus]
port = {port}
ca = "pki/ca.pem"
cert = "pki/b7-core.pem"
key = "pki/b7-core.key"
username = "b7-core"
password_file = "broker/secrets/b7-core"
"""
_SHOE: Final = """\
url = "{url}"
username = "b7-shoe"
password_file = "broker/secrets/b7-shoe"
"""


class Table:
    """The table under attack, and those who use it."""

    def __init__(self, broker: SecuredBroker, port: ShoePort, folder: Path) -> None:
        self.shoe, self.folder = port, folder
        whole = _WHOLE.format(table=CONFIG.format(table="b7"), port=broker.port)
        self.config = folder / "b7-whole.toml"
        self.config.write_text(whole.replace('url = "pty:/run/shoe"\n', _SHOE.format(url=port.url)))
        self.people: dict[str, Login] = {}
        self._sent = 0

    def ask(self, user: str, command: str, **fields: Any) -> dict[str, Any]:
        """A command, and the table's answer; not answered by the table, `{}`."""
        self._sent += 1
        transaction = fields.pop("transaction", f"t{self._sent}")
        return self.tell(user, command, {"transaction": transaction, **fields})

    def tell(self, user: str, command: str, body: dict[str, Any]) -> dict[str, Any]:
        """The same with a body as it is."""
        login, before = self.people[user], len(self.people[user].heard)
        login.say(f"{_ROOT}/request/{user}/{command}", json.dumps(body).encode())

        def answer() -> dict[str, Any] | None:
            answers = (json.loads(p) for t, p in login.heard[before:] if t.endswith(f"/{user}"))
            return next((a for a in answers if a["transaction"] == body["transaction"]), None)

        until_blocking(answer, f"the table answers {user}'s {command}")
        found = answer()
        assert found is not None
        return found

    def events(self) -> list[str]:
        """Types in the log."""
        with closing(sqlite3.connect(self.folder / "table.sqlite")) as log:
            return [row[0] for row in log.execute("SELECT type FROM event ORDER BY position")]

    def play(self, reports: str, until: str) -> None:
        """The shoe says; the log then holds one more `until`."""
        before = self.events().count(until)
        self.shoe.say(b"".join(frame * 3 for frame in frames(reports)))
        until_blocking(lambda: self.events().count(until) > before, until)


@pytest.fixture(params=["mosquitto", "nats"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Table]:
    with (
        secured_broker(tmp_path, request.param, ("b7", "b8")) as broker,
        whole_table(broker, tmp_path) as found,
    ):
        yield found


@contextmanager
def whole_table(broker: SecuredBroker, folder: Path) -> Iterator[Table]:
    retain(broker)
    port = ShoePort(folder / "shoe")
    found = Table(broker, port, folder)
    with ExitStack() as stack:
        for service in ("shoe", "table"):
            command = service_command(found.config, service)
            log = folder / f"{service}.log"
            stack.enter_context(Child.start(command, name=service, output=log))
        for user in ("dealer", "supervisor", "wagers", "display"):
            login = stack.enter_context(Login(broker, f"b7-{user}"))
            login.hear(f"{_ROOT}/response/{user}")
            found.people[user] = login
        witness = stack.enter_context(Login(broker, "b7-witness"))
        witness.hear(f"{_ROOT}/#")
        found.people["witness"] = witness
        found.people["stranger"] = stack.enter_context(Login(broker, "b8-supervisor"))
        until_blocking(lambda: "up" in states(witness) or "open" in states(witness), "the shoe")
        yield found
    port.unplug()


def states(witness: Login) -> set[str]:
    found = (json.loads(p) for t, p in witness.heard if t == f"{_ROOT}/link/shoe")
    return {each["state"] for each in found}


def test_a_coup_is_played_while_others_forge_and_flood(table: Table) -> None:
    until_blocking(
        lambda: table.ask("supervisor", "load_shoe", shoe="20261128-01")["result"] != "refused",
        "the shoe is loaded",
    )
    table.play("S, D first 2C:1, D burn JD:1, D burn 2C:0", "burn_recorded")
    until_blocking(
        lambda: table.ask("dealer", "open_betting")["result"] == "accepted", "betting opens"
    )
    wager = {"seat": 1, "bet": "banker", "stake": 10_000}
    placed = table.ask("wagers", "place_wager", transaction="w1", wagers=[wager])
    assert placed["result"] == "accepted"
    before = table.events()

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
            table.people[forger].say(f"{_ROOT}/{topic}", body.encode())
    flood(table.people["wagers"], f"{_ROOT}/request/wagers")
    assert table.ask("dealer", "close_betting")["result"] == "accepted"
    new = table.events()[len(before) :]
    assert new == ["betting_closed"]

    table.shoe.say(
        b"".join(frame * 3 for frame in frames("D P1 9S, D B1 7D, D P2 KH, D B2 KC, G player", 4))
    )
    until_blocking(lambda: "coup_settled" in table.events(), "the coup settles")
    witness = table.people["witness"]
    until_blocking(lambda: any(t == f"{_ROOT}/settlement" for t, _ in witness.heard), "it is told")
    assert not any(b"forged" in payload for _, payload in witness.heard)
    assert table.events().count("shoe_loaded") == 1  # and not what lay at the broker
    until_blocking(lambda: b'"not_allowed"' in (table.folder / "table.log").read_bytes(), "logged")


def retain(broker: SecuredBroker) -> None:
    """What lies at a broker when the table comes is no request of anybody's."""
    body = {"transaction": "kept", "shoe": "20261128-77"}
    with Login(broker, "b7-supervisor") as login:
        topic = f"{_ROOT}/request/supervisor/load_shoe"
        login.say(topic, json.dumps(body).encode(), retain=True)
        until_blocking(lambda: login.said, "it is retained")


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
