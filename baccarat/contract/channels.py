"""The topics of a table as data: sender, receivers, messages, and which are retained."""

from typing import Final, Literal

from msgspec import Struct

from baccarat.contract.schemas import EVENTS
from events.commands.registry import COMMANDS

__all__ = ["CHANNELS", "PARAMETERS", "ROOT", "Channel"]

ROOT: Final = "bac/v1/{site}/{table}"

PARAMETERS: Final = {
    "site": "the site's name",
    "table": "the table's name",
    "service": "which service speaks: `shoe` (the driver), `table` (the core), or another",
    "user": "the login that the broker knows; its permissions tie the topic to it",
    "command": "the command's name",
}
"""The variable segments of the topics, each with its explanation."""


class Channel(Struct, frozen=True, kw_only=True):
    """One topic, or one for each value of a variable segment.

    Args:
        topic: below the root.
        what: one line for a person.
        sender: the service or login that publishes.
        receivers: the services or logins that subscribe.
        messages: the definitions of the messages.
        retained: whether the broker keeps the newest.
        core: whether the table core sends, receives, or both.
    """

    topic: str
    what: str
    sender: str
    receivers: str
    messages: tuple[str, ...]
    retained: bool = False
    core: tuple[Literal["send", "receive"], ...]


CHANNELS: Final[dict[str, Channel]] = {
    "status": Channel(
        topic="status/{service}",
        what="Online or offline, said again every second; older than 10 s it is not believed.",
        sender="each service, and its Will",
        receivers="everybody",
        messages=("status",),
        retained=True,
        core=("send", "receive"),
    ),
    "shoeEvent": Channel(
        topic="shoe/event",
        what="What the shoe said. Carries faces that the table has not seen: for the core alone.",
        sender="the driver",
        receivers="the core",
        messages=("shoe.event",),
        core=("receive",),
    ),
    "shoeAck": Channel(
        topic="shoe/ack",
        what="Everything up to this number is in the log.",
        sender="the core",
        receivers="the driver",
        messages=("shoe.ack",),
        core=("send",),
    ),
    "linkShoe": Channel(
        topic="link/shoe",
        what="How the shoe link stands.",
        sender="the driver",
        receivers="the core, displays",
        messages=("link.shoe",),
        retained=True,
        core=("receive",),
    ),
    "event": Channel(
        topic="event",
        what="Every event of the log in order, at least once; positions have no gaps.",
        sender="the core",
        receivers="displays, cages, archives",
        messages=tuple(EVENTS),
        core=("send",),
    ),
    "settlement": Channel(
        topic="settlement",
        what="The events of type coup_settled again: one settlement a message.",
        sender="the core",
        receivers="cages",
        messages=("settlement",),
        core=("send",),
    ),
    "state": Channel(
        topic="state",
        what="The whole table as everybody at it may see it.",
        sender="the core",
        receivers="displays, consoles, consumers",
        messages=("state",),
        retained=True,
        core=("send",),
    ),
    "checkpoint": Channel(
        topic="checkpoint",
        what="The newest signed checkpoint of the log. Keep those you see.",
        sender="the core",
        receivers="cages, archives, witnesses",
        messages=("checkpoint",),
        retained=True,
        core=("send",),
    ),
    "alarm": Channel(
        topic="alarm",
        what="An alarm was raised or cleared; those that stand are in the state.",
        sender="the core",
        receivers="consoles, displays",
        messages=("alarm",),
        core=("send",),
    ),
    "request": Channel(
        topic="request/{user}/{command}",
        what="A command. Never retained.",
        sender="the user",
        receivers="the core",
        messages=tuple(f"request.{name}" for name in COMMANDS),
        core=("receive",),
    ),
    "response": Channel(
        topic="response/{user}",
        what="The answer to a command, by its transaction.",
        sender="the core",
        receivers="the user",
        messages=("answer",),
        core=("send",),
    ),
    "replayed": Channel(
        topic="response/{user}/events",
        what="Stored events that the user asked for again, in order, as they were on event.",
        sender="the core",
        receivers="the user",
        messages=tuple(EVENTS),
        core=("send",),
    ),
}
"""Every topic of a table, by its name in the AsyncAPI document."""
