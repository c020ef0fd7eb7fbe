"""A process: what a service does, without I/O, clock or task. Pure.

A process answers each input with *steps*: a generator that yields effects and receives their
results. An effect is a value that says what is to be done: post this message, wait for that signal.
A shell performs it and sends the result back; if it fails, the shell raises the error where the
effect was yielded. `events.mqtt.process_shell` performs effects on asyncio, and the simulated world
performs them on its fake broker, disk and clock:

    stored = yield from Append(pending)
    yield from Publish(topic, encode(stored))

**Which effects wait.** A shell performs an effect at once, or its steps wait. While steps wait,
other steps of the process go on, and inputs are handled. Between two effects that do not wait,
nothing else of the process happens: a decision and its append are never torn apart.

**Ending.** A process may be killed before and after every effect. When a service is stopped, its
steps are closed where they wait; nothing may be yielded from a `finally`.
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from events.mqtt.messages import Message, Publication

__all__ = [
    "FOREVER_S",
    "Begin",
    "Effect",
    "Instant",
    "IsConnected",
    "LogLine",
    "Now",
    "Post",
    "Process",
    "Publish",
    "PublishAll",
    "Signal",
    "Steps",
    "Wait",
    "no_probe",
]

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)

FOREVER_S: Final = None
"""The time-out of a wait that only its signal ends."""


class Effect(Struct, Generic[_T_co], frozen=True, kw_only=True):
    """Something for the shell to do. `yield from` an effect returns its result.

    Args:
        step: name of this step, by which tests stop or kill a process right before and after it.
    """

    step: str = ""

    def __iter__(self) -> "Steps[_T_co]":
        """Yield this effect, and return what the shell sends back."""
        result: _T_co = yield self
        return result


Steps: TypeAlias = Generator[Effect[Any], Any, _T]
"""Effects in order, and a result at the end."""


class Instant(NamedTuple):
    """A moment on both clocks of this machine.

    Args:
        utc_ns: nanoseconds since 1970 UTC.
        mono_us: microseconds of the monotonic clock.
    """

    utc_ns: int
    mono_us: int


class Signal:
    """A flag that steps wait for, and that other steps set.

    Attributes:
        is_set: whether it was set since it was last cleared.
        on_set: called when it is set; belongs to the shell.
    """

    def __init__(self, *, is_set: bool = False) -> None:
        self.is_set = is_set
        self.on_set: Callable[[], None] | None = None

    def set(self) -> None:
        """Let the waiting steps go on."""
        self.is_set = True
        if self.on_set is not None:
            self.on_set()

    def clear(self) -> None:
        """Let the next wait last until the signal is set again."""
        self.is_set = False


def no_probe(step: str) -> None:
    """Do nothing; a probe is called around each named step, and tests pass their own."""


class Now(Effect[Instant], frozen=True):
    """Read both clocks. Does not wait."""


class LogLine(Effect[None], frozen=True):
    """Write a line to the service's log for the operator. Does not wait.

    Args:
        level: `info`, `warning` or `error`.
        event: the line's constant name.
        fields: what the line says.
    """

    level: str
    event: str
    fields: Mapping[str, object] = {}


class IsConnected(Effect[bool], frozen=True):
    """Report whether the broker is connected now. Does not wait.

    A lost connection is known before `Process.on_disconnect`: messages that came over it are still
    handed over.
    """


class Post(Effect[bool], frozen=True):
    """Send a message without waiting for the broker. False if nothing was sent."""

    topic: str
    payload: bytes
    retain: bool = False


class Publish(Effect[bool], frozen=True):
    """Send a message, and wait until the broker has accepted it. False if it did not."""

    topic: str
    payload: bytes
    retain: bool = False


class PublishAll(Effect[bool], frozen=True):
    """Send messages in order, and wait until the broker has accepted all. False if it did not."""

    topic: str
    payloads: Sequence[bytes]


class Wait(Effect[bool], frozen=True):
    """Wait for a signal or for a time. True if the signal is set, False when the time is over.

    Args:
        seconds: the time-out; `FOREVER_S` for none.
        signal: None waits for the time alone. One wait at a time on one signal.
        gather_s: seconds to wait on after the signal, for what comes soon after it.
    """

    seconds: float | None
    signal: Signal | None = None
    gather_s: float = 0


class Begin(Effect[None], frozen=True):
    """Begin steps that run beside all others until they end. Does not wait."""

    steps: Steps[None]


class Process(Protocol):
    """What a service does.

    Attributes:
        will: the message that the broker publishes when the connection ends.
        subscriptions: topic filters, and what the process does with a message. One message at a
            time, in the order of arrival.
    """

    will: Publication
    subscriptions: Mapping[str, Callable[[Message], Steps[None]]]

    def running(self) -> Iterable[Steps[None]]:
        """Return steps that run beside one another from the start on."""
        ...

    def on_connect(self) -> Steps[None]:
        """Do what a new connection needs, before any message of it is handled."""
        ...

    def on_disconnect(self) -> Steps[None]:
        """LogLine that the connection has ended. No effect of it may wait."""
        ...

    def ending(self) -> Steps[None]:
        """Do the last things of a service that is being stopped."""
        ...
