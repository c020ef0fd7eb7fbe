"""A fake broker: MQTT 3.1.1's guarantees at QoS 1, and every failure that they allow.

Messages arrive in order for each subscription; retained messages go to every new subscriber; a
Will follows a lost connection. Beyond that it is as bad as brokers are
(docs/reference/topics.md): a message may be lost, come twice, or come after a later one; a
receiver may be disconnected and lose everything on its way; and the broker may be killed, and
lose everything it kept.
"""

from collections import deque
from collections.abc import Callable, Sequence
from random import Random

from events.mqtt.bus import matches
from events.mqtt.messages import Message, Publication
from simulators.world.parts.fault_injector import ArmedFaults

__all__ = ["FakeBroker", "FakeClient"]


class FakeBroker:
    """The broker.

    Args:
        rng: chooses the place in a queue of a message that is not delivered in its turn.
        trouble: the next faults.

    Attributes:
        witness: sees every message sent to the broker, even a lost one.
    """

    def __init__(self, rng: Random, trouble: ArmedFaults) -> None:
        self._rng = rng
        self._trouble = trouble
        self._clients: list[FakeClient] = []
        self._wanting: dict[
            str, list[FakeClient]
        ] = {}  # by topic; cleared when a client comes or goes
        self._kept: dict[str, bytes] = {}
        self.witness: Callable[[str, bytes], None] | None = None

    def join(self, client: "FakeClient") -> None:
        """Connect and subscribe a client; retained messages come first."""
        self._clients = [other for other in self._clients if other is not client]
        self._clients.append(client)
        self._wanting.clear()
        for topic, payload in self._kept.items():
            if client.wants(topic):
                client.inbox.append(Message(topic, payload, retain=True))

    def leave(self, client: "FakeClient") -> None:
        """End a connection without a DISCONNECT, and publish its Will."""
        if client in self._clients:
            self._clients.remove(client)
            self._wanting.clear()
            if client.will is not None:
                self.publish(*client.will)

    def wipe(self) -> None:
        """Kill the broker with its store: nobody is connected, nothing is retained."""
        clients, self._clients = self._clients, []
        self._kept.clear()
        self._wanting.clear()
        for client in clients:
            client.lost()

    def publish(self, topic: str, payload: bytes, retain: bool) -> None:
        """Deliver a message to all its subscribers."""
        if self.witness is not None:
            self.witness(topic, payload)
        if retain and payload:
            self._kept[topic] = payload
        elif retain:
            self._kept.pop(topic, None)
        message = Message(topic, payload, False)
        wanting = self._wanting.get(topic)
        if wanting is None:
            wanting = self._wanting[topic] = [each for each in self._clients if each.wants(topic)]
        for client in wanting:
            self._deliver(client, message)

    def _deliver(self, client: "FakeClient", message: Message) -> None:
        inbox = client.inbox if client.late is None else client.late
        trouble = self._trouble
        if not trouble.armed:
            inbox.append(message)
            return
        if trouble.trigger("bus_drop"):
            return
        inbox.append(message)
        if trouble.trigger("bus_duplicate"):
            inbox.append(message)
        if len(inbox) > 1 and trouble.trigger("bus_reorder"):
            late = inbox.pop()
            inbox.insert(self._rng.randrange(len(inbox)), late)


class FakeClient:
    """A service's connection to the broker, used by one process; a new process has a new one.

    Args:
        courier: the broker.
        subscriptions: topic filters; `+` stands for one segment.
        will: published by the broker when the connection is lost.

    Attributes:
        inbox: messages that have arrived and were not taken.
        late: messages on a way that is late; None while it is not.
        connected: whether the broker is connected.
    """

    def __init__(
        self, courier: FakeBroker, subscriptions: Sequence[str], will: Publication | None = None
    ) -> None:
        self.inbox: deque[Message] = deque()
        self.late: deque[Message] | None = None
        self.connected = False
        self.will = will
        self._courier = courier
        self._filters = tuple(subscriptions)

    def wants(self, topic: str) -> bool:
        """Return whether a subscription matches this topic."""
        return any(matches(each, topic) for each in self._filters)

    def connect(self) -> None:
        """Connect and subscribe; messages of an earlier connection are lost."""
        self.inbox.clear()
        self.late = None
        self.connected = True
        self._courier.join(self)

    def post(self, topic: str, payload: bytes, retain: bool = False) -> bool:
        """Publish; return False where there is no broker."""
        if self.connected:
            self._courier.publish(topic, payload, retain)
        return self.connected

    def hold(self) -> None:
        """Let messages wait on their way from now on."""
        self.late = self.late or deque()

    def release(self) -> None:
        """Deliver all that waits, in order."""
        late, self.late = self.late, None
        self.inbox.extend(late or ())

    def hang_up(self) -> None:
        """Lose the connection, by a failure or the end of the process."""
        if self.connected:
            self.lost()
            self._courier.leave(self)

    def lost(self) -> None:
        """Lose the broker, and all messages on their way."""
        self.connected = False
        self.inbox.clear()
        self.late = None
