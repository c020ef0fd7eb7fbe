"""The doctor's findings: one line a check, and a remedy where the check fails."""

from typing import Any, Literal, NamedTuple

from events.errors import MalformedJson
from events.json_form import decode_json

__all__ = ["DoctorFinding", "fails", "passes", "read_document", "warns"]


def read_document(payload: bytes) -> dict[str, Any]:
    """Return the JSON document in a payload; empty where there is none."""
    try:
        return decode_json(payload, dict[str, Any])
    except MalformedJson:
        return {}


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
