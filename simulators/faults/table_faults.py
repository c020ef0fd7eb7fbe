"""The faults of a coup by name: the line's, the device's, and the table's.

Several may come together, as `one+another`. They are applied one after the other, those of the line
last, because the line damages whatever the device sends.

Faults between the shoe and the driver, applied to a coup's script. There is one small function a
fault; each takes the script and its own seeded random source. With immediate disclosure the
supervisor checks after it. In a squeeze nobody sees a face before the end, so everything is
corrected there. A line of text is sent once and shows no gap. There the check follows at once, as
by a dealer who compares screen and cards with such a reader.
"""

import random
from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

from msgspec.structs import replace

from events.cards import Card, Hand, Winner
from simulators.device.enq_bcc import POWER_UP_NOISE
from simulators.device.printed_rules import PrintedPlace
from simulators.device.reports import COPIES, Copies, Device
from simulators.device.script import Act, CableFault, DealerCall, Script, SendReport, hands_of
from simulators.device.wire import EVERY, Wire

__all__ = [
    "COUP_FAULTS",
    "DEVICE_FAULTS",
    "LINE_FAULTS",
    "TOGETHER",
    "FaultFunction",
    "another_face",
    "insert_check",
    "one_of_the_cards",
    "stops_after",
    "switches_after",
]

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


# A device that has powered up in the middle of a coup counts its own cards from here.
_OWN_PLACES: Final = (
    *(PrintedPlace(hand, number) for number in (1, 2) for hand in (Hand.PLAYER, Hand.BANKER)),
    *(PrintedPlace(hand, 3) for hand in (Hand.PLAYER, Hand.BANKER)),
)


def _error_and_clear(script: Script, whims: random.Random) -> None:
    """An error is active for a moment in the middle of a coup: nothing changes."""
    index = script.find("RD", whims.randrange(len(script.cards))) + 1
    script.insert(index, _raised("card_code", latched=True), _cleared("card_code", latched=True))


def _unreadable_card(script: Script, whims: random.Random) -> None:
    """Error "cannot read", and a card whose face nobody reports.

    Either the device has counted the card and reports it without a face, or it has not and reports
    nothing, so that the next position has a gap. In a squeeze its disclosure is missing.
    """
    number, counted = whims.randrange(len(script.cards)), whims.random() < 0.5  # noqa: PLR2004 - either
    counted = counted or not script.tells_places
    index = script.find("RD", number)
    said, raised = script.says(index), _raised("cannot_read")
    if script.deferred:
        script.insert(index + 1, raised, _cleared("cannot_read"))
        del script.acts[script.find("I", number)]
    elif counted:
        place = script.cards[number].place
        script.change(index, report=lambda device: device.card_unread(place))
        script.insert(index + 1, raised, DealerCall.LOOK, _cleared("cannot_read"))
    else:
        unsaid = replace(raised, falls=said.falls)
        script.acts[index : index + 1] = [unsaid, _cleared("cannot_read")]
        if script.says(index + 2).kind == "D":
            insert_check(script, index + 3)


def _misread_face(script: Script, whims: random.Random) -> None:
    """The device reports a wrong face, and calls the coup by it; the dealer sees the mistake.

    If it is among the first four, a table that settles pairs at once has paid on it by then.
    """
    number = one_of_the_cards(script, whims)
    _tell_another_face(script, number, another_face(script.cards[number].card, whims))


def _ninth_copy(script: Script, whims: random.Random) -> None:
    """The device reports a face of which every copy has left the shoe."""
    number = one_of_the_cards(script, whims)
    spent = [card for card in script.spent if card is not script.cards[number].card]
    _tell_another_face(script, number, whims.choice(spent or script.spent))


def _tell_another_face(script: Script, number: int, face: Card) -> None:
    if script.deferred:
        script.acts[script.find("I", number)] = script.revealed(number, face)
        script.insert(script.find("G"), DealerCall.LOOK)
    else:
        index = script.find("RD", number)
        script.acts[index] = script.drawn(number, kind=script.says(index).kind, card=face)
        script.insert(index + 1, DealerCall.LOOK)
    read = [
        replace(each, card=face) if i == number else each for i, each in enumerate(script.cards)
    ]
    script.acts[script.find("G")] = script.result(hands_of(read))


