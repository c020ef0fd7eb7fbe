"""Commands that open, close, confirm or void a coup."""

from events.commands.base import Command, Correction

__all__ = ["CloseBetting", "ConfirmResult", "FreeHand", "OpenBetting", "VoidCoup"]


class OpenBetting(Command, frozen=True, kw_only=True):
    """Begin a coup: patrons may place wagers."""


class CloseBetting(Command, frozen=True, kw_only=True):
    """Close betting. Answers `exists` when the first card has already closed it.

    Args:
        coup: of this coup alone; None for whichever is in progress.
    """

    coup: str | None = None


class FreeHand(Command, frozen=True, kw_only=True):
    """Begin a coup without wagers: a free hand, or the dummy coup that shows an excess card."""


class ConfirmResult(Command, frozen=True, kw_only=True):
    """Confirm the table's own result where the device is silent or disagrees."""

    reason: str


class VoidCoup(Correction, frozen=True, kw_only=True):
    """Void a coup: it does not count, and unsettled stakes go back.

    Args:
        reason: why.
        coup: one that is over, where not the coup in progress is meant; of a void one, what its
            first phase paid is taken back.
    """

    reason: str
    coup: str | None = None
