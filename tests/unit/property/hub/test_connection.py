"""An attempt to reach the hub ends, whatever becomes of the node meanwhile."""

import asyncio
from pathlib import Path

import pytest
from nats.aio.client import Client

from events.errors import BusError
from property.hub.connection import HubConnection, HubSettings, connect
from tests.support.brokers.certificates import pki_with

_ENDS_S = 10
_INFO = b'INFO {"server_name":"hub1","tls_required":true,"max_payload":1048576}\r\n'


@pytest.mark.parametrize("dies", ["at once", "in the handshake", "in order", "hangs"])
async def test_an_attempt_ends_when_the_node_dies(dies: str, tmp_path: Path) -> None:
    async def node(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if dies != "at once":
            writer.write(_INFO)
            await reader.read(1 if dies != "hangs" else -1)
        if dies == "in order":
            writer.close()
        else:
            writer.transport.abort()

    pki_with(tmp_path, "client", owner="property")
    async with await asyncio.start_server(node, "127.0.0.1", 0) as server:
        hub = HubSettings(
            servers=(f"tls://127.0.0.1:{server.sockets[0].getsockname()[1]}",),
            who="harbour/b7",
            password="of no use",  # noqa: S106 - nobody asks for it
            ca=tmp_path / "ca.pem",
            cert=tmp_path / "client.pem",
            key=tmp_path / "client.key",
        )
        with pytest.raises(BusError, match="tls://127"):
            await asyncio.wait_for(connect(hub, 0), _ENDS_S)


@pytest.mark.parametrize(
    "raw",
    [
        b"Nats-Sequence: 5\r\nBac-Hash:\t ab \r\nNats-Sequence: 6\r\n\r\n",
        b"Nats-Sequence\r\nNats-Subject :x\r\n Nats-Subject: y\r\nOwn: 1\r\n",
        b"Nats-Subject: \xff\xc3\r\nNats Sequence: 7\r\nN\xe4me: 1\r\n: 2\r\nx\nBac-Hash: 3\r\n",
        b"nats-sequence: 8\r\nNats-Stream: a: b\r\nNats-Num-Pending:\r\n",
        b"",
    ],
)
def test_headers_are_read_as_the_library_reads_them(raw: bytes) -> None:
    """By a name of the library's own, which a new version of it may have changed."""
    read = HubConnection._parse_header_lines
    assert read is not Client._parse_header_lines
    assert read(raw) == Client._parse_header_lines(raw)
