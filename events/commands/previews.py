"""Commands that ask to see something and change nothing: answered from the table's state."""

from typing import Any

from events.commands.base import Command

__all__ = ["Preview", "ShowCoup", "ShowRequest"]


class ShowCoup(Command, frozen=True, kw_only=True):
    """Show a coup of any shoe as it is on record, with wagers and settlements; changes nothing."""

    coup: str


class ShowRequest(Command, frozen=True, kw_only=True):
    """Show whether a request of this user was carried out; changes nothing.

    Args:
        request: its transaction.
    """

    request: str


class Preview(Command, frozen=True, kw_only=True):
    """Show what a correction with this name and body would do; changes nothing."""

    command: str
    body: dict[str, Any]
