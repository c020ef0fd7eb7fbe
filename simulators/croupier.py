"""The people at the table: a dealer, the patrons' wagers, and a supervisor who clears the way.

Rounds follow the dealer's work and not the core's: shoe, betting, wagers, no more bets, cards, and
then the wait for what the table makes of it. Where the table holds a coup the supervisor voids it
(or confirms it, where only the device's result is missing), so that play goes on; the tally says
how often. All transaction ids follow from shoe and coup, so a request may be sent again safely.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Final

from msgspec import Struct, field

from events.bus import BusSettings
from events.commands import (
    Answer,
    CloseBetting,
    Command,
    ConfirmResult,
    CutCard,
    EndShoe,
    LoadShoe,
    OpenBetting,
    ResolveIrregularity,
    VoidCoup,
)
from events.errors import TableError
from events.shoe_life import CutPlace
from events.topics import Topics
from simulators import patrons
from simulators.console import Console, Waits, refused
from simulators.dealing import next_shoe_id
from simulators.shoe import DealtCoup, ShoeSimulator
from simulators.view import OVER, CoupSeen, TableSeen, TableView

__all__ = ["Croupier", "CroupierRefused", "PlayedCoup", "Tally"]

_DEALER: Final = "dealer"
_WAGERS: Final = "wagers"
_SUPERVISOR: Final = "supervisor"

# Seconds at speed 1.
_BETTING_S: Final = 10.0
_BETWEEN_COUPS_S: Final = 4.0

# Seconds at any speed.
_ASK_AGAIN_S: Final = 0.2  # between two tries to open betting while something stands in the way
_QUIET_S: Final = 0.25  # a supervisor acts when nothing has happened for so long
_NEW_SHOE_SEEN_S: Final = 5.0  # for the table to hear a new shoe's burn; then play goes on anyway

_PLAYABLE: Final = frozenset({"open", "up"})
_HELD: Final = frozenset({"misaligned", "disputed", "held"})
# Reasons to wait and ask again; every other refusal of `open_betting` ends the play.
_PASSING: Final = frozenset(
    {"coup_in_progress", "link_down", "shoe_error", "shoe_locked", "log_unwritable"}
)


class CroupierRefused(TableError):  # noqa: N818 - named for what happened
    """The table refused what the dealer's work needs, for a reason that does not pass."""


class PlayedCoup(Struct, frozen=True, kw_only=True):
    """A coup that is over.

    Args:
        coup: its id, as the table numbers it.
        phase: `settled`, `voided`, or `overtaken` where the table had gone on before we looked.
        dealt: what physically happened.
    """

    coup: str
    phase: str
    dealt: DealtCoup


class Tally(Struct, kw_only=True):
    """What has been played.

    Args:
        coups: all that were opened and are over; those overtaken are in neither of the next two.
        settled: of these.
        voided: of these.
        shoes: begun.
        wagers: commands of patrons that were accepted.
        refused: wagers and openings of betting that were refused, by code.
        resolved: what the supervisor did, by the reason.
    """

    coups: int = 0
    settled: int = 0
    voided: int = 0
    shoes: int = 0
    wagers: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    resolved: Counter[str] = field(default_factory=Counter)


