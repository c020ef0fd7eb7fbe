"""The supervisor: compares the screen with the cards on the table, and makes the two agree.

Only what everybody at the table can see counts: the cards on the table, and the table's own `state`
document. The supervisor enters a card that the screen lacks, and corrects one that it shows with
another face. Only when both agree does the supervisor realign the coup or confirm its result. If
the table accepts no correction any more, the coup is void.

Without orders to repair, the supervisor voids a held coup at once.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final, Self

from msgspec import Struct, field

from events.commands import (
    AcknowledgeAlarm,
    Burn,
    ClearShoeError,
    Command,
    ConfirmResult,
    CorrectCard,
    EnterCard,
    MarkUnreadable,
    Realign,
    ReleaseShoe,
    ResolveIrregularity,
    VoidCoup,
)
from events.commands.registry import COMMAND_NAMES
from simulators.device.script import FallenCard
from simulators.people.console import Console, refused
from simulators.people.view import OVER, STALLED, AlarmSeen, CoupSeen, TableSeen, TableView
from simulators.shoe.shoe_in_hand import ShoeInHand

__all__ = [
    "SUPERVISOR",
    "GameTally",
    "OnTheTable",
    "Supervisor",
    "in_error",
    "is_undealt",
    "needs_a_person",
]

SUPERVISOR: Final = "supervisor"
_SHOE_ERROR: Final = "shoe_error_"  # begins the alarm of an error of the device; its code follows

_TRIES: Final = 40  # steps to correct one coup; six cards entered and corrected are a dozen

_UNDEALT: Final = frozenset({"betting", "closed"})
_HELD: Final = frozenset({"misaligned", "disputed", "held"})
_OPEN: Final = frozenset({"dealing", "misaligned"})  # phases that accept the face of a card
_MARKS: Final = frozenset({"dealing", "complete", "disputed"})
# After these, no statement about the cards can help any more.
_HOPELESS: Final = frozenset({"too_many_copies"})
_PATIENCE: Final = 3  # refusals of another kind: a report came meanwhile, and checking again helps
# Alarms that the table clears by itself, with their cause.
_CAUSED: Final = (_SHOE_ERROR, "link_down", "log_unwritable")
_BURN_MISSING: Final = "burn_missing"
_SHOE_HELD: Final = "shoe_held"


class GameTally(Struct, kw_only=True):
    """Counts of a session.

    Args:
        coups: opened and over; overtaken ones are in neither of the next two.
        settled: of these.
        voided: of these.
        shoes: begun.
        wagers: commands of patrons that were accepted.
        refused: refusals, by code.
        resolved: coups that the supervisor had to resolve, by the reason.
        done: corrections by hand, by the command's name.
        faults: faults that happened, by name.
    """

    coups: int = 0
    settled: int = 0
    voided: int = 0
    shoes: int = 0
    wagers: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    resolved: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)


class OnTheTable(Struct, frozen=True, kw_only=True):
    """The part of a coup that everybody at the table can see.

    Args:
        lying: the cards, in dealing order.
        result_comes: the shoe will report, or has reported, the result.
        excess_seen: a card too many lies there face up; face down where False.
    """

    lying: Sequence[FallenCard]
    result_comes: bool = True
    excess_seen: bool = False

    @classmethod
    def of(cls, shoe: ShoeInHand, *, result_comes: bool = True) -> Self:
        """Return what a shoe has brought to the table."""
        seen = shoe.excess_is_seen
        return cls(lying=tuple(shoe.lying), result_comes=result_comes, excess_seen=seen)


class Supervisor:
    """Resolves a coup that does not go on by itself.

    Args:
        console: may send requests as the supervisor.
        view: the screen.
        tally: counts them.
        repairs: correct coups; else void them.
        patience_s: how long the screen may take to agree before a correction.
        quiet_s: time without an event before anything is done.
    """

    def __init__(
        self,
        console: Console,
        view: TableView,
        tally: GameTally,
        *,
        repairs: bool,
        patience_s: float = 2.0,
        quiet_s: float = 0.6,
    ) -> None:
        self._console = console
        self._view = view
        self._tally = tally
        self._repairs = repairs
        self._patience_s = patience_s
        self._quiet_s = quiet_s
        self._asked = 0
        self._stuck: set[str] = set()

    async def resolve(self, coup: str, table: OnTheTable, *, left_behind: bool = False) -> None:
        """Check a coup that does not go on by itself, and decide.

        Args:
            coup: its id.
            table: the cards on the table.
            left_behind: nobody knows its cards any more.
        """
        if self._repairs and not left_behind:
            await self.correct_screen(coup, table)
            return
        seen = await self._view.quiet(self._quiet_s)
        standing = _standing(seen, coup)
        if standing is None or not (left_behind or needs_a_person(seen, coup)):
            return
        if standing.phase == "complete" and _result_overdue(seen, coup):
            await self._confirm(coup, "result_overdue")
        elif standing.phase == "held":
            await self._ask(_excess(standing, seen=False), "excess_card")
        else:
            why = standing.reason or standing.phase
            await self.void(coup, f"{standing.phase}: {why}", why.partition(":")[0])

    async def look(self, coup: str, table: OnTheTable) -> None:
        """Give the screen time to agree, then correct it."""
        await self.agreed(coup, table)
        await self.correct_screen(coup, table)

    async def agreed(self, coup: str, table: OnTheTable) -> None:
        """Wait until the screen agrees with the table; no longer than the people's patience."""
        await self._view.within(lambda seen: _agrees(seen, coup, table), self._patience_s)

    async def correct_screen(self, coup: str, table: OnTheTable) -> None:
        """Make the screen agree with the table, a step at a time, and let the coup go on."""
        seen = await self._view.quiet(self._quiet_s)
        refusals = 0
        for _ in range(_TRIES):
            standing = _standing(seen, coup)
            command = self._next(seen, standing, table) if standing else None
            if standing is None or command is None:
                return
            why = (standing.reason or standing.phase).partition(":")[0]
            code = await self._ask(command, why)
            refusals += bool(code)
            if code in _HOPELESS or refusals > _PATIENCE:
                await self.void(coup, f"the cards cannot be put right: {code}", code)
                return
            seen = await self._view.quiet(self._quiet_s) if code else await self._now()

    async def void(self, coup: str, reason: str, why: str) -> None:
        """Void the coup."""
        await self._ask(VoidCoup(transaction=f"v-{_name(coup)}", reason=reason), why)

    async def end_errors(self) -> None:
        """Clear errors that the screen still shows and the device does not."""
        for alarm in (await self._now()).alarms:
            code = alarm.name.removeprefix(_SHOE_ERROR)
            if code != alarm.name:
                transaction = self._transaction("e", code)
                reason = "the shoe shows no error"
                over = ClearShoeError(transaction=transaction, code=code, reason=reason)
                await self._ask(over, alarm.name)

    async def end_wait_for_device(self) -> None:
        """End the wait for a device that has nothing to send: the line lost its last report."""
        seen = await self._view.quiet(self._quiet_s)
        if seen.link.state == STALLED and (seen.coup is None or seen.coup.phase in OVER):
            transaction = self._transaction("e", STALLED)
            reason = "the shoe shows no error"
            over = ClearShoeError(transaction=transaction, code=STALLED, reason=reason)
            await self._ask(over, "link_down")

    async def handle_alarms(self) -> None:
        """Between coups: acknowledge alarms that nothing else clears, or try each once."""
        standing = {a.name: a for a in (await self._now()).alarms if a.coup is None}
        self._stuck &= standing.keys()
        for name, alarm in standing.items():
            if name in self._stuck or name.startswith(_CAUSED):
                continue
            if await self._ask(self._answer_to(alarm), name):
                self._stuck.add(name)

    def _answer_to(self, alarm: AlarmSeen) -> Command:
        if alarm.name == _BURN_MISSING:
            reason = "the cards were changed in mid-coup; none were burned"
            return Burn(transaction=self._transaction("b", alarm.name), cards=0, reason=reason)
        if alarm.name == _SHOE_HELD:
            shoe = alarm.text.removeprefix("shoe ").partition(":")[0]
            transaction = self._transaction("h", shoe)
            return ReleaseShoe(transaction=transaction, shoe=shoe, reason="counted face by face")
        return AcknowledgeAlarm(transaction=self._transaction("a", alarm.name), alarm=alarm.name)

    def _next(self, seen: TableSeen, standing: CoupSeen, table: OnTheTable) -> Command | None:
        """Return the next command; None where screen and table agree and the coup goes on."""
        shown = {(card.hand, card.number): card.card for card in standing.cards}
        if shown.keys() - {(f.place.hand, f.place.number) for f in table.lying}:
            reason = "the screen shows cards that do not lie there"
            return VoidCoup(transaction=f"v-{_name(standing.id)}", reason=reason)
        faces = [(f, shown.get((f.place.hand, f.place.number))) for f in table.lying]
        for fallen, face in faces:
            if face is not None and face is not fallen.card:
                return self._correct(standing, fallen)
        for fallen, face in faces:
            if face is None and standing.phase in _OPEN:
                return self._enter(standing, fallen)
        return self._way_on(seen, standing, table)

    def _correct(self, standing: CoupSeen, fallen: FallenCard) -> Command:
        """Return a correction of a face: at once, or by striking out the old one first."""
        hand, number = fallen.place.hand, fallen.place.number
        if standing.phase in _MARKS and number % 2:
            return MarkUnreadable(
                transaction=self._transaction("m", standing.id),
                hand=hand,
                number=number,
                reason="the shoe has misread it",
            )
        return CorrectCard(
            transaction=self._transaction("c", standing.id),
            hand=hand,
            number=number,
            face=fallen.card,
            reason="another card lies there",
        )

    def _enter(self, standing: CoupSeen, fallen: FallenCard) -> Command:
        return EnterCard(
            transaction=self._transaction("n", standing.id),
            hand=fallen.place.hand,
            number=fallen.place.number,
            face=fallen.card,
            reason="read by eye from the table",
        )

    def _way_on(self, seen: TableSeen, standing: CoupSeen, table: OnTheTable) -> Command | None:
        """Return the command that lets the coup go on, now that the cards agree."""
        transaction = self._transaction("k", standing.id)
        reason = "the cards on the table were compared with the screen"
        if standing.phase == "held":
            return _excess(standing, seen=table.excess_seen)
        if standing.phase == "misaligned":
            return Realign(transaction=transaction, reason=reason)
        if standing.phase == "disputed" or (
            standing.phase == "complete"
            and (not table.result_comes or _result_overdue(seen, standing.id))
        ):
            return ConfirmResult(transaction=transaction, reason=reason)
        return None

    async def _confirm(self, coup: str, why: str) -> None:
        reason = "the cards lie on the table; the shoe's result did not come"
        await self._ask(ConfirmResult(transaction=f"k-{_name(coup)}", reason=reason), why)

    async def _ask(self, command: Command, why: str) -> str:
        """Send a command, count it, and wait for the screen to show it; return a refusal's code."""
        answer = await self._console.request(SUPERVISOR, command)
        if refused(answer):
            self._tally.refused[answer.code or ""] += 1
            return answer.code or "refused"
        self._tally.done[COMMAND_NAMES[type(command)]] += 1
        if not isinstance(command, EnterCard | CorrectCard | MarkUnreadable):
            self._tally.resolved[why] += 1
        await self._view.reached(answer.position)
        return ""

    async def _now(self) -> TableSeen:
        return await self._view.until(lambda _: True)

    def _transaction(self, letter: str, about: str) -> str:
        self._asked += 1
        return f"{letter}-{_name(about)}-{self._asked}"


