"""The screens' server on real sockets, plain and over TLS: what it serves, refuses and cuts off.

Its bounds are made short, so that the tests are; that they are bounds is what is tested.
"""

import asyncio
import re
import resource
import shutil
import socket
import ssl
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from displays import service
from displays.app import SCREENS_MOST
from displays.auth.accounts import UserAccount, save_accounts
from displays.http import security as guard
from displays.http import server as web
from displays.http.server import ADDRESS_MOST, CONNECTIONS_MOST, Certificate
from displays.service import DisplayService
from events.errors import ConfigError
from tests.support.brokers.certificates import Pair, certify, write_key
from tests.support.brokers.listeners import stop_listening
from tests.support.machine.waiting import PATIENCE_SECONDS, until
from tests.support.service.console_site import PASSWORD, SECRET
from tests.support.service.screen_server import Line, address_of, open_line, serving, shown


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


async def test_a_login_over_tls_has_all_that_keeps_it_there(tmp_path: Path, pair: Pair) -> None:
    users = tmp_path / "users.toml"
    save_accounts(users, {"sam": UserAccount(password=SECRET, roles=("supervisor",))})
    async with serving(cert=pair.cert, key=pair.key, users=users) as started:
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
async def test_old_tls_is_refused(pair: Pair, version: str) -> None:
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
    async with serving(cert=pair.cert, key=pair.key) as started:
        expected = spoken if version in {"TLSv1_2", "TLSv1_3"} else "refused"
        assert await speaks(*address_of(started)) == expected
    # It is the server that refuses: with a lax one this client gets on.
    other = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=lax)
    assert await speaks(*other.sockets[0].getsockname()) == spoken
    await stop_listening(other)


async def test_plain_http_gets_nothing_where_there_is_tls(pair: Pair) -> None:
    async with serving(cert=pair.cert, key=pair.key) as started:
        reader, writer = await open_line(started, "GET / HTTP/1.1\nhost: 127.0.0.1\n\n")
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert b"200" not in await reader.read()
        writer.close()


async def test_a_handshake_that_does_not_come_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, pair: Pair
) -> None:
    monkeypatch.setattr(web, "_HANDSHAKE_S", 0.3)
    async with serving(cert=pair.cert, key=pair.key) as started:
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
    async with serving(cert=pair.cert, key=pair.key) as started:
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


SHORT_S = 0.3
QUICK_S = 5.0  # a page takes milliseconds, a starved machine some seconds
GET = "GET {} HTTP/1.1\nhost: 127.0.0.1\n\n"
STREAM = GET.format("/events")
SCREEN_MOST_BYTES = 1_000_000


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(web, "HEAD_SECONDS", SHORT_S)
    monkeypatch.setattr(web, "UNTAKEN_SECONDS", SHORT_S)
    monkeypatch.setattr(guard, "BODY_SECONDS", SHORT_S)
    monkeypatch.setattr(web, "_UNTAKEN_MS", round(SHORT_S * 1000))
    return monkeypatch


async def ends(line: Line) -> bytes:
    """Whatever is said until the server hangs up."""
    reader, writer = line
    said = b""
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while piece := await reader.read(65_536):
                said += piece
    except ConnectionError:
        pass  # what dripped into its farewell is answered by a reset
    finally:
        writer.close()
    return said


async def answers(started: DisplayService, path: str = "/") -> float:
    """How long a page takes, in seconds."""
    began = time.monotonic()
    reader, writer = await open_line(started, GET.format(path))
    async with asyncio.timeout(PATIENCE_SECONDS):
        assert b"200" in await reader.readline()
    writer.close()
    return time.monotonic() - began


async def drip(line: Line, text: bytes) -> None:
    """A byte now and then, for as long as they are taken."""
    for byte in text:
        line[1].write(bytes([byte]))
        try:
            await line[1].drain()
        except ConnectionError:
            return
        await asyncio.sleep(SHORT_S / 5)


