"""Every login on every topic, at both real brokers with TLS on, by MQTT and by MQTT in secure
websockets: what docs/reference/access.md says is allowed and nothing else.

Judged by what others receive: a broker acknowledges what it denies. For speaking the judge is
`witness`, which hears everything; for hearing it is the login itself, while the topic's rightful
speaker speaks.
"""

import json
import os
import re
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, Self

import pytest

from baccarat.local_brokers.nats import answers_mqtt
from tests.support.brokers.tls_broker import Login, SecuredBroker, secured_broker
from tests.support.machine.seeds import seeded
from tests.support.machine.waiting import until_blocking

_PATIENCE_S: Final = 20
_UPGRADE: Final = (
    b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
_WHOLE_BINARY, _MASKED = 0x82, 0x80
_TWO_BYTES, _EIGHT_BYTES = 126, 127
_CLOSE: Final = 0x8


class NatsWire:
    """A line to a server at loopback, with a login's words and subscriptions already said.

    Args:
        port: where it listens.
        login: its name.
        password: its password.
        subjects: to subscribe.
        certificate: of the login, for secure websockets; None for NATS over TCP.
        ca: of the site, with it.
    """

    def __init__(
        self, port: int, login: str, password: str, subjects: tuple[str, ...],
        certificate: Path | None = None, ca: Path | None = None,
    ) -> None:  # fmt: skip
        self._line = socket.create_connection(("127.0.0.1", port), timeout=_PATIENCE_S)
        self._websocket = certificate is not None
        if certificate is not None:
            context = ssl.create_default_context(cafile=ca)
            context.load_cert_chain(certificate, certificate.with_suffix(".key"))
            self._line = context.wrap_socket(self._line, server_hostname="localhost")
            self._line.sendall(_UPGRADE)
            answer = b""
            while not answer.endswith(b"\r\n\r\n"):
                answer += self._exactly(1)
            assert answer.startswith(b"HTTP/1.1 101 "), answer
        words = {"user": login, "pass": password, "verbose": False, "headers": True}
        said = f"CONNECT {json.dumps(words)}\r\n"
        said += "".join(f"SUB {subject} {n}\r\n" for n, subject in enumerate(subjects, start=1))
        self._say(said.encode())

    def heard(self) -> bytes:
        """All that has come until the server answers a PING, or has hung up."""
        found = b""
        with suppress(ConnectionError, ssl.SSLError):
            self._say(b"PING\r\n")
        with suppress(ConnectionError, ssl.SSLError):
            while b"PONG\r\n" not in found:
                found += self._frame() if self._websocket else self._some()
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._line.close()

    def _say(self, text: bytes) -> None:
        if self._websocket:
            mask = os.urandom(4)
            masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(text))
            head = bytes((_WHOLE_BINARY, _MASKED | _TWO_BYTES)) + len(text).to_bytes(2, "big")
            text = head + mask + masked
        self._line.sendall(text)

    def _some(self) -> bytes:
        found = self._line.recv(65_536)
        if not found:
            raise ConnectionResetError("hung up")
        return found

    def _exactly(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            part = self._line.recv(count - len(found))
            if not part:
                raise ConnectionResetError("hung up")
            found += part
        return found

    def _frame(self) -> bytes:
        kind, size = self._exactly(2)
        if size in {_TWO_BYTES, _EIGHT_BYTES}:
            size = int.from_bytes(self._exactly(2 if size == _TWO_BYTES else 8), "big")
        body = self._exactly(size)
        if kind & 0xF == _CLOSE:
            raise ConnectionResetError(body.decode(errors="replace"))
        return body


_ROOT: Final = "bac/v1/harbour/"
_PEOPLE: Final = ("dealer", "supervisor", "engineer", "wagers", "cage", "console")
_NAMES: Final = ("core", "shoe", "metrics", "witness", "display", *_PEOPLE)
_PAGE: Final = Path("docs/reference/access.md")


class People(NamedTuple):
    """Who comes, and how: over MQTT, or over MQTT in secure websockets."""

    names: tuple[str, ...]
    login: Callable[..., Login]


@pytest.fixture(scope="module", params=["mosquitto", "nats"])
def broker(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SecuredBroker]:
    folder = tmp_path_factory.mktemp("site")
    with secured_broker(folder, request.param, ("b7", "b8")) as running:
        yield running


def guide() -> Iterator[tuple[str, set[str], set[str]]]:
    """Topic below the root, who may say it, who may hear it: by the guide's own words."""
    for line in _PAGE.read_text("utf-8").splitlines():
        found = re.match(r"\| `([^`]+)` \| (.+) \| (.+) \|$", line)
        if not found:
            continue
        topic, says, hears = found.groups()
        if "<user>" not in topic:
            yield topic, _who(says, ""), _who(hears, "")
            continue
        for user in _PEOPLE:
            own = topic.replace("<user>", user).replace("+", "void_coup")
            yield own, _who(says, user), _who(hears, user)


def _who(text: str, user: str) -> set[str]:
    everybody = "people and programs"
    found: set[str] = set()
    for word in text.split(", "):
        if word == "that user":
            found.add(user)
        elif word.startswith(everybody):
            but = word.removeprefix(everybody).removeprefix(" but ")
            found |= set(_PEOPLE) - {but}
        else:
            assert word in _NAMES, word
            found.add(word)
    return found


GUIDE: Final = {topic: (says, hears) for topic, says, hears in guide()}


def test_the_guide_speaks_of_every_login(broker: SecuredBroker) -> None:
    assert {f"{table}-{name}" for table in ("b7", "b8") for name in _NAMES} == set(broker.logins)
    assert len(GUIDE) == 14 + 3 * len(_PEOPLE)


# What a server itself lives by: nobody's to hear, and not within `#`.
_HIDDEN: Final = (
    "$MQTT/sub/#",
    "$MQTT/#",
    "+/sub/#",
    "$MQTT/msgs/#",
    "$JS/#",
    "_INBOX/#",
    "$SYS/#",
)
# Over websockets those that a browser may have, with one other that is drawn, and the others in
# `make soak`: the rules are the same.
_OF_BROWSERS: Final = ("display", "console", "dealer")
_OTHERS: Final = sorted(set(_NAMES).difference(_OF_BROWSERS))


_EVERYBODY: Final = "websockets, everybody"


@pytest.fixture(params=["tcp", "websockets", pytest.param(_EVERYBODY, marks=pytest.mark.soak)])
def people(request: pytest.FixtureRequest, broker: SecuredBroker) -> People:
    if request.param == "tcp":
        return People(_NAMES, partial(Login, broker))
    drawn = _OTHERS if request.param == _EVERYBODY else [seeded().choice(_OTHERS)]
    return People((*_OF_BROWSERS, *drawn), partial(Login, broker, websockets=True))


def test_who_may_say_what(broker: SecuredBroker, people: People) -> None:
    with Login(broker, "b7-witness") as ours, Login(broker, "b8-witness") as theirs:
        assert ours.hear(f"{_ROOT}b7/#") == 1
        assert theirs.hear(f"{_ROOT}b8/#") == 1
        for name in people.names:
            with people.login(f"b7-{name}") as login:
                for table in ("b8", "b7"):
                    for topic in GUIDE:
                        login.say(f"{_ROOT}{table}/{topic}", name.encode())
                until_blocking(partial(_has_said, login, 2 * len(GUIDE)), name)
        for table, witness in (("b7", ours), ("b8", theirs)):
            with Login(broker, f"{table}-core") as core:
                core.say(f"{_ROOT}{table}/state", b"end")
                until_blocking(partial(_has_heard_the_end, witness), "the end")
        said = {
            (topic.removeprefix(f"{_ROOT}b7/"), payload.decode())
            for topic, payload in ours.heard
            if payload != b"end"
        }
        assert said == {
            (topic, name)
            for topic, (says, _) in GUIDE.items()
            for name in says.intersection(people.names)
        }
        assert [payload for _, payload in theirs.heard] == [b"end"]


def test_who_may_hear_what(broker: SecuredBroker, people: People) -> None:
    speakers = {name: Login(broker, f"b7-{name}") for name in _NAMES}
    with ExitStack() as stack:
        hearers = {name: stack.enter_context(people.login(f"b7-{name}")) for name in people.names}
        stranger = stack.enter_context(people.login("b8-core"))
        for each in (*hearers.values(), stranger):
            for topic in GUIDE:
                each.hear(f"{_ROOT}b7/{topic}")
                each.hear(
                    f"$share/{id(each)}/{_ROOT}b7/{topic}"
                )  # which is a topic to some brokers
            for wide in ("#", "bac/#", f"{_ROOT}#", f"{_ROOT}b7/#", f"{_ROOT}+/state", *_HIDDEN):
                if each is not hearers.get("witness"):
                    each.hear(wide)
        for name, login in speakers.items():
            stack.enter_context(login)
            for topic, (says, _) in GUIDE.items():
                if name in says:
                    login.say(f"{_ROOT}b7/{topic}", b"said")
            until_blocking(partial(_has_said, login, _topics_of(name)), name)
        for name, each in hearers.items():
            expected = sum(name in hears for _, hears in GUIDE.values())
            until_blocking(partial(_has_heard, each, expected), f"{name} hears")
        assert {name: _topics(each) for name, each in hearers.items()} == {
            name: {topic for topic, (_, hears) in GUIDE.items() if name in hears}
            for name in people.names
        }
        assert stranger.heard == []


def _has_said(login: Login, count: int) -> bool:
    return len(login.said) == count


def _has_heard(login: Login, count: int) -> bool:
    return len(_topics(login)) >= count


def _has_heard_the_end(login: Login) -> bool:
    return any(payload == b"end" for _, payload in login.heard)


def _topics_of(name: str) -> int:
    return sum(name in says for says, _ in GUIDE.values())


def _topics(login: Login) -> set[str]:
    return {topic.removeprefix(f"{_ROOT}b7/") for topic, _ in login.heard}


def test_no_login_takes_a_service_connection_over(broker: SecuredBroker, people: People) -> None:
    """By the names of the documents; the end of a client id is anybody's guess."""
    services = ("table", "shoe", "displays", "scoreboard", "cage", "metrics")
    with ExitStack() as stack:
        served = {
            name: stack.enter_context(
                Login(broker, "b7-core", client_id=f"bac-harbour-b7-{name}-{os.urandom(8).hex()}")
            )
            for name in services
        }
        core = served["table"]
        assert core.hear(f"{_ROOT}b7/shoe/event") == 1
        for number, login in enumerate((*(f"b7-{name}" for name in people.names), "b8-core")):
            # The last two take every name, the others one each.
            at = number % len(services)
            for name in services if number >= len(people.names) - 1 else services[at : at + 1]:
                with people.login(login, client_id=f"bac-harbour-b7-{name}") as thief:
                    assert thief.connected
        with Login(broker, "b7-shoe") as shoe:
            shoe.say(f"{_ROOT}b7/shoe/event", b"said")
            until_blocking(lambda: core.heard != [], "the table hears its shoe")
        assert {name: each.connects for name, each in served.items()} == dict.fromkeys(served, 1)


@pytest.mark.parametrize(
    "what", ["no certificate", "foreign", "expired", "wrong password", "the broker's own"]
)
def test_who_is_not_let_in(broker: SecuredBroker, people: People, what: str) -> None:
    login = broker.logins[0]
    files = {
        "foreign": f"foreign/{login}.pem",
        "expired": "pki/expired.pem",
        "the broker's own": "pki/broker.pem",
    }
    with people.login(
        login,
        certificate=broker.folder / files[what] if what in files else None,
        password="guessed" if what == "wrong password" else None,
        bare=what == "no certificate",
    ) as refused:
        assert not refused.connected
    with people.login(login) as welcome:
        assert welcome.connected


_FACE: Final = b"a face that the table has not seen"
_LISTENED: Final = (">", "$MQTT.>", "$MQTT.sub.>", "$MQTT.msgs.>", "bac.>", "$JS.>", "$SYS.>")


# mosquitto speaks MQTT alone.
@pytest.mark.parametrize("broker", ["nats"], indirect=True)
@pytest.mark.parametrize("websockets", [False, True], ids=["tcp", "websockets"])
def test_no_login_comes_in_by_nats_itself(broker: SecuredBroker, *, websockets: bool) -> None:
    pki = broker.folder / "pki"
    with ExitStack() as stack:
        spies = {
            login: stack.enter_context(
                NatsWire(broker.websockets, login, broker.password(login), _LISTENED,
                         pki / f"{login}.pem", pki / "ca.pem")
                if websockets
                else NatsWire(_nats_port(broker), login, broker.password(login), _LISTENED)
            )
            for login in broker.logins
        }  # fmt: skip
        early = {login: spy.heard() for login, spy in spies.items()}
        core = stack.enter_context(Login(broker, "b7-core"))
        assert core.hear(f"{_ROOT}b7/shoe/event") == 1
        shoe = stack.enter_context(Login(broker, "b7-shoe"))
        shoe.say(f"{_ROOT}b7/shoe/event", _FACE)
        until_blocking(lambda: core.heard != [], "the table hears its shoe")
        heard = {login: early[login] + spy.heard() for login, spy in spies.items()}
    assert [login for login, text in heard.items() if _FACE in text] == []
    assert [login for login, text in heard.items() if b"Authorization Violation" not in text] == []


def _nats_port(broker: SecuredBroker) -> int:
    """Where nats-server, which cannot do without, listens for NATS on this machine."""
    said = (broker.folder / "broker.log").read_text("utf-8")
    found = re.search(r"Listening for client connections on 127\.0\.0\.1:(\d+)", said)
    assert found, said
    return int(found[1])


def test_nobody_comes_in_the_clear(broker: SecuredBroker) -> None:
    assert not answers_mqtt(broker.port)
    assert not answers_mqtt(broker.websockets)
