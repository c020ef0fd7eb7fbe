"""What a service manager is told, and that one which does not listen stops nothing."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from baccarat.site.notify import notify

_MANY = 2_000  # more than any queue of datagrams holds


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        line.bind(str(tmp_path / "notify"))
        line.setblocking(False)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        yield line


def test_a_manager_is_told(manager: socket.socket) -> None:
    notify("READY=1")
    assert manager.recv(100) == b"READY=1"


def test_a_manager_that_does_not_listen_is_not_waited_for(manager: socket.socket) -> None:
    for _ in range(_MANY):
        notify("WATCHDOG=1")
    assert manager.recv(100) == b"WATCHDOG=1"


def test_without_a_manager_nobody_is_told(
    manager: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET")
    notify("READY=1")
    with pytest.raises(BlockingIOError):
        manager.recv(100)
