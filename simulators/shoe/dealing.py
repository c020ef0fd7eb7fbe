"""A dealing shoe's coups as steps; pure, so that one seed always gives the same bytes.

A step is a report of the device and the pause before it. Card order, missing standby reports, noise
at power-up and the particulars of every fault follow from the seed and the shoe's number, never
from time or from the reader.
"""

import random
from collections.abc import Iterable
from datetime import date, timedelta
from typing import Final, TypeAlias

from msgspec import Struct

from events.cards import Card
from events.errors import InputError, OurBug
from simulators.device.deck import CUT_CARD_FROM_END, BurnedCards, Deck, shuffled
from simulators.device.printed_rules import PrintedOutcome, next_place, outcome
from simulators.device.profiles import SimulatedProfile, simulated_profile
from simulators.device.reports import Copies, Disclosure
from simulators.device.script import (
    Act,
    CableFault,
    DealerCall,
    FallenCard,
    Script,
    Sending,
    SendReport,
)
from simulators.device.wire import GOOD
from simulators.faults.table_faults import COUP_FAULTS, TOGETHER, stops_after, switches_after

__all__ = ["DealingShoe", "Happening", "PhysicalCoup", "ReportStep", "next_shoe_id", "shoe_number"]

# Seconds at speed 1, of a calm dealer at a live table.
_FIRST_CARD_S: Final = 4.0
_BURN_S: Final = 1.0
_BETWEEN_S: Final = 1.0

_NOISE_CHANCE: Final = 0.5
_STANDBY_CHANCE: Final = 0.8  # "not always sent"
_LAST_OF_A_DAY: Final = 99
_STACKED: Final = ("button_mishandled", "card_code")


class ReportStep(Sending, frozen=True, kw_only=True):
    """One report of the device, as it is handed to the line.

    Args:
        copies: the report's frames as they arrive; of a profile that resends, its messages, and
            then `wire` is the line's effect.
    """

    copies: Copies


Happening: TypeAlias = ReportStep | CableFault | DealerCall
"""The next report of the shoe, a change of its cable, or a call of its dealer."""


class PhysicalCoup(Struct, frozen=True, kw_only=True):
    """One coup as it physically happened.

    Args:
        shoe: the shoe's id.
        number: 1, 2, 3... within the shoe, as the dealer counts.
        cards: of the two hands, in dealing order.
        outcome: as the dealer calls it; None where the coup was broken off.
        last: the shoe is over after it.
        fault: the fault, if any.
        excess: a card too many that left the shoe.
        carried: it is the next coup's first card.
        excess_seen: the table has seen its face.
        result_comes: the device reports the result.
    """

    shoe: str
    number: int
    cards: tuple[Card, ...]
    outcome: PrintedOutcome | None
    last: bool
    fault: str | None = None
    excess: Card | None = None
    carried: bool = False
    excess_seen: bool = False
    result_comes: bool = True


def next_shoe_id(shoe: str) -> str:
    """Return the id after `shoe` (`YYYYMMDD-NN`); the first of the next day follows the 99th.

    Raises:
        InputError: not a shoe id.
    """
    day, dash, number = shoe.partition("-")
    try:
        today, ordinal = date.fromisoformat(day), int(number)
    except ValueError as error:
        raise InputError(f"{shoe!r} is not a shoe id; write YYYYMMDD-NN") from error
    if not dash or len(day) != len("YYYYMMDD") or not 1 <= ordinal <= _LAST_OF_A_DAY:
        raise InputError(f"{shoe!r} is not a shoe id; write YYYYMMDD-NN")
    if ordinal == _LAST_OF_A_DAY:
        return f"{today + timedelta(days=1):%Y%m%d}-01"
    return f"{day}-{ordinal + 1:02d}"


def shoe_number(shoe: str) -> str:
    """Return a shoe id's number within its day: a seed gives the same game on every day."""
    return shoe.partition("-")[2]


