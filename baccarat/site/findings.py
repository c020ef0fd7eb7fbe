"""What the doctor says: one line a check, and what to do where it fails."""

from typing import Literal, NamedTuple

__all__ = ["Finding", "fails", "passes", "warns"]


class Finding(NamedTuple):
    """What a check found.

    Args:
        check: its name.
        verdict: `ok`, `warn` or `fail`.
        says: what was found.
        remedy: what to do; empty where nothing need be.
    """

    check: str
    verdict: Literal["ok", "warn", "fail"]
    says: str
    remedy: str = ""


def passes(check: str, says: str) -> Finding:
    """All is well."""
    return Finding(check, "ok", says)


def warns(check: str, says: str, remedy: str) -> Finding:
    """It goes on, and will not for ever."""
    return Finding(check, "warn", says, remedy)


def fails(check: str, says: str, remedy: str) -> Finding:
    """It does not go."""
    return Finding(check, "fail", says, remedy)
