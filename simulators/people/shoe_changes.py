"""The dealer's work with the shoe: load, end or replace one, and report its cut card."""

from functools import partial
from typing import Final, Protocol

from events.commands import Answer, CutCard, EndShoe, LoadShoe, ReplaceShoe
from events.types import CutPlace
from simulators.people.console import Console, refused
from simulators.people.supervisor import SUPERVISOR, GameTally, OnTheTable, Supervisor
from simulators.people.view import OVER, STALLED, TableSeen, TableView
from simulators.shoe.dealing import next_shoe_id
from simulators.shoe.shoe_in_hand import NewShoe

__all__ = ["DEALER", "ChangedShoe", "ShoeChanges"]

DEALER: Final = "dealer"

_RETRY_S: Final = 0.2  # for a newer document, while the broker still has an older one
_NEW_SHOE_SEEN_S: Final = 5.0  # for the table to receive a burn; then play goes on anyway


class ChangedShoe(Protocol):
    """The interface of a physical shoe for changes; see `simulators.shoe.player.ShoeSimulator`.

    Attributes:
        next_shoe: the id that the next shoe will have.
    """

    next_shoe: str

    def take_next_id(self) -> str:
        """Return the id of the shoe that comes now, and count on for the next one."""
        ...

    async def new_shoe(self) -> NewShoe:
        """Power up with a freshly shuffled shoe, expose its first card and burn."""
        ...


class ShoeChanges:
    """The shoe on the table, and its changes.

    Args:
        console: may send requests as dealer and supervisor.
        view: the screen.
        tally: counts them.
        supervisor: resolves abandoned coups.
        shoe: the physical shoe.
        decks: in each shoe.

    Attributes:
        id: of the shoe on the table; empty before the first.
        number: of its coups that have begun, as the dealer counts.
    """

    def __init__(
        self,
        console: Console,
        view: TableView,
        tally: GameTally,
        supervisor: Supervisor,
        shoe: ChangedShoe,
        *,
        decks: int,
    ) -> None:
        self.id = ""
        self.number = 0
        self._console = console
        self._view = view
        self._tally = tally
        self._supervisor = supervisor
        self._shoe = shoe
        self._decks = decks
        self._cut_card_reported = False

    async def clear_earlier_session(self) -> None:
        """Clear the coup and the shoe of an earlier session."""
        while True:
            seen = await self._view.until(lambda _: True)
            if seen.coup and seen.coup.phase not in OVER:
                await self._supervisor.resolve(seen.coup.id, OnTheTable(lying=()), left_behind=True)
            if seen.shoe is None:
                return
            if seen.shoe.ended or await self._left_shoe_ended(seen.shoe.id):
                break
            # The broker still had an older document: the table's own is on its way.
            await self._view.within(partial(_is_newer, seen), _RETRY_S)
        if seen.shoe.id >= self._shoe.next_shoe:
            self._shoe.next_shoe = next_shoe_id(seen.shoe.id)

    async def change(self) -> None:
        """End the shoe on the table, and begin the next.

        Raises:
            RequestRefused: the table refuses it.
        """
        if self.id:
            end = EndShoe(transaction=f"e-{self.id}", reason="cut card")
            await self._console.must(DEALER, end)
            await self._supervisor.handle_alarms()  # a held shoe is released
        while (await self._view.until(_is_held)).link.state == STALLED:
            await self._supervisor.end_wait_for_device()
        shoe = self._shoe.next_shoe
        load = LoadShoe(transaction=f"l-{shoe}", shoe=shoe, decks=self._decks)
        await self._begin(await self._console.once_paid(DEALER, load))

    async def replace(self, *, goes_on: bool) -> None:
        """Replace the shoe in the middle of a coup: with power-up and burn, or its cards alone.

        Args:
            goes_on: the coup in progress goes on from the new cards; else it is void.

        Raises:
            RequestRefused: the table refuses it.
        """
        shoe = self._shoe.next_shoe
        replace = ReplaceShoe(
            transaction=f"r-{shoe}",
            shoe=shoe,
            decks=self._decks,
            coup="continue" if goes_on else "void",
            reason="the shoe is jammed",
        )
        replaced = await self._console.once_paid(SUPERVISOR, replace)
        self._tally.done["replace_shoe"] += 1
        if goes_on:
            self._took_place(self._shoe.take_next_id())
        else:
            await self._begin(replaced)

    async def report_cut_card(self, place: CutPlace) -> None:
        """Press the dealer's button, once a shoe: this device does not report the cut card.

        Raises:
            RequestRefused: the table refuses it.
        """
        if self._cut_card_reported:
            return
        self._cut_card_reported = True
        await self._console.must(DEALER, CutCard(transaction=f"cut-{self.id}", place=place))

    async def _left_shoe_ended(self, shoe: str) -> bool:
        reason = "the next session brings its own shoe"
        end = EndShoe(transaction=f"e-{shoe}", reason=reason)
        return not refused(await self._console.request(DEALER, end))

    async def _begin(self, loaded: Answer) -> None:
        """Begin the shoe that the table has just loaded."""
        new = await self._shoe.new_shoe()
        self._took_place(new.shoe)
        # Wait with betting until the table has received the power-up: after the close of betting it
        # would misalign the coup. Each report is at least one event of the log.
        heard = (loaded.position or 0) + new.reports
        await self._view.within(lambda seen: seen.position >= heard, _NEW_SHOE_SEEN_S)

    def _took_place(self, shoe: str) -> None:
        self.id, self.number = shoe, 0
        self._cut_card_reported = False
        self._tally.shoes += 1


def _is_held(seen: TableSeen) -> bool:
    """Return whether the driver has the port open, whether or not the device speaks."""
    return seen.link.state != "down"


def _is_newer(than: TableSeen, seen: TableSeen) -> bool:
    return seen.position > than.position
