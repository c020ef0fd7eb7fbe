"""Flips that a short XOR lets through: in any copy of a card's report they are found, or outvoted.

The rule is the page's: the first valid copy is taken at once, another body under the same number is
a conflict, and a conflict or a lost report makes the coup misaligned.
"""

import itertools
import random

import pytest

from events.cards import Card, Hand
from events.types import AnyReport, CardDrawn, CopyConflict, FrameRejected, ReportLost
from shoe_driver.decode import Decoder
from simulators.device.enq_bcc import EnqBccDevice
from simulators.device.printed_rules import PrintedPlace
from simulators.device.reports import COPIES
from simulators.device.wire import Wire
from tests.support.shoe.shoe_bytes import PROFILE

CARDS = (
    (PrintedPlace(Hand.PLAYER, 1), Card.S8),
    (PrintedPlace(Hand.BANKER, 1), Card.HK),
    (PrintedPlace(Hand.PLAYER, 2), Card.DA),
)
SEED = 20261127
FRAME_BITS = 8 * 8


def heard(copy: int, bits: tuple[int, ...]) -> list[AnyReport]:
    """Three cards, one copy of the second of which arrives with these bits turned over."""
    device = EnqBccDevice()
    decoder = Decoder(PROFILE)
    line = b"".join(device.power_up())
    for number, (place, card) in enumerate(CARDS):
        wire = Wire(bits={copy: bits}) if number == 1 else Wire()
        copies = device.card_drawn(place, card)
        line += b"".join(wire.arrives(n, sent) for n, sent in enumerate(copies))
    events = decoder.feed_bare(line) + decoder.finish()
    return [event.report for event in events][1:]


def is_safe(reports: list[AnyReport]) -> bool:
    """The three cards and nothing else, or something that makes the coup misaligned."""
    if any(isinstance(report, CopyConflict | ReportLost) for report in reports):
        return True
    told = [report for report in reports if not isinstance(report, FrameRejected)]
    return told == [
        CardDrawn(hand=place.hand, number=place.number, face=card) for place, card in CARDS
    ]


@pytest.mark.sweep
@pytest.mark.parametrize("copy", range(COPIES))
def test_every_pair_of_flips_is_found_or_changes_nothing(copy: int) -> None:
    conflicts = 0
    for bits in itertools.combinations(range(FRAME_BITS), 2):
        reports = heard(copy, bits)
        assert is_safe(reports), f"bits {bits} of copy {copy}"
        conflicts += any(isinstance(report, CopyConflict) for report in reports)
    assert conflicts > 30, "that many pairs pass the check with another body"


@pytest.mark.parametrize("copy", range(COPIES))
def test_the_same_bit_of_target_and_card_passes_the_check_and_is_a_conflict(copy: int) -> None:
    target, card = 3, 4
    for place in range(7):
        reports = heard(copy, (8 * target + place, 8 * card + place))
        (conflict,) = [report for report in reports if isinstance(report, CopyConflict)][:1]
        assert len(conflict.bodies) > 1


@pytest.mark.sweep
@pytest.mark.parametrize("flips", [3, 4, 6])
def test_more_flips_are_found_too(flips: int) -> None:
    whims = random.Random(SEED)
    for _ in range(600):
        copy, bits = whims.randrange(COPIES), tuple(whims.sample(range(FRAME_BITS), flips))
        assert is_safe(heard(copy, bits)), f"bits {bits} of copy {copy}"
