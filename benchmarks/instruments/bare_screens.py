"""The screens' floor: from the broker to browsers without any of the product in between.

`python -m benchmarks.instruments.bare_screens REPORT_PORT BROKER_PORT LISTEN_PORT`. Each message on
`TOPIC` goes to every stream unchanged, by one write each. The page puts its first characters into
one element.
"""

import socket
import sys
import threading
from contextlib import suppress
from typing import Final

from benchmarks.instruments import bare_mqtt as bare
from benchmarks.instruments.watcher import Reporter

__all__ = ["PAGE", "SERVER", "TOPIC"]

TOPIC: Final = "floor/screens"
SERVER: Final = "floor-screens"
_HOST: Final = "127.0.0.1"
PAGE: Final = b"""<!doctype html><meta charset="utf-8"><title>floor</title>
<link rel="icon" href="data:,">
<pre id="n">0</pre><script>
new EventSource("/events").onmessage = ({ data }) => {
  document.getElementById("n").textContent = data.slice(0, 9);
};
</script>"""
_STREAM: Final = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
_WELCOME: Final = b"data: 000000000\n\n"
_HEAD_MOST: Final = 65_536


def _greet(line: socket.socket, streams: list[socket.socket]) -> None:
    """Answer a request of a browser or of the crowd: the page, or a stream."""
    head = line.recv(_HEAD_MOST)
    if head.startswith(b"GET /events"):
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        line.sendall(_STREAM)
        streams.append(line)
        line.sendall(_WELCOME)  # from here on it misses nothing
        return
    line.sendall(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n"
        b"content-length: %d\r\n\r\n%b" % (len(PAGE), PAGE)
    )
    line.close()


def _accept(listening: socket.socket, streams: list[socket.socket]) -> None:
    while True:
        line, _ = listening.accept()
        # A browser opens connections that it may never use.
        threading.Thread(target=_greet, args=(line, streams), daemon=True).start()


def _main(report: int, broker: int, port: int) -> None:
    streams: list[socket.socket] = []
    listening = socket.create_server((_HOST, port))
    threading.Thread(target=_accept, args=(listening, streams), daemon=True).start()

    def received(_: str, payload: bytes) -> None:
        for stream in streams:
            with suppress(ConnectionError):
                stream.sendall(b"data: %b\n\n" % payload)

    client = bare.connect(broker, SERVER, TOPIC, received=received)
    Reporter(report).ready(SERVER)
    bare.serve(client)


if __name__ == "__main__":
    _main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
