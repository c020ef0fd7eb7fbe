"""Faults in the device itself, applied to a coup's script: one small function a fault.

Each takes the script and its own seeded random source, and changes the script. With immediate
disclosure the supervisor checks at once. In a squeeze nobody sees a face before the end, so
everything is corrected there.
"""

import random
from collections.abc import Callable
from functools import partial
from typing import Final

from msgspec.structs import replace

from events.cards import Card, Hand, Winner
from simulators.device.enq_bcc import POWER_UP_NOISE
from simulators.device.printed_rules import PrintedPlace
from simulators.device.reports import Copies, Device
from simulators.device.script import Act, DealerCall, Script, SendReport, hands_of
from simulators.faults.line import FaultFunction, another_face, insert_check, one_of_the_cards

__all__ = ["DEVICE_FAULTS"]

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