@pytest.mark.parametrize(
    "head",
    [
        "",
        "GET / HTTP/1.1\n",
        "GET / HTTP/1.1\nhost: 127.0.0.1\nx-filler: ",
        GET.format("/static/icon.svg"),
        GET.format("/static/icon.svg") + "GET / HTTP/1.1\nx-filler: ",
    ],
    ids=["nothing", "a line", "half a head", "nothing more", "half a second head"],
)
@pytest.mark.usefixtures("short")
async def test_a_head_that_does_not_come_is_not_waited_for(head: str) -> None:
    async with serving() as started:
        line = await open_line(started, head)
        # An answer is read before anything drips: what comes behind a close resets the connection,
        # and takes from its reader what was not read by then.
        said = await line[0].readline() if "icon.svg" in head else b""
        dripping = asyncio.ensure_future(drip(line, b"a" * 1_000)) if head.endswith(" ") else None
        said += await ends(line)
        assert said.startswith(b"HTTP/1.1 200") is ("icon.svg" in head)
        if dripping:
            await dripping
        assert await answers(started) < QUICK_S


@pytest.mark.usefixtures("short")
async def test_a_body_that_drips_is_not_waited_for(tmp_path: Path) -> None:
    users = tmp_path / "users.toml"
    save_accounts(users, {})
    head = (
        "POST /login HTTP/1.1\nhost: 127.0.0.1\ncontent-length: 1000\n"
        "content-type: application/x-www-form-urlencoded\n\n"
    )
    async with serving(users=users) as started:
        line = await open_line(started, head)
        dripping = asyncio.ensure_future(drip(line, b"a" * 1_000))
        assert (await ends(line)).startswith(b"HTTP/1.1 408")
        await dripping


@pytest.mark.usefixtures("short")
async def test_a_body_that_nobody_asked_for_holds_no_connection() -> None:
    head = "POST / HTTP/1.1\nhost: 127.0.0.1\ncontent-length: 1000000\n\n"
    async with serving() as started:
        line = await open_line(started, head)
        dripping = asyncio.ensure_future(drip(line, b"a" * 1_000))
        assert (await ends(line)).startswith(b"HTTP/1.1 405")
        await dripping


@pytest.mark.usefixtures("short")
async def test_dripping_lines_by_the_hundred_slow_nobody() -> None:
    async with serving() as started:
        lines = [await open_line(started, "GET / HTTP/1.1\nx: ") for _ in range(200)]
        dripping = [asyncio.ensure_future(drip(line, b"a" * 50)) for line in lines]
        assert median([await answers(started) for _ in range(20)]) < QUICK_S / 5
        await asyncio.gather(*map(ends, lines))
        await asyncio.gather(*dripping)


