"""An uplink's status on the hub: running, stopped or ended; its encoding and its rules. Pure.

A stopped feed sends no event; without a status, only the uplink's own log would show the reason. An
uplink repeats its status every `REPEATED_S`, with the newest event of its log: so the status is the
table's pulse, which shows at every place of the way how far that is behind.
"""

from typing import Final, Literal

from msgspec import Struct

from events.errors import InputError, MalformedJson
from events.json_form import decode_json

__all__ = [
    "QUIET_S",
    "REPEATED_S",
    "WITNESS",
    "UplinkStatus",
    "UplinkStatusFilter",
    "parse_uplink_status",
    "stopped_status",
]

REPEATED_S: Final = 4.0
"""Seconds after which an uplink repeats its status; `property.health.verdict` misses a third."""

QUIET_S: Final = 90.0
"""Seconds without a word of a stop after which the stop's alarm is cleared."""

WITNESS: Final = "property-own/witness"
"""The name under which the witness says how it stands, as an uplink does."""

_MOST: Final = 1000
# Seconds after which to clear an alarm again: another worker may have recorded a stop and died.
_FORGOTTEN_S: Final = 300.0


class UplinkStatus(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A feed's status, as its uplink publishes it.

    Args:
        state: `running`; `stopped` until a person has inspected it; `ended` by an orderly stop.
        position: the last position on the hub; if stopped, the position at fault.
        code: why it has stopped: `fork`, `gap` or `forged`; else empty.
        reason: one line for a person, if stopped; else empty.
        by: the person who retired the table; empty if the uplink itself reports its end.
        head: the newest position in the log; 0 where an older build speaks.
        event_at: the time of the event there, RFC 3339.
        certificate_ends_s: when the certificate ends that it shows to the hub, seconds since 1970;
            0 where it shows none, or an older build speaks.
    """

    state: Literal["running", "stopped", "ended"]
    position: int = 0
    code: str = ""
    reason: str = ""
    by: str = ""
    head: int = 0
    event_at: str = ""
    certificate_ends_s: int = 0


class UplinkStatusFilter:
    """Decides which statuses of uplinks to record.

    Two uplinks of one table, the usual cause of a fork, contradict one another: while one reports
    that it has stopped, the other's `running` does not clear the alarm.

    Args:
        now: seconds of a monotonic clock. Nothing before this time is known.
    """

    def __init__(self, now: float) -> None:
        self._began = now
        self._stopped: dict[str, float] = {}
        self._cleared: dict[str, float] = {}

    def counts(self, origin: str, word: UplinkStatus, now: float) -> bool:
        """Return whether to record a status: a stop always; its end once no stop is repeated."""
        if word.state == "stopped":
            self._stopped[origin] = now
            self._cleared.pop(origin, None)
            return True
        if word.by:
            self._stopped.pop(origin, None)
            return True
        quiet_s = now - max(self._began, self._stopped.get(origin, self._began))
        repeated = now - self._cleared.get(origin, -_FORGOTTEN_S) < _FORGOTTEN_S
        if word.state == "ended" or quiet_s <= QUIET_S or repeated:
            return False
        self._cleared[origin] = now
        return True


def stopped_status(code: str, position: int, text: str) -> UplinkStatus:
    """Return the status of a stopped feed, with its reason as one printable line."""
    line = "".join(each if each.isprintable() else "?" for each in " ".join(text.split()))
    return UplinkStatus(state="stopped", position=position, code=code, reason=line[:_MOST])


def parse_uplink_status(data: bytes) -> UplinkStatus:
    """Decode a published status; its sender may be anybody who has the table's login.

    Raises:
        InputError: it is no valid status.
    """
    try:
        word = decode_json(data, UplinkStatus)
    except MalformedJson as error:
        raise InputError(f"an uplink's word cannot be read: {error}") from error
    texts = (word.code, word.reason, word.by, word.event_at)
    if max(map(len, texts)) > _MOST or not all(map(str.isprintable, texts)):
        raise InputError("an uplink's word cannot be read: too long, or not one line of text")
    if not all(0 <= each < 2**63 for each in (word.position, word.head, word.certificate_ends_s)):
        raise InputError("an uplink's word cannot be read: its position or time is none")
    return word
