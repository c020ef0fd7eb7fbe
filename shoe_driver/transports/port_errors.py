"""Why a link cannot be, in one line for whoever stands beside the shoe: what, where, what to do."""

from events.errors import LinkError

__all__ = ["LinkEnded", "PortError"]


class PortError(LinkError):
    """A port cannot be opened, or was lost.

    Args:
        reason: what is wrong, and where.
        hint: what a person can do about it.
    """

    def __init__(self, reason: str, hint: str) -> None:
        super().__init__(f"{reason}; {hint}" if hint else reason)
        self.reason = reason
        self.hint = hint


class LinkEnded(PortError):  # noqa: N818 - named for what happened
    """There will never be more: the link is not to be opened again."""
