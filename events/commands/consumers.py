"""Commands of programs that read the events: send them again, acknowledge them."""

from events.commands.base import Command

__all__ = ["Ack", "Replay"]


class Replay(Command, frozen=True, kw_only=True, rename={"start": "from"}):
    """Send the stored events from position `from` on again, on `response/<user>/events`."""

    start: int


class Ack(Command, frozen=True, kw_only=True):
    """Acknowledge that a durable consumer has stored everything up to and including `position`.

    Args:
        consumer: its name, which registers it.
        position: of the log.
        retired: it is the last one: nobody waits for this consumer any more.
    """

    consumer: str
    position: int
    retired: bool = False
