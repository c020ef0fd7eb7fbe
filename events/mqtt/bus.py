"""The bus port: what a service may ask of MQTT, and all it may rely on.

**The broker is a courier, never a store.** Sessions are clean: a broker that kept a queue for us
would hand over after a reconnect what the journals at both ends resend anyway, in another order,
and would lose part of it when killed. Quality of service is 1, the client id is fixed, and every
connection has a client of its own, for a used one is not usable again.

**Order.** `post` and `publish` reach the wire in the order of the calls. Handlers are called one
after the other, in the order of arrival. Within one connection: `on_connect` runs to its end, then
the handlers, then `on_disconnect`; messages that come early, even before SUBACK, wait. `on_connect`
may publish and wait for the acknowledgement. What the brokers do not promise: nats-server delivers
a kept message after a live and newer one, so a reader goes by positions and never by arrival.

**Loss.** Nothing is kept for later: what was not acknowledged when a connection ended is gone, and
its sender reads it again from a journal. Queues are bounded; what a full one drops is counted.

**Stopping.** Cancel `run`. However it ends, it hangs up without DISCONNECT and the broker speaks
the Will: who is gone is offline, whatever the reason, and nobody can forget to say so. A service
that wants a last word publishes it before and waits for its acknowledgement.

**Failing closed.** A handler's exception is ours, not the sender's: it ends `run`. (A handler
refuses junk by value.) So does a refusal of the login or of a subscription, or a TLS file that
cannot be used, before the first good connection: it may never work, and a person is told at once.
A good connection has proved the configuration. Then the trouble is the broker's, or of a renewal
that is under way: it is logged with its reason and the connection is tried again, for a service
that ends in mid-coup mends nothing. A handler must not wait for the bus to come back: it is the
handlers that the next connection waits for.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import aiomqtt
import structlog
from msgspec import Struct
from paho.mqtt.client import topic_matches_sub

from events.errors import BusError, ConfigError, OurBug
from events.mqtt.connection import BusConnection
from events.tls import ClientTls

__all__ = [
    "INBOX_BYTES",
    "INBOX_MESSAGES",
    "PAYLOAD_BYTES",
    "RECONNECT_FIRST_SECONDS",
    "RECONNECT_MOST_SECONDS",
    "STEADY_SECONDS",
    "Bus",
    "BusSettings",
    "Handler",
    "Message",
    "Publication",
]

# Brokers are configured for 8 MB, headers and topic included. Above its limit nats-server answers
# nothing and hangs up, and whoever sends the same again does so for ever.
PAYLOAD_BYTES: Final = 7 * 1024 * 1024
# Received and not yet handled: ten times what any sender may have in flight at once (1,000) ...
INBOX_MESSAGES: Final = 10_000
# ... and of large messages as much as one sender may have in flight.
INBOX_BYTES: Final = 32 * 1024 * 1024
# A broker that restarts is back within a second: the first attempts come at once, and the longest
# pause still leaves no dealer waiting. Half of each pause is chance, so that a whole site does not
# come back in the same instant.
RECONNECT_FIRST_SECONDS: Final = 0.05
RECONNECT_MOST_SECONDS: Final = 2.0
# A connection that lasted less than this does not shorten the next pause: two services with one
# client id throw each other out for ever, and should do so slowly.
STEADY_SECONDS: Final = 5.0


class Message(NamedTuple):
    """What arrived. `retain` says that it was kept by the broker; live messages never have it."""

    topic: str
    payload: bytes
    retain: bool


class Publication(NamedTuple):
    """What is to be published, now or as a Will."""

    topic: str
    payload: bytes
    retain: bool = False


Handler = Callable[[Message], Awaitable[None]]


class BusSettings(Struct, frozen=True):
    """Where the broker is, and who we are to it.

    Args:
        host: its host; with `ca`, a name or address that its certificate holds.
        port: its port.
        client_id: ours alone.
        username: our login.
        password: its password.
        ca: PEM file of the CA that the broker's certificate must come from; with it we speak TLS.
        cert: PEM file of our own certificate.
        key: PEM file of its key.
    """

    host: str
    port: int
    client_id: str
    username: str | None = None
    password: str | None = None
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None

    def __repr__(self) -> str:
        return f"{self.client_id} at {self.host}:{self.port}"  # without the password


class Bus:
    """A service's place on the bus.

    Args:
        settings: the broker and the login. The client id must be this service's alone.
        subscriptions: topic filters and their handlers. The first filter that matches takes the
            message; filters should not overlap, since brokers differ in what they then deliver.
        will: what the broker says for us when we vanish.
        on_connect: called after every connect, before any handler: the place to publish retained
            topics again, since a killed broker may have lost them.
        on_disconnect: called once after each connection that `on_connect` was called for.
        rng: where the chance in the reconnect pauses comes from.
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
        self._connection: BusConnection | None = None
        self._dropped = 0
        self._tls = ClientTls(settings.ca, settings.cert, settings.key)
        self._proved = False
        self._troubles: set[str] = set()  # said since the last good connection

    @property
    def connected(self) -> bool:
        """Whether what is sent now has somebody to go to."""
        return self._connection is not None and self._connection.alive

    @property
    def dropped(self) -> int:
        """How many messages found the inbox full since the start."""
        return self._dropped

    async def publish(self, topic: str, payload: bytes, *, retain: bool = False) -> bool:
        """Send, and wait until the broker has it.

        Returns:
            True when it has; False when we are offline, the window is full, or the connection ended
            first (then the broker may have it or not).

        Raises:
            OurBug: the payload is larger than any broker here carries.
        """
        acknowledged = self._send(topic, payload, retain=retain)
        return acknowledged is not None and await acknowledged

    def post(self, topic: str, payload: bytes, *, retain: bool = False) -> bool:
        """Send without waiting: the socket has it when this returns, if it can take it.

        Returns:
            False when nothing was sent: we are offline or the window is full.

        Raises:
            OurBug: the payload is larger than any broker here carries.
        """
        return self._send(topic, payload, retain=retain) is not None

    def _send(self, topic: str, payload: bytes, *, retain: bool) -> asyncio.Future[bool] | None:
        if len(payload) > PAYLOAD_BYTES:
            raise OurBug(f"{len(payload)} bytes for {topic}: at most {PAYLOAD_BYTES} may be sent")
        return self._connection.send(topic, payload, retain=retain) if self._connection else None

    async def run(self) -> None:
        """Connect, serve, and connect again, until cancelled.

        Raises:
            BusError: the broker refuses our login or a subscription, or a file of the settings
                cannot be used, and there was no good connection yet.
        """
        failures = 0
        while True:
            served = await self._live_once()
            failures = 1 if served > STEADY_SECONDS else failures + 1
            await asyncio.sleep(self._pause(failures))

    def _pause(self, failures: int) -> float:
        doubled: float = RECONNECT_FIRST_SECONDS * 2 ** min(failures - 1, 16)
        return min(doubled, RECONNECT_MOST_SECONDS) * self._rng.uniform(0.5, 1.0)

    async def _live_once(self) -> float:
        """One connection from the attempt to its end: for how many seconds it served."""
        inbox = _Inbox()
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
        """The next one, by a renewed certificate where there is one.

        Raises:
            BusError: a file of the settings cannot be used, and never could.
        """
        try:
            tls = await self._tls.settled()
        except ConfigError as error:
            raise BusError(f"TLS to the broker: {error}") from error

        def received(topic: str, payload: bytes, retain: bool) -> None:
            if not inbox.put(Message(topic, payload, retain)):
                self._dropped += 1
                if inbox.overflowed_now():
                    self._log.warning("bus_inbox_full", dropped=self._dropped)

        return BusConnection(
            self._settings.host,
            self._settings.port,
            client_id=self._settings.client_id,
            username=self._settings.username,
            password=self._settings.password,
            tls=tls,
            will=self._will,
            received=received,
            lost=inbox.end,
        )

    async def _reach(self, connection: BusConnection) -> bool:
        """Open and subscribe; say once that it does not succeed, and why.

        Raises:
            BusError: the broker refuses us, and never did otherwise.
        """
        try:
            await connection.open()
            await connection.subscribe_all([name for name, _ in self._subscriptions])
        except (aiomqtt.MqttError, BusError) as error:
            if isinstance(error, BusError) and not self._proved:
                raise
            reason = str(error)
            if reason not in self._troubles:  # a broker that starts is away, and may then refuse
                self._log.warning("bus_unreachable", at=repr(self._settings), reason=reason)
            self._troubles.add(reason)
            return False
        self._proved = True
        self._troubles.clear()
        self._log.info("bus_connected", at=repr(self._settings))
        return True

    async def _serve(self, connection: BusConnection, inbox: "_Inbox") -> None:
        self._connection = connection
        try:
            if self._on_connect is not None:
                await self._on_connect()
            while (message := await inbox.take()) is not None:
                for name, handler in self._subscriptions:
                    if _takes(name, message.topic):
                        await handler(message)
                        break
                # A backlog must not keep the loop from its timers and sockets.
                await asyncio.sleep(0)
            self._log.warning("bus_lost", reason=connection.end)
        finally:
            self._connection = None
            if self._on_disconnect is not None:
                self._on_disconnect()


def _takes(name: str, topic: str) -> bool:
    """Whether a subscription is meant. Most are no pattern, and to match one is dear."""
    return name == topic or (("+" in name or "#" in name) and topic_matches_sub(name, topic))


class _Inbox:
    """What one connection received and nobody has handled yet: bounded, and ended by its loss."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Message | None] = asyncio.Queue()  # bounded by `put`
        self._bytes = 0
        self._overflowing = False

    def put(self, message: Message) -> bool:
        """Take it, or drop it (False)."""
        size = len(message.payload)
        if self._queue.qsize() >= INBOX_MESSAGES or self._bytes + size > INBOX_BYTES:
            return False
        self._bytes += size
        self._queue.put_nowait(message)
        return True

    def overflowed_now(self) -> bool:
        """Whether this is the first drop since the inbox was last empty."""
        first, self._overflowing = not self._overflowing, True
        return first

    def end(self) -> None:
        """Nothing more will come: `take` answers None after what is there."""
        self._queue.put_nowait(None)

    async def take(self) -> Message | None:
        """The oldest message, or None at the end."""
        if self._queue.empty():
            self._overflowing = False
        message = await self._queue.get()
        if message is not None:
            self._bytes -= len(message.payload)
        return message
