"""The world's broker: what MQTT 3.1.1 at QoS 1 promises, and every way it breaks the rest.

In order for each subscription, retained messages kept and handed to whoever subscribes, a Will for
who vanishes. The rest is as bad as brokers are (docs/bus.md): a message may be lost, come twice,
or come after a later one; a receiver may be thrown out with all that was on its way; and the broker
may be killed, with everything that it kept.
"""

from collections import deque
from collections.abc import Callable, Sequence
from random import Random

from events.mqtt.bus import Message, Publication
from simulators.world.parts.trouble import Trouble

__all__ = ["Client", "Courier"]


class Courier:
    """The broker.

    Args:
        rng: where in a queue a message ends up that is not delivered in its turn.
        trouble: what goes wrong next.

    Attributes:
        witness: sees all that is said to the broker, whatever becomes of it.
    """

    def __init__(self, rng: Random, trouble: Trouble) -> None:
        self._rng = rng
        self._trouble = trouble
        self._clients: list[Client] = []
        self._wanting: dict[str, list[Client]] = {}  # by topic, since somebody came or went
        self._kept: dict[str, bytes] = {}
        self.witness: Callable[[str, bytes], None] | None = None

    def join(self, client: "Client") -> None:
        """Somebody connects and subscribes: what is kept comes first."""
        self._clients = [other for other in self._clients if other is not client]
        self._clients.append(client)
        self._wanting.clear()
        for topic, payload in self._kept.items():
            if client.wants(topic):
                client.inbox.append(Message(topic, payload, retain=True))

    def leave(self, client: "Client") -> None:
        """A connection ends without a word: the Will is spoken."""
        if client in self._clients:
            self._clients.remove(client)
            self._wanting.clear()
            if client.will is not None:
                self.publish(*client.will)

    def wipe(self) -> None:
        """The broker is killed, and its store is gone: nobody is connected, nothing is kept."""
        clients, self._clients = self._clients, []
        self._kept.clear()
        self._wanting.clear()
        for client in clients:
            client.lost()

    def publish(self, topic: str, payload: bytes, retain: bool) -> None:
        """Hand a message to everybody who wants it."""
        if self.witness is not None:
            self.witness(topic, payload)
        if retain and payload:
            self._kept[topic] = payload
        elif retain:
            self._kept.pop(topic, None)
        message = Message(topic, payload, retain=False)
        wanting = self._wanting.get(topic)
        if wanting is None:
            wanting = self._wanting[topic] = [each for each in self._clients if each.wants(topic)]
        for client in wanting:
            self._deliver(client.inbox, message)

    def _deliver(self, inbox: deque[Message], message: Message) -> None:
        trouble = self._trouble
        if not trouble.armed:
            inbox.append(message)
            return
        if trouble.strikes("bus_drop"):
            return
        inbox.append(message)
        if trouble.strikes("bus_duplicate"):
            inbox.append(message)
        if len(inbox) > 1 and trouble.strikes("bus_reorder"):
            late = inbox.pop()
            inbox.insert(self._rng.randrange(len(inbox)), late)


class Client:
    """A service's place on it. It is used by one process; a new process has a new one.

    Args:
        courier: the broker.
        subscriptions: topic filters; `+` stands for one segment.
        will: what the broker says when it vanishes.

    Attributes:
        inbox: what has come and was not taken.
        connected: what is sent now has somebody to go to.
    """

    def __init__(
        self, courier: Courier, subscriptions: Sequence[str], will: Publication | None = None
    ) -> None:
        self.inbox: deque[Message] = deque()
        self.connected = False
        self.will = will
        self._courier = courier
        self._filters = [name.split("/") for name in subscriptions]

    def wants(self, topic: str) -> bool:
        """Whether a subscription is for this topic."""
        return any(_fits(each, topic) for each in self._filters)

    def connect(self) -> None:
        """Connect and subscribe; what came over an earlier connection is gone."""
        self.inbox.clear()
        self.connected = True
        self._courier.join(self)

    def post(self, topic: str, payload: bytes, retain: bool = False) -> bool:
        """Send; False where there is no broker."""
        if self.connected:
            self._courier.publish(topic, payload, retain)
        return self.connected

    def hang_up(self) -> None:
        """The connection breaks, or its process is gone."""
        if self.connected:
            self.lost()
            self._courier.leave(self)

    def lost(self) -> None:
        """The broker is gone; so is what was on its way."""
        self.connected = False
        self.inbox.clear()


def _fits(wanted: Sequence[str], topic: str) -> bool:
    segments = topic.split("/")
    return len(segments) == len(wanted) and all(
        ours in {"+", theirs} for ours, theirs in zip(wanted, segments, strict=True)
    )
