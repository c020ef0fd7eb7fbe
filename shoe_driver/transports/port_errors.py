"""Why a port failed, in one line for the person at the shoe: what, where, what to do."""

from events.errors import LinkError

__all__ = ["LinkEnded", "PortError"]


class PortError(LinkError):
    """A port cannot be opened, or was lost.

    Args:
        reason: what is wrong, and where.
        hint: advice to a person.
    """

    def __init__(self, reason: str, hint: str) -> None:
        super().__init__(f"{reason}; {hint}" if hint else reason)
        self.reason = reason
        self.hint = hint


class LinkEnded(PortError):  # noqa: N818 - named for what happened
    """Nothing will ever come again: do not open the link again."""
