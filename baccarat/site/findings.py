"""The doctor's findings: one line a check, and a remedy where the check fails."""

from typing import Literal, NamedTuple

__all__ = ["DoctorFinding", "fails", "passes", "warns"]


class DoctorFinding(NamedTuple):
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


def passes(check: str, says: str) -> DoctorFinding:
    """Return the finding of a check that passes."""
    return DoctorFinding(check, "ok", says)


def warns(check: str, says: str, remedy: str) -> DoctorFinding:
    """Return the finding of something that works now but will fail later."""
    return DoctorFinding(check, "warn", says, remedy)


def fails(check: str, says: str, remedy: str) -> DoctorFinding:
    """Return the finding of a check that fails."""
    return DoctorFinding(check, "fail", says, remedy)
