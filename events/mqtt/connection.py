"""One connection to the broker: opened, used, lost, and never used again.

This is aiomqtt 2.5 with four things fixed that a live table cannot accept. When the line breaks,
aiomqtt wakes neither those who wait for an acknowledgement nor those who wait for CONNACK. It
writes a publication only two turns of the loop after the call. Its queues are unbounded. A
cancelled or timed-out attempt leaves a socket and a task behind. To fix this the class uses five
private names of aiomqtt (`_client`, `_connected`, `_disconnected`, `_misc_task`, `_misc_loop`), two
of paho (`_sock_close`, `_out_packet`), and replaces five callbacks. The contract tests run against
both brokers and notice when one of them changes.
"""

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import aiomqtt
import paho.mqtt.client as mqtt
from aiomqtt.exceptions import MqttConnectError
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from events.errors import BusError

__all__ = [
    "ACK_SECONDS",
    "CONNECT_SECONDS",
    "KEEPALIVE_SECONDS",
    "WINDOW_BYTES",
    "WINDOW_MESSAGES",
    "BusConnection",
]

# The broker publishes the Will after one and a half of it; we give up a silent broker between two
# and two and a half, because each of the two looks may be late.
# With less than 10 s, a machine busy with its disk would pass for a dead one.
KEEPALIVE_SECONDS: Final = 10
# How late a look may be: a quarter of it, within the half that the broker waits for a ping.
_MINDED_S: Final = KEEPALIVE_SECONDS / 4
# For TCP, then again for CONNACK and for SUBACK. The broker is on this machine or its network.
CONNECT_SECONDS: Final = 3.0
# A live broker that acknowledges nothing (its store is stuck, a message was too large) would
# otherwise keep the window full for ever. 4 MB on a slow disk take a second or two.
ACK_SECONDS: Final = 10.0
# Sent and not yet acknowledged: a whole shoe with its wagers is some hundreds of messages ...
WINDOW_MESSAGES: Final = 1_000
# ... of about a kilobyte. Two states and four events of the largest permitted size also fit.
WINDOW_BYTES: Final = 32 * 1024 * 1024

_QUALITY: Final = 1  # at least once: the level that both brokers implement reliably
_REFUSED: Final = 0x80  # in a SUBACK
# In a CONNACK, by paho's names: the broker refuses us, rather than being busy.
_FINAL_REFUSALS: Final = (
    "Bad user name or password",
    "Not authorized",
    "Client identifier not valid",
)


class _Sent(NamedTuple):
    """A publication that the broker has not acknowledged."""

    acknowledged: asyncio.Future[bool]
    size: int
    at: float


