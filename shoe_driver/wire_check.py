"""Check a shoe event against its own raw bytes: does the wire say what the report says? Pure.

The broker carries both, and somebody who changes a face seldom knows how the shoe would have said
it. Each frame is read alone. So the check needs no history, and it judges only reports that stand
in a frame by themselves. Everything else (a lost report, a link that went down) can stop a coup and
never settle one.
"""

from typing import Final

from events.types.shoe_reports import (
    BurnCard,
    CardCarriedOver,
    CardDrawn,
    CardOutOfGame,
    CardRevealed,
    CardUnreadable,
    CutCardReported,
    DeviceResult,
    FirstCard,
    RoundForcedEnd,
    ShoeEvent,
)
from shoe_driver.decode import Decoder
from shoe_driver.profiles.profile import Profile

__all__ = ["IN_A_FRAME", "contradiction"]

IN_A_FRAME: Final = (
    BurnCard,
    CardCarriedOver,
    CardDrawn,
    CardOutOfGame,
    CardRevealed,
    CardUnreadable,
    CutCardReported,
    DeviceResult,
    FirstCard,
    RoundForcedEnd,
)
"""The reports that decide about cards and results, each of which is in one frame."""

# An event's bytes are those of the frame alone; these stand around one on some lines.
_AROUND: Final = ((b"", b""), (b"", b"\r\n"), (b"\0", b"\0"), (b"\xc0", b"\xc0"))


def contradiction(event: ShoeEvent, profile: Profile) -> str | None:
    """Return how an event's bytes contradict its report, for a person; None where they agree.

    Args:
        event: as it came over the bus.
        profile: the wire profile whose hash the event cites.
    """
    if not isinstance(event.report, IN_A_FRAME):
        return None
    kind = str(event.report.__struct_config__.tag)
    try:
        raw = bytes.fromhex(event.raw)
    except ValueError:
        return f"{kind}: its raw bytes are no hex"
    if not raw:
        return f"{kind}: no bytes of the shoe come with it"
    for before, after in _AROUND:
        decoder = Decoder(profile)
        events = decoder.feed_bare(before + raw + after) + decoder.finish()
        if any(each.report == event.report for each in events):
            return None
    return f"{kind}: the shoe's own bytes do not say so"
