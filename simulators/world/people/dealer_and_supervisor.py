"""The people at the world's table: they play coups, make mistakes, and correct faults.

The supervisor and the changes of the shoe are those of the demo's table. The dealer plays as
`simulators.people.dealer_and_patrons` does, and makes people's mistakes at random: forgets to close
betting, wagers late, corrects a paid coup.
"""

from collections import deque
from collections.abc import Callable, Iterable
from itertools import count
from random import Random
from typing import Final, NamedTuple

from msgspec.structs import replace

from events.cards import Card, Hand
from events.commands import (
    CloseBetting,
    Command,
    CorrectHands,
    CorrectWager,
    FreeHand,
    OpenBetting,
    PlaceWager,
    VoidCoup,
    WagerRequest,
    WithdrawWager,
)
from simulators.device.script import DealerCall, FallenCard
from simulators.faults.registry import FaultPlan
from simulators.people import patrons
from simulators.people.console import DUMMY_DUE, PASSING, refused
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
from simulators.people.view import OVER, STALLED
from simulators.world.parts.shoe import WorldShoe
from simulators.world.parts.waiting import Waiting
from simulators.world.people.desk import WorldConsole, WorldView
from simulators.world.people.float_keeper import FloatKeeper
from table_core.rules.rulebook import Rulebook

__all__ = ["Staff", "StaffCoup"]

_WAGERS: Final = "wagers"
_QUIET_S: Final = 0.25
_PATIENCE_S: Final = 2.0
_ERROR_SEEN_S: Final = 5.0
_RETRY_US: Final = 200_000
_BETWEEN_US: Final = (0, 0, 0, 500_000, 1_500_000)
_SEATS: Final = (0, 1, 1, 2, 2, 3, 4)
_FORGETS_TO_CLOSE: Final = 0.1
_HASTY: Final = 0.1
_CORRECTS: Final = 0.05
_LOOKS_BACK: Final = 6  # coups, including those of the previous shoe
# Checks two seconds apart: by then messages that the bus lost have come again.
_RECEIVED_WITHIN: Final = 8
# A device whose last report was lost, and that is silent between coups, is switched off and on.
_OFF_AND_ON: Final = 5
_SHOE_OVER: Final = frozenset({"shoe_ended", "last_coup_played"})


class StaffCoup(NamedTuple):
    """A coup that is over, as the people saw it.

    Args:
        coup: its id.
        lying: the cards on the table.
        fault: the planned fault, or None.
        broken_off: it was never dealt to its end.
    """

    coup: str
    lying: tuple[FallenCard, ...]
    fault: str | None
    broken_off: bool


