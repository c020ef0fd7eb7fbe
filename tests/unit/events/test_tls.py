"""A certificate and its key are taken together or not at all, whoever writes them when."""

import asyncio
import shutil
import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from structlog.testing import capture_logs

from baccarat.site.pki import Pki
from displays.http.server import Certificate
from events.errors import BusError, ConfigError
from events.mqtt.bus import Bus, BusSettings
from events.tls import ClientTls, read_first_pair, read_pair, tls_refusal
from tests.support.brokers.certificates import Pair, certify, pki_with, write_key


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return certify(tmp_path)


@pytest.fixture
def new(tmp_path: Path) -> Pair:
    """Another pair, of the same names, in a folder of its own."""
    aside = tmp_path / "new"
    aside.mkdir()
    return certify(aside)


def tls_of(pair: Pair) -> ClientTls:
    return ClientTls(pair.cert, pair.cert, pair.key)


def test_a_pair_that_fits_is_what_is_shown(pair: Pair) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    read_pair(pair.cert, pair.key).load_into(context)
    found = read_pair(pair.cert, pair.key)
    assert (found.cert, found.key) == (pair.cert.read_bytes(), pair.key.read_bytes())
    assert not found.exposed


def test_keys_of_two_kinds_do_not_fit_either(pair: Pair) -> None:
    other = rsa.generate_private_key(65537, 2048)
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)
    pair.key.write_bytes(other.private_bytes(*form, serialization.NoEncryption()))
    with pytest.raises(ConfigError, match=r"key: .*b7\.key is not the key of .*b7\.pem"):
        read_pair(pair.cert, pair.key)


def test_a_key_with_a_passphrase_is_refused_and_nobody_is_asked_for_it(pair: Pair) -> None:
    write_key(pair.key, ec.generate_private_key(ec.SECP256R1()), b"a passphrase")
    with pytest.raises(ConfigError, match="has a passphrase, which nobody is there to type"):
        tls_of(pair).context()


def test_without_a_ca_there_is_no_tls() -> None:
    assert ClientTls(None).context() is None


def test_while_the_files_do_not_fit_what_was_good_is_used_and_that_is_said_once(
    pair: Pair, new: Pair
) -> None:
    tls = tls_of(pair)
    first = tls.context()
    with capture_logs() as logs:
        shutil.copyfile(new.cert, pair.cert)  # the key is another's still
        assert tls.context() is first
        assert tls.context() is first
        pair.key.unlink()
        assert tls.context() is first
        shutil.copyfile(new.key, pair.key)
        assert tls.context() not in {first, None}
        tls.context()
    said = [(each["event"], str(each.get("reason", ""))) for each in logs]
    assert [event for event, _ in said] == ["certificate.refused"] * 2 + ["certificate.renewed"]
    assert "is not the key of" in said[0][1]
    assert "No such file" in said[1][1]


