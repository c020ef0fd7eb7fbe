"""The people at the table: a dealer, the patrons' wagers, and a supervisor who resolves held coups.

Rounds follow the dealer's work and not the core's: shoe, betting, wagers, no more bets, cards, and
then the wait for the table's decision. If the table holds a coup, the supervisor
(`simulators.people.supervisor`) voids it or, in a game with faults, corrects it; the tally counts
both. Shoe and coup determine all transaction ids, so a request may safely be repeated.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from events.commands import (
    Answer,
    CloseBetting,
    CollectCommission,
    Command,
    FreeHand,
    OpenBetting,
    PlaceWager,
    WithdrawWager,
)
from events.mqtt.bus import BusSettings
from events.mqtt.request_client import USUAL_RETRY, Retry
from events.mqtt.topics import Topics
from simulators.device.script import DealerCall
from simulators.faults.registry import OF_PEOPLE, FaultPlan
from simulators.people import patrons
from simulators.people.console import (
    COMMISSION_OUTSTANDING,
    DUMMY_DUE,
    PASSING,
    Console,
    RequestRefused,
    refused,
)
from simulators.people.shoe_changes import DEALER, ShoeChanges
from simulators.people.supervisor import (
    SUPERVISOR,
    GameTally,
    OnTheTable,
    Supervisor,
    in_error,
    is_undealt,
    needs_a_person,
)
from simulators.people.view import OVER, STALLED, TableSeen, TableView
from simulators.shoe.player import DealtCoup, ShoeSimulator
from table_core.rulebooks.shipped import load_rulebook
from table_core.rules.rulebook import Rulebook

__all__ = ["Croupier", "Game", "PlayedCoup"]

_WAGERS: Final = "wagers"
_USUAL_RULEBOOK: Final = "au-commission"

# Seconds at speed 1.
_BETTING_S: Final = 10.0
_BETWEEN_COUPS_S: Final = 4.0

# Seconds at any speed.
_RETRY_S: Final = 0.2  # between two tries to open betting while something blocks it
_ERROR_SEEN_S: Final = 5.0  # for the table to receive an error; then play goes on anyway

# Checks of a screen on which a dealt coup has no card: no reader of the line was there.
_RECEIVED_WITHIN: Final = 4


class Game(Struct, frozen=True, kw_only=True):
    """The game at a table.

    Args:
        rulebook: as on the table's sign; it says how many decks a shoe has.
        faults: the fault plan; None for a game without planned faults.
        repairs: a person corrects faults; else every held coup is voided.
        patience_s: how long people wait for the table to see what they see, in a game with faults.
        quiet_s: time without an event before a person steps in.
        restart_driver: kills the shoe's driver and starts it again, if that is possible.
    """

    rulebook: Rulebook = field(default_factory=lambda: load_rulebook(_USUAL_RULEBOOK))
    faults: FaultPlan | None = None
    repairs: bool = True
    patience_s: float = 2.0
    quiet_s: float = 0.6
    restart_driver: Callable[[], Awaitable[None]] | None = None


class PlayedCoup(Struct, frozen=True, kw_only=True):
    """A coup that is over.

    Args:
        coup: its id, as the table numbers it.
        phase: `settled`, `voided`, or `overtaken` where the table had gone on before we looked.
        dealt: the coup as it physically happened.
        fault: the planned fault, if any.
        by_hand: a person had to correct it.
    """

    coup: str
    phase: str
    dealt: DealtCoup
    fault: str | None = None
    by_hand: bool = False


class Croupier:
    """Plays coups at a table.

    Args:
        settings: the broker, and a login that may send requests as dealer, wagers and supervisor.
        topics: the table.
        shoe: the physical shoe.
        seed: of the patrons' wagers.
        game: the game at the table.
        speed: 1 is a live table's pace, 0 as fast as possible.
        on_coup: called with every coup that is over; must not wait.
        retry: when a request is sent again.
    """

    def __init__(
        self,
        settings: BusSettings,
        topics: Topics,
        shoe: ShoeSimulator,
        *,
        seed: int,
        game: Game | None = None,
        speed: float = 1.0,
        on_coup: Callable[[PlayedCoup], None] | None = None,
        retry: Retry = USUAL_RETRY,
    ) -> None:
        self.tally = GameTally()
        self.view = TableView()
        self._shoe = shoe
        self._seed = seed
        game = game or Game()
        self._rulebook, self._faults = game.rulebook, game.faults
        self._patience_s, self._quiet_s = game.patience_s, game.quiet_s
        self._repairs = game.repairs and game.faults is not None
        self._restart_driver = game.restart_driver
        self._speed = speed
        self._on_coup = on_coup
        self._console = Console(
            settings,
            topics,
            (DEALER, _WAGERS, SUPERVISOR),
            subscriptions={topics.state: self.view.on_state},
            retry=retry,
        )
        self._supervisor = Supervisor(
            self._console,
            self.view,
            self.tally,
            repairs=self._repairs,
            patience_s=game.patience_s,
            quiet_s=game.quiet_s,
        )
        self._shoes = ShoeChanges(
            self._console, self.view, self.tally, self._supervisor, shoe, decks=game.rulebook.decks
        )

    @property
    def resent(self) -> int:
        """Requests that had to be sent more than once."""
        return self._console.resent

    async def run(self) -> None:
        """Keep the connection open until cancelled."""
        await self._console.run()

    async def play(self, coups: int | None = None) -> GameTally:
        """Play so many coups, or without end; `run` must run meanwhile.

        Raises:
            RequestRefused: the table refuses the dealer's work.
        """
        if not self._shoes.id:
            await self._shoes.clear_earlier_session()
        while coups is None or self.tally.coups < coups:
            if self._shoe.over:
                await self._shoes.change()
            await self._play_one()
            await self._pause(_BETWEEN_COUPS_S)
        return self.tally

    async def _play_one(self) -> None:
        self._shoes.number += 1
        round_id = f"{self._shoes.id}-{self._shoes.number}"
        fault, done = self._fault(), self.tally.done.total()
        coup, wagerless = await self._open(round_id, fault)
        if fault == "two_power_ups":
            await self._power_up_twice()
        if not wagerless:
            await self._take_wagers(round_id, fault)
        if self._shoe.cut_card_comes_first:
            await self._shoes.report_cut_card("first_card")
        dealt = await self._shoe.deal_coup(fault, call=lambda call: self._come(call, coup))
        table = OnTheTable.of(self._shoe, result_comes=dealt.result_comes)
        phase = await self._conclude(coup, table)
        # A cut card that came in the middle of a coup is reported after it, when the hands are free
        # again.
        if self._shoe.cut_card_is_out:
            await self._shoes.report_cut_card("between")
        by_hand = self.tally.done.total() > done
        self._count(PlayedCoup(coup=coup, phase=phase, dealt=dealt, fault=fault, by_hand=by_hand))
        if self._faults is not None:
            await self._supervisor.handle_alarms()

    def _fault(self) -> str | None:
        """Return the fault for the next coup, if it may have one."""
        if self._faults is None:
            return None
        return self._faults.due(self.tally.coups + 1, self._can_have)

    def _can_have(self, fault: str) -> bool:
        by_driver = fault.startswith("driver_") and self._restart_driver is None
        return not by_driver and self._shoe.can_have(fault)

    def _count(self, coup: PlayedCoup) -> None:
        if coup.fault not in OF_PEOPLE:  # the shoe may not have been able to have the planned fault
            coup = replace(coup, fault=coup.dealt.fault)
        if coup.fault and self._faults is not None:
            self._faults.done(coup.fault)
            self.tally.faults[coup.fault] += 1
        self.tally.coups += 1
        self.tally.settled += coup.phase == "settled"
        self.tally.voided += coup.phase == "voided"
        if self._on_coup is not None:
            self._on_coup(coup)

    async def _come(self, call: DealerCall, coup: str) -> None:
        """Act as the person whom the dealer calls in the middle of a coup."""
        match call:
            case DealerCall.LOOK if self._repairs:
                await self._supervisor.look(coup, OnTheTable.of(self._shoe))
            case DealerCall.VOID:
                await self._seen_on_the_screen(coup)
                await self._supervisor.void(coup, "it was broken off at the shoe", "broken_off")
            case DealerCall.CUT_CARD:
                await self._shoes.report_cut_card("mid_coup")
            case DealerCall.REPLACE | DealerCall.CONTINUE:
                await self._seen_on_the_screen(coup)
                await self._shoes.replace(goes_on=call is DealerCall.CONTINUE)
            case DealerCall.RESTART if self._restart_driver is not None:
                await self._restart_driver()
            case _:
                pass

    async def _seen_on_the_screen(self, coup: str) -> None:
        """Wait until the screen shows the cards: later the next coup would get them."""
        await self._supervisor.agreed(coup, OnTheTable.of(self._shoe))
        await self.view.quiet(self._quiet_s)

    async def _open(self, round_id: str, fault: str | None) -> tuple[str, bool]:
        """Begin a coup; return its id, and whether it has no wagers."""
        if fault == "stacked_errors":
            await self._shoe.stacked_errors()
            await self.view.within(in_error, _ERROR_SEEN_S)
        opening: Command = OpenBetting(transaction=f"o-{round_id}")
        free = FreeHand(transaction=f"f-{round_id}")
        if fault == "free_hand":
            opening = free
        while True:
            answer = await self._console.request(DEALER, opening)
            if not refused(answer):
                seen = await self.view.reached(answer.position)
                if seen.coup is None:
                    raise RequestRefused("betting was opened, but the table shows no coup")
                return seen.coup.id, opening is free
            code = answer.code or ""
            self.tally.refused[code] += 1
            if code == DUMMY_DUE:
                opening = free
            elif code == COMMISSION_OUTSTANDING:
                paid = CollectCommission(transaction=f"m-{round_id}")
                await self._console.must(DEALER, paid)
            elif code in PASSING:
                await self._clear_the_way(code)
            else:
                raise RequestRefused(f"betting does not open: {code}: {answer.text}")

    async def _power_up_twice(self) -> None:
        """Power the device up twice; betting stays open until the table has received it."""
        opened = await self.view.until(lambda _: True)
        await self._shoe.two_power_ups()
        both = opened.position + 2
        await self.view.within(lambda seen: seen.position >= both, _ERROR_SEEN_S)

    async def _clear_the_way(self, code: str) -> None:
        """Remove what blocks betting: an abandoned coup, an error at the device, or time."""
        if code == "shoe_error":
            await self._shoe.clear_errors()
            if await self.view.within(lambda seen: not in_error(seen), self._patience_s) is None:
                await self._supervisor.end_errors()  # the line lost its end
        seen = await self.view.quiet(self._quiet_s)
        if seen.coup and seen.coup.phase not in OVER:
            await self._supervisor.resolve(seen.coup.id, OnTheTable(lying=()), left_behind=True)
        if seen.link.state == STALLED:
            await self._supervisor.end_wait_for_device()
        await asyncio.sleep(_RETRY_S)

    async def _take_wagers(self, round_id: str, fault: str | None) -> None:
        await self._pause(_BETTING_S)
        asked = patrons.wagers(self._seed, self._shoes.id, self._shoes.number, self._rulebook)
        answers = await asyncio.gather(*(self._wager(command) for command in asked))
        taken = [
            command for command, answer in zip(asked, answers, strict=True) if not refused(answer)
        ]
        if fault == "withdrawn_wager" and taken:
            # Withdraw the first of a seat's wagers: the others may need it, and then go with it.
            first = f"{_WAGERS}/{taken[-1].transaction}/0"
            back = WithdrawWager(transaction=f"b-{round_id}", wagers=(first,))
            await self._console.must(_WAGERS, back)
            self.tally.done["withdraw_wager"] += 1
        await self._console.must(DEALER, CloseBetting(transaction=f"c-{round_id}"))
        if fault == "late_wager" and asked:
            await self._wager(PlaceWager(transaction=f"late-{round_id}", wagers=asked[0].wagers))

    async def _wager(self, command: PlaceWager) -> Answer:
        answer = await self._console.request(_WAGERS, command)
        if refused(answer):
            self.tally.refused[answer.code or ""] += 1
        else:
            self.tally.wagers += 1
        return answer

    async def _conclude(self, coup: str, table: OnTheTable) -> str:
        """Wait until the coup is over, with the supervisor's help; return its last phase."""
        looks = 0
        while True:
            looks += 1
            seen = await self._until_somebody_is_needed(coup)
            if seen is not None and (seen.coup is None or seen.coup.id != coup):
                return "overtaken"
            if seen is not None and seen.coup is not None and seen.coup.phase in OVER:
                return seen.coup.phase
            if seen is None and not self._repairs:
                await self._supervisor.void(coup, "it does not go on", "undecided")
            elif seen is None and looks > _RECEIVED_WITHIN and is_undealt(self.view.seen, coup):
                await self._supervisor.void(coup, "none of its cards was heard of", "unheard")
            else:
                await self._supervisor.resolve(coup, table)

    async def _until_somebody_is_needed(self, coup: str) -> TableSeen | None:
        """Wait until a person is needed; None where a game with faults has waited long enough."""
        if self._faults is None:
            return await self.view.until(lambda seen: needs_a_person(seen, coup))
        return await self.view.within(lambda seen: needs_a_person(seen, coup), self._patience_s)

    async def _pause(self, seconds: float) -> None:
        if self._speed:
            await asyncio.sleep(seconds / self._speed)
