"""Thousands of bad requests, dripping lines and stuck screens, while coups go on at a real table.

Every service is a process of its own, as it is on a controller.
"""

import http.client
import json
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import pytest

from baccarat.config.table import load_config
from benchmarks.instruments import bare_mqtt as bare
from displays.auth.accounts import save_accounts
from events.log.verify import verify
from tests.support.brokers.brokers import Broker
from tests.support.machine.ports import free_port
from tests.support.machine.waiting import until_blocking
from tests.support.service.live_table import service_process

SEED: Final = 20_261_128
THREADS: Final = 8
DRIPPING: Final = 100
STUCK: Final = 20
HOST: Final = "127.0.0.1"
ENDS_WITHIN_S: Final = 60
# A coup waits for a processor as everybody does; it does not wait for a web server.
LATENCY_MOST_MS: Final = 3_000
# Of a few coups the worst: one breath of the machine, and no queue behind a web server.
LATENCY_WORST_MS: Final = 10_000
BEAT_MOST_S: Final = 15.0
HEAD: Final = "{method} {path} HTTP/1.1\r\nhost: {host}\r\n{more}\r\n"


def bad_request(rng: random.Random) -> bytes:
    """One of many kinds, none of which may change anything."""
    deep = "[" * rng.randint(1, 50_000)
    junk = rng.randbytes(rng.randint(1, 4_000))
    json_ = "content-type: application/json\r\n"
    form = "content-type: application/x-www-form-urlencoded\r\n"
    cookie = f"cookie: session={rng.getrandbits(256):x}; login=x; device-sam=0.0\r\n"
    command = rng.choice(["open_betting", "void_coup", "end_shoe", "correct_hands", "replay"])

    def post(path: str, body: bytes, more: str, length: int | None = None) -> bytes:
        said = f"content-length: {len(body) if length is None else length}\r\n{more}"
        return HEAD.format(method="POST", path=path, host=HOST, more=said).encode() + body

    def get(path: str, more: str = "", *, host: str = HOST, method: str = "GET") -> bytes:
        return HEAD.format(method=method, path=path, host=host, more=more).encode()

    kinds = [
        get(rng.choice(["/pit", "/dealer", "/console/events", "/users.toml", "/.git/config"])),
        get("/pit", cookie),
        get("/", host="evil.example"),
        get("/static/" + "../" * rng.randint(1, 9) + "etc/passwd"),
        get("/events", "origin: http://evil.example\r\n"),
        get("/" + "a" * rng.randint(1, 60_000)),
        get("/", "".join(f"x-{n}: y\r\n" for n in range(rng.randint(1, 3_000)))),
        get("/", method=rng.choice(["PUT", "DELETE", "TRACE", "PATCH", "CONNECT", "PROPFIND"])),
        post(f"/command/{command}", b'{"transaction":"transaction-1"}', json_ + cookie),
        post(f"/command/{command}", deep.encode(), json_),
        post(f"/command/{command}", junk, json_ + cookie + "x-csrf-token: x\r\n"),
        post("/login", b"user=supervisor&password=x&csrf=x", form),
        post("/login", junk, form),
        post("/login", b"a=" + b"b" * 100_000, form),
        post("/login", b"", form, length=10**9),
        post("/logout", b"csrf=x", form + cookie),
        post("/", b"5\r\nhello\r\nZZ\r\n", "transfer-encoding: chunked\r\n"),
        junk,
        junk + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n",
        b"\x16\x03\x01" + junk,
    ]
    return rng.choice(kinds)