def _power_up(script: Script, whims: random.Random) -> None:
    """The device loses power in the middle of a coup: positions start again and no result comes.

    Either the coup is void at this point. Or it is dealt out while the device counts by its own
    count,
    and the device is switched off and on again after it.
    """
    noise = POWER_UP_NOISE if whims.random() < 0.5 else b""  # noqa: PLR2004 - either
    power_up = SendReport(kind="S", report=lambda device: device.power_up(), pause=1.0, noise=noise)
    if script.outcome is None:
        script.acts += [power_up, DealerCall.VOID]
        return
    heard = whims.randint(1, len(script.cards))
    script.remove("IGP")
    for number in range(heard, len(script.cards)):
        index = script.find("RD", number)
        script.acts[index] = script.drawn(number, place=_OWN_PLACES[number - heard])
    script.insert(script.find("RD", heard - 1) + 1, power_up)
    script.acts.append(replace(power_up, noise=b""))
    script.result_comes = False


def _forced_end(script: Script, _: random.Random) -> None:
    """A person ends the round at the device."""
    script.acts += [_said("G", lambda device: device.forced_end()), DealerCall.VOID]


def _wrong_result(script: Script, whims: random.Random) -> None:
    """The device names another winner than the cards do."""
    dealt = hands_of(script.cards)
    others = [winner for winner in Winner if winner is not dealt.winner]
    told = replace(dealt, winner=whims.choice(others), banker_six=False)
    script.acts[script.find("G")] = script.result(told)


def _overdraw_carried(script: Script, whims: random.Random) -> None:
    """`E82 d e I... G`: a card too many is the next coup's first.

    It stays face down, or a person turns it up: then the next coup is a dummy, without wagers.
    """
    script.overdraw()
    script.carries = True
    script.excess_seen = whims.random() < 0.5  # noqa: PLR2004 - either
    outside = _said("d", lambda device: device.drawn_outside())
    acts: list[Act] = [_raised("overdraw"), outside, _cleared("overdraw")]
    _overdrawn(script, acts, whims)


def _overdraw_burned(script: Script, whims: random.Random) -> None:
    """`E82 EC7 d i e I... G`: the shoe shows a card too many and takes it out of play.

    Two errors are active and one is cleared: the other blocks betting until the dealer clears it.
    """
    card = script.overdraw()
    script.excess_seen = True
    script.errors = ("draw_timeout",)
    outside = _said("d", lambda device: device.drawn_outside())
    disclosed = _said("i", lambda device: device.out_of_play(card))
    acts: list[Act] = [
        _raised("overdraw"),
        _raised("draw_timeout", latched=True),
        *(outside, disclosed),
        _cleared("overdraw"),
    ]
    _overdrawn(script, acts, whims)


def _overdrawn(script: Script, acts: list[Act], whims: random.Random) -> None:
    """Insert acts after the last card; the supervisor decides at once or after the reports."""
    if script.immediate and whims.random() < 0.5:  # noqa: PLR2004 - either
        drawn = next(
            i for i, act in enumerate(acts) if isinstance(act, SendReport) and act.kind == "d"
        )
        acts.insert(drawn + 1, DealerCall.LOOK)
    script.insert(script.after_the_cards(), *acts)


def _short_disclosure(script: Script, whims: random.Random) -> None:
    """In a squeeze the device discloses fewer cards than it drew, and names the result."""
    count = whims.randint(1, len(script.cards) - 1)
    for number in whims.sample(range(len(script.cards)), count):
        del script.acts[script.find("I", number)]


def _contradicting_disclosure(script: Script, whims: random.Random) -> None:
    """The device discloses a card again, with another face."""
    number = whims.randrange(len(script.cards))
    told = script.revealed(number, another_face(script.cards[number].card, whims))
    index = script.find("I" if script.deferred else "RD", number) + 1
    script.insert(index, told)
    insert_check(script, index + 1)


