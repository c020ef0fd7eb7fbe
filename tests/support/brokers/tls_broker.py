"""A site's broker with TLS, logins and access rules, as `baccarat config broker` writes it."""

import os
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, Self

import paho.mqtt.client as mqtt
import pytest
from paho.mqtt.enums import CallbackAPIVersion

from baccarat.cli.main import main
from baccarat.local_brokers.nats import LOOPBACK, find_nats_server
from baccarat.processes.children import Child
from baccarat.site.pki import Pki
from tests.support.brokers.brokers import find_mosquitto
from tests.support.machine.ports import free_port
from tests.support.machine.waiting import until_blocking

CONFIG: Final = """\
site = "harbour"
table = "{table}"
rulebook = "au-commission"
[shoe]
url = "pty:/run/shoe"
[users]
dealer = ["dealer"]
supervisor = ["supervisor"]
engineer = ["technician"]
wagers = ["wagers"]
cage = ["cage"]
console = ["console"]
display = ["display"]
"""

_UPGRADE: Final = (
    b"GET /mqtt HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Protocol: mqtt\r\n\r\n"
)


@contextmanager
def quick_hashes() -> Iterator[None]:
    """Hash passwords as they are hashed, a few times and not for long.

    Each is random, and the broker, which reads how often in its file, does as much at each connect.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("baccarat.site.broker_files._BCRYPT_ROUNDS", 4)
        patch.setattr("baccarat.site.brokers._ROUNDS", 1_000)
        yield


class SecuredBroker:
    """A running broker and the files of its site."""

    def __init__(self, folder: Path, kind: str, tables: tuple[str, ...]) -> None:
        self.folder, self.kind = folder, kind
        self.child: Child | None = None
        self.port, self.websockets = free_port(), free_port()
        now = datetime.now(UTC)
        self.pki = Pki(folder / "pki", now)
        self.pki.begin("harbour")
        self.pki.issue("broker", ["127.0.0.1", "localhost"])
        configs = []
        for table in tables:
            path = folder / f"{table}.toml"
            path.write_text(CONFIG.format(table=table), "utf-8")
            configs.append(str(path))
        options = ["--kind", kind, "--pki", str(folder / "pki"), "-o", str(folder / "broker")]
        ports = ["--port", str(self.port), "--websockets", str(self.websockets)]
        with quick_hashes():
            assert main(["config", "broker", *options, *ports, *configs]) == 0
        self.logins = sorted(each.name for each in (folder / "broker" / "secrets").iterdir())
        for login in self.logins:
            self.pki.issue(login)
        foreign = Pki(folder / "foreign", now)
        foreign.begin("elsewhere")
        foreign.issue(self.logins[0])
        old = Pki(folder / "pki", now - timedelta(days=10))
        old.issue("expired", days=5)

    def command(self) -> list[str | Path]:
        """How it is started."""
        if self.kind == "nats":
            return [find_nats_server(), "-c", self.folder / "broker" / "nats-server.conf"]
        conf = self.folder / "broker" / "mosquitto.conf"
        if os.geteuid() == 0 and "user root\n" not in conf.read_text():
            # It would drop to a user that cannot read a temporary folder.
            conf.write_text(conf.read_text() + "user root\n")
        return [find_mosquitto(), "-c", conf]

    def start(self) -> None:
        """Start it; not waited for."""
        log = self.folder / "broker.log"
        self.child = Child.start(self.command(), name="broker", output=log)

    def stop(self) -> None:
        """Stop it in order."""
        if self.child is not None:
            self.child.stop()

    def restart(self) -> None:
        """Stop it, and start it again."""
        self.stop()
        self.start()

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Restarted so that it lets nobody in: with no users, or users of other names."""
        nats = self.kind == "nats"
        path = self.folder / "broker" / ("nats-server.conf" if nats else "passwords")
        whole = path.read_text()
        path.write_text(whole.replace('{ user: "', '{ user: "not-') if nats else "")
        self.restart()
        yield
        path.write_text(whole)
        self.restart()

    def password(self, login: str) -> str:
        """Of a login."""
        return (self.folder / "broker" / "secrets" / login).read_text().strip()


