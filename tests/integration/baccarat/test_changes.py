"""A site is changed in mid-coup, a command a change: no service is started again, no coup ends."""

import json
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any, Final

import pytest

from baccarat.cli.main import main
from baccarat.site.pki import Pki
from events.proof.message_keys import load_message_keys
from events.proof.message_mac import add_mac
from tests.support.brokers.tls_broker import Login, quick_hashes, secured_broker
from tests.support.machine.ports import free_port
from tests.support.machine.waiting import until_blocking
from tests.support.service.secured_table import ROOT, SecuredTable, secured_table
from tests.support.shoe.shoe_bytes import frames

pytestmark = pytest.mark.timeout(240)  # certificates and passwords, then processes

_SERVICES: Final = ("shoe", "table", "displays", "cage")
_PASSWORD: Final = "eight decks of cards"  # noqa: S105 - mary's, for a minute
_MORE: Final = """\
[checkpoints]
key = "signing.key"
[cage]
message_key = "b7-cage.messagekey"
ledger = "cage.sqlite"
username = "b7-cage"
password_file = "broker/secrets/b7-cage"
[displays]
message_key = "b7-console.messagekey"
port = {screens}
users = "people.toml"
username = "b7-console"
password_file = "broker/secrets/b7-console"
"""


class Site:
    """The table, and what is done to it."""

    def __init__(self, table: SecuredTable) -> None:
        self.table = table

    def does(self, *command: str) -> None:
        """A command about the table, which goes well."""
        noun, verb, *rest = command
        with quick_hashes():
            assert main([noun, verb, str(self.table.config), *rest]) == 0, command

    def said(self, service: str, event: str) -> list[dict[str, Any]]:
        lines = (self.table.folder / f"{service}.log").read_text().splitlines()
        documents = [json.loads(line) for line in lines if line.startswith("{")]
        return [each for each in documents if each.get("event") == event]

    def draw(self, reports: str, first: int, cards: int) -> None:
        """The shoe says; so many cards of the coup are then in the log."""
        self.table.shoe.say(b"".join(frame * 3 for frame in frames(reports, first)))
        until_blocking(lambda: self.table.events().count("card_dealt") == cards, "the cards")

    def bank(self) -> Login:
        """The outside system, with what was handed over to it."""
        given = self.table.folder / "hand-over" / "b7-bank"
        password = (given / "b7-bank.password").read_text().strip()
        return Login(
            self.table.broker, "b7-bank", certificate=given / "b7-bank.pem", password=password
        )

    def answer(self, login: Login, key: Path, command: str, **fields: str | int) -> dict[str, Any]:
        """What the table answers to a request that a message key proves.

        The service does not hear one of its first two seconds; like every client it asks again.
        """
        user = key.stem.removeprefix("b7-")
        newest, *_ = load_message_keys(key, "harbour/b7")
        topic, body = f"{ROOT}/request/{user}/{command}", json.dumps(fields).encode()
        with login:
            assert login.connected, login.reason
            login.hear(f"{ROOT}/response/{user}")

            def sent() -> bool:
                login.say(topic, add_mac(newest, topic, body, time.time_ns()))
                return bool(login.heard)

            until_blocking(sent, "the table answers", every=1.0)
            answer: dict[str, Any] = json.loads(login.heard[0][1])
        return answer

    def bank_is_heard(self, transaction: str) -> bool:
        """Whether the table accepts what the outside system asks."""
        key = self.table.folder / "hand-over/b7-bank/b7-bank.messagekey"
        fields: dict[str, str | int] = {"transaction": transaction, "from": 1}
        return bool(self.answer(self.bank(), key, "replay", **fields)["result"] == "accepted")


@pytest.fixture(params=["mosquitto", "nats"])
def site(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Site]:
    monkeypatch.setattr("sys.stdin", StringIO(f"{_PASSWORD}\n"))
    assert main(["keys", "new", str(tmp_path / "signing.key"), "--name", "harbour/b7"]) == 0
    people, screens = str(tmp_path / "people.toml"), free_port()
    assert main(["user", "add", people, "joe", "--role", "dealer"]) == 0
    with secured_broker(tmp_path, request.param, ("b7", "b8")) as broker:
        more = _MORE.format(screens=screens)
        with secured_table(broker, tmp_path, services=_SERVICES, more=more) as table:
            options = ["--kind", broker.kind, "--pki", str(tmp_path / "pki")]
            options += ["--port", str(broker.port), "--websockets", str(broker.websockets)]
            options += ["-o", str(tmp_path / "broker"), str(table.config)]
            with quick_hashes():
                assert main(["config", "broker", *options, str(tmp_path / "b8.toml")]) == 0
            yield Site(table)


