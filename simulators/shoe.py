"""The shoe on its line: the happenings of `simulators.dealing`, played at a chosen speed."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from msgspec import Struct

from events.cards import Card
from simulators.dealer import Outcome
from simulators.dealing import DealingShoe, Happening, Step, next_shoe_id
from simulators.deck import Burn
from simulators.line import make_line
from simulators.pty_port import PtyPort
from simulators.script import Call, Fallen, Plug

__all__ = ["DealtCoup", "NewShoe", "ShoeSimulator"]

_HAND_S: Final = 0.1  # a hand takes a moment to pull a plug; what was said before has been read
_READER_BACK_S: Final = 10.0  # for the driver to open the line again; then play goes on anyway
_STALL_S: Final = 0.3  # longer than copies of a report can be apart
_BUSY_S: Final = 0.5  # another program has the port: the driver tries it meanwhile
_SILENCE_S: Final = 61.0  # longer than any profile as shipped takes for life


class NewShoe(Struct, frozen=True, kw_only=True):
    """A shoe was begun: its id, its burn, and how many reports the device made of it."""

    shoe: str
    burn: Burn
    reports: int


class DealtCoup(Struct, frozen=True, kw_only=True):
    """A coup that lies on the table, and when the device had said so.

    Args:
        shoe: the shoe's id.
        number: 1, 2, 3... within the shoe, as the dealer counts.
        cards: of the two hands, in dealing order.
        outcome: as the dealer calls it; None where the coup was broken off.
        last: the shoe is over after it.
        decided_ns: `time.monotonic_ns()` as the last byte of the deciding report's first copy
            was handed to the line; the settlement's latency counts from here.
        fault: what went wrong with it, if anything.
        excess: a card too many that left the shoe.
        carried: it is the next coup's first card.
        result_comes: the device says how the coup came out.
    """

    shoe: str
    number: int
    cards: tuple[Card, ...]
    outcome: Outcome | None
    last: bool
    decided_ns: int
    fault: str | None = None
    excess: Card | None = None
    carried: bool = False
    result_comes: bool = True


async def _nobody_comes(_: Call) -> None:
    """The dealer calls, and deals on."""


def _nobody_listens(_: Happening) -> None:
    """What happens is not noted."""


class ShoeSimulator:
    """A dealing shoe and its port. `next_shoe` is the id that the next shoe will have.

    Args:
        port: where the bytes go.
        dealing: what the shoe does.
        first_shoe: id of the first shoe, `YYYYMMDD-NN`; the following ones count on. With the
            seed it fixes the cards.
        speed: 1 is a live table's pace, 2 twice as fast, 0 as fast as the line takes it.
        silence_s: how long a device is silent that falls silent.
        told: called with every step as it begins, and with what is done to the cable.

    Attributes:
        lying: the cards of the coup in progress, as they lie on the table.
        excess_is_seen: a card too many of this coup is shown to the table.
    """

    def __init__(
        self,
        port: PtyPort,
        dealing: DealingShoe,
        *,
        first_shoe: str,
        speed: float = 1.0,
        silence_s: float = _SILENCE_S,
        told: Callable[[Happening], None] = _nobody_listens,
    ) -> None:
        self.port = port
        self._line = make_line(dealing.profile, port)
        self._link = port.link
        self._silence_s = silence_s
        self._told = told
        self.lying: list[Fallen] = []
        self.excess_is_seen = False
        self._dealing = dealing
        self.next_shoe = first_shoe
        self._speed = speed

    async def run(self) -> None:
        """Do what the device does by itself (resends, beats), until cancelled."""
        await self._line.run()

    @property
    def over(self) -> bool:
        """A new shoe is needed before the next coup."""
        return self._dealing.over

    def can_have(self, fault: str) -> bool:
        """Whether this may go wrong with the next coup."""
        return self._dealing.can_have(fault)

    @property
    def cut_card_comes_first(self) -> bool:
        """The cut card will come in place of the next coup's first card."""
        return self._dealing.cut_card_comes_first

    @property
    def cut_card_is_out(self) -> bool:
        """The cut card has come."""
        return self._dealing.deck.cut_card_is_out

    def take_next_id(self) -> str:
        """The id of the shoe that comes now; the next one counts on."""
        shoe = self.next_shoe
        self.next_shoe = next_shoe_id(shoe)
        return shoe

    async def new_shoe(self) -> NewShoe:
        """Power up with a freshly shuffled shoe, expose its first card and burn."""
        shoe = self.take_next_id()
        steps, burn = self._dealing.new_shoe(shoe)
        await self._play(steps)
        # Noise is told too, as what was rejected.
        reports = len(steps) + sum(bool(step.noise) for step in steps)
        return NewShoe(shoe=shoe, burn=burn, reports=reports)

    async def deal_coup(
        self,
        fault: str | None = None,
        *,
        call: Callable[[Call], Awaitable[None]] = _nobody_comes,
    ) -> DealtCoup:
        """Deal one coup to its result, or as far as it comes.

        Args:
            fault: what is to go wrong with it.
            call: comes when the dealer calls; the dealer waits meanwhile.

        Raises:
            OurBug: the shoe is over.
        """
        happenings, coup = self._dealing.coup(fault, spare=self.next_shoe)
        self.lying = []
        self.excess_is_seen = coup.excess_seen
        decided_ns = await self._play(happenings, call)
        return DealtCoup(
            shoe=coup.shoe,
            number=coup.number,
            cards=coup.cards,
            outcome=coup.outcome,
            last=coup.last,
            decided_ns=decided_ns,
            fault=coup.fault,
            excess=coup.excess,
            carried=coup.carried,
            result_comes=coup.result_comes,
        )

    async def stacked_errors(self) -> None:
        """Two errors come to stand, and one of them is cleared."""
        await self._play(self._dealing.stacked_errors())

    async def clear_errors(self) -> None:
        """The dealer clears at the device whatever stands."""
        await self._play(self._dealing.clear_errors())

    async def two_power_ups(self) -> None:
        """The device powers up twice in a row, between coups."""
        await self._play(self._dealing.two_power_ups())

    async def _play(
        self,
        happenings: Iterable[Happening],
        call: Callable[[Call], Awaitable[None]] = _nobody_comes,
    ) -> int:
        decided_ns = 0
        for happening in happenings:
            self._told(happening)
            if isinstance(happening, Call):
                await self._call(happening, call)
            elif isinstance(happening, Plug):
                await self._plug(happening)
            else:
                handed_over = await self._say(happening, call)
                decided_ns = handed_over if happening.deciding else decided_ns
        return decided_ns

    async def _call(self, what: Call, call: Callable[[Call], Awaitable[None]]) -> None:
        if what is Call.RESTART:
            await asyncio.sleep(_HAND_S)
        await call(what)
        if what is Call.RESTART:
            await self.port.reader(_READER_BACK_S)

    async def _plug(self, what: Plug) -> None:
        match what:
            case Plug.OUT:
                await asyncio.sleep(_HAND_S)
                self.port.unplug()
            case Plug.STALL:
                self.port.hold()
            case Plug.SILENCE:
                await asyncio.sleep(self._silence_s)
            case Plug.FLOW:
                await asyncio.sleep(_STALL_S)
                await self.port.release()
            case Plug.THIEF:
                self.port.steal()
            case Plug.NO_THIEF:
                self.port.leave()
            case _:
                await self._put_back(what)

    async def _put_back(self, what: Plug) -> None:
        """The cable goes in again, and the driver opens the port."""
        unheard = self.port.unheard
        elsewhere = what is Plug.IN_ELSEWHERE and self.port.link == self._link
        self.port.plug_in(self._link.with_name(f"{self._link.name}-2") if elsewhere else self._link)
        if what is Plug.IN_BUSY:
            self.port.occupy()
            await asyncio.sleep(_BUSY_S)
            self.port.leave()
        await self.port.reader(_READER_BACK_S)
        if what is Plug.IN_STALE:
            await self.port.write(unheard)

    async def _say(self, step: Step, call: Callable[[Call], Awaitable[None]]) -> int:
        """Returns when the last byte of its first sending was handed over."""
        if self._speed and step.pause:
            await asyncio.sleep(step.pause / self._speed)
        if step.falls is not None:
            self.lying.append(step.falls)
        return await self._line.say(step, lambda: self._call(Call.RESTART, call))
