"""Topic names on the bus. Segments are `[a-z0-9_-]+`: what both mosquitto and nats-server carry."""

import re
from typing import Final

from msgspec import Struct

from events.errors import InputError

__all__ = ["SEGMENT", "Topics"]

SEGMENT: Final = re.compile(r"[a-z0-9_-]+\Z")


class Topics(Struct, frozen=True):
    """The topics of one table, below `bac/v1/<site>/<table>/`."""

    site: str
    table: str

    @property
    def root(self) -> str:
        """`bac/v1/<site>/<table>`."""
        return f"bac/v1/{self.site}/{self.table}"

    def validate(self) -> None:
        """Refuse a site or table name that a broker could misread.

        Raises:
            InputError: a segment is not `[a-z0-9_-]+`.
        """
        for key, value in (("site", self.site), ("table", self.table)):
            if not SEGMENT.match(value):
                raise InputError(f"{key} {value!r}: use lower-case letters, digits, - and _")

    def status(self, service: str) -> str:
        """Birth, heartbeat and Will of a service; retained."""
        return f"{self.root}/status/{service}"

    @property
    def shoe_event(self) -> str:
        """One shoe event a message."""
        return f"{self.root}/shoe/event"

    @property
    def shoe_ack(self) -> str:
        """What the core has appended."""
        return f"{self.root}/shoe/ack"

    @property
    def link_shoe(self) -> str:
        """How the shoe link stands; retained."""
        return f"{self.root}/link/shoe"

    @property
    def event(self) -> str:
        """Every table event."""
        return f"{self.root}/event"

    @property
    def settlement(self) -> str:
        """One settlement phase a message."""
        return f"{self.root}/settlement"

    @property
    def state(self) -> str:
        """The whole table for a display; retained."""
        return f"{self.root}/state"

    @property
    def checkpoint(self) -> str:
        """The newest signed checkpoint of the log, as text; retained."""
        return f"{self.root}/checkpoint"

    @property
    def alarm(self) -> str:
        """Alarms raised and cleared."""
        return f"{self.root}/alarm"

    def request(self, user: str, command: str) -> str:
        """Where `user` sends a command."""
        return f"{self.root}/request/{user}/{command}"

    @property
    def requests(self) -> str:
        """The filter that catches every user's commands."""
        return f"{self.root}/request/+/+"

    def response(self, user: str) -> str:
        """Where `user` is answered."""
        return f"{self.root}/response/{user}"

    def replayed(self, user: str) -> str:
        """Where `user` is sent stored events again."""
        return f"{self.root}/response/{user}/events"

    def parse_request(self, topic: str) -> tuple[str, str] | None:
        """(user, command) of a request's topic, or None when it is no request of this table."""
        prefix = f"{self.root}/request/"
        if not topic.startswith(prefix):
            return None
        user, slash, command = topic[len(prefix) :].partition("/")
        return (user, command) if slash and user and command and "/" not in command else None
