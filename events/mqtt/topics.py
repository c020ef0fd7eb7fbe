"""Topic names on the bus, of segments `[a-z0-9_-]+`, which mosquitto and nats-server both carry."""

import re
from functools import cached_property
from typing import Final

from msgspec import Struct

from events.errors import InputError

__all__ = ["SEGMENT", "Topics", "require_segment"]

SEGMENT: Final = re.compile(r"[a-z0-9_-]+\Z")


def require_segment(key: str, value: str) -> None:
    """Refuse a name that no topic can hold.

    Raises:
        InputError: it is not `[a-z0-9_-]+`.
    """
    if not SEGMENT.match(value):
        raise InputError(f"{key} {value!r}: use lower-case letters, digits, - and _")


class Topics(Struct, frozen=True, dict=True):
    """The topics of one table, below `bac/v1/<site>/<table>/`."""

    site: str
    table: str

    @cached_property
    def root(self) -> str:
        """`bac/v1/<site>/<table>`."""
        return f"bac/v1/{self.site}/{self.table}"

    def validate(self) -> None:
        """Refuse a site or table name that a broker could misread.

        Raises:
            InputError: a segment is not `[a-z0-9_-]+`.
        """
        require_segment("site", self.site)
        require_segment("table", self.table)

    def status(self, service: str) -> str:
        """A service's birth, heartbeat and Will; retained."""
        return f"{self.root}/status/{service}"

    @property
    def shoe_event(self) -> str:
        """Shoe events, one per message."""
        return f"{self.root}/shoe/event"

    @property
    def shoe_ack(self) -> str:
        """The core's acknowledgements of shoe events it has appended."""
        return f"{self.root}/shoe/ack"

    @property
    def link_shoe(self) -> str:
        """The state of the shoe link; retained."""
        return f"{self.root}/link/shoe"

    @property
    def event(self) -> str:
        """Every table event."""
        return f"{self.root}/event"

    @property
    def settlement(self) -> str:
        """Settlements, one phase per message."""
        return f"{self.root}/settlement"

    @property
    def state(self) -> str:
        """The table's whole state for displays; retained."""
        return f"{self.root}/state"

    def wagers(self, page: int) -> str:
        """A page of the wagers of a coup with more than `state` carries; retained."""
        return f"{self.root}/wagers/{page}"

    @property
    def wager_pages(self) -> str:
        """The filter that matches every page of wagers."""
        return f"{self.root}/wagers/+"

    @property
    def display(self) -> str:
        """The part of the state that anybody may see; retained."""
        return f"{self.root}/display"

    @property
    def checkpoint(self) -> str:
        """The newest signed checkpoint of the log, as text; retained."""
        return f"{self.root}/checkpoint"

    @property
    def alarm(self) -> str:
        """Alarms raised and cleared."""
        return f"{self.root}/alarm"

    def request(self, user: str, command: str) -> str:
        """The topic for a command of `user`."""
        return f"{self.root}/request/{user}/{command}"

    @property
    def requests(self) -> str:
        """The filter that matches every user's commands."""
        return f"{self.root}/request/+/+"

    def response(self, user: str) -> str:
        """The topic for answers to `user`."""
        return f"{self.root}/response/{user}"

    def replayed(self, user: str) -> str:
        """The topic for stored events that are sent to `user` again."""
        return f"{self.root}/response/{user}/events"

    def parse_request(self, topic: str) -> tuple[str, str] | None:
        """Parse a request's topic into (user, command); None if it is no request of this table."""
        prefix = f"{self.root}/request/"
        if not topic.startswith(prefix):
            return None
        user, slash, command = topic[len(prefix) :].partition("/")
        return (user, command) if slash and user and command and "/" not in command else None
