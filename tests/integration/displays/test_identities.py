"""Console and public scoreboard side by side: two processes, two identities, one table."""

import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from baccarat.config.table import load_config
from benchmarks.instruments import bare_mqtt as bare
from displays.auth.accounts import save_accounts
from tests.support.brokers.brokers import Broker
from tests.support.machine.ports import free_port
from tests.support.machine.waiting import until_blocking
from tests.support.service.live_table import service_process

CONFIG = """\
site = "harbour"
table = "b7"
rulebook = "au-commission"
[shoe]
url = "pty:/tmp/line/shoe"
[bus]
host = "127.0.0.1"
port = {broker}
[displays]
port = {consoles}
users = "people.toml"
[scoreboard]
port = {board}
"""
HOST = "127.0.0.1"


class Pair:
    """Both services, and what they say of themselves."""

    def __init__(self, broker: Broker, folder: Path) -> None:
        self.consoles, self.board = free_port(), free_port()
        save_accounts(folder / "people.toml", {})
        path = folder / "b7.toml"
        path.write_text(CONFIG.format(broker=broker.port, consoles=self.consoles, board=self.board))
        self.said: list[tuple[str, str, int]] = []
        topics = [load_config(path).topics.status(who) for who in ("console", "display")]
        client = bare.connect(broker.port, "onlooker", *topics, received=self._hear)
        threading.Thread(target=bare.serve, args=(client,), daemon=True).start()
        self.children = [service_process(path, name) for name in ("displays", "scoreboard")]
        until_blocking(lambda: {"console", "display"} == self.online(), "both are there")

    def _hear(self, topic: str, payload: bytes) -> None:
        if payload:
            status = json.loads(payload)
            self.said.append((topic.rpartition("/")[2], status["state"], status["session"]))

    def online(self) -> set[str]:
        return {who for who, state, _ in self.said if state == "online"}


@pytest.fixture
def pair(nats: Broker, tmp_path: Path) -> Iterator[Pair]:
    started = Pair(nats, tmp_path)
    yield started
    for child in started.children:
        child.stop()


def status_of(port: int, path: str) -> int:
    connection = http.client.HTTPConnection(HOST, port, timeout=10)
    connection.request("GET", path)
    found = connection.getresponse().status
    connection.close()
    return found


def test_two_identities_run_side_by_side_and_the_public_one_has_no_login(pair: Pair) -> None:
    assert (status_of(pair.consoles, "/login"), status_of(pair.consoles, "/")) == (200, 200)
    for path in ("/login", "/logout", "/pit", "/dealer", "/console", "/console/events"):
        assert status_of(pair.board, path) == 404, path
    assert status_of(pair.board, "/command/open_betting") == 404
    assert status_of(pair.board, "/") == 200
    # Neither takes the broker's connection from the other: three heartbeats without a new session.
    until_blocking(lambda: len(pair.said) >= 8, "heartbeats")
    assert "offline" not in {state for _, state, _ in pair.said}
    for who in ("console", "display"):
        assert len({session for name, _, session in pair.said if name == who}) == 1
