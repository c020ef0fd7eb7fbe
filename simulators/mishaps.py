"""What can go wrong with a coup's reports, woven into its script: one small function a fault.

Each takes the script and its own seeded whims, and bends the script. Where the faces lie open a
look of the supervisor follows at once; in a squeeze nobody sees a face before the end, so that
everything is put right there. Bytes are as profile `enq-bcc` has them.
"""

import random
from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

from msgspec.structs import replace

from events.cards import Card, Hand, Winner
from simulators.dealer import Place
from simulators.enq_bcc import COPIES, POWER_UP_NOISE, EnqBccDevice, card_byte
from simulators.script import Act, Call, Fallen, Plug, Say, Script, hands_of
from simulators.wire import conflicting, flipped, kept

__all__ = ["MISHAPS", "Mishap", "stops_after", "switches_after"]

Mishap: TypeAlias = Callable[[Script, random.Random], None]

_INITIAL: Final = 4
_LAST_OF_INITIAL: Final = 3
_VOIDED: Final = 0.5  # of the coups in which the shoe powers up; the others are finished by hand
_BEGUN_FRAME: Final = bytes.fromhex("05 31 44 81 B8 03")
# A device that has powered up in mid-coup counts its own cards from here.
_OWN_PLACES: Final = (
    *(Place(hand, number) for number in (1, 2) for hand in (Hand.PLAYER, Hand.BANKER)),
    *(Place(hand, 3) for hand in (Hand.PLAYER, Hand.BANKER)),
)


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


# ---- the line ----


def _copy_lost(script: Script, whims: random.Random) -> None:
    """One or two copies of every report are lost: nothing changes."""
    for index, _ in _reports(script):
        which = frozenset(whims.sample(range(COPIES), whims.choice((1, 2))))
        script.change(index, wire=partial(kept, which=which))


def _bit_flip(script: Script, whims: random.Random) -> None:
    """A bit of one or two copies of every report is turned over: the check finds it."""
    for index, _ in _reports(script):
        victims = whims.sample(range(COPIES), whims.choice((1, 2)))
        bits = {victim: whims.getrandbits(16) for victim in victims}
        script.change(index, wire=partial(flipped, bits=bits))


def _noise(script: Script, whims: random.Random) -> None:
    """Bytes that are no frame come before every report, the beginning of one among them."""
    for index, _ in _reports(script):
        begun = _BEGUN_FRAME[: whims.randint(0, len(_BEGUN_FRAME))]
        script.change(index, noise=whims.randbytes(whims.randint(1, 12)) + begun)


def _missing_report(script: Script, whims: random.Random) -> None:
    """All copies of one card's report are lost: the next report shows the gap."""
    kind = "I" if script.deferred else "RD"
    index = script.find(kind, whims.randrange(len(script.cards)))
    script.change(index, wire=partial(kept, which=()))
    if script.says(index + 1).kind == "D":
        _look(script, index + 2)


def _copy_conflict(script: Script, whims: random.Random) -> None:
    """One copy of a card's report says another card, with a check that is right.

    Where the faces lie open the first copy may be the wrong one, and then stands on the screen.
    """
    number = whims.randrange(len(script.cards))
    which = whims.choice((0, 1, 2)) if script.immediate else whims.choice((1, 2))
    card = card_byte(_another(script.cards[number].card, whims))
    index = script.find("RD", number)
    script.change(index, wire=partial(conflicting, which=which, card=card))
    _look(script, index + 1)


def _unplug(script: Script, whims: random.Random) -> None:
    """The cable comes out, up to two cards fall unheard, and it is put back."""
    heard = whims.randint(1, len(script.cards))
    unheard = whims.randint(0, min(2, len(script.cards) - heard))
    back = script.find("RD", heard + unheard - 1) + 1
    script.insert(back, Plug.IN)
    _look(script, back + 1)
    script.insert(script.find("RD", heard - 1) + 1, Plug.OUT)


# ---- the device ----


def _missing_standby(script: Script, _: random.Random) -> None:
    """The device does not say that it waits: that was no boundary anyway."""
    script.remove("P")


