"""Coups with something wrong with them, and what the driver's own decoder hears of them."""

from collections.abc import Sequence

from events.cards import Card
from events.types import AnyReport
from shoe_driver.decode import Decoder
from simulators.device.reports import Disclosure
from simulators.shoe.dealing import DealingShoe, Happening, PhysicalCoup, ReportStep
from tests.support.shoe.shoe_bytes import PROFILE

SHOE, SPARE = "20261127-01", "20261127-02"
SEEDS = range(30)
DISCLOSURES: tuple[Disclosure, ...] = ("immediate", "deferred")

Dealt = tuple[DealingShoe, list[Happening], PhysicalCoup]


def deal(fault: str | None, seed: int, disclosure: Disclosure = "immediate") -> Dealt:
    """The second coup of a shoe, with this fault."""
    dealing = DealingShoe(seed=seed, disclosure=disclosure)
    dealing.new_shoe(SHOE)
    dealing.coup()
    return dealing, *dealing.coup(fault, spare=SPARE)


def decoded(happenings: Sequence[Happening]) -> list[AnyReport]:
    """What the driver hears of a coup; the shoe's numbering began before it."""
    decoder = Decoder(PROFILE)
    events = [
        event
        for step in happenings
        if isinstance(step, ReportStep)
        for event in decoder.feed_bare(step.noise + b"".join(step.copies))
    ]
    events += decoder.finish()
    return [event.report for event in events]


def kinds(reports: Sequence[AnyReport]) -> list[type[AnyReport]]:
    return [type(report) for report in reports]


def only(reports: Sequence[AnyReport], kind: type[AnyReport]) -> list[AnyReport]:
    return [report for report in reports if isinstance(report, kind)]


def heard(fault: str, seed: int, disclosure: Disclosure = "immediate") -> list[AnyReport]:
    return decoded(deal(fault, seed, disclosure)[1])


def without(reports: Sequence[AnyReport], *dropped: type[AnyReport]) -> list[AnyReport]:
    return [report for report in reports if not isinstance(report, dropped)]


def fallen(happenings: Sequence[Happening]) -> list[Card]:
    return [step.falls.card for step in happenings if isinstance(step, ReportStep) and step.falls]