def test_a_coup_goes_on_while_all_of_its_site_is_changed(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table, folder = site.table, site.table.folder
    table.first_wager()
    assert table.ask("dealer", "close_betting")["result"] == "accepted"

    site.does("site", "message-key", "shoe", "--overlap", "0")
    site.draw("D P1 9S", 4, 1)
    site.does("site", "add", "bank", "--role", "cage")
    assert f"{ROOT}/request/bank/+" in capsys.readouterr().out
    assert site.bank_is_heard("b1")
    assert not any(site.said(service, "bus_lost") for service in _SERVICES)

    for login in ("shoe", "bank"):
        site.does("site", "password", login)
    until_blocking(lambda: site.said("shoe", "bus_connected")[1:], "the driver is back")
    site.draw("D B1 7D", 5, 2)
    with site.bank() as old:
        assert not old.connected
    site.does("site", "add", "bank", "--role", "cage")
    assert site.bank_is_heard("b2")

    monkeypatch.setattr("sys.stdin", StringIO(f"{_PASSWORD}\n"))
    assert main(["user", "add", str(folder / "people.toml"), "mary", "--role", "supervisor"]) == 0
    console, key = Login(table.broker, "b7-console"), folder / "b7-console.messagekey"
    asked = {"transaction": "m1", "actor": "mary", "reason": "a try"}
    said = site.answer(console, key, "end_shoe", **asked)
    assert said["code"] == "coup_in_progress"  # and not `not_allowed`

    site.does("site", "remove", "bank")
    with site.bank() as gone:
        assert not gone.connected
    keys = new_signing_key(site, capsys)
    let_certificates_end(site)
    site.draw("D P2 KH", 6, 3)
    site.draw("D B2 KC", 7, 4)
    table.shoe.say(b"".join(frame * 3 for frame in frames("G player", 8)))
    until_blocking(lambda: "coup_settled" in table.events(), "the coup settles")
    assert [each.code for each in table.services.values()] == [None] * len(_SERVICES)
    assert not {"coup_voided", "coup_misaligned"} & set(table.events())
    assert table.events().count("shoe_loaded") == table.events().count("betting_opened") == 1
    verify = ["log", "verify", str(folder / "table.sqlite")]
    assert main([*verify, *(word for key in keys for word in ("--key", key))]) == 0


def new_signing_key(site: Site, capsys: pytest.CaptureFixture[str]) -> set[str]:
    """Both public keys, of which the second signs the log now."""
    capsys.readouterr()
    assert main(["keys", "show", str(site.table.folder / "signing.key")]) == 0
    site.does("site", "signing-key")
    lines = re.findall(r"^harbour/b7\+[0-9a-f]+\+[\w+/=]+", capsys.readouterr().out, re.MULTILINE)
    assert len(set(lines)) == 2
    return set(lines)


def let_certificates_end(site: Site) -> None:
    """Those of broker and services have ended, and a lost line cannot be opened until a renewal."""
    table = site.table
    for person in table.people.values():  # whose library forgets sockets when it is refused
        person.leave()
    assert not site.said("cage", "bus_lost")
    pki = Pki(table.folder / "pki", datetime.now(UTC) - timedelta(days=2))
    for name in ("broker", "b7-core"):
        pki.renew(name, days=1)
    table.broker.restart()
    for service in _SERVICES:
        until_blocking(lambda s=service: site.said(s, "bus_unreachable"), f"{service} is out")
    before = {service: len(site.said(service, "bus_connected")) for service in _SERVICES}
    site.does("site", "renew")
    for service, count in before.items():
        until_blocking(
            lambda s=service, n=count: len(site.said(s, "bus_connected")) > n, f"{service} is back"
        )