def _error_and_clear(script: Script, whims: random.Random) -> None:
    """An error stands for a moment in mid-coup: nothing changes."""
    index = script.find("RD", whims.randrange(len(script.cards))) + 1
    script.insert(index, _raised("card_code", latched=True), _cleared("card_code", latched=True))


def _unreadable_card(script: Script, whims: random.Random) -> None:
    """Error "cannot read", and a card whose face nobody tells.

    The device has counted the card and reports it without a face; or it has not, and says nothing
    of it, so that the next position has a gap. In a squeeze its disclosure is missing.
    """
    number, counted = whims.randrange(len(script.cards)), whims.random() < 0.5  # noqa: PLR2004 - either
    index = script.find("RD", number)
    said, raised = script.says(index), _raised("cannot_read")
    if script.deferred:
        script.insert(index + 1, raised, _cleared("cannot_read"))
        del script.acts[script.find("I", number)]
    elif counted:
        place = script.cards[number].place
        script.change(index, report=partial(EnqBccDevice.card_unread, place=place))
        script.insert(index + 1, raised, Call.LOOK, _cleared("cannot_read"))
    else:
        unsaid = replace(raised, falls=said.falls)
        script.acts[index : index + 1] = [unsaid, _cleared("cannot_read")]
        if script.says(index + 2).kind == "D":
            _look(script, index + 3)


def _misread_face(script: Script, whims: random.Random) -> None:
    """The device tells another face than lies there, and calls the coup by it; the dealer sees it.

    Where it is among the first four, a table that settles pairs at once has paid on it by then.
    """
    number = whims.randrange(len(script.cards))
    _tell_another_face(script, number, _another(script.cards[number].card, whims))


def _ninth_copy(script: Script, whims: random.Random) -> None:
    """The device tells a face of which every copy has left the shoe."""
    number = whims.randrange(len(script.cards))
    spent = [card for card in script.spent if card is not script.cards[number].card]
    _tell_another_face(script, number, whims.choice(spent or script.spent))


def _tell_another_face(script: Script, number: int, face: Card) -> None:
    if script.deferred:
        script.acts[script.find("I", number)] = script.revealed(number, face)
        script.insert(script.find("G"), Call.LOOK)
    else:
        index = script.find("RD", number)
        script.acts[index] = script.drawn(number, kind=script.says(index).kind, card=face)
        script.insert(index + 1, Call.LOOK)
    read = [replace(each, card=face) if i == number else each for i, each in _numbered(script)]
    script.acts[script.find("G")] = script.result(hands_of(read))


def _power_up(script: Script, whims: random.Random) -> None:
    """The device loses its power in mid-coup: its positions start again and no result comes.

    Either the coup is void where it stands. Or it is dealt out while the device counts on by its
    own count, and the device is switched off and on again behind it.
    """
    noise = POWER_UP_NOISE if whims.random() < 0.5 else b""  # noqa: PLR2004 - either
    power_up = Say(kind="S", report=EnqBccDevice.power_up, pause=1.0, noise=noise)
    if script.outcome is None:
        script.acts += [power_up, Call.VOID]
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
    """Somebody ends the round at the device."""
    script.acts += [Say(kind="G", report=EnqBccDevice.forced_end, pause=1.0), Call.VOID]


def _wrong_result(script: Script, whims: random.Random) -> None:
    """The device names another winner than the cards do."""
    dealt = hands_of(script.cards)
    others = [winner for winner in Winner if winner is not dealt.winner]
    told = replace(dealt, winner=whims.choice(others), banker_six=False)
    script.acts[script.find("G")] = script.result(told)


def _no_result(script: Script, _: random.Random) -> None:
    """The device never says how the coup came out; the table notices by itself after 30 s."""
    script.remove("GP")


def _overdraw_carried(script: Script, whims: random.Random) -> None:
    """`E82 d e I... G`: a card too many is the next coup's first.

    It stays face down, or somebody turns it up: then the next coup is a dummy, without wagers.
    """
    script.overdraw()
    script.carries = True
    script.excess_seen = whims.random() < 0.5  # noqa: PLR2004 - either
    outside = Say(kind="d", report=EnqBccDevice.drawn_outside, pause=1.0)
    acts: list[Act] = [_raised("overdraw"), outside, _cleared("overdraw")]
    _overdrawn(script, acts, whims)


