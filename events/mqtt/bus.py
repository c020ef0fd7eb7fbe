"""The bus: a service's MQTT client, which reconnects by itself, and the guarantees it gives.

**The broker is a courier, never a store.** Sessions are clean. A broker that kept a queue for us
would deliver after a reconnect what the journals at both ends resend anyway, in another order, and
a kill would lose part of it. Quality of service is 1. The client id ends in random digits that last
as long as the bus: nobody else can guess it and so take the connection over, and a reconnect still
replaces an own connection that the broker believes alive. Every connection has a new client object,
because a used one cannot be used again.

**Order.** `post` and `publish` write to the wire in the order of the calls. Handlers run one after
the other, in the order of arrival. Within one connection `on_connect` runs to its end, then the
handlers, then `on_disconnect`; early messages wait, even those before SUBACK. `on_connect` may
publish and wait for the acknowledgement. Brokers do not promise order between retained and live
messages: nats-server may deliver a retained message after a newer live one. So a reader goes by
positions, never by arrival.

**Loss.** The bus keeps nothing for later. A message that was not acknowledged when its connection
ended is gone, and its sender reads it again from a journal. Queues are bounded; the bus counts what
a full queue drops.

**Stopping.** Cancel `run`. However it ends, it hangs up without DISCONNECT, and the broker
publishes the Will. So a service that is gone is offline, whatever the reason, and no code can
forget to report it. A service with a last message publishes it first and waits for the
acknowledgement.

**Failing closed.** A handler's exception is our fault, not the sender's, and ends `run`; a handler
refuses junk by value. Before the first good connection a refused login or subscription, or a TLS
file that cannot be used, ends `run` too: it may never work, and a person learns of it at once. A
good connection has proved the configuration. From then on such a failure is the broker's or a
renewal's. The bus logs it with its reason and tries again, because a service that ends in mid-coup
repairs nothing. A handler must not wait for the bus to come back: the next connection waits for the
handlers.
"""

import asyncio
import random
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol

import aiomqtt
from msgspec import Struct
from paho.mqtt.client import topic_matches_sub

from events.errors import BusError, ConfigError, InputError, OurBug
from events.mqtt.backoff import Backoff
from events.mqtt.connection import BusConnection
from events.mqtt.messages import Message, Publication
from events.structured_log import structlog
from events.tls import ClientTls, tls_refusal

__all__ = [
    "INBOX_BYTES",
    "INBOX_MESSAGES",
    "PAYLOAD_BYTES",
    "STEADY_SECONDS",
    "Bus",
    "BusSettings",
    "Handler",
    "Unfinished",
    "matches",
]

# Brokers are configured for 8 MB, headers and topic included. Above its limit nats-server hangs up
# without an answer, and a sender that retries would do so for ever.
PAYLOAD_BYTES: Final = 7 * 1024 * 1024
# Received and not yet handled: ten times the 1,000 that any sender may have in flight ...
INBOX_MESSAGES: Final = 10_000
# ... and, for large messages, as many bytes as one sender may have in flight.
INBOX_BYTES: Final = 32 * 1024 * 1024
# A connection shorter than this does not reset the pause: a broker that hangs up at once should be
# asked ever more slowly.
STEADY_SECONDS: Final = 5.0
_SUFFIX_BYTES: Final = 8
_HUNG_UP: Final = "Unspecified error"  # what paho says of a server that is gone at once
_TLS_SAYS_S: Final = 1.0  # after the handshake, a refusal of our certificate comes at once


class Unfinished(Protocol):
    """What is left to do of a message, such as a coroutine: awaited to its end, or closed."""

    def __await__(self) -> Generator[Any, Any, None]:
        """Do it."""

    def close(self) -> None:
        """Leave it."""


Handler = Callable[[Message], Unfinished | None]
"""Handles a message; returns what is left to do, None where nothing is."""


class BusSettings(Struct, frozen=True):
    """The broker's address and our login.

    Args:
        host: its host; with `ca`, a name or address that its certificate holds.
        port: its port.
        client_id: the service's name at the broker. The bus adds a random end, since a broker
            disconnects whoever has a client id for the next who comes with it.
        username: our login.
        password: its password.
        read_password: returns the password as its file has it now, asked at each connection; while
            it raises an InputError, the password before is used.
        ca: PEM file of the CA that the broker's certificate must come from; turns on TLS.
        cert: PEM file of our own certificate.
        key: PEM file of its key.
    """

    host: str
    port: int
    client_id: str
    username: str | None = None
    password: str | None = None
    read_password: Callable[[], str] | None = None
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None

    def __repr__(self) -> str:
        return f"{self.client_id} at {self.host}:{self.port}"  # without the password


