"""Faults between the shoe and the driver, applied to a coup's script.

There is one small function a fault; each takes the script and its own seeded random source. With
immediate disclosure the supervisor checks after it. In a squeeze nobody sees a face before the end,
so everything is corrected there. A line of text is sent once and shows no gap. There the check
follows at once, as by a dealer who compares screen and cards with such a reader.
"""

import random
from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

from events.cards import Card
from simulators.device.reports import COPIES
from simulators.device.script import CableFault, DealerCall, Script, SendReport
from simulators.device.wire import EVERY, Wire

__all__ = ["LINE_FAULTS", "FaultFunction", "another_face", "insert_check", "one_of_the_cards"]

FaultFunction: TypeAlias = Callable[[Script, random.Random], None]

_BEGUN_FRAME: Final = bytes.fromhex("05 31 44 81 B8 03")
# Bytes of a card's frame, `enq-bcc`. A flip in its number makes a report that never was. The driver
# finds that too, but a coup's truth cannot express it;
# `tests/unit/simulators/device/test_bit_flips.py` covers it.
_KIND_TO_CARD: Final = (2, 3, 4)
_BITS: Final = 8
# From one latency timer, or one packet that TCP resends, to several of them.
_LATE_LEAST_S, _LATE_MOST_S = 0.3, 1.0
_UNCERTAIN: Final = 3  # with fewer cards no wrong face can end a coup that goes on


def _copy_lost(script: Script, whims: random.Random) -> None:
    """One or two sendings of every report are lost: nothing changes."""
    for index, _ in _reports(script):
        lost = frozenset(whims.sample(range(COPIES), whims.choice((1, 2))))
        script.spoil(index, Wire(lost=lost))


def _copy_late(script: Script, whims: random.Random) -> None:
    """All but the first sending of a card's report are delayed: nothing changes."""
    index = script.find("RD", whims.randrange(len(script.cards)))
    script.change(index, late_s=whims.uniform(_LATE_LEAST_S, _LATE_MOST_S))


def _bit_flip(script: Script, whims: random.Random) -> None:
    """A bit of one or two sendings of every report is inverted: the check finds it.

    A line of text has no check and is sent once. There the fault hits one card's line, which may
    then name another card.
    """
    if not script.tells_places:
        number = whims.randrange(_UNCERTAIN)
        index = script.find("RD", number)
        script.spoil(index, Wire(bits={0: (whims.getrandbits(16),)}))
        insert_check(script, index + 1)
        return
    for index, _ in _reports(script):
        victims = whims.sample(range(COPIES), whims.choice((1, 2)))
        script.spoil(index, Wire(bits={v: (whims.getrandbits(16),) for v in victims}))


def _bit_flip_passes(script: Script, whims: random.Random) -> None:
    """The same bit of two bytes of one copy of a card's report is inverted: the XOR stays equal."""
    index = script.find("RD", whims.randrange(len(script.cards)))
    place, bytes_ = whims.randrange(_BITS - 1), whims.sample(_KIND_TO_CARD, 2)
    bits = tuple(byte * _BITS + place for byte in bytes_)
    script.spoil(index, Wire(bits={whims.randrange(COPIES): bits}))
    insert_check(script, index + 1)


def _noise(script: Script, whims: random.Random) -> None:
    """Bytes that are not frames come before every report, with the beginning of one among them.

    In a line of text they belong to the line, and spoil it: there they come before one card's.
    """
    if not script.tells_places:
        index = script.find("RD", whims.randrange(len(script.cards)))
        script.change(index, noise=b"\xff" + whims.randbytes(whims.randint(0, 11)))
        insert_check(script, index + 1)
        return
    for index, _ in _reports(script):
        begun = _BEGUN_FRAME[: whims.randint(0, len(_BEGUN_FRAME))]
        script.change(index, noise=whims.randbytes(whims.randint(1, 12)) + begun)


def _split(script: Script, _: random.Random) -> None:
    """Every report arrives a byte at a time, so that it is cut at every possible point."""
    for index, _say in _reports(script):
        script.change(index, byte_wise=True)


def _run_together(script: Script, whims: random.Random) -> None:
    """Two cards' reports come in one read."""
    number = whims.randrange(len(script.cards) - 1)
    script.insert(script.find("RD", number + 1) + 1, CableFault.FLOW)
    script.insert(script.find("RD", number), CableFault.STALL)


def _stall_burst(script: Script, whims: random.Random) -> None:
    """The line stalls at a card, and everything comes in one burst when the coup is over."""
    start = script.find("RD", whims.randrange(len(script.cards)))
    script.insert(script.after_the_reports(), CableFault.FLOW)
    script.insert(start, CableFault.STALL)


