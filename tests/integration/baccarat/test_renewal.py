"""Certificates renewed in mid-coup, and a broker that refuses for a while: the coup goes on.

The key is a credential as a unit has it: a copy of the moment in which the service was started, so
that behind `baccarat pki renew` a new certificate lies beside it.
"""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from baccarat.cli.main import main
from tests.support.brokers.tls_broker import secured_broker
from tests.support.machine.ports import free_port
from tests.support.machine.waiting import until_blocking
from tests.support.service.secured_table import SecuredTable, secured_table
from tests.support.shoe.shoe_bytes import frames

pytestmark = pytest.mark.timeout(240)  # certificates and passwords for two tables, then processes

_SERVICES: Final = ("shoe", "table", "displays", "metrics", "cage")
_MORE: Final = """\
[cage]
message_key = "b7-cage.messagekey"
ledger = "cage.sqlite"
username = "b7-cage"
password_file = "broker/secrets/b7-cage"
[displays]
message_key = "b7-console.messagekey"
port = {screens}
username = "b7-display"
password_file = "broker/secrets/b7-display"
[metrics]
port = {port}
username = "b7-metrics"
password_file = "broker/secrets/b7-metrics"
"""


class Site:
    """The table, and what its services say."""

    def __init__(self, table: SecuredTable, metrics: int) -> None:
        self.table, self._metrics = table, metrics

    def said(self, service: str, event: str) -> list[dict[str, Any]]:
        lines = (self.table.folder / f"{service}.log").read_text().splitlines()
        documents = [json.loads(line) for line in lines if line.startswith("{")]
        return [each for each in documents if each.get("event") == event]

    def until_all(self, event: str, times: int, reason: str = "") -> None:
        """Each service has said it so often."""
        for service in _SERVICES:

            def enough(service: str = service) -> bool:
                ended = self.table.services[service].code
                log = self.table.folder / f"{service}.log"
                assert ended is None, f"{service} ended with {ended}: {log.read_text()[-800:]}"
                found = [reason in str(each) for each in self.said(service, event)]
                return sum(found) >= times

            until_blocking(enough, f"{service} says {event} {times} times")

    def measured(self, name: str) -> float:
        page = httpx.get(f"http://127.0.0.1:{self._metrics}/metrics", timeout=10).text
        found = re.search(rf"^{re.escape(name)} (\S+)$", page, re.MULTILINE)
        return float(found[1]) if found else -1

    def draw(self, reports: str, first: int, cards: int) -> None:
        """The shoe says; so many cards of the coup are then in the log."""
        self.table.shoe.say(b"".join(frame * 3 for frame in frames(reports, first)))
        until_blocking(lambda: self.table.events().count("card_dealt") == cards, "the cards")


@pytest.fixture(params=["mosquitto", "nats"])
def site(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Site]:
    credentials, port = tmp_path / "credentials", free_port()
    credentials.mkdir()
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(credentials))
    with secured_broker(tmp_path, request.param, ("b7", "b8")) as broker:
        shutil.copy(tmp_path / "pki" / "b7-core.key", credentials / "bus-key")
        more, key = _MORE.format(port=port, screens=free_port()), "credential:bus-key"
        with secured_table(broker, tmp_path, services=_SERVICES, key=key, more=more) as table:
            yield Site(table, port)


def test_neither_a_renewal_nor_a_broker_that_refuses_costs_a_coup(site: Site) -> None:
    table, connected = site.table, 'baccarat_bus_connected{table="b7"}'
    table.first_wager()
    assert table.ask("dealer", "close_betting")["result"] == "accepted"
    site.draw("D P1 9S, D B1 7D", 4, 2)
    site.until_all("bus_connected", 1)

    for login in table.people.values():  # whose library forgets sockets when it is refused
        login.leave()

    # Every certificate has a new key, and the services have the one that they were started with.
    pki = table.folder / "pki"
    assert main(["pki", "renew", str(pki), "broker", *table.broker.logins]) == 0
    table.broker.restart()
    site.until_all("certificate.refused", 1, "bus-key is not the key of")
    site.until_all("bus_connected", 2)
    site.draw("D P2 KH", 6, 3)

    with table.broker.refusing():
        site.until_all("bus_unreachable", 1, "the broker refused the connection")
        assert site.measured(connected) == 0
    site.until_all("bus_connected", 3)
    until_blocking(lambda: site.measured(connected) == 1, "the metrics are well")
    site.draw("D B2 KC", 7, 4)
    table.shoe.say(b"".join(frame * 3 for frame in frames("G player", 8)))
    until_blocking(lambda: "coup_settled" in table.events(), "the coup settles")
    behind = 'baccarat_consumer_behind_events{consumer="cage/cage",table="b7"}'
    until_blocking(lambda: site.measured(behind) == 0, "the cage has booked it")
    for service in _SERVICES:  # once, and not at every attempt
        refused = [str(each) for each in site.said(service, "bus_unreachable")]
        assert sum("the broker refused" in each for each in refused) == 1
        assert len(site.said(service, "certificate.refused")) == 1