class BusConnection(aiomqtt.Client):
    """A connection; see the module.

    Args:
        host: the broker's host.
        port: its TCP port.
        client_id: the same at every connection of a service.
        username: the login, or None.
        password: its password, or None.
        tls: the TLS context, or None for plain TCP.
        will: the message that the broker publishes when the connection ends.
        received: called with topic, payload and retained flag of each message, in the order of
            arrival, from before CONNACK on. It must neither wait nor raise.
        read: called after each read of the opened connection; it may send, which `received` may
            not.
        lost: called once, when an opened connection has ended.
    """

    def __init__(  # noqa: PLR0913 - what MQTT's CONNECT holds, and two callbacks
        self,
        host: str,
        port: int,
        *,
        client_id: str,
        username: str | None,
        password: str | None,
        tls: ssl.SSLContext | None = None,
        will: aiomqtt.Will | None,
        received: Callable[[str, bytes, bool], None],
        read: Callable[[], None],
        lost: Callable[[], None],
    ) -> None:
        super().__init__(
            host,
            port,
            identifier=client_id,
            username=username,
            password=password,
            tls_context=tls,
            will=will,
            # A silent logger: aiomqtt logs every socket error and every pending call, and paho, to
            # which it gives the logger, each packet. All errors end in `end` or in a future, and
            # the bus reports them once.
            logger=logging.Logger("mqtt", logging.CRITICAL),  # noqa: LOG001 - nobody else's to set
            protocol=aiomqtt.ProtocolVersion.V311,
            clean_session=True,
            keepalive=KEEPALIVE_SECONDS,
            timeout=CONNECT_SECONDS,
            # The window below is the bound. paho's own would hold a publication back, and scans
            # everything in flight at every acknowledgement.
            max_inflight_messages=0,
            # Without TCP_NODELAY a hop costs 40 ms: Nagle's algorithm against delayed
            # acknowledgements.
            socket_options=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)],
        )
        self._client.disable_logger()
        self._client.connect_timeout = CONNECT_SECONDS
        self._received, self._on_read = received, read
        self._lost = lost
        self._unacknowledged: dict[int, _Sent] = {}
        self._unacknowledged_bytes = 0
        self._watchdog: asyncio.TimerHandle | None = None
        self._opened = False
        self._watching = True  # aiomqtt may still watch the socket for what `open` has sent

    @property
    def alive(self) -> bool:
        """Whether the connection is open and not known to be lost."""
        return self._opened and not self._disconnected.done()

    @property
    def end(self) -> str:
        """Why the connection ended, for a person."""
        error = self._disconnected.exception() if self._disconnected.done() else None
        return str(error) if error else "closed"

    async def open(self) -> None:
        """Connect. A cancellation waits for the running attempt, which is in a thread.

        Raises:
            BusError: the broker refuses us for good.
            aiomqtt.MqttError: the broker could not be reached; a retry may help.
        """
        attempt = asyncio.ensure_future(self.__aenter__())
        try:
            await asyncio.shield(attempt)
        except asyncio.CancelledError:
            await asyncio.wait({attempt})
            attempt.exception()  # mark as retrieved: nobody else will
            raise
        except MqttConnectError as error:
            if isinstance(error.rc, ReasonCode) and error.rc.getName() in _FINAL_REFUSALS:
                raise BusError(f"the broker refused the connection: {error.rc}") from error
            raise
        self._client.on_socket_register_write = self._write_soon
        self._client.on_socket_unregister_write = self._written
        self._disconnected.add_done_callback(self._ended)
        self._opened = True
        sock = self._client.socket()
        if sock is not None and not self._disconnected.done():
            self._loop.add_reader(sock.fileno(), self._read)

    async def subscribe_all(self, filters: Sequence[str]) -> None:
        """Subscribe to all of `filters` in one packet.

        Raises:
            BusError: the broker refused one. Only nats-server reports that; mosquitto grants what
                it will not deliver.
            aiomqtt.MqttError: the connection was lost, or the answer timed out.
        """
        if not filters:
            return
        granted = await self._unless_lost([(name, _QUALITY) for name in filters])
        refused = [
            name
            for name, code in zip(filters, granted, strict=True)
            if (code.value if isinstance(code, ReasonCode) else code) >= _REFUSED
        ]
        if refused:
            raise BusError(f"the broker refused the subscription to {', '.join(refused)}")

    async def _unless_lost(self, wanted: list[tuple[str, int]]) -> Sequence[int | ReasonCode]:
        asking = asyncio.ensure_future(self.subscribe(wanted))
        either: set[asyncio.Future[Any]] = {asking, self._disconnected}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            asking.cancel()  # does nothing to a finished future
            await asyncio.gather(asking, return_exceptions=True)
        if asking.cancelled():
            raise aiomqtt.MqttError(self.end)
        return asking.result()

    def send(self, topic: str, payload: bytes, *, retain: bool) -> asyncio.Future[bool] | None:
        """Write a publication to the socket now; what does not fit follows in order.

        Returns:
            A future: True at the broker's acknowledgement, False if the connection ends without
                one. None if nothing was sent: the line is down or the window is full.
        """
        if not self.alive or not self._has_room_for(len(payload)):
            return None
        info = self._client.publish(topic, payload, _QUALITY, retain)
        if info.rc != mqtt.MQTT_ERR_SUCCESS:
            return None
        self._join_packets()
        self._client.loop_write()
        if self._disconnected.done():
            return None
        sent = _Sent(self._loop.create_future(), len(payload), self._loop.time())
        self._unacknowledged[info.mid] = sent
        self._unacknowledged_bytes += sent.size
        if self._watchdog is None:
            self._watchdog = self._loop.call_at(sent.at + ACK_SECONDS, self._watch)
        return sent.acknowledged

    def _join_packets(self) -> None:
        """Let what waits go out in one write: each wakes the broker, which may take our processor.

        What waits in front of a publication is the acknowledgement of the message that caused it.
        """
        waiting = self._client._out_packet  # noqa: SLF001 - paho writes each packet by itself
        if len(waiting) > 1:
            last = waiting.pop()
            before = b"".join(each["packet"][each["pos"] :] for each in waiting)
            waiting.clear()
            last["packet"] = before + last["packet"]
            last["to_process"] += len(before)
            waiting.append(last)

    def _has_room_for(self, size: int) -> bool:
        return (
            len(self._unacknowledged) < WINDOW_MESSAGES
            and self._unacknowledged_bytes + size <= WINDOW_BYTES
        )

    async def _misc_loop(self) -> None:
        """Let paho send a ping or miss its answer; aiomqtt looks every second."""
        while self._client.loop_misc() == mqtt.MQTT_ERR_SUCCESS:  # noqa: ASYNC110 - paho has no event
            await asyncio.sleep(_MINDED_S)

    async def close(self) -> None:
        """Hang up, and leave no socket, task or callback behind.

        There is no DISCONNECT, so the broker publishes the Will.
        """
        self._opened = False
        self._client._sock_close()  # noqa: SLF001 - paho has no public way to hang up
        self._release()
        if self._misc_task is not None:
            self._misc_task.cancel()
            await asyncio.gather(self._misc_task, return_exceptions=True)
        for future in (self._connected, self._disconnected):
            if future.done() and not future.cancelled():
                future.exception()  # mark as retrieved, or asyncio complains

    def _ended(self, _: asyncio.Future[None]) -> None:
        self._release()
        self._lost()

    def _release(self) -> None:
        """Resolve every wait for an acknowledgement with False."""
        if self._watchdog is not None:
            self._watchdog.cancel()
            self._watchdog = None
        for sent in self._unacknowledged.values():
            if not sent.acknowledged.done():
                sent.acknowledged.set_result(False)
        self._unacknowledged.clear()
        self._unacknowledged_bytes = 0

    def _watch(self) -> None:
        """Hang up on a broker that acknowledges nothing: a new connection may work."""
        self._watchdog = None
        oldest = next(iter(self._unacknowledged.values()), None)
        if oldest is None:
            return
        due = oldest.at + ACK_SECONDS
        if due > self._loop.time():
            self._watchdog = self._loop.call_at(due, self._watch)
        elif not self._disconnected.done():
            self._disconnected.set_exception(
                aiomqtt.MqttError(f"no acknowledgement within {ACK_SECONDS:g} s")
            )

    def _read(self) -> None:
        """Read as aiomqtt does, and let what has come be handled before the loop's next turn."""
        client = self._client
        try:
            client.loop_read()
            while isinstance(sock := client.socket(), ssl.SSLSocket) and sock.pending():
                client.loop_read()
        except Exception as error:  # noqa: BLE001 - a broken line
            if not self._disconnected.done():
                self._disconnected.set_exception(error)
        self._on_read()

    def _write_soon(self, client: mqtt.Client, _: Any, __: "mqtt.SocketLike") -> None:
        """Write two turns of the loop later, unless `send` has written by then.

        The acknowledgement of a message so goes out with what is published in answer to it: at the
        first turn the message is handled, at the second a publisher has its turn.

        Watching the socket, only to stop at once, costs more than writing. aiomqtt's own watch
        starts two turns of the loop later, after `send` has written and moved on; the loop would
        then call it at every turn for ever.
        """
        self._loop.call_soon(self._loop.call_soon, self._write, client)

    def _write(self, client: mqtt.Client) -> None:
        if not client.want_write():
            return
        client.loop_write()
        sock = client.socket()
        if sock is not None and client.want_write():  # the socket is full
            self._loop.add_writer(sock.fileno(), client.loop_write)
            self._watching = True

    def _written(self, _: mqtt.Client, __: Any, sock: "mqtt.SocketLike") -> None:
        """Stop watching: everything is written."""
        if self._watching:
            self._loop.remove_writer(sock.fileno())
            self._watching = False

    def _on_message(self, client: mqtt.Client, userdata: Any, message: mqtt.MQTTMessage) -> None:  # noqa: ARG002 - aiomqtt's signature
        try:
            topic = message.topic
        except UnicodeDecodeError:
            return  # no topic of ours; both brokers refuse such names
        self._received(topic, bytes(message.payload), message.retain)

    def _on_publish(
        self,
        client: mqtt.Client,  # noqa: ARG002 - the same
        userdata: Any,  # noqa: ARG002 - the same
        mid: int,
        reason_code: ReasonCode,  # noqa: ARG002 - MQTT 3.1.1 has none
        properties: Properties,  # noqa: ARG002 - MQTT 3.1.1 has none
    ) -> None:
        sent = self._unacknowledged.pop(mid, None)
        if sent is not None:
            self._unacknowledged_bytes -= sent.size
            if not sent.acknowledged.done():
                sent.acknowledged.set_result(True)

    def _on_disconnect(
        self,
        client: mqtt.Client,
        userdata: Any,
        flags: mqtt.DisconnectFlags,
        reason_code: ReasonCode,
        properties: Properties | None = None,
    ) -> None:
        if not self._connected.done():  # the line broke before CONNACK: stop waiting for it
            self._connected.set_exception(aiomqtt.MqttCodeError(reason_code, "not connected"))
        if self._connected.cancelled():
            return  # CONNACK came too late: the attempt is being given up, and aiomqtt would fail
        super()._on_disconnect(client, userdata, flags, reason_code, properties)