def _around_a_card(
    before: SendReport, after: SendReport, script: Script, whims: random.Random
) -> None:
    """The device reports something before a card, and its end after it."""
    index = script.find("RD", whims.randrange(len(script.cards)))
    script.insert(index + 1, after)
    script.insert(index, before)


def _draw_timeout(script: Script, whims: random.Random) -> None:
    """Nobody draws for so long that the device reports an error; then the card comes."""
    index = script.find("RD", whims.randrange(len(script.cards)))
    script.insert(index, _raised("draw_timeout"), _cleared("draw_timeout"))


def _wrong_card_code(script: Script, whims: random.Random) -> None:
    """Error "card code": the device has read something that is not its own card, and no face."""
    number = whims.randrange(len(script.cards))
    index, place = script.find("RD", number), script.cards[number].place
    if script.deferred:
        del script.acts[script.find("I", number)]
    else:
        script.change(index, report=lambda device: device.card_unread(place))
    script.insert(index + 1, _raised("card_code"), _cleared("card_code"))
    insert_check(script, index + 3)


def _reverse_run(script: Script, whims: random.Random) -> None:
    """A card moves backwards, at the exit or midway: what was counted may lie elsewhere."""
    index = script.find("RD", whims.randrange(len(script.cards))) + 1
    midway = whims.random() < 0.5  # noqa: PLR2004 - either
    code = "reversed_midway" if midway else "reversed_at_exit"
    moved = _said("E", lambda device: device.card_reversed(midway=midway))
    script.insert(
        index, moved, DealerCall.LOOK, _said("e", lambda device: device.error_cleared(code))
    )


def _unknown_code(script: Script, whims: random.Random) -> None:
    """In the middle of a coup the device sends a report that its profile does not define."""
    index = script.find("RD", whims.randrange(len(script.cards))) + 1
    script.insert(index, _said("X", lambda device: device.unknown()))
    insert_check(script, index + 1)


def _raised(code: str, *, latched: bool = False) -> SendReport:
    return _said("E", lambda device: device.error_raised(code, latched=latched))


def _cleared(code: str, *, latched: bool = False) -> SendReport:
    return _said("e", lambda device: device.error_cleared(code, latched=latched))


def _said(kind: str, report: Callable[[Device], Copies]) -> SendReport:
    return SendReport(kind=kind, report=report, pause=1.0)


DEVICE_FAULTS: Final[dict[str, FaultFunction]] = {
    "contradicting_disclosure": _contradicting_disclosure,
    "draw_in_error": partial(
        _around_a_card,
        _raised("button_mishandled", latched=True),
        _cleared("button_mishandled", latched=True),
    ),
    "draw_timeout": _draw_timeout,
    "error_and_clear": _error_and_clear,
    "forced_end": _forced_end,
    "locked_draw": partial(
        _around_a_card,
        _said("L", lambda device: device.lock_changed(locked=True)),
        _said("L", lambda device: device.lock_changed(locked=False)),
    ),
    "misread_face": _misread_face,
    "missing_standby": lambda script, _: script.remove("P"),
    "ninth_copy": _ninth_copy,
    "no_result": lambda script, _: script.remove("GP"),
    "overdraw_burned": _overdraw_burned,
    "overdraw_carried": _overdraw_carried,
    "power_up": _power_up,
    "reverse_run": _reverse_run,
    "short_disclosure": _short_disclosure,
    "unknown_code": _unknown_code,
    "unreadable_card": _unreadable_card,
    "wrong_card_code": _wrong_card_code,
    "wrong_result": _wrong_result,
}


TOGETHER: Final = "+"
_INITIAL: Final = 4
_LAST_OF_INITIAL: Final = 3
_VOIDED: Final = 0.5  # of the coups in which the shoe powers up; the others are finished by hand


def stops_after(fault: str, whims: random.Random, *, gives_result: bool) -> int | None:
    """Return after how many cards this fault breaks the coup off; None where it does not.

    Where the shoe gives no result, the fourth card may settle the coup: there one is still due.
    """
    if fault == "power_up" and whims.random() >= _VOIDED:
        return None
    if fault in {"power_up", "forced_end", "replace_shoe"}:
        return whims.randint(1, _INITIAL if gives_result else _LAST_OF_INITIAL)
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