class DealingShoe:
    """A device with a deck in it, and a dealer who deals by the printed rules.

    Args:
        seed: with a shoe's number in its day it fixes that shoe's cards and the device's random
            choices.
        decks: 4, 6 or 8.
        disclosure: whether a card's face is sent as it is drawn, or all just before the result.
        cut_card: the number of cards after the cut card; a large number makes short shoes.
        profile: the wire profile of the device, by name, or another device.

    Raises:
        InputError: the device does not support that profile, or not with that disclosure.

    Attributes:
        profile: its simulation.
        over: whether the last coup was dealt, or no shoe was begun.
    """

    def __init__(
        self,
        *,
        seed: int,
        decks: int = 8,
        disclosure: Disclosure = "immediate",
        cut_card: int = CUT_CARD_FROM_END,
        profile: str | SimulatedProfile = "enq-bcc",
    ) -> None:
        self._seed = seed
        self._decks = decks
        self._cut_card = cut_card
        self.profile = simulated_profile(profile) if isinstance(profile, str) else profile
        self._device = self.profile.device(disclosure)
        self._whims = random.Random(seed)
        self._deck: Deck | None = None
        self._shoe = ""
        self._coups = 0
        self.over = True
        self._carried: Card | None = None
        self._errors: tuple[str, ...] = ()
        self._dummy_is_due = False

    @property
    def deck(self) -> Deck:
        """The cards in the shoe.

        Raises:
            OurBug: no shoe was begun.
        """
        if self._deck is None:
            raise OurBug("a coup was asked of a shoe that was never begun")
        return self._deck

    @property
    def cut_card_comes_first(self) -> bool:
        """Whether the cut card will come in place of the next coup's first card."""
        return self.deck.cut_card_is_next and self._carried is None

    def can_have(self, fault: str) -> bool:
        """Return whether the next coup can have this fault.

        A shoe's last coup cannot, nor a dummy coup, which has no wagers; and a face too many needs
        one of
        which no copy is left. Faults that come together are named `one+another`.
        """
        last = self.deck.cut_card_is_out or self.cut_card_comes_first
        names = set(fault.split(TOGETHER))
        return not (
            self._dummy_is_due
            or last
            or names & self.profile.unfit
            or ("short_disclosure" in names and self._device.disclosure == "immediate")
            or ("ninth_copy" in names and not self.deck.spent())
        )

    def new_shoe(self, shoe: str) -> tuple[list[ReportStep], BurnedCards]:
        """Begin a shoe: power-up, the exposed first card, the burn with its countdown."""
        number = self._load(shoe)
        self._whims = random.Random(f"{self._seed}/{number}/whims")
        noise = self._device.power_up_noise if self._whims.random() < _NOISE_CHANCE else b""
        burn = self.deck.burn()
        device = self._device
        steps = [
            ReportStep(pause=0.0, copies=device.power_up(), noise=noise),
            ReportStep(pause=_FIRST_CARD_S, copies=device.first_card(burn.first)),
        ]
        for index, card in enumerate(burn.burned, start=1):
            copies = device.burn_card(card, len(burn.burned) - index)
            steps.append(ReportStep(pause=_BURN_S, copies=copies))
        return [step for step in steps if step.copies or step.noise], burn

    def coup(
        self, fault: str | None = None, *, spare: str = ""
    ) -> tuple[list[Happening], PhysicalCoup]:
        """Deal the next coup.

        Args:
            fault: the fault to have, several as `one+another`. If that is impossible, the coup's
                `fault` is
                None.
            spare: the id of the shoe that takes over, should one have to.

        Raises:
            OurBug: the shoe is over, or none was begun.
        """
        if self.over:
            raise OurBug("a coup was asked of a shoe that is over")
        # The cut card came during the previous coup (this is the "one more"), or comes now in place
        # of the first card: this coup is the last either way (house rule 16).
        last = self.deck.cut_card_is_out or self.cut_card_comes_first
        shoe, number = self._shoe, self._coups + 1
        whims = random.Random(f"{self._seed}/{shoe_number(shoe)}/{number}/{fault}")
        names = fault.split(TOGETHER) if fault else []
        weaves = fault and self.can_have(fault) and COUP_FAULTS.keys() >= set(names)
        woven = fault if weaves else None
        script = self._script(woven, whims, spare)
        for name in _in_order(woven):
            COUP_FAULTS[name](script, whims)
        if script.cut_after is not None:
            self.deck.cut(self.deck.left + len(script.cards) - script.cut_after)
        self._carried = script.excess if script.carries else None
        self._dummy_is_due = script.carries and script.excess_seen
        self._errors = (*self._errors, *script.errors)
        self._coups += script.switched_after is None
        self.over = last
        return [self._rendered(act) for act in script.acts], PhysicalCoup(
            shoe=shoe,
            number=number,
            cards=tuple(fallen.card for fallen in script.cards),
            outcome=script.outcome,
            last=last,
            fault=woven,
            excess=script.excess,
            carried=script.carries,
            excess_seen=script.excess_seen,
            result_comes=script.result_comes,
        )

    def stacked_errors(self) -> list[ReportStep]:
        """Raise two errors, one after the other, and clear one of them."""
        device = self._device
        raised = [device.error_raised(code) for code in _STACKED]
        self._errors = (*self._errors, _STACKED[1])
        return _between([*raised, device.error_cleared(_STACKED[0])])

    def clear_errors(self) -> list[ReportStep]:
        """Clear all active errors at the device, as the dealer does."""
        errors, self._errors = self._errors, ()
        return _between(self._device.error_cleared(code) for code in errors)

    def two_power_ups(self) -> list[ReportStep]:
        """Power the device up twice in a row, between coups."""
        self._errors = ()
        return _between([self._device.power_up(), self._device.power_up()])

    def _load(self, shoe: str) -> str:
        """Load fresh cards and forget the old shoe; return the shoe's number in its day."""
        number = shoe_number(shoe)
        self._deck = Deck(shuffled(f"{self._seed}/{number}", self._decks), cut_card=self._cut_card)
        self._shoe, self._coups, self.over = shoe, 0, False
        self._carried, self._dummy_is_due, self._errors = None, False, ()
        return number

    def _script(self, fault: str | None, whims: random.Random, spare: str) -> Script:
        carried = self._carried is not None
        names = _in_order(fault)
        gives_result = self._device.gives_result
        stops = [stops_after(name, whims, gives_result=gives_result) for name in names]
        switches = [switches_after(name, whims) for name in names]
        stop = next(filter(None, stops), None)
        switch = next(filter(None, switches), None)
        fallen = self._deal(stop, switch, spare)
        cards = [each.card for each in fallen]
        script = Script(
            fallen,
            outcome(cards) if stop is None else None,
            device=self._device,
            carried=carried,
            standby=self._whims.random() < _STANDBY_CHANCE,
            spent=self.deck.spent() if "ninth_copy" in names else (),
            draw=self.deck.draw,
        )
        script.switched_after = switch
        return script

    def _deal(self, stop: int | None, switch: int | None, spare: str) -> list[FallenCard]:
        fallen: list[FallenCard] = []
        while (place := next_place([each.card for each in fallen])) is not None:
            if len(fallen) == stop:
                break
            if len(fallen) == switch:
                self._load(spare)
            card, self._carried = self._carried or self.deck.draw(), None
            fallen.append(FallenCard(place, card))
        return fallen

    def _rendered(self, act: Act) -> Happening:
        if not isinstance(act, SendReport):
            return act
        copies = act.report(self._device)
        if act.contradicts is not None:
            copies = self._device.contradicted(copies, *act.contradicts)
        linked = self.profile.linked
        if not linked:
            arriving = (act.wire.arrives(number, copy) for number, copy in enumerate(copies))
            copies = tuple(filter(None, arriving))
        return ReportStep(
            pause=act.pause,
            copies=copies,
            noise=act.noise,
            deciding=act.deciding,
            falls=act.falls,
            wire=act.wire if linked else GOOD,
            byte_wise=act.byte_wise,
            broken=act.broken,
            late_s=act.late_s,
        )


def _between(reports: Iterable[Copies]) -> list[ReportStep]:
    return [ReportStep(pause=_BETWEEN_S, copies=copies) for copies in reports if copies]


def _in_order(fault: str | None) -> list[str]:
    """Return the faults with those of the device first, because the line damages their reports."""
    return sorted(fault.split(TOGETHER), key=list(COUP_FAULTS).index) if fault else []
