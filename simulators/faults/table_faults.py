"""The faults of a coup by name: the line's, the device's, and the table's.

Several may come together, as `one+another`. They are applied one after the other, those of the line
last, because the line damages whatever the device sends.
"""

import random
from typing import Final

from simulators.device.script import DealerCall, Script, SendReport
from simulators.faults.device import DEVICE_FAULTS
from simulators.faults.line import LINE_FAULTS, FaultFunction

__all__ = ["COUP_FAULTS", "TOGETHER", "stops_after", "switches_after"]

TOGETHER: Final = "+"

_INITIAL: Final = 4
_LAST_OF_INITIAL: Final = 3
_VOIDED: Final = 0.5  # of the coups in which the shoe powers up; the others are finished by hand


def stops_after(fault: str, whims: random.Random) -> int | None:
    """Return after how many cards this fault breaks the coup off; None where it does not."""
    if fault == "power_up" and whims.random() >= _VOIDED:
        return None
    if fault in {"power_up", "forced_end", "replace_shoe"}:
        return whims.randint(1, _INITIAL)
    return None


def switches_after(fault: str, whims: random.Random) -> int | None:
    """Return after how many cards another shoe takes over; None where none does."""
    return whims.randint(1, _LAST_OF_INITIAL) if fault == "replace_shoe_continue" else None


def _cut_card(script: Script, whims: random.Random) -> None:
    """The cut card comes in the middle of a coup, and the dealer reports it at once."""
    script.cut_after = whims.randint(1, _LAST_OF_INITIAL)
    cut = SendReport(kind="C", report=lambda device: device.cut_card(), pause=1.0)
    script.insert(script.find("RD", script.cut_after - 1) + 1, cut, DealerCall.CUT_CARD)


def _cut_card_between(script: Script, whims: random.Random) -> None:
    """The cut card comes in the middle of a coup, and the dealer reports it after the coup."""
    script.cut_after = whims.randint(1, _LAST_OF_INITIAL)


def _cut_card_first(script: Script, _: random.Random) -> None:
    """The cut card comes in place of the next coup's first card."""
    script.cut_after = len(script.cards)


def _replace_shoe_continue(script: Script, _: random.Random) -> None:
    """Other cards are put into the device in the middle of a coup, which goes on from them."""
    assert script.switched_after is not None  # noqa: S101 - `switches_after` has returned when
    script.insert(script.find("RD", script.switched_after), DealerCall.CONTINUE)


COUP_FAULTS: Final[dict[str, FaultFunction]] = {
    **DEVICE_FAULTS,
    "cut_card": _cut_card,
    "cut_card_between": _cut_card_between,
    "cut_card_first": _cut_card_first,
    "replace_shoe": lambda script, _: script.acts.append(DealerCall.REPLACE),
    "replace_shoe_continue": _replace_shoe_continue,
    **LINE_FAULTS,
}
