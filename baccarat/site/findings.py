"""The doctor's findings: one line a check, and a remedy where the check fails."""

from typing import Literal, NamedTuple

__all__ = ["Finding", "fails", "passes", "warns"]


class Finding(NamedTuple):
    """The result of a check.

    Args:
        check: its name.
        verdict: `ok`, `warn` or `fail`.
        says: the finding.
        remedy: what to do; empty where nothing need be.
    """

    check: str
    verdict: Literal["ok", "warn", "fail"]
    says: str
    remedy: str = ""


def passes(check: str, says: str) -> Finding:
    """Return the finding of a check that passes."""
    return Finding(check, "ok", says)


def warns(check: str, says: str, remedy: str) -> Finding:
    """Return the finding of something that works now but will fail later."""
    return Finding(check, "warn", says, remedy)


def fails(check: str, says: str, remedy: str) -> Finding:
    """Return the finding of a check that fails."""
    return Finding(check, "fail", says, remedy)