def _silence(script: Script, whims: random.Random) -> None:
    """The device is silent in the middle of a deal, for longer than it may, and then goes on."""
    index = script.find("RD", whims.randrange(1, len(script.cards)))
    script.insert(index, CableFault.STALL, CableFault.SILENCE, CableFault.FLOW)


def _never_arrives(wire: Wire, script: Script, whims: random.Random) -> None:
    """One card's report is lost on this wire, whatever is sent of it: the next shows the gap."""
    index = script.find_face(whims.randrange(len(script.cards)))
    script.spoil(index, wire)
    if not script.tells_places:
        insert_check(script, index + 1)
        return
    following = next((i for i, _ in _reports(script) if i > index), None)
    if following is not None and script.says(following).kind == "D":
        insert_check(script, following + 1)


def _copy_conflict(script: Script, whims: random.Random) -> None:
    """One sending of a card's report names another card, with a valid check.

    With immediate disclosure the first may be the wrong one, and is then on the screen.
    """
    number = whims.randrange(len(script.cards))
    which = whims.choice((0, 1, 2)) if script.immediate else whims.choice((1, 2))
    index = script.find("RD", number)
    script.change(index, contradicts=(which, another_face(script.cards[number].card, whims)))
    insert_check(script, index + 1)


def _out_and(back_in: CableFault, script: Script, whims: random.Random) -> None:
    """The cable comes out, up to two cards fall unreported, and it is put back in this way."""
    heard = whims.randint(1, len(script.cards))
    unheard = whims.randint(0, min(2, len(script.cards) - heard))
    back = script.find("RD", heard + unheard - 1) + 1
    script.insert(back, back_in)
    insert_check(script, back + 1)
    script.insert(script.find("RD", heard - 1) + 1, CableFault.OUT)


def _second_reader(script: Script, whims: random.Random) -> None:
    """A program that ignores every lock takes bytes away while two cards fall."""
    number = whims.randrange(len(script.cards) - 1)
    index = script.find("RD", number + 1) + 1
    script.insert(index, CableFault.NO_THIEF)
    insert_check(script, index + 1)
    script.insert(script.find("RD", number), CableFault.THIEF)


def _driver_killed(script: Script, whims: random.Random) -> None:
    """The driver is killed in the middle of a coup, between two reports, and restarts."""
    index = script.find("RD", whims.randrange(len(script.cards))) + 1
    script.insert(index, DealerCall.RESTART)
    insert_check(script, index + 1)


def _driver_killed_mid_frame(script: Script, whims: random.Random) -> None:
    """The driver is killed after a part of a card's report, and restarts during the rest."""
    index = script.find("RD", whims.randrange(len(script.cards)))
    script.change(index, broken=whims.randint(1, 5))
    insert_check(script, index + 1)


def insert_check(script: Script, index: int) -> None:
    """Insert a check by the supervisor before the act at `index`, where the faces are visible."""
    if script.immediate:
        script.insert(index, DealerCall.LOOK)


def one_of_the_cards(script: Script, whims: random.Random) -> int:
    """Return the number of a card that may be reported wrongly.

    Where the last card decides, a wrong face might settle the coup before anybody has checked.
    There it
    is a card after which the coup must go on.
    """
    return whims.randrange(len(script.cards) if script.gives_result else _UNCERTAIN)


def another_face(card: Card, whims: random.Random) -> Card:
    """Return a random other face."""
    return whims.choice([other for other in Card if other is not card])


def _reports(script: Script) -> list[tuple[int, SendReport]]:
    return [(i, act) for i, act in enumerate(script.acts) if isinstance(act, SendReport)]


LINE_FAULTS: Final[dict[str, FaultFunction]] = {
    "bit_flip": _bit_flip,
    "bit_flip_passes": _bit_flip_passes,
    "copy_conflict": _copy_conflict,
    "copy_late": _copy_late,
    "copy_lost": _copy_lost,
    "driver_killed": _driver_killed,
    "driver_killed_mid_frame": _driver_killed_mid_frame,
    "missing_report": partial(_never_arrives, Wire(lost=EVERY)),
    "noise": _noise,
    "port_busy": partial(_out_and, CableFault.IN_BUSY),
    "run_together": _run_together,
    "second_reader": _second_reader,
    "silence": _silence,
    "split": _split,
    "stale_bytes": partial(_out_and, CableFault.IN_STALE),
    "stall_burst": _stall_burst,
    "unplug": partial(_out_and, CableFault.IN),
    "unplug_renamed": partial(_out_and, CableFault.IN_ELSEWHERE),
    "wrong_baud": partial(_never_arrives, Wire(garbled=EVERY)),
}
