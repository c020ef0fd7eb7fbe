"""Commands that ask to see something and change nothing: answered from the table's state."""

from typing import Any

from events.commands.base import Command

__all__ = ["Preview", "ShowCoup", "ShowRequest"]


class ShowCoup(Command, frozen=True, kw_only=True):
    """A coup of any shoe as it stands on record, wagers and settlements; changes nothing."""

    coup: str


class ShowRequest(Command, frozen=True, kw_only=True):
    """What became of a request of one's own; changes nothing.

    Args:
        request: its transaction.
    """

    request: str


class Preview(Command, frozen=True, kw_only=True):
    """What a command of this name and body, to put a coup right, would do; changes nothing."""

    command: str
    body: dict[str, Any]