@pytest.fixture
def files() -> Iterator[None]:
    """Both ends of every connection are this process's."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4_096), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("files")
async def test_beyond_the_most_a_connection_is_cut_and_the_others_go_on() -> None:
    async with serving() as started:
        watching = await open_line(started, STREAM)
        lines = [await open_line(started) for _ in range(CONNECTIONS_MOST - 1)]
        assert await ends(await open_line(started, GET.format("/"))) == b""
        started.live.on_state(shown("BPB", 7), retain=False)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await watching[0].readuntil(b"id: 7-")
        for _, writer in (*lines, watching):
            writer.close()


async def test_one_machine_takes_no_more_than_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "is_here", lambda _: False)
    async with serving() as started:
        lines = [await open_line(started, STREAM) for _ in range(ADDRESS_MOST)]
        await until(lambda: started.live.screens == ADDRESS_MOST, "all watch")
        assert await ends(await open_line(started, STREAM)) == b""
        elsewhere = await open_line(started, STREAM, local_addr=("127.0.0.2", 0))
        await until(lambda: started.live.screens == ADDRESS_MOST + 1, "another machine watches")
        for _, writer in (*lines, elsewhere):
            writer.close()


async def test_screens_beyond_the_most_are_told_so() -> None:
    async with serving() as started:
        lines = [await open_line(started, STREAM) for _ in range(SCREENS_MOST)]
        await until(lambda: started.live.screens == SCREENS_MOST, "all watch")
        line = await open_line(started, STREAM)
        assert b"503" in await line[0].readline()
        for _, writer in (*lines, line):
            writer.close()
        await until(lambda: started.live.screens == 0, "nobody watches")


def stuck_line(started: DisplayService) -> socket.socket:
    """A screen whose window is shut: it reads nothing, and its own buffer is small."""
    line = socket.socket()
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    line.connect(address_of(started))
    line.sendall(STREAM.replace("\n", "\r\n").encode())
    return line


def resident_bytes() -> int:
    pages = Path("/proc/self/statm").read_text("ascii").split()[1]
    return int(pages) * resource.getpagesize()


async def test_a_stuck_screen_is_dropped_and_slows_nobody(short: pytest.MonkeyPatch) -> None:
    patience_s = 8.0
    short.setattr(web, "UNTAKEN_SECONDS", patience_s)
    short.setattr(web, "_UNTAKEN_MS", round(patience_s * 1_000))
    async with serving() as started:
        before = resident_bytes()
        stuck = [stuck_line(started) for _ in range(50)]
        reader, writer = await open_line(started, STREAM)
        await until(lambda: started.live.screens == len(stuck) + 1, "all watch")
        late, position = [], 0
        while started.live.screens > 1:
            position += 1
            began = time.monotonic()
            started.live.on_state(shown("BPTBBP" * 12, position), retain=False)
            async with asyncio.timeout(PATIENCE_SECONDS):
                await reader.readuntil(b"id: %d-" % position)
            late.append(time.monotonic() - began)
        # More was said than all buffers between us and them hold.
        assert position * len(shown("BPTBBP" * 12, 1)) > 300_000
        assert max(late) < 0.8 * patience_s  # whoever waited for one of them would wait for so long
        assert (resident_bytes() - before) / len(stuck) < SCREEN_MOST_BYTES
        writer.close()
        for each in stuck:
            each.close()


@pytest.mark.usefixtures("short")
async def test_a_stuck_screen_is_dropped_when_next_to_nothing_is_said() -> None:
    """What waits then lies with the system alone, which has a bound of its own."""
    async with serving() as started:
        stuck = stuck_line(started)
        await until(lambda: started.live.screens == 1, "it watches")
        started.live.on_state(shown("BPTBBP" * 12, 1, table="t" * 30_000), retain=False)
        await until(lambda: started.live.screens == 0, "it is dropped")
        stuck.close()


@pytest.mark.parametrize("path", ["/", "/events", "/health", "/static/icon.svg"])
async def test_junk_behind_a_request_ends_it_and_is_no_matter_for_the_log(
    caplog: pytest.LogCaptureFixture, path: str
) -> None:
    """A log that anybody can fill is one that hides what matters."""
    head = f"POST {path} HTTP/1.1\nhost: 127.0.0.1\ntransfer-encoding: chunked\n\n"
    async with serving() as started:
        for junk in (b"ZZ\r\n", b"5\r\nhello\r\nZZ\r\n"):
            for start in (head, head.replace("POST", "GET")):
                line = await open_line(started, start + junk.decode().replace("\r\n", "\n"))
                assert b" 200" not in (await ends(line)).partition(b"\r\n")[0]
        reader, writer = await open_line(started, head.replace("POST", "GET"))
        await reader.readuntil(b"\r\n\r\n")  # it has begun to answer
        writer.write(b"ZZ\r\n")
        await ends((reader, writer))
        await until(lambda: started.live.screens == 0, "nobody watches")
        assert await answers(started) < QUICK_S
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


_TWO_LENGTHS = (
    b"POST /login HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 4\r\n"
    b"transfer-encoding: chunked\r\n\r\n0\r\n\r\n"
)


@pytest.mark.parametrize(
    "said",
    [
        _TWO_LENGTHS,
        b"GET /health HTTP/1.1\nhost: 127.0.0.1\n\n",
        b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\nx: y\r\n\r\n",
        b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\nx: y\n\r\n",
        b"\nGET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
    ],
    ids=["two lengths", "LF", "LF within", "LF at the end", "LF first"],
)
async def test_what_a_proxy_may_read_otherwise_is_refused_and_ends_the_line(said: bytes) -> None:
    async with serving() as started:
        good = b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
        for before in (b"", good):  # also behind another request in one packet
            reader, writer = await open_line(started)
            writer.write(before + said + good)
            found = [each[:3] for each in (await ends((reader, writer))).split(b"HTTP/1.1 ")[1:]]
            assert found.count(b"503") == bool(before)  # and nothing behind it is answered
            assert before or found == [b"400"]


async def test_junk_is_answered_in_one_line_and_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    junk = [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),  # TLS where there is none
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\r\n\r\n",
        b"\0" * 1_000,
        b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n",
        b"GET / HTTP/1.1\r\n" + b"x: " + b"a" * 100_000,
        b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n" + b"a: b\r\n" * 20_000,
        b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ]
    monkeypatch.setattr(web, "HEAD_SECONDS", SHORT_S)
    async with serving() as started:
        for each in junk:
            reader, writer = await open_line(started)
            writer.write(each)
            said = await ends((reader, writer))
            assert len(said) == 0 or said.startswith(b"HTTP/1.1 4") or b"websocket" in each, each
        assert await answers(started) < QUICK_S
