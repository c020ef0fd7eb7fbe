"""A shoe that deals by itself to a reader that is not ours, and reports what really happened."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Final, TypeAlias

from simulators.device.printed_rules import next_place
from simulators.device.pty_port import INSTANT, Pace, PtyPort
from simulators.device.reports import Disclosure
from simulators.device.script import CableFault, DealerCall, FallenCard
from simulators.faults.registry import SPAN, FaultPlan
from simulators.shoe.dealing import DealingShoe, Happening, ReportStep
from simulators.shoe.player import DealtCoup, ShoeSimulator

__all__ = ["FIRST_SHOE", "ShoeRecord", "StandaloneShoe"]

ShoeRecord: TypeAlias = dict[str, object]
"""A real happening, as a flat document. Its `what` is one of

    waiting      link, profile, seed: nobody has opened the port yet
    shoe         shoe, first, burned: a new shoe is in the device
    card         shoe, coup, hand, number, face: a card fell, whatever the device reported of it
    cable        shoe, coup, is: something was done to the line
    cut_card     shoe, coup: the cut card came out
    coup         shoe, coup, player, banker, winner (null where it was broken off), fault, excess
    end          coups, lost_bytes: those that were sent while nobody had the port open
"""

FIRST_SHOE: Final = "20260101-01"
"""A seed gives the same cards on every day."""

_BETWEEN_COUPS_S: Final = 10.0
_HOUR_S: Final = 3600.0
_OPENED_S: Final = 0.5  # a reader discards at opening the bytes that waited in the port
_GONE_S: Final = 15.0  # for a reader to take the last bytes, however busy its machine is


class StandaloneShoe:
    """A shoe that deals by itself once a reader has opened the port.

    Args:
        link: the path where the reader finds the port.
        profile: the wire profile of the device.
        disclosure: when it reports the faces.
        seed: of cards, random choices and faults.
        speed: 1 is a live table's pace, 0 as fast as the line takes it.
        faults: the planned faults, by name.
        tell: called with everything as it happens.
        cue: awaited before each card and before the result; None deals by itself.

    Raises:
        InputError: the device does not support that profile, or not with that disclosure.
    """

    def __init__(
        self,
        link: Path,
        *,
        profile: str,
        disclosure: Disclosure,
        seed: int,
        speed: float,
        faults: Iterable[str],
        tell: Callable[[ShoeRecord], None],
        cue: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._dealing = DealingShoe(seed=seed, disclosure=disclosure, profile=profile)
        pace = Pace.at_baud(self._dealing.profile.baud) if speed else INSTANT
        self._port = PtyPort(link, pace=pace)
        self._shoe = ShoeSimulator(
            self._port,
            self._dealing,
            first_shoe=FIRST_SHOE,
            speed=speed,
            told=self._on_step,
            cue=cue,
        )
        self._seed, self._speed = seed, speed
        self._faults = tuple(faults)
        self._waits = cue is not None
        self._tell = tell
        self._id, self._number, self._fallen = "", 0, 0

    async def run(self, coups: int | None = None) -> None:
        """Deal so many coups, or until cancelled; the port is offered meanwhile.

        Raises:
            LinkError: the port cannot be offered there.
        """
        self._port.plug_in()
        device = asyncio.ensure_future(self._shoe.run())
        dealt = 0
        try:
            form = self._dealing.profile.id
            self._tell(
                {
                    "what": "waiting",
                    "link": str(self._port.link),
                    "profile": form,
                    "seed": self._seed,
                }
            )
            while not await self._port.reader(_HOUR_S):
                pass
            await asyncio.sleep(_OPENED_S)
            plan = FaultPlan(self._seed, self._faults, span=_span(coups))
            while coups is None or dealt < coups:
                await self._deal_one(plan, dealt + 1)
                dealt += 1
            await self._port.drain(_GONE_S)
        finally:
            device.cancel()
            self._port.unplug()
            self._tell({"what": "end", "coups": dealt, "lost_bytes": self._port.lost_bytes})

    async def _deal_one(self, plan: FaultPlan, ordinal: int) -> None:
        if self._shoe.over:
            await self._begin()
        await self._shoe.clear_errors()
        self._number += 1
        fault = plan.due(ordinal, self._shoe.can_have)
        dealt = await self._shoe.deal_coup(fault)
        if fault:
            plan.done(fault)
        self._tell(_coup(dealt))
        if self._speed and not self._waits:
            await asyncio.sleep(_BETWEEN_COUPS_S / self._speed)

    async def _begin(self) -> None:
        self._id, self._number = self._shoe.next_shoe, 0
        new = await self._shoe.new_shoe()
        burned = [card.value for card in new.burn.burned]
        self._tell(
            {"what": "shoe", "shoe": new.shoe, "first": new.burn.first.value, "burned": burned}
        )

    def _on_step(self, happening: Happening) -> None:
        where: ShoeRecord = {"shoe": self._id, "coup": self._number}
        if isinstance(happening, ReportStep) and happening.falls is not None:
            self._tell({"what": "card", **where, **_card(happening.falls)})
        elif isinstance(happening, CableFault):
            self._tell({"what": "cable", **where, "is": happening.value})
        elif happening is DealerCall.CUT_CARD:
            self._tell({"what": "cut_card", **where})


def _span(coups: int | None) -> int:
    return min(SPAN, coups or SPAN)


def _card(fallen: FallenCard) -> ShoeRecord:
    return {
        "hand": fallen.place.hand.value,
        "number": fallen.place.number,
        "face": fallen.card.value,
    }


def _coup(dealt: DealtCoup) -> ShoeRecord:
    hands: dict[str, list[str]] = {"player": [], "banker": []}
    for number, card in enumerate(dealt.cards):
        place = next_place(dealt.cards[:number])
        assert place is not None  # noqa: S101 - it fell
        hands[place.hand.value].append(card.value)
    said: ShoeRecord = {"what": "coup", "shoe": dealt.shoe, "coup": dealt.number, **hands}
    said["winner"] = dealt.outcome.winner.value if dealt.outcome else None
    if dealt.fault:
        said["fault"] = dealt.fault
    if dealt.excess:
        said |= {"excess": dealt.excess.value, "carried": dealt.carried}
    return said
