"""The conformance kit and the examples at a site's broker: TLS, logins, rights, message keys."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from events.mqtt.topics import Topics
from events.proof.message_keys import make_message_key
from tests.integration.cage.test_integrator_examples import told_in
from tests.support.brokers.tls_broker import Login, SecuredBroker, quick_hashes, secured_broker
from tests.support.cage.consumers import cage_book, process
from tests.support.machine.commands import Done, here, run, said
from tests.support.machine.waiting import until_blocking

LAB = Topics("harbour", "b7")
_LOGIN = "--login LOGIN --password-file PW"
_CORE = f"{_LOGIN} --ca pki/ca.pem --cert pki/b7-core.pem --key pki/b7-core.key"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    with secured_broker(tmp_path_factory.mktemp("site"), "mosquitto", ("b7",)) as found:
        yield found


def kit(broker: SecuredBroker, *more: object, given: str = _CORE, login: str = "b7-core") -> Done:
    """The command with the table's own login; names of files are below the broker's folder."""
    named = given.replace("PW", f"broker/secrets/{login}").replace("LOGIN", login).split()
    words = [str(broker.folder / word) if "/" in word else word for word in named]
    site = ("--bus", f"127.0.0.1:{broker.port}", "--site", "harbour", "--table", "b7")
    return run("sim", "cage-feed", *site, *words, "--settlements", "20", *more)


@pytest.fixture
def environment(broker: SecuredBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A consumer's login and files, as the guide names them; its message key is the path."""
    key = tmp_path / "b7-cage.messagekey"
    key.write_text(make_message_key("harbour/b7", "cage").line)
    key.chmod(0o600)
    pki = broker.folder / "pki"
    named = {
        "BUS_LOGIN": "b7-cage",
        "BUS_PASSWORD_FILE": broker.folder / "broker/secrets/b7-cage",
        "BUS_CA": pki / "ca.pem",
        "BUS_CERT": pki / "b7-cage.pem",
        "BUS_KEY": pki / "b7-cage.key",
        "BUS_MESSAGE_KEY": key,
    }
    for name, value in named.items():
        monkeypatch.setenv(name, str(value))
    return key


def test_a_consumer_passes_over_tls_with_certificate_password_and_message_key(
    broker: SecuredBroker, environment: Path, tmp_path: Path
) -> None:
    book, told = tmp_path / "book.sqlite", tmp_path / "book.json"
    with told_in(told, book), process(*cage_book(book, broker.port, LAB.root)):
        done = kit(broker, "--json", "--book", told, "--message-key", environment)
    assert (done.code, json.loads(done.out)["ok"]) == (0, True), done


def test_the_consumer_in_c_passes_with_certificate_and_password(
    broker: SecuredBroker, environment: Path, program: Path, tmp_path: Path
) -> None:
    book, told = tmp_path / "book.sqlite", tmp_path / "book.json"
    environment.unlink()  # it has no message key
    with (
        told_in(told, book),
        process(program, book, "127.0.0.1", str(broker.port), LAB.root),
    ):
        done = kit(broker, "--json", "--book", told)
    assert (done.code, json.loads(done.out)["ok"]) == (0, True), done


# What is given -> what the one line says of the kit itself.
TROUBLES = {
    "a wrong password": (
        _CORE.replace("PW", "broker/secrets/b7-witness"),
        "b7-core",
        "the broker refused",
    ),
    "another site's CA": (
        _CORE.replace("pki/ca.pem", "foreign/ca.pem"),
        "b7-core",
        "is not believed",
    ),
    "no certificate": (f"{_LOGIN} --ca pki/ca.pem", "b7-core", "certificate"),
    "no TLS": (_LOGIN, "b7-core", "does it want TLS at that port?"),
    "a login that may not speak": (_CORE, "b7-cage", "give it the login of the table's core"),
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_the_kit_tells_its_own_troubles(trouble: str, broker: SecuredBroker) -> None:
    given, login, says = TROUBLES[trouble]
    done = kit(broker, "--wait", "0.5", given=given, login=login)
    assert (done.code, done.out) == (2, ""), done
    assert says in done.err.splitlines()[-1], done


def test_an_outside_system_is_added_while_others_stay_connected(broker: SecuredBroker) -> None:
    """By the steps of the operator's guide; `systemctl reload mosquitto` is a SIGHUP."""
    config, pki = broker.folder / "b7.toml", broker.folder / "pki"
    config.write_text(config.read_text().replace("[users]\n", '[users]\nbank = ["cage"]\n'))
    ports = ("--port", broker.port, "--websockets", broker.websockets)
    assert broker.child is not None
    with Login(broker, "b7-witness") as witness:
        assert witness.hear(f"{LAB.root}/#") == 1
        with quick_hashes():
            out = ("--kind", "mosquitto", "--pki", pki, "-o", broker.folder / "broker")
            done = here("config", "broker", *out, *ports, config)
        assert done.code == 0, done  # to root it says as well which files to give to the broker
        said(here("pki", "issue", pki, "b7-bank"))
        if os.geteuid() == 0:
            broker.command()  # which writes `user root` again
        os.kill(broker.child.pid, signal.SIGHUP)

        def let_in() -> bool:
            with Login(broker, "b7-bank") as bank:
                if bank.connected:
                    bank.say(LAB.request("bank", "replay"), b"{}")
                    until_blocking(lambda: bank.said, "the broker has it")
                return bank.connected

        until_blocking(let_in, "the new login is let in")
        until_blocking(lambda: (LAB.request("bank", "replay"), b"{}") in witness.heard, "heard")
        assert witness.connects == 1


def test_a_consumer_that_is_not_there_is_no_trouble_of_the_kit(broker: SecuredBroker) -> None:
    done = kit(broker, "--wait", "0.5")
    assert done.code == 1, done
    assert "nobody asked for a replay within 0.5 s" in done.out