def _overdraw_burned(script: Script, whims: random.Random) -> None:
    """`E82 EC7 d i e I... G`: the shoe shows a card too many and takes it out of play.

    Two errors stand and one is cleared: the other keeps betting shut until the dealer clears it.
    """
    card = script.overdraw()
    script.excess_seen = True
    script.errors = ("draw_timeout",)
    outside = Say(kind="d", report=EnqBccDevice.drawn_outside, pause=1.0)
    disclosed = Say(kind="i", report=partial(EnqBccDevice.out_of_play, card=card), pause=1.0)
    acts: list[Act] = [
        _raised("overdraw"),
        _raised("draw_timeout", latched=True),
        *(outside, disclosed),
        _cleared("overdraw"),
    ]
    _overdrawn(script, acts, whims)


def _overdrawn(script: Script, acts: list[Act], whims: random.Random) -> None:
    """Behind the last card; the supervisor decides at once, or when the shoe has had its say."""
    if script.immediate and whims.random() < 0.5:  # noqa: PLR2004 - either
        drawn = next(i for i, act in enumerate(acts) if isinstance(act, Say) and act.kind == "d")
        acts.insert(drawn + 1, Call.LOOK)
    script.insert(script.after_the_cards(), *acts)


# ---- the table ----


def _cut_card(script: Script, whims: random.Random) -> None:
    """The cut card comes in mid-coup, and the dealer says so at once."""
    script.cut_after = whims.randint(1, _LAST_OF_INITIAL)
    script.insert(script.find("RD", script.cut_after - 1) + 1, Call.CUT_CARD)


def _replace_shoe(script: Script, _: random.Random) -> None:
    """The shoe cannot go on; the coup is void and another shoe takes its place."""
    script.acts.append(Call.REPLACE)


def _replace_shoe_continue(script: Script, _: random.Random) -> None:
    """Other cards are put into the device in mid-coup, and the coup goes on from them."""
    assert script.switched_after is not None  # noqa: S101 - `switches_after` has said when
    script.insert(script.find("RD", script.switched_after), Call.CONTINUE)


def _reports(script: Script) -> list[tuple[int, Say]]:
    return [(i, act) for i, act in enumerate(script.acts) if isinstance(act, Say)]


def _numbered(script: Script) -> list[tuple[int, Fallen]]:
    return list(enumerate(script.cards))


def _look(script: Script, index: int) -> None:
    """The supervisor looks before the act at `index`, where the faces can be seen."""
    if script.immediate:
        script.insert(index, Call.LOOK)


def _raised(code: str, *, latched: bool = False) -> Say:
    report = partial(EnqBccDevice.error_raised, code=code, latched=latched)
    return Say(kind="E", report=report, pause=1.0)


def _cleared(code: str, *, latched: bool = False) -> Say:
    report = partial(EnqBccDevice.error_cleared, code=code, latched=latched)
    return Say(kind="e", report=report, pause=1.0)


def _another(card: Card, whims: random.Random) -> Card:
    return whims.choice([other for other in Card if other is not card])


MISHAPS: Final[dict[str, Mishap]] = {
    "bit_flip": _bit_flip,
    "copy_conflict": _copy_conflict,
    "copy_lost": _copy_lost,
    "cut_card": _cut_card,
    "error_and_clear": _error_and_clear,
    "forced_end": _forced_end,
    "misread_face": _misread_face,
    "missing_report": _missing_report,
    "missing_standby": _missing_standby,
    "ninth_copy": _ninth_copy,
    "no_result": _no_result,
    "noise": _noise,
    "overdraw_burned": _overdraw_burned,
    "overdraw_carried": _overdraw_carried,
    "power_up": _power_up,
    "replace_shoe": _replace_shoe,
    "replace_shoe_continue": _replace_shoe_continue,
    "unplug": _unplug,
    "unreadable_card": _unreadable_card,
    "wrong_result": _wrong_result,
}