class Staff:
    """Everybody who works at the table.

    Args:
        desk: their console.
        view: their screen.
        waiting: lets them wait.
        shoe: the physical shoe.
        rulebook: the table's.
        seed: of the patrons' wagers.
        rng: decides what they do.
        plan: the fault plan.
        restart_driver: kills the shoe's driver and starts it again.
        over: called with every coup that is over.
        patience_s: how long people wait for what should come.
        quiet_s: time without an event before they do anything about it.

    Attributes:
        tally: counts of the session.
        floats: the keeper of the chips in the tray.
    """

    def __init__(  # noqa: PLR0913 - all that people stand among
        self,
        desk: WorldConsole,
        view: WorldView,
        waiting: Waiting,
        shoe: WorldShoe,
        rulebook: Rulebook,
        *,
        seed: int,
        rng: Random,
        plan: FaultPlan,
        restart_driver: Callable[[], None],
        over: Callable[[StaffCoup], None],
        patience_s: float = _PATIENCE_S,
        quiet_s: float = _QUIET_S,
    ) -> None:
        self.tally = GameTally()
        self.floats = FloatKeeper(desk, rng, rulebook.currency)
        self._desk, self._view, self._waiting, self._shoe = desk, view, waiting, shoe
        self._rulebook, self._seed, self._rng, self._plan = rulebook, seed, rng, plan
        self._restart_driver, self._over = restart_driver, over
        self._supervisor = Supervisor(
            desk, view, self.tally, repairs=True, patience_s=patience_s, quiet_s=quiet_s
        )
        self._shoes = ShoeChanges(
            desk, view, self.tally, self._supervisor, shoe, decks=rulebook.decks
        )
        self._patience_s = patience_s
        self._number = 0
        self._in_the_way = 0
        self._corrections = 0
        self._paid: deque[tuple[int, str]] = deque(maxlen=_LOOKS_BACK)

    async def play(self, coups: int) -> None:
        """Play so many coups, and end the shoe."""
        for _ in range(coups):
            if self._shoe.over:
                await self._shoes.change()
            await self._play_one()
            await self.floats.between_coups()
            await self._waiting.pause(self._rng.choice(_BETWEEN_US))

    async def _play_one(self) -> None:
        self._number += 1
        self._shoes.number += 1
        fault = self._plan.due(self._number, self._shoe.can_have)
        coup, wagerless = await self._open(fault)
        if fault == "two_power_ups":
            await self._shoe.two_power_ups()
        if not wagerless:
            await self._take_wagers(fault)
        if self._shoe.cut_card_comes_first:
            await self._shoes.report_cut_card("first_card")
        dealt = await self._shoe.deal_coup(fault, lambda call: self._come(call, coup))
        table = OnTheTable.of(self._shoe, result_comes=dealt.result_comes)
        await self._conclude(coup, table)
        if self._shoe.cut_card_is_out:
            await self._shoes.report_cut_card("between")
        await self._look_back(coup, broken_off=dealt.outcome is None)
        if fault is not None:
            self._plan.done(fault)
            self.tally.faults[fault] += 1
        self.tally.coups += 1
        broken_off = dealt.outcome is None
        self._over(StaffCoup(coup, tuple(self._shoe.lying), fault, broken_off))
        await self._supervisor.handle_alarms()

    async def _come(self, call: DealerCall, coup: str) -> None:
        """Act as the person whom the dealer calls in the middle of a coup."""
        match call:
            case DealerCall.LOOK:
                await self._supervisor.look(coup, OnTheTable.of(self._shoe))
            case DealerCall.VOID:
                await self._view.quiet(_QUIET_S)
                await self._supervisor.void(coup, "it was broken off at the shoe", "broken_off")
            case DealerCall.CUT_CARD:
                await self._shoes.report_cut_card("mid_coup")
            case DealerCall.REPLACE | DealerCall.CONTINUE:
                await self._view.quiet(_QUIET_S)
                await self._shoes.replace(goes_on=call is DealerCall.CONTINUE)
            case DealerCall.RESTART:
                self._restart_driver()

    @property
    def _round(self) -> str:
        return f"{self._shoes.id}-{self._shoes.number}"

    async def _open(self, fault: str | None) -> tuple[str, bool]:
        """Begin a coup; return its id, and whether it has no wagers."""
        if fault == "stacked_errors":
            await self._shoe.stacked_errors()
            await self._view.within(in_error, _ERROR_SEEN_S)
        free = fault == "free_hand"
        while True:
            opening: Command = OpenBetting(transaction=f"o-{self._round}")
            if free:
                opening = FreeHand(transaction=f"f-{self._round}")
            answer = await self._desk.request(DEALER, opening)
            if not refused(answer):
                seen = await self._view.reached(answer.position)
                assert seen.coup is not None  # noqa: S101 - betting has opened
                self._in_the_way = 0
                return seen.coup.id, free
            code = answer.code or ""
            self.tally.refused[code] += 1
            if code == DUMMY_DUE:
                free = True
            elif code in _SHOE_OVER:  # the table has counted a coup more than the dealer
                await self._shoes.change()
                self._shoes.number += 1
            elif code in PASSING:
                await self._clear_the_way(code)
            else:
                raise RuntimeError(f"betting does not open: {code}: {answer.text}")

    async def _clear_the_way(self, code: str) -> None:
        """Remove what blocks betting: an abandoned coup, an error at the device, or time."""
        if code == "shoe_error":
            await self._shoe.clear_errors()
        seen = await self._view.quiet(_QUIET_S)
        self._in_the_way += 1
        if self._in_the_way % _OFF_AND_ON == 0:  # the line lost the device's last report
            await self._shoe.two_power_ups()
        if seen.coup and seen.coup.phase not in OVER:
            await self._supervisor.resolve(seen.coup.id, OnTheTable(lying=()), left_behind=True)
        if seen.link.state == STALLED:
            await self._supervisor.end_wait_for_device()
        await self._waiting.pause(_RETRY_US)

    async def _take_wagers(self, fault: str | None) -> None:
        asked = patrons.wagers(self._seed, self._shoes.id, self._shoes.number, self._rulebook)
        self._rng.shuffle(asked)
        asked = [self._in_odd_chips(each) for each in asked[: self._rng.choice(_SEATS)]]
        hasty = asked.pop() if asked and self._rng.random() < _HASTY else None
        taken = [command for command in asked if await self._wager(command)]
        if fault == "withdrawn_wager" and taken:
            first = f"{_WAGERS}/{taken[-1].transaction}/0"
            back = WithdrawWager(transaction=f"b-{self._round}", wagers=(first,))
            await self._desk.must(_WAGERS, back)
        if hasty is not None:  # it may come in time, after the close, or after the first card
            self._desk.post(_WAGERS, hasty)
        if self._rng.random() >= _FORGETS_TO_CLOSE:
            await self._desk.must(DEALER, CloseBetting(transaction=f"c-{self._round}"))
        if fault == "late_wager" and asked:
            await self._wager(PlaceWager(transaction=f"late-{self._round}", wagers=asked[0].wagers))

    def _in_odd_chips(self, command: PlaceWager) -> PlaceWager:
        """Return the command with stakes that need rounding, if the rulebook accepts them."""
        odd = tuple(
            replace(each, stake=each.stake - self._rng.randrange(20))
            if self._rulebook.bets[each.bet].step == 1
            else each
            for each in command.wagers
        )
        return replace(command, wagers=odd)

    async def _wager(self, command: PlaceWager) -> bool:
        answer = await self._desk.request(_WAGERS, command)
        if refused(answer):
            self.tally.refused[answer.code or ""] += 1
            return False
        self.tally.wagers += 1
        return True

    async def _conclude(self, coup: str, table: OnTheTable) -> None:
        """Wait until the coup is over, with the supervisor's help."""
        for tried in count():
            patience_s = self._patience_s
            seen = await self._view.within(lambda seen: needs_a_person(seen, coup), patience_s)
            if seen is not None and (seen.coup is None or seen.coup.id != coup):
                return
            if seen is not None and seen.coup is not None and seen.coup.phase in OVER:
                return
            if seen is None and tried >= _RECEIVED_WITHIN and is_undealt(self._view.seen, coup):
                await self._supervisor.void(coup, "none of its cards was heard of", "unheard")
            else:
                await self._supervisor.resolve(coup, table)

    async def _look_back(self, coup: str, *, broken_off: bool) -> None:
        """Compare a paid coup with the cards on the table; now and then correct something else."""
        seen = await self._view.until(lambda _: True)
        standing = seen.coup
        if standing is None or standing.id != coup or standing.phase != "settled" or broken_off:
            return
        lying = _hands((fallen.place.hand, fallen.card) for fallen in self._shoe.lying)
        shown = _hands((card.hand, card.card) for card in standing.cards)
        if lying != shown:
            await self._correct(
                CorrectHands(
                    transaction=self._transaction("ch"),
                    coup=coup,
                    player=lying[0],
                    banker=lying[1],
                    reason="other cards lie there",
                )
            )
        self._paid.append((self._number, coup))
        if self._rng.random() < _CORRECTS:
            of_late = [paid for number, paid in self._paid if number > self._number - _LOOKS_BACK]
            await self._correct(self._second_thoughts(self._rng.choice(of_late)))

    def _second_thoughts(self, coup: str) -> Command:
        """Return a correction of a paid coup for another reason than its cards."""
        if self._rng.random() < 0.3:  # noqa: PLR2004 - rather a wager
            return VoidCoup(
                transaction=self._transaction("vp"), coup=coup, reason="dealt out of turn"
            )
        left_out = WagerRequest(seat=7, bet="player", stake=100 * self._rng.randint(1, 50))
        return CorrectWager(
            transaction=self._transaction("cw"),
            coup=coup,
            to=left_out,
            reason="it lay there and was not entered",
        )

    async def _correct(self, command: Command) -> None:
        answer = await self._desk.request(SUPERVISOR, command)
        if refused(answer):
            self.tally.refused[answer.code or ""] += 1
        else:
            self.tally.done[type(command).__name__] += 1
            await self._view.reached(answer.position)

    def _transaction(self, letters: str) -> str:
        self._corrections += 1
        return f"{letters}-{self._corrections}"


def _hands(
    cards: Iterable[tuple[Hand, Card | None]],
) -> tuple[tuple[Card, ...], tuple[Card, ...]]:
    listed = list(cards)
    player, banker = (
        tuple(card for of, card in listed if of is hand and card is not None) for hand in Hand
    )
    return player, banker