class Croupier:
    """Plays coups at a table.

    Args:
        settings: the broker, and a login that may ask as dealer, wagers and supervisor.
        topics: the table.
        shoe: the physical shoe.
        seed: of the patrons' wagers.
        decks: in the shoe.
        speed: 1 is a live table's pace, 0 as fast as it goes.
        on_coup: told of every coup that is over; must not wait.
        waits: how patient the requests are.
    """

    def __init__(
        self,
        settings: BusSettings,
        topics: Topics,
        shoe: ShoeSimulator,
        *,
        seed: int,
        decks: int = 8,
        speed: float = 1.0,
        on_coup: Callable[[PlayedCoup], None] | None = None,
        waits: Waits | None = None,
    ) -> None:
        self.tally = Tally()
        self.view = TableView()
        self._shoe = shoe
        self._seed = seed
        self._decks = decks
        self._speed = speed
        self._on_coup = on_coup
        self._shoe_id = ""
        self._number = 0
        self._console = Console(
            settings,
            topics,
            (_DEALER, _WAGERS, _SUPERVISOR),
            subscriptions={topics.state: self.view.on_state},
            waits=waits,
        )

    @property
    def resent(self) -> int:
        """Requests that had to be sent more than once."""
        return self._console.resent

    async def run(self) -> None:
        """Hold the connection for ever, until cancelled."""
        await self._console.run()

    async def play(self, coups: int | None = None) -> Tally:
        """Play so many coups, or for ever; needs `run` beside it.

        Raises:
            CroupierRefused: the table will not let the dealer work.
        """
        if not self._shoe_id:
            await self._take_over()
        while coups is None or self.tally.coups < coups:
            if self._shoe.over:
                await self._change_shoe()
            await self._play_one()
            await self._pause(_BETWEEN_COUPS_S)
        return self.tally

    async def _take_over(self) -> None:
        """Clear away what an earlier session left: its coup, its shoe."""
        seen = await self.view.until(lambda _: True)
        if seen.coup and seen.coup.phase not in OVER:
            await self._resolve(seen.coup.id, left_behind=True)
        if seen.shoe is None:
            return
        if not seen.shoe.ended:
            await self._end_shoe(seen.shoe.id, "the next session brings its own shoe")
        if seen.shoe.id >= self._shoe.next_shoe:
            self._shoe.next_shoe = next_shoe_id(seen.shoe.id)

    async def _change_shoe(self) -> None:
        if self._shoe_id:
            await self._end_shoe(self._shoe_id, "cut card")
        await self.view.until(lambda seen: seen.link.state in _PLAYABLE)
        shoe = self._shoe.next_shoe
        load = LoadShoe(transaction=f"l-{shoe}", shoe=shoe, decks=self._decks)
        loaded = await self._must(_DEALER, load)
        new = await self._shoe.new_shoe()
        self._shoe_id, self._number = shoe, 0
        self.tally.shoes += 1
        # Betting waits until the table has heard of the power-up: after the close of betting one
        # would misalign the coup. Each report is at least one event of the log.
        heard = (loaded.position or 0) + new.reports
        await self.view.within(lambda seen: seen.position >= heard, _NEW_SHOE_SEEN_S)

    async def _end_shoe(self, shoe: str, reason: str) -> None:
        await self._must(_DEALER, EndShoe(transaction=f"e-{shoe}", reason=reason))

    async def _play_one(self) -> None:
        self._number += 1
        round_id = f"{self._shoe_id}-{self._number}"
        coup = await self._open_betting(f"o-{round_id}")
        await self._pause(_BETTING_S)
        await self._place_wagers()
        await self._must(_DEALER, CloseBetting(transaction=f"c-{round_id}"))
        came_first, was_out = self._shoe.cut_card_is_next, self._shoe.cut_card_is_out
        if came_first:
            await self._report_cut_card("first_card")
        dealt = await self._shoe.deal_coup()
        phase = await self._conclude(coup)
        # One that came in mid-coup is reported when the hands are free again: behind the coup.
        if not was_out and self._shoe.cut_card_is_out and not self._shoe.cut_card_is_next:
            await self._report_cut_card("between")
        self.tally.coups += 1
        self.tally.settled += phase == "settled"
        self.tally.voided += phase == "voided"
        if self._on_coup is not None:
            self._on_coup(PlayedCoup(coup=coup, phase=phase, dealt=dealt))

    async def _report_cut_card(self, place: CutPlace) -> None:
        """The dealer's button: no report of this shoe tells of its cut card."""
        await self._must(_DEALER, CutCard(transaction=f"cut-{self._shoe_id}", place=place))

    async def _open_betting(self, transaction: str) -> str:
        """Open betting, clearing the way as often as it takes; returns the coup's id."""
        while True:
            answer = await self._console.request(_DEALER, OpenBetting(transaction=transaction))
            if not refused(answer):
                seen = await self.view.reached(answer.position)
                if seen.coup is None:
                    raise CroupierRefused("betting was opened, but the table shows no coup")
                return seen.coup.id
            code = answer.code or ""
            self.tally.refused[code] += 1
            if code not in _PASSING:
                raise CroupierRefused(f"betting does not open: {code}: {answer.text}")
            seen = await self.view.quiet(_QUIET_S)
            if seen.coup and seen.coup.phase not in OVER:
                await self._resolve(seen.coup.id, left_behind=True)
            await asyncio.sleep(_ASK_AGAIN_S)

    async def _place_wagers(self) -> None:
        asked = patrons.wagers(self._seed, self._shoe_id, self._number)
        answers = await asyncio.gather(
            *(self._console.request(_WAGERS, command) for command in asked)
        )
        for answer in answers:
            if refused(answer):
                self.tally.refused[answer.code or ""] += 1
            else:
                self.tally.wagers += 1

    async def _conclude(self, coup: str) -> str:
        """Wait until the coup is over, with the supervisor's help; returns its last phase."""
        while True:
            seen = await self.view.until(lambda seen: _needs_somebody(seen, coup))
            if seen.coup is None or seen.coup.id != coup:
                return "overtaken"
            if seen.coup.phase in OVER:
                return seen.coup.phase
            await self._resolve(coup)

    async def _resolve(self, coup: str, *, left_behind: bool = False) -> None:
        """The supervisor looks at a coup that does not go on by itself, and decides."""
        seen = await self.view.quiet(_QUIET_S)
        standing = seen.coup
        if standing is None or standing.id != coup or standing.phase in OVER:
            return
        if not left_behind and not _needs_somebody(seen, coup):
            return
        command, why = _decision(seen, standing)
        answer = await self._console.request(_SUPERVISOR, command)
        if not refused(answer):
            self.tally.resolved[why] += 1
            await self.view.reached(answer.position)

    async def _must(self, user: str, command: Command) -> Answer:
        answer = await self._console.request(user, command)
        if refused(answer):
            name = type(command).__name__
            raise CroupierRefused(f"{name} {command.transaction}: {answer.code}: {answer.text}")
        return answer

    async def _pause(self, seconds: float) -> None:
        if self._speed:
            await asyncio.sleep(seconds / self._speed)


def _needs_somebody(seen: TableSeen, coup: str) -> bool:
    """The coup is over, or does not go on without a person."""
    standing = seen.coup
    if standing is None or standing.id != coup or standing.phase in OVER | _HELD:
        return True
    return seen.link.state == "stalled" or _result_overdue(seen, coup)


def _result_overdue(seen: TableSeen, coup: str) -> bool:
    return any(alarm.name == "result_overdue" and alarm.coup == coup for alarm in seen.alarms)


def _decision(seen: TableSeen, standing: CoupSeen) -> tuple[Command, str]:
    name = standing.id.replace("/", "-")
    if standing.phase == "complete" and _result_overdue(seen, standing.id):
        reason = "the cards lie on the table; the shoe's result did not come"
        return ConfirmResult(transaction=f"k-{name}", reason=reason), "result_overdue"
    if standing.phase == "held":
        reason = "it lies face down beside the table"
        resolve = ResolveIrregularity(
            transaction=f"x-{name}", kind="excess_card", seen=False, reason=reason
        )
        return resolve, "excess_card"
    why = standing.reason or standing.phase
    reason = f"{standing.phase}: {why}"
    return VoidCoup(transaction=f"v-{name}", reason=reason), why.partition(":")[0]
