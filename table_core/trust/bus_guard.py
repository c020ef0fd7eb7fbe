"""The bus guard: lets in what its sender has proved, and proves what the table answers. Pure.

A broker carries messages; it must not be able to write them. So the guard judges every message that
can change the table before anything reads it:

    request/<user>/<command>   by the user's key, at most `FRESH_S` old, and each code once
    shoe/event                 by the driver's key; journal numbers keep order and repetitions
    link/shoe                  by the driver's key, at most `FRESH_S` old, and never back in time

A guard remembers no code of the process before it, so none that may be older than its start counts.
Its clock never goes back: what was too old once stays too old. After the machine's clock was set
back by more than `FRESH_S`, it refuses requests and link statuses until the clock has caught up, or
until the table service starts again; shoe events count throughout.

A refused request is answered without a code, so that an enrolled client does not take a forger's
refusal for its own. A client that sends again makes a new code, and is decided anew.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final, NamedTuple

import msgspec

from events.commands import ANSWER_REFUSED, Answer, transaction_of
from events.mqtt.messages import Message
from events.mqtt.presence import CLOCK_DIFFERENCE_SECONDS
from events.mqtt.process import Instant, LogLine, Now, Post, Steps
from events.mqtt.topics import Topics
from events.proof.message_mac import MessageKey, MessageMac, ReceivedMessage, add_mac, split_mac
from table_core.state.table import Alarm
from table_core.trust.access import SHOE, Access, BusPolicy, ReadAccess, access_changes

__all__ = ["CODES_REMEMBERED", "FORGERY_SHOWN_S", "FRESH_S", "BusGuard"]

FRESH_S: Final = 10
"""A request and a link status count for so long: clocks may differ by two seconds, and the broker
may be late by the rest. A held-back one cannot be played later."""
FORGERY_SHOWN_S: Final = 600
"""The alarm of a forged message stands so long after the last: long enough to be seen."""
CODES_REMEMBERED: Final = 4096
"""Of each user: far more requests than one sends while they are fresh. Above it, older ones no
longer count as fresh."""

_TRUSTING: Final = frozenset({"off", "trust-broker"})
_NS_IN_MS: Final = 1_000_000
_US: Final = 1_000_000

_REASONS: Final[Mapping[str, str]] = {
    "not_authenticated": "nothing proves who sent it",
    "unknown_key": "it is proved by a key that this table does not have",
    "forged_message": "its code does not fit: it was altered, moved or invented",
    "stale_message": "it was made more than {} s from now: held back, or a clock is wrong",
}
_SET_BACK: Final = "the table's clock was set back by {} s: restart the table service"


class _Forgery(NamedTuple):
    """The newest message that was refused: what it was, and when (monotonic microseconds)."""

    what: str
    at_us: int


class _Spent:
    """The codes of one user that have been used, while they are fresh.

    Args:
        floor_ms: codes up to this time may have been used already.
    """

    def __init__(self, floor_ms: int) -> None:
        self._codes: set[str] = set()
        self._order: deque[tuple[int, str]] = deque()
        self._floor_ms = floor_ms

    def spend(self, given: MessageMac, now_ms: int) -> bool:
        """Use a fresh code; return False where it was used before, or may have been."""
        if given.code in self._codes or given.at_ms <= self._floor_ms:
            return False
        while self._order and (
            self._order[0][0] < now_ms - FRESH_S * 1000 or len(self._order) >= CODES_REMEMBERED
        ):
            at_ms, code = self._order.popleft()
            self._codes.discard(code)
            self._floor_ms = max(self._floor_ms, at_ms)
        self._codes.add(given.code)
        self._order.append((given.at_ms, given.code))
        return True


class BusGuard:
    """Judges and makes the codes of one table's messages.

    Args:
        topics: the table's.
        set_roles: takes the roles whenever they have changed.
        watched: whether `ReadAccess` is answered; without, every message counts, and nothing is
            proved.

    Attributes:
        refused: how many messages were refused since the start.
    """

    def __init__(
        self,
        topics: Topics,
        set_roles: Callable[[Mapping[str, frozenset[str]]], None],
        *,
        watched: bool,
    ) -> None:
        self.refused = 0
        self._topics, self._set_roles, self._watched = topics, set_roles, watched
        self._access: Access | None = None
        self._policy = BusPolicy()
        self._proved: dict[str, MessageKey] = {}  # owner to the key of its newest good message
        self._silent: dict[str, None] = {}  # owners that have sent without a code
        self._spent: dict[str, _Spent] = {}
        self._started_ms = self._latest_ms = self._link_ms = 0
        self._forgery: _Forgery | None = None
        self._changes: list[str] = []

    @property
    def driver_must_prove(self) -> bool:
        """Whether only what its key proves shows that the shoe driver is there."""
        return self._policy.must_prove(SHOE)

    def start(self) -> Steps[None]:
        """Begin to listen: no code that was made before counts."""
        self._started_ms = self._link_ms = self._time_ms((yield from Now()))
        yield from self.refresh()

    def _forget(self, owners: Collection[str], now_ms: int) -> None:
        """Begin anew with owners whose codes were not remembered: none from before counts."""
        self._spent.update({owner: _Spent(_floor_ms(now_ms)) for owner in owners})
        if SHOE in owners:
            self._link_ms = now_ms

    def take_changes(self) -> list[str]:
        """Return how the access has changed since this was asked last."""
        taken, self._changes = self._changes, []
        return taken

    def return_changes(self, taken: list[str]) -> None:
        """Keep changes for later that could not be recorded."""
        self._changes = taken + self._changes

    def refresh(self) -> Steps[None]:
        """Take the access as the site's files have it now."""
        if not self._watched:
            return
        access = yield from ReadAccess()
        if access is self._access:
            return
        before, self._access, self._policy = self._access, access, access.bus
        if before is not None:
            self._changes += access_changes(before, access)
            remembered = set() if before.bus.mode in _TRUSTING else before.bus.keys.keys()
            self._forget(access.bus.keys.keys() - remembered, self._time_ms((yield from Now())))
        self._set_roles(access.roles)
        self._proved = {
            owner: key
            for owner, key in self._proved.items()
            if key in self._policy.keys.get(owner, ())
        }

    def request(self, message: Message) -> Steps[Message | None]:
        """Return a request as its user wrote it; None where it must not be heard, and is answered.

        A repetition of one that was heard is dropped without an answer, and so is what may be one.
        """
        yield from self.refresh()
        user, _ = self._topics.parse_request(message.topic) or ("", "")
        opened = split_mac(message.payload)
        plain = message._replace(payload=opened.body)
        if not self._watched or not user or not message.payload:
            return plain
        now = yield from Now()
        fault = self._fault(user, message.topic, opened, now)
        if fault is None and opened.mac is not None and user in self._proved:
            fault = self._staleness(opened.mac, now)
            spent = self._spent.setdefault(user, _Spent(_floor_ms(self._started_ms)))
            if fault is None and not spent.spend(opened.mac, self._time_ms(now)):
                return None
        if fault is None:
            return plain
        yield from self._refuse(message, fault, now)
        answer = Answer(
            transaction=transaction_of(opened.body),
            result=ANSWER_REFUSED,
            code=fault,
            text=self._said(fault, now),
        )
        yield from Post(self._topics.response(user), msgspec.json.encode(answer), step="answer")
        return None

    def shoe_event(self, message: Message) -> Steps[Message | None]:
        """Return a shoe event as the driver wrote it; None where it did not."""
        return (yield from self._of_driver(message, newest=False))

    def link(self, message: Message) -> Steps[Message | None]:
        """Return a `link/shoe` as the driver wrote it, now; None where it did not."""
        return (yield from self._of_driver(message, newest=True))

    def _of_driver(self, message: Message, *, newest: bool) -> Steps[Message | None]:
        opened = split_mac(message.payload)
        plain = message._replace(payload=opened.body)
        if not self._watched:
            return plain
        yield from self.refresh()
        now = yield from Now()
        fault = self._fault(SHOE, message.topic, opened, now)
        proved = fault is None and opened.mac is not None and SHOE in self._proved
        if proved and newest and opened.mac is not None:
            if opened.mac.at_ms <= self._link_ms:
                return None
            fault = self._staleness(opened.mac, now)
            if fault is None:
                self._link_ms = opened.mac.at_ms
        if fault is None:
            return plain
        if not message.retain:  # one that the broker kept is history, and of any age
            yield from self._refuse(message, fault, now)
        return None

    def authenticated(self, owner: str, topic: str, body: bytes) -> Steps[bytes]:
        """Return a message to one owner as it is to be published."""
        key = self._key_to(owner)
        if key is None:
            return body
        return add_mac(key, topic, body, (yield from Now()).utc_ns)

    @property
    def has_proved_driver(self) -> bool:
        """Whether the driver has proved itself since the access changed."""
        return SHOE in self._proved

    def alarms(self, now: Instant) -> Iterator[Alarm]:
        """Yield the alarms that stand."""
        if text := self._not_authenticated():
            yield Alarm(name="bus_not_authenticated", text=text)
        forgery = self._forgery
        if forgery is not None and now.mono_us - forgery.at_us < FORGERY_SHOWN_S * _US:
            text = f"{forgery.what}; {self.refused} since the start, and nothing of them was done"
            yield Alarm(name="message_forged", text=text)

    def _not_authenticated(self) -> str:
        policy = self._policy
        if policy.fault:
            return policy.fault
        if policy.mode == "off":
            return (
                "nothing on the bus proves its sender: whoever runs the broker can forge cards and "
                "requests; `baccarat keys messages` makes the keys"
            )
        if policy.mode != "enrolling":
            return ""
        silent = ", ".join(sorted(self._silent)) or "nobody that has spoken since the start"
        return f"keys are being handed out, and messages without still count; without: {silent}"

    def _key_to(self, owner: str) -> MessageKey | None:
        if not self._watched:
            return None
        keys = self._policy.keys.get(owner, ())
        newest = keys[0] if keys and self._policy.must_prove(owner) else None
        return self._proved.get(owner, newest)

    def _fault(self, owner: str, topic: str, opened: ReceivedMessage, now: Instant) -> str | None:
        """Return the code of a message that must not count; None where it counts."""
        policy = self._policy
        if policy.mode in _TRUSTING:
            return None
        keys = policy.keys.get(owner, ())
        key = opened.key_among(topic, keys, self._time_ms(now))
        if key is not None:
            self._proved[owner] = key
            self._silent.pop(owner, None)
            return None
        if opened.mac is not None and keys:
            return "forged_message"
        if policy.must_prove(owner):
            return "not_authenticated" if opened.mac is None else "unknown_key"
        if owner not in policy.without:
            self._silent[owner] = None
        return None

    def _staleness(self, given: MessageMac, now: Instant) -> str | None:
        return "stale_message" if abs(self._time_ms(now) - given.at_ms) > FRESH_S * 1000 else None

    def _time_ms(self, now: Instant) -> int:
        """Return the time in milliseconds since 1970 UTC; it never goes back."""
        self._latest_ms = max(self._latest_ms, now.utc_ns // _NS_IN_MS)
        return self._latest_ms

    def _refuse(self, message: Message, fault: str, now: Instant) -> Steps[None]:
        topic = message.topic.removeprefix(f"{self._topics.root}/")
        self.refused += 1
        self._forgery = _Forgery(f"{topic[:80]}: {self._said(fault, now)}", now.mono_us)
        if self.refused & (self.refused - 1) == 0:
            fields = {"topic": topic[:80], "code": fault, "count": self.refused}
            yield from LogLine("error", "message.forged", fields)

    def _said(self, fault: str, now: Instant) -> str:
        behind_s = (self._latest_ms - now.utc_ns // _NS_IN_MS) // 1000
        if fault == "stale_message" and behind_s > FRESH_S:
            return _SET_BACK.format(behind_s)
        return _REASONS[fault].format(FRESH_S)


def _floor_ms(since_ms: int) -> int:
    """Return the time up to which a code may be from before: the sender's clock may be ahead."""
    return since_ms + int(CLOCK_DIFFERENCE_SECONDS * 1000)
