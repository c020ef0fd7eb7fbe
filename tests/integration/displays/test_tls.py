"""The screens over TLS, with a real certificate: what is served, what is refused, what is said."""

import asyncio
import re
import shutil
import ssl
import warnings
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from displays import service
from displays.auth.accounts import UserAccount, save_accounts
from displays.auth.passwords import hash_password
from displays.http import server as web
from displays.http.certificate import Certificate
from displays.service import DisplayService
from events.errors import ConfigError
from tests.support.brokers.certificates import Pair, certify, write_key
from tests.support.machine.waiting import PATIENCE_SECONDS, until
from tests.support.service.screen_server import address_of, open_line, serving

PASSWORD = "eight decks of cards"  # noqa: S105 - of people who exist in tests alone


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return certify(tmp_path)


def trusting(pair: Pair) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(pair.cert))


async def serial_of(started: DisplayService) -> int:
    """The certificate that is served now."""
    anything = ssl.create_default_context()
    anything.check_hostname, anything.verify_mode = False, ssl.CERT_NONE
    _, writer = await asyncio.open_connection(*address_of(started), ssl=anything)
    found = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    return x509.load_der_x509_certificate(found).serial_number


async def test_a_login_over_tls_has_all_that_keeps_it_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, pair: Pair
) -> None:
    users = tmp_path / "users.toml"
    save_accounts(
        users, {"sam": UserAccount(password=hash_password(PASSWORD), roles=("supervisor",))}
    )
    async with serving(monkeypatch, cert=pair.cert, key=pair.key, users=users) as started:
        assert started.address.startswith("https://127.0.0.1:")
        async with httpx.AsyncClient(
            base_url=started.address, verify=trusting(pair), trust_env=False
        ) as client:
            page = await client.get("/login")
            assert page.headers["strict-transport-security"] == "max-age=31536000"
            found = re.search(r'name="csrf" value="([^"]+)"', page.text)
            assert found
            form = {"user": "sam", "password": PASSWORD, "csrf": found[1]}
            origin = started.address.rstrip("/")
            answer = await client.post("/login", data=form, headers={"origin": origin})
            assert answer.headers["location"] == "/console"
            cookies = dict(each.split("=", 1) for each in answer.headers.get_list("set-cookie"))
            for name in ("__Host-session", "__Secure-device-sam"):
                assert {"HttpOnly", "SameSite=strict", "Secure"} <= set(cookies[name].split("; "))
            assert (await client.get("/pit")).status_code == 200


@pytest.mark.parametrize("version", ["TLSv1", "TLSv1_1", "TLSv1_2", "TLSv1_3"])
async def test_old_tls_is_refused(
    monkeypatch: pytest.MonkeyPatch, pair: Pair, version: str
) -> None:
    lax, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    lax.load_cert_chain(pair.cert, pair.key)
    client.load_verify_locations(pair.cert)
    for context in (lax, client):
        context.set_ciphers("ALL:@SECLEVEL=0")  # else our own side would refuse first
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # which is the point of the test
        lax.minimum_version = ssl.TLSVersion.TLSv1
        client.minimum_version = client.maximum_version = ssl.TLSVersion[version]

    async def speaks(host: str, port: int) -> str:
        try:
            _, writer = await asyncio.open_connection(host, port, ssl=client)
        except (ssl.SSLError, ConnectionResetError):
            return "refused"
        found = str(writer.get_extra_info("ssl_object").version())
        writer.close()
        return found

    spoken = version.replace("_", ".")
    async with serving(monkeypatch, cert=pair.cert, key=pair.key) as started:
        expected = spoken if version in {"TLSv1_2", "TLSv1_3"} else "refused"
        assert await speaks(*address_of(started)) == expected
    # It is the server that refuses: with a lax one this client gets on.
    other = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=lax)
    assert await speaks(*other.sockets[0].getsockname()) == spoken
    other.close()


async def test_plain_http_gets_nothing_where_there_is_tls(
    monkeypatch: pytest.MonkeyPatch, pair: Pair
) -> None:
    async with serving(monkeypatch, cert=pair.cert, key=pair.key) as started:
        reader, writer = await open_line(started, "GET / HTTP/1.1\nhost: 127.0.0.1\n\n")
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert b"200" not in await reader.read()
        writer.close()


async def test_a_handshake_that_does_not_come_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, pair: Pair
) -> None:
    monkeypatch.setattr(web, "_HANDSHAKE_S", 0.3)
    async with serving(monkeypatch, cert=pair.cert, key=pair.key) as started:
        reader, writer = await open_line(started)
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await reader.read() == b""
        writer.close()


async def test_a_renewed_certificate_is_served_without_a_restart(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, pair: Pair
) -> None:
    monkeypatch.setattr(service, "_RENEW_S", 0.02)
    aside = tmp_path / "new"
    aside.mkdir()
    async with serving(monkeypatch, cert=pair.cert, key=pair.key) as started:
        assert await serial_of(started) == pair.serial
        new = certify(aside)
        shutil.copyfile(new.cert, pair.cert)  # the key is not there yet
        for _ in range(5):
            await asyncio.sleep(0.02)
            assert await serial_of(started) == pair.serial
        shutil.copyfile(new.key, pair.key)

        async def served() -> bool:
            return await serial_of(started) == new.serial

        await until(served, "the new one is served")


def missing(pair: Pair) -> None:
    pair.key.unlink()


def no_certificate(pair: Pair) -> None:
    pair.cert.write_text("not PEM")


def no_key(pair: Pair) -> None:
    pair.key.write_text("not PEM")


def anothers(pair: Pair) -> None:
    write_key(pair.key, ec.generate_private_key(ec.SECP256R1()))


def locked(pair: Pair) -> None:
    write_key(pair.key, ec.generate_private_key(ec.SECP256R1()), b"a passphrase")


def readable(pair: Pair) -> None:
    pair.key.chmod(0o644)


def the_wrong_way_round(pair: Pair) -> None:
    cert, key = pair.cert.read_bytes(), pair.key.read_bytes()
    pair.cert.write_bytes(key)
    pair.key.write_bytes(cert)


@pytest.mark.parametrize(
    ("spoil", "key", "reason", "help_"),
    [
        (missing, "displays.key", "No such file", 'key = "b7.key"'),
        (no_certificate, "displays.cert", "holds no certificate", "BEGIN CERTIFICATE"),
        (no_key, "displays.key", "holds no private key", "BEGIN PRIVATE KEY"),
        (anothers, "displays.key", "is not the key of", "the pair"),
        (locked, "displays.key", "has a passphrase", "openssl pkey"),
        (readable, "displays.key", "can be read by everybody", "chmod 600"),
        (the_wrong_way_round, "displays.cert", "holds no certificate", "BEGIN CERTIFICATE"),
    ],
)
def test_what_cannot_be_used_is_said_with_key_reason_and_what_would_be_right(
    pair: Pair, spoil: Callable[[Pair], None], key: str, reason: str, help_: str
) -> None:
    spoil(pair)
    with pytest.raises(ConfigError) as refused:
        Certificate(pair.cert, pair.key, "displays")
    said = str(refused.value)
    assert said.startswith(f"{key}: ")
    assert reason in said
    assert help_ in said
    assert len(said.splitlines()) == 1