def in_error(seen: TableSeen) -> bool:
    """Return whether the screen shows an error of the shoe."""
    return any(alarm.name.startswith(_SHOE_ERROR) for alarm in seen.alarms)


def needs_a_person(seen: TableSeen, coup: str) -> bool:
    """Return whether the coup is over, or does not go on without a person."""
    standing = seen.coup
    if standing is None or standing.id != coup or standing.phase in OVER | _HELD:
        return True
    return seen.link.state == STALLED or _result_overdue(seen, coup)


def is_undealt(seen: TableSeen | None, coup: str) -> bool:
    """Return whether, by the screen, none of the coup's cards has left the shoe."""
    standing = seen.coup if seen else None
    return standing is not None and standing.id == coup and standing.phase in _UNDEALT


def _standing(seen: TableSeen, coup: str) -> CoupSeen | None:
    """Return the coup, while it is in progress."""
    standing = seen.coup
    return standing if standing and standing.id == coup and standing.phase not in OVER else None


def _agrees(seen: TableSeen, coup: str, table: OnTheTable) -> bool:
    """Return whether the coup is held or over, or screen and table have as many cards."""
    standing = _standing(seen, coup)
    if standing is None or standing.phase in _HELD:
        return True
    return len(standing.cards) >= len(table.lying)


def _result_overdue(seen: TableSeen, coup: str) -> bool:
    return any(alarm.name == "result_overdue" and alarm.coup == coup for alarm in seen.alarms)


def _excess(standing: CoupSeen, *, seen: bool) -> ResolveIrregularity:
    where = "face up" if seen else "face down"
    return ResolveIrregularity(
        transaction=f"x-{_name(standing.id)}",
        kind="excess_card",
        seen=seen,
        reason=f"it lies {where} beside the table",
    )


def _name(coup: str) -> str:
    return coup.replace("/", "-")