class Bus:
    """A service's connection to the bus.

    Args:
        settings: the broker and the login. The client id must be this service's alone.
        subscriptions: topic filters and their handlers. The first filter that matches takes the
            message. Filters should not overlap, since brokers differ in what they then deliver.
        will: the message that the broker publishes when our connection ends.
        on_connect: called after every connect, before any handler. Publish retained topics again
            here, since a killed broker may have lost them.
        on_disconnect: called once after each connection that `on_connect` was called for.
        rng: the source of the random part of reconnect pauses.

    Attributes:
        dropped: how many messages a full inbox has dropped since the start.
        trouble: why the newest attempt to connect failed; None where none did.
    """

    def __init__(
        self,
        settings: BusSettings,
        *,
        subscriptions: Mapping[str, Handler],
        will: Publication | None = None,
        on_connect: Callable[[], Awaitable[None]] | None = None,
        on_disconnect: Callable[[], None] | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self._settings = settings
        self._subscriptions = tuple(subscriptions.items())
        self._will = aiomqtt.Will(*will[:2], qos=1, retain=will.retain) if will else None
        self._on_connect = on_connect
        self._on_disconnect = on_disconnect
        self._rng = rng or random.Random()  # noqa: S311 - spreads reconnects, guards nothing
        self._log = structlog.get_logger().bind(client_id=settings.client_id)
        self._client_id = f"{settings.client_id}-{secrets.token_hex(_SUFFIX_BYTES)}"
        self._connection: BusConnection | None = None
        self.dropped = 0
        self.trouble: str | None = None
        self._tls = ClientTls(settings.ca, settings.cert, settings.key)
        self._password = settings.password
        self._proved = False
        self._troubles: set[str] = set()  # logged since the last good connection

    @property
    def connected(self) -> bool:
        """Whether a connection is open."""
        return self._connection is not None and self._connection.alive

    async def publish(self, topic: str, payload: bytes, *, retain: bool = False) -> bool:
        """Publish, and wait for the broker's acknowledgement.

        Returns:
            True if the broker acknowledged; False if we are offline, the window is full, or the
                connection ended first (then the broker may have the message or not).

        Raises:
            OurBug: the payload is larger than any broker here carries.
        """
        return await self.offer(topic, payload, retain=retain)

    def offer(self, topic: str, payload: bytes, *, retain: bool = False) -> asyncio.Future[bool]:
        """Publish as `publish` does; return what becomes its result."""
        acknowledged = self._send(topic, payload, retain=retain)
        if acknowledged is None:
            acknowledged = asyncio.get_running_loop().create_future()
            acknowledged.set_result(False)
        return acknowledged

    def post(self, topic: str, payload: bytes, *, retain: bool = False) -> bool:
        """Publish without waiting: on return the socket has the message, if it can take it.

        Returns:
            False if nothing was sent: we are offline or the window is full.

        Raises:
            OurBug: the payload is larger than any broker here carries.
        """
        return self._send(topic, payload, retain=retain) is not None

    def _send(self, topic: str, payload: bytes, *, retain: bool) -> asyncio.Future[bool] | None:
        if len(payload) > PAYLOAD_BYTES:
            raise OurBug(f"{len(payload)} bytes for {topic}: at most {PAYLOAD_BYTES} may be sent")
        return self._connection.send(topic, payload, retain=retain) if self._connection else None

    async def run(self) -> None:
        """Connect, handle messages, and reconnect, until cancelled.

        Raises:
            BusError: before the first good connection, the broker refused our login or a
                subscription, or a file of the settings cannot be used.
        """
        backoff = Backoff(uniform=self._rng.uniform)
        while True:
            if await self._live_once() > STEADY_SECONDS:
                backoff.reset()
            await asyncio.sleep(backoff.next_s())

    async def _live_once(self) -> float:
        """Run one connection from the attempt to its end; return for how many seconds it served."""
        inbox = _Inbox(self._handle)
        connection = await self._new_connection(inbox)
        try:
            if not await self._reach(connection):
                return 0.0
            began = asyncio.get_running_loop().time()
            await self._serve(connection, inbox)
            return asyncio.get_running_loop().time() - began
        finally:
            await connection.close()

    async def _new_connection(self, inbox: "_Inbox") -> BusConnection:
        """Make the next connection, with renewed certificate and password if there are any.

        Raises:
            BusError: a file of the settings cannot be used, and never could.
        """
        try:
            tls = await self._tls.settled()
        except ConfigError as error:
            raise BusError(f"TLS to the broker: {error}") from error
        if self._settings.read_password is not None:
            with suppress(InputError):
                self._password = self._settings.read_password()

        def received(topic: str, payload: bytes, retain: bool) -> None:
            if not inbox.put(Message(topic, payload, retain)):
                self.dropped += 1
                if inbox.overflowed_now():
                    self._log.warning("bus_inbox_full", dropped=self.dropped)

        return BusConnection(
            self._settings.host,
            self._settings.port,
            client_id=self._client_id,
            username=self._settings.username,
            password=self._password,
            tls=tls,
            will=self._will,
            received=received,
            read=inbox.hand_over,
            lost=inbox.end,
        )

    async def _reach(self, connection: BusConnection) -> bool:
        """Connect and subscribe; log each reason of failure once.

        Raises:
            BusError: the broker refused us, and there was no good connection yet.
        """
        try:
            await connection.open()
            await connection.subscribe_all([name for name, _ in self._subscriptions])
        except (aiomqtt.MqttError, BusError) as error:
            if isinstance(error, BusError) and not self._proved:
                raise
            reason = str(error)
            if reason not in self._troubles:  # may refuse once it is up
                self.trouble = said = await self._explained(reason)
                self._log.warning("bus_unreachable", at=repr(self._settings), reason=said)
            self._troubles.add(reason)
            return False
        self._proved = True
        self._troubles.clear()
        self._log.info("bus_connected", at=repr(self._settings))
        return True

    async def _explained(self, reason: str) -> str:
        """Return what TLS says, which is left out of MQTT's reason; else that reason."""
        with suppress(ConfigError, OSError):
            if context := await self._tls.settled():
                at = (self._settings.host, self._settings.port)
                said = await asyncio.to_thread(tls_refusal, *at, context, _TLS_SAYS_S)
                return f"TLS: {said}" if said else reason
        if self._settings.ca is None and _HUNG_UP in reason:
            return "the broker hung up; does it want TLS at that port?"
        return reason

    async def _serve(self, connection: BusConnection, inbox: "_Inbox") -> None:
        self._connection = connection
        try:
            if self._on_connect is not None:
                await self._on_connect()
            while (message := await inbox.take()) is not None:
                if (rest := self._handle(message)) is not None:
                    await rest
                # A backlog must not keep the loop from its timers and sockets.
                await asyncio.sleep(0)
            self._log.warning("bus_lost", reason=connection.end)
        finally:
            self._connection = None
            if self._on_disconnect is not None:
                self._on_disconnect()

    def _handle(self, message: Message) -> Unfinished | None:
        for name, handler in self._subscriptions:
            if matches(name, message.topic):
                return handler(message)
        return None


def matches(name: str, topic: str) -> bool:
    """Return whether a subscription matches; equal names skip the costly pattern match."""
    return name == topic or (("+" in name or "#" in name) and topic_matches_sub(name, topic))


class _Inbox:
    """One connection's messages that await a handler: bounded, and closed with the connection.

    Args:
        handle: handles a message right after the socket's read, where no other waits before it.
    """

    def __init__(self, handle: Handler) -> None:
        self._handle = handle
        self._queue: deque[Message | None] = deque()  # bounded by `put`
        self._awaited: asyncio.Future[Unfinished | None] | None = None
        self._bytes = 0
        self._overflowing = False

    def put(self, message: Message) -> bool:
        """Add a message, or drop it and return False."""
        size = len(message.payload)
        if len(self._queue) >= INBOX_MESSAGES or self._bytes + size > INBOX_BYTES:
            return False
        self._bytes += size
        self._queue.append(message)
        return True

    def overflowed_now(self) -> bool:
        """Report whether this is the first drop since the inbox was last empty."""
        first, self._overflowing = not self._overflowing, True
        return first

    def end(self) -> None:
        """Close the inbox: after the remaining messages `take` returns None."""
        self._queue.append(None)
        self.hand_over()

    def hand_over(self) -> None:
        """Handle what has come, if `take` waits for it; let `take` wait for what is left to do."""
        awaited = self._awaited
        if awaited is None or awaited.done():
            return
        while self._queue and not awaited.done():
            message = self._next()
            if message is None:
                self._queue.append(None)
                awaited.set_result(None)
                return
            try:
                rest = self._handle(message)
            except Exception as error:  # noqa: BLE001 - `take` raises it
                awaited.set_exception(error)
                return
            if rest is not None:
                awaited.set_result(rest)

    async def take(self) -> Message | None:
        """Return the oldest message, waiting for one; None at the end."""
        while not self._queue:
            self._overflowing = False
            self._awaited = awaited = asyncio.get_running_loop().create_future()
            try:
                rest = await awaited
            except asyncio.CancelledError:
                with suppress(Exception):  # of a handler, where both came at once
                    if not awaited.cancelled() and (left := awaited.result()) is not None:
                        left.close()
                raise
            if rest is not None:
                await rest
        return self._next()

    def _next(self) -> Message | None:
        message = self._queue.popleft()
        if message is not None:
            self._bytes -= len(message.payload)
        return message
