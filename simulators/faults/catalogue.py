"""What can go wrong with a coup, by name: the line's faults, the device's, and the table's.

Several may come together, as `one+another`: they are woven in one after the other, those of the
line last, since it spoils whatever the device says.
"""

import random
from typing import Final

from simulators.device.script import Call, Say, Script
from simulators.faults.device import DEVICE_MISHAPS
from simulators.faults.line import LINE_MISHAPS, Mishap

__all__ = ["MISHAPS", "TOGETHER", "stops_after", "switches_after"]

TOGETHER: Final = "+"

_INITIAL: Final = 4
_LAST_OF_INITIAL: Final = 3
_VOIDED: Final = 0.5  # of the coups in which the shoe powers up; the others are finished by hand


def stops_after(fault: str, whims: random.Random) -> int | None:
    """After how many cards the coup is broken off by this fault; None where it is dealt out."""
    if fault == "power_up" and whims.random() >= _VOIDED:
        return None
    if fault in {"power_up", "forced_end", "replace_shoe"}:
        return whims.randint(1, _INITIAL)
    return None


def switches_after(fault: str, whims: random.Random) -> int | None:
    """After how many cards the rest comes from another shoe; None where none does."""
    return whims.randint(1, _LAST_OF_INITIAL) if fault == "replace_shoe_continue" else None


def _cut_card(script: Script, whims: random.Random) -> None:
    """The cut card comes in mid-coup, and the dealer says so at once."""
    script.cut_after = whims.randint(1, _LAST_OF_INITIAL)
    cut = Say(kind="C", report=lambda device: device.cut_card(), pause=1.0)
    script.insert(script.find("RD", script.cut_after - 1) + 1, cut, Call.CUT_CARD)


def _cut_card_between(script: Script, whims: random.Random) -> None:
    """It comes in mid-coup too, and the dealer says so when the hands are free: behind the coup."""
    script.cut_after = whims.randint(1, _LAST_OF_INITIAL)


def _cut_card_first(script: Script, _: random.Random) -> None:
    """The next coup's first card is to be the cut card."""
    script.cut_after = len(script.cards)


def _replace_shoe(script: Script, _: random.Random) -> None:
    """The shoe cannot go on; the coup is void and another shoe takes its place."""
    script.acts.append(Call.REPLACE)


def _replace_shoe_continue(script: Script, _: random.Random) -> None:
    """Other cards are put into the device in mid-coup, and the coup goes on from them."""
    assert script.switched_after is not None  # noqa: S101 - `switches_after` has said when
    script.insert(script.find("RD", script.switched_after), Call.CONTINUE)


MISHAPS: Final[dict[str, Mishap]] = {
    **DEVICE_MISHAPS,
    "cut_card": _cut_card,
    "cut_card_between": _cut_card_between,
    "cut_card_first": _cut_card_first,
    "replace_shoe": _replace_shoe,
    "replace_shoe_continue": _replace_shoe_continue,
    **LINE_MISHAPS,
}