@contextmanager
def secured_broker(folder: Path, kind: str, tables: tuple[str, ...]) -> Iterator[SecuredBroker]:
    """Start one and stop it."""
    broker = SecuredBroker(folder, kind, tables)
    broker.start()

    def up() -> bool:
        assert broker.child is not None
        assert broker.child.code is None, (folder / "broker.log").read_text()
        with Login(broker, broker.logins[0]) as login:
            return login.connected

    try:
        until_blocking(up, "the broker answers")
        yield broker
    finally:
        broker.stop()


class Login:
    """A client with a login's certificate and password; hears in a thread of paho's."""

    def __init__(
        self,
        broker: SecuredBroker,
        login: str,
        *,
        certificate: Path | None = None,
        password: str | None = None,
        bare: bool = False,
        websockets: bool = False,
        client_id: str | None = None,
    ) -> None:
        self.heard: list[tuple[str, bytes]] = []
        self.granted: dict[int, int] = {}
        self.said: list[int] = []  # a message id comes again after 65,535
        self.reason: str | None = None
        self.connects = 0
        self._broker = broker
        client = mqtt.Client(
            CallbackAPIVersion.VERSION2,
            client_id=client_id or f"{login}-{os.urandom(4).hex()}",
            transport="websockets" if websockets else "tcp",
        )
        self._port = broker.websockets if websockets else broker.port
        client.username_pw_set(login, password or broker.password(login))
        context = ssl.create_default_context(cafile=str(broker.folder / "pki" / "ca.pem"))
        if not bare:
            path = certificate or broker.folder / "pki" / f"{login}.pem"
            context.load_cert_chain(path, path.with_suffix(".key"))
        client.tls_set_context(context)
        self._context, self._websockets = context, websockets
        client.on_connect = lambda *args: self._connected(str(args[3]))
        client.on_message = lambda _, __, m: self.heard.append((m.topic, bytes(m.payload)))
        client.on_subscribe = lambda _, __, mid, codes, ___: self.granted.update(
            {mid: codes[0].value}
        )
        client.on_publish = lambda _, __, mid, ___, ____: self.said.append(mid)
        client.max_inflight_messages_set(0)
        self._client = client

    def _connected(self, reason: str) -> None:
        self.reason = reason
        self.connects += 1

    @property
    def connected(self) -> bool:
        """It was let in."""
        return self.reason == "Success"

    def __enter__(self) -> Self:
        try:
            if self._websockets:
                self._upgrade()
            self._client.connect(LOOPBACK, self._port, keepalive=60)
        except OSError as error:
            self.reason = str(error)
            return self
        self._client.loop_start()
        until_blocking(lambda: self.reason is not None or not self._alive(), "an answer to CONNECT")
        return self

    def _upgrade(self) -> None:
        """Whether the broker takes a websocket of ours: where it does not, paho leaks its own.

        Raises:
            OSError: it does not.
        """
        with (
            socket.create_connection((LOOPBACK, self._port), timeout=10) as line,
            self._context.wrap_socket(line, server_hostname=LOOPBACK) as wire,
        ):
            wire.sendall(_UPGRADE)
            if not wire.recv(64).startswith(b"HTTP/1.1 101 "):
                raise ConnectionRefusedError("no websocket")

    def _alive(self) -> bool:
        return self._client.socket() is not None

    def __exit__(self, *_: object) -> None:
        self.leave()

    def leave(self) -> None:
        """Hang up, for ever; doing so twice does no harm."""
        self._client.disconnect()
        self._client.loop_stop()

    def hear(self, topic: str) -> int:
        """Subscribe; the broker's code, 128 where it says no."""
        _, mid = self._client.subscribe(topic, qos=1)
        assert mid is not None
        until_blocking(lambda: mid in self.granted, f"SUBACK for {topic}")
        return self.granted[mid]

    def say(self, topic: str, payload: bytes, *, retain: bool = False) -> None:
        """Publish, without waiting."""
        self._client.publish(topic, payload, qos=1, retain=retain)