def test_a_ca_that_is_spoilt_meanwhile_is_none(pair: Pair, tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    shutil.copyfile(pair.cert, ca)
    tls = ClientTls(ca, pair.cert, pair.key)
    first = tls.context()
    ca.write_text("")
    assert tls.context() is first
    with pytest.raises(ConfigError, match=r"ca: .*ca\.pem: "):
        ClientTls(ca, pair.cert, pair.key).context()


def test_who_has_none_yet_reads_again_what_is_just_being_renewed(
    pair: Pair, new: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copyfile(new.cert, pair.cert)
    pauses: list[float] = []

    def meanwhile(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            shutil.copyfile(new.key, pair.key)

    monkeypatch.setattr("events.tls.time.sleep", meanwhile)
    assert read_first_pair(pair.cert, pair.key).key == new.key.read_bytes()
    assert len(pauses) == 2
    write_key(pair.key, ec.generate_private_key(ec.SECP256R1()))
    with pytest.raises(ConfigError, match="is not the key of"):
        read_first_pair(pair.cert, pair.key)
    assert sum(pauses) < 1  # and is not waited for


async def test_so_does_a_client_whom_a_refusal_would_end(pair: Pair, new: Pair) -> None:
    shutil.copyfile(new.cert, pair.cert)
    tls = tls_of(pair)
    waiting = asyncio.create_task(tls.settled())
    await asyncio.sleep(0)  # it has read them
    shutil.copyfile(new.key, pair.key)
    assert await waiting is not None
    shutil.copyfile(new.cert, pair.key)
    assert await tls.settled() is not None  # by what it had, and at once
    with pytest.raises(ConfigError, match="holds no private key"):
        await tls_of(pair).settled()


async def test_a_service_that_starts_with_a_pair_that_does_not_fit_ends(
    pair: Pair, new: Pair
) -> None:
    settings = BusSettings("127.0.0.1", 1, "core", ca=pair.cert, cert=new.cert, key=pair.key)
    with pytest.raises(BusError, match=r"b7\.key is not the key of .*new/b7\.pem: give the pair"):
        await asyncio.wait_for(Bus(settings, subscriptions={}).run(), 10)


@pytest.mark.parametrize("reader", ["client", "server"])
def test_renewals_beside_a_reader_never_leave_it_without_a_pair(
    tmp_path: Path, reader: str
) -> None:
    authority = pki_with(tmp_path, "b7", "127.0.0.1")
    ca, cert, key = (tmp_path / name for name in ("ca.pem", "b7.pem", "b7.key"))
    client, server = ClientTls(ca, cert, key), Certificate(cert, key, "displays")
    done = threading.Event()

    def renew() -> None:
        for _ in range(20):
            authority.renew("b7")
        done.set()

    writer = threading.Thread(target=renew)
    deadline = time.monotonic() + 60
    writer.start()
    while not done.is_set():
        assert time.monotonic() < deadline
        if reader == "client":
            assert client.context() is not None
        else:
            server.renew()
            assert shakes_hands(server.context, ca)
    writer.join()
    server.renew()
    assert shakes_hands(server.context, ca)


def shakes_hands(server: ssl.SSLContext, ca: Path) -> bool:
    """In memory, both sides in turn."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    trusting = ssl.create_default_context(cafile=str(ca))
    ours = trusting.wrap_bio(to_client, to_server, server_hostname="127.0.0.1")
    theirs = server.wrap_bio(to_server, to_client, server_side=True)
    waiting = [ours, theirs]
    for _ in range(10):
        for side in list(waiting):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            waiting.remove(side)
        if not waiting:
            return True
    return False


# ---- what a server says against us ----

NOW = datetime.now(UTC)
LONG_AGO = NOW - timedelta(days=1000)


def served_once(folder: Path, ask: Callable[[int], str | None]) -> str | None:
    """Serve one connection that must show a certificate of this authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "broker.pem", folder / "broker.key")
    context.load_verify_locations(folder / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            line, _ = listening.accept()
            with line, suppress(OSError), context.wrap_socket(line, server_side=True) as wrapped:
                wrapped.recv(1)

        thread = threading.Thread(target=serve)
        thread.start()
        said = ask(listening.getsockname()[1])
        thread.join(10)
    return said


@pytest.mark.parametrize(
    ("issued", "broker", "said"),
    [
        (NOW, NOW, None),
        (LONG_AGO, NOW, "it refuses our certificate: certificate expired"),
        (NOW, LONG_AGO, "its certificate is not believed: certificate has expired"),
    ],
)
def test_what_tls_says_against_us_is_found(
    tmp_path: Path, issued: datetime, broker: datetime, said: str | None
) -> None:
    Pki(tmp_path, LONG_AGO).begin("harbour")
    Pki(tmp_path, broker).issue("broker", ["127.0.0.1"], 400)
    Pki(tmp_path, issued).issue("b7", (), 400)
    tls = ClientTls(tmp_path / "ca.pem", tmp_path / "b7.pem", tmp_path / "b7.key").context()
    assert tls is not None
    assert served_once(tmp_path, lambda port: tls_refusal("127.0.0.1", port, tls, 1.0)) == said


async def test_the_bus_says_what_tls_says(tmp_path: Path) -> None:
    Pki(tmp_path, LONG_AGO).begin("harbour")
    Pki(tmp_path, NOW).issue("broker", ["127.0.0.1"], 400)
    Pki(tmp_path, LONG_AGO).issue("b7", (), 400)
    ca, cert, key = (tmp_path / name for name in ("ca.pem", "b7.pem", "b7.key"))

    async def explained(port: int) -> str:
        settings = BusSettings("127.0.0.1", port, "b7", ca=ca, cert=cert, key=key)
        return await Bus(settings, subscriptions={})._explained("[code:128] Unspecified error")

    def ask(port: int) -> str:
        return asyncio.run(explained(port))

    said = await asyncio.to_thread(served_once, tmp_path, ask)
    assert said == "TLS: it refuses our certificate: certificate expired"