class Attack:
    """Somebody on the network.

    Args:
        port: of the screens.
        requests: how many, of many kinds.
    """

    def __init__(self, port: int, requests: int) -> None:
        self._port, self._requests = port, requests
        self.answers: Counter[str] = Counter()
        self._lines = [self._connect() for _ in range(DRIPPING + STUCK)]
        for line in self._lines[:DRIPPING]:
            line.sendall(b"POST /login HTTP/1.1\r\nx-")
        for line in self._lines[DRIPPING:]:
            line.sendall(b"GET /events HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")

    def _connect(self) -> socket.socket:
        line = socket.socket()
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        line.settimeout(ENDS_WITHIN_S)
        line.connect((HOST, self._port))
        return line

    def run(self) -> None:
        """All of it, and wait for the end."""
        threads = [
            threading.Thread(target=self._some, args=(SEED + n,), name=f"attacker-{n}")
            for n in range(THREADS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _some(self, seed: int) -> None:
        rng, found = random.Random(seed), Counter[str]()
        for _ in range(self._requests // THREADS):
            found[self._one(bad_request(rng))] += 1
        self.answers.update(found)

    def _one(self, request: bytes) -> str:
        with self._connect() as line:
            try:
                line.sendall(request)
                line.shutdown(socket.SHUT_WR)
                return line.recv(64)[:12].decode("latin-1")
            except ConnectionError:
                return "cut off"

    def close(self) -> None:
        for line in self._lines:
            line.close()


class Screen:
    """A screen of the house, which notes how long it has ever waited, and what it was shown."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection(HOST, port, timeout=ENDS_WITHIN_S)
        self._connection.request("GET", "/events")
        self._stream = self._connection.getresponse()
        self.longest_s, self.positions = 0.0, list[int]()
        self._thread = threading.Thread(target=self._watch, name="screen")
        self._thread.start()

    def _watch(self) -> None:
        last = time.monotonic()
        for line in self._stream:
            if line.startswith(b"event: beat"):
                self.longest_s = max(self.longest_s, time.monotonic() - last)
                last = time.monotonic()
            elif line.startswith(b"id: "):
                self.positions.append(int(line[4:].split(b"-")[0]))

    def close(self) -> None:
        self._thread.join()
        self._connection.close()


@contextmanager
def playing(folder: Path, port: int) -> Iterator["subprocess.Popen[str]"]:
    """A whole table that plays on."""
    command = [sys.executable, "-m", "baccarat", "demo", "--speed", "0", "--json"]
    where = ["--data", str(folder), "--port", str(port), "--seed", str(SEED)]
    process = subprocess.Popen(
        [*command, *where], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            assert pipe
            pipe.close()


def answers(port: int, path: str = "/health") -> int:
    connection = http.client.HTTPConnection(HOST, port, timeout=ENDS_WITHIN_S)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except OSError:
        return 0
    finally:
        connection.close()


def count(log: Path, what: str) -> int:
    with closing(sqlite3.connect(f"file:{log}?mode=ro", uri=True)) as connection:
        query = f"SELECT count(*) FROM event WHERE {what}"  # noqa: S608 - written here
        return int(connection.execute(query).fetchone()[0])


@pytest.mark.timeout(240)
@pytest.mark.parametrize("requests", [600, pytest.param(6_000, marks=pytest.mark.soak)])
def test_coups_go_on_and_nothing_is_changed_by_so_many_bad_requests(
    requests: int, tmp_path: Path
) -> None:
    port, log = free_port(), tmp_path / "table.sqlite"
    with playing(tmp_path, port) as table:
        until_blocking(lambda: answers(port) == 200, "the screens are live")
        screen = Screen(port)
        before = count(log, "type = 'coup_settled'")
        attack = Attack(port, requests)
        attack.run()
        during = count(log, "type = 'coup_settled'") - before
        # The house's own pages, meanwhile and after.
        assert answers(port, "/") == 200
        assert answers(port, "/health") == 200
        attack.close()
        table.send_signal(signal.SIGINT)
        out, err = table.communicate(timeout=ENDS_WITHIN_S)
        screen.close()
    assert table.returncode == 0, err
    assert "Traceback" not in (tmp_path / "displays.log").read_text()
    figures = json.loads(out)
    assert (figures["lost"], figures["duplicates"], figures["misaligned"]) == (0, 0, 0)
    assert during >= 3, "the table stood still"
    assert figures["latency_ms"]["p50"] < LATENCY_MOST_MS
    assert figures["latency_ms"]["p99"] < LATENCY_WORST_MS
    assert verify(log).ok
    assert count(log, 'instr(bytes, \'"actor":"console\')') == 0, "something was done by nobody"
    assert screen.positions == sorted(screen.positions)
    assert screen.longest_s < BEAT_MOST_S
    assert sum(attack.answers.values()) == requests
    good = {each for each in attack.answers if each.endswith((" 200", " 2"))}
    # What is public may be asked for with nonsense in the headers.
    assert good <= {"HTTP/1.1 200"}
    assert attack.answers["HTTP/1.1 200"] < requests / 10
    assert not any(each.endswith(" 500") for each in attack.answers)


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
