"""Replays a log event by event: the state around each event, and all events of one coup. Pure.

It uses the live table's fold and has no effects: only publishers have those, and there are none
here.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from events.cards import Card, Hand
from events.errors import LogRefused, UnreadableEvent
from events.types import (
    BettingOpened,
    CardCorrected,
    CardEntered,
    CoupMisaligned,
    CoupSettled,
    CoupVoided,
    DealCompleted,
    Entry,
    ExcessCardDrawn,
    HandsCorrected,
    IrregularityRecorded,
    Refund,
    ResultDisputed,
    Settlement,
    TableEvent,
    Wager,
    WagerCorrected,
    WagersPlaced,
    decode_entry,
)
from table_core.fold.dispatch import fold
from table_core.rules.rulebook import INITIAL_PHASE
from table_core.state.corrected_coup import TAKEN_BACK
from table_core.state.coup import OVER, Phase
from table_core.state.coup_projection import coup_after
from table_core.state.table import Coup, DealtCard, TableState, by_id

__all__ = [
    "CoupCollector",
    "CoupLine",
    "CoupList",
    "CoupRecord",
    "LogRow",
    "LoggedEvent",
    "Moment",
    "decode_row",
    "moments",
    "stored_entry",
]

# Position, stored bytes and the chain's hash of an event.
LogRow = tuple[int, bytes, bytes]


class LoggedEvent(Struct, frozen=True, gc=False, kw_only=True):
    """An event of the log with the data of its envelope.

    Args:
        position: 1, 2, 3...
        at: time of its append, RFC 3339.
        actor: the user, shoe or service that caused it.
        cause: the command or the shoe report that caused it.
        correlation: the coup's id, or empty.
        digest: the chain's hash up to and including it, hex.
        event: the event itself.
    """

    position: int
    at: str
    actor: str
    cause: str
    correlation: str
    digest: str
    event: TableEvent


class Moment(Struct, frozen=True, gc=False):
    """A fact, and the state before and after it."""

    before: TableState
    fact: LoggedEvent
    after: TableState


class CoupRecord(Struct, frozen=True, kw_only=True):
    """All moments of one coup.

    Args:
        id: the coup's.
        moments: in order, from the opening of betting (or the event that began the coup without
            it) to the coup's end, and all later events about it.
        coup: the coup as it is on record now, by its own events.
    """

    id: str
    moments: tuple[Moment, ...]
    coup: Coup

    @property
    def before(self) -> TableState:
        """The state just before the coup."""
        return self.moments[0].before

    @property
    def end(self) -> TableState:
        """The state when the coup was over, or at the end of the log."""
        own = [m.after for m in self.moments if m.after.coup and m.after.coup.id == self.id]
        return next((state for state in own if not state.in_progress), own[-1])

    @property
    def course(self) -> Iterator[tuple[Moment, Coup | None]]:
        """Yield each moment with the coup after it; None before it began."""
        coup: Coup | None = None
        for moment in self.moments:
            if moment.fact.correlation == self.id:
                coup = coup_after(coup, moment.fact.event)
            yield moment, coup

    @property
    def in_force(self) -> tuple[Settlement, ...]:
        """The settlements that no later one has reversed, phase by phase."""
        return tuple(sorted(self.coup.settlements, key=lambda each: each.phase))

    @property
    def cards(self) -> tuple[DealtCard, ...]:
        """The cards as they are on record now, in dealing order."""
        cards = self.coup.cards
        return tuple(sorted(cards, key=lambda dealt: (dealt.number, dealt.hand is Hand.BANKER)))

    @property
    def wagers(self) -> tuple[Wager, ...]:
        """The wagers as they are on record now: as placed, and corrected ones after the others."""
        events = (moment.fact.event for moment in self.moments)
        corrected = [each.wager for each in events if isinstance(each, WagerCorrected)]
        last = {wager.id: number for number, wager in enumerate(corrected, start=1) if wager}
        return tuple(sorted(self.coup.wagers.values(), key=lambda wager: last.get(wager.id, 0)))

    @property
    def refunds(self) -> tuple[Refund, ...]:
        """The stakes that went back unsettled, because the coup was void."""
        events = (moment.fact.event for moment in self.moments)
        voids = (event for event in events if isinstance(event, CoupVoided))
        return tuple(refund for event in voids for refund in event.refunds)


def stored_entry(position: int, stored: bytes) -> Entry:
    """Decode stored bytes to what a fold needs, at half the cost of a fact.

    Raises:
        LogRefused: this build cannot read the bytes; names the position.
    """
    try:
        return decode_entry(stored)
    except UnreadableEvent as error:
        raise LogRefused(f"position {position}: {error}", position) from error


def decode_row(row: LogRow) -> LoggedEvent:
    """Decode a row.

    Raises:
        LogRefused: this build cannot read the row; names its position.
    """
    position, stored, digest = row
    entry = stored_entry(position, stored)
    return LoggedEvent(
        position=position,
        at=entry.at,
        actor=entry.actor,
        cause=entry.cause,
        correlation=entry.correlation,
        digest=digest.hex(),
        event=entry.data,
    )


def moments(facts: Iterable[LoggedEvent]) -> Iterator[Moment]:
    """Yield each fact with the state before and after it; only one moment is held at a time."""
    state = TableState()
    for fact in facts:
        after = fold(state, fact.event)
        yield Moment(state, fact, after)
        state = after


class CoupCollector:
    """Collects the events of one coup from a log, in one pass.

    A step is a command or a shoe's report with all events that it caused. The events that name the
    coup belong to it, and those of the same step that name none. So do the steps that name no coup
    between the coup's beginning and its end, and what the shoe still reports of a void round.

    Args:
        coup: the coup's id.
    """

    def __init__(self, coup: str) -> None:
        self._coup = coup
        self._taken: list[Moment] = []
        self._step: list[Moment] = []

    def take(self, moment: Moment) -> None:
        """Take the next moment of the log."""
        if self._step and moment.fact.cause != self._step[0].fact.cause:
            self._close_step()
        self._step.append(moment)

    def record(self) -> CoupRecord | None:
        """Return what was collected; None where the coup never began."""
        self._close_step()
        coup: Coup | None = None
        for fact in (moment.fact for moment in self._taken):
            if fact.correlation == self._coup:
                coup = coup_after(coup, fact.event)
        moments = tuple(self._taken)
        return CoupRecord(id=self._coup, moments=moments, coup=coup) if coup else None

    def _close_step(self) -> None:
        named = {moment.fact.correlation for moment in self._step} - {""}
        if self._coup in named or (not named and any(map(self._during, self._step))):
            own = {"", self._coup}
            self._taken += (each for each in self._step if each.fact.correlation in own)
        self._step = []

    def _during(self, moment: Moment) -> bool:
        before = moment.before
        if before.coup is None or before.coup.id != self._coup:
            return False
        return before.in_progress or before.link.residue


_TROUBLES: Final[dict[type[TableEvent], str]] = {
    CardCorrected: "card corrected",
    CardEntered: "card entered",
    CoupMisaligned: "misaligned",
    ExcessCardDrawn: "excess card",
    HandsCorrected: "corrected after settlement",
    ResultDisputed: "disputed",
}
_SHOWN: Final = {*_TROUBLES, CoupSettled, CoupVoided, DealCompleted, IrregularityRecorded}
_OF_A_VOID_COUP: Final = "corrected after the void"
_OTHER_CARDS: Final = "first phase paid on other cards"
_STATES: Final = {Phase.SETTLED: "settled", Phase.VOIDED: "void"}


class CoupLine(Struct, frozen=True, kw_only=True):
    """A coup in the list; money in minor units, of the settlements in force.

    Args:
        coup: its id.
        first: position at which it began.
        last: position of the newest event that names it.
        opened_at: time of its beginning.
        ended_at: time when it was first settled or void; None while it is neither.
        state: `in progress`, `settled` or `void`.
        result: `player`, `banker`, `tie`; None where the deal was not complete.
        player: Player's cards when the deal was complete.
        banker: Banker's.
        staked: by all settlements in force.
        paid: by them.
        commission: by them.
        rulebook_hash: of the rulebook that the newest of them was judged by; else empty.
        revision: the highest; above 1 something was settled again.
        troubles: what went wrong, in a word or two each.
    """

    coup: str
    first: int
    last: int
    opened_at: str
    ended_at: str | None = None
    state: str = "in progress"
    result: str | None = None
    player: tuple[Card, ...] = ()
    banker: tuple[Card, ...] = ()
    staked: int = 0
    paid: int = 0
    commission: int = 0
    rulebook_hash: str = ""
    revision: int = 0
    troubles: tuple[str, ...] = ()


class CoupList:
    """Builds the list in one pass over a log; it holds a line a coup, and no wagers.

    Attributes:
        by_id: the coups by id.
    """

    def __init__(self) -> None:
        self.by_id: dict[str, CoupLine] = {}
        self._coups: dict[str, Coup] = {}  # without wagers and lines

    @property
    def lines(self) -> tuple[CoupLine, ...]:
        """The coups in the order in which they began."""
        return tuple(self.by_id.values())

    def take(self, moment: Moment) -> None:
        """Take the next moment of the log."""
        fact, event = moment.fact, moment.fact.event
        if isinstance(event, BettingOpened):
            self.by_id[event.coup] = CoupLine(
                coup=event.coup, first=fact.position, last=fact.position, opened_at=fact.at
            )
        line = self.by_id.get(fact.correlation)
        if line is None:
            return
        line = self.by_id[line.coup] = replace(line, last=fact.position)
        if isinstance(event, WagersPlaced):
            return
        before = self._coups.get(line.coup)
        coup = self._coups[line.coup] = _without_lines(coup_after(before, event))
        if type(event) in _SHOWN:
            self.by_id[line.coup] = _line(line, before, coup, fact)


def _line(line: CoupLine, before: Coup | None, coup: Coup, fact: LoggedEvent) -> CoupLine:
    """Return the line of a coup after one of its events."""
    troubles = [each for each in line.troubles if each != _OTHER_CARDS]
    if (trouble := _trouble(before, fact.event)) and trouble not in troubles:
        troubles.append(trouble)
    if coup.phase is Phase.VOIDED and _paid_on_other_cards(coup):
        troubles.append(_OTHER_CARDS)
    if completed := coup.completed:
        line = replace(
            line,
            result=completed.winner.value,
            player=completed.player,
            banker=completed.banker,
        )
    return replace(
        line,
        rulebook_hash=coup.rulebook_hash,
        ended_at=line.ended_at or (fact.at if coup.phase in OVER else None),
        state=_STATES.get(coup.phase, "in progress"),
        staked=sum(each.staked for each in coup.settlements),
        paid=sum(each.paid for each in coup.settlements),
        commission=sum(each.commission for each in coup.settlements),
        revision=max((each.revision for each in coup.settlements), default=0),
        troubles=tuple(troubles),
    )


def _trouble(before: Coup | None, event: TableEvent) -> str | None:
    over = before is not None and before.phase in OVER
    if isinstance(event, CoupSettled):  # a first one has no revision that would show it
        late = over and event.settlement.reverses is None
        return _TROUBLES[HandsCorrected] if late else None
    if isinstance(event, IrregularityRecorded):
        return _OF_A_VOID_COUP if event.kind == TAKEN_BACK else None
    if isinstance(event, HandsCorrected) and before and before.phase is Phase.VOIDED:
        return _TROUBLES[HandsCorrected] if event.counts_again else _OF_A_VOID_COUP
    return _TROUBLES.get(type(event))


def _paid_on_other_cards(coup: Coup) -> bool:
    """Return whether a void coup's first phase was paid on faces that it does not have.

    The builds before 0.2.0 voided a coup so, and left it for good.
    """
    first = coup.settlement(INITIAL_PHASE)
    if first is None or first.paid == first.staked:
        return False
    initial = [dealt for dealt in coup.cards if dealt.number <= len(first.player)]
    told = {(dealt.hand, dealt.number): dealt.card for dealt in initial if dealt.card}
    paid = {(Hand.PLAYER, n): card for n, card in enumerate(first.player, start=1)}
    paid |= {(Hand.BANKER, n): card for n, card in enumerate(first.banker, start=1)}
    return any(paid[place] is not card for place, card in told.items())


def _without_lines(coup: Coup) -> Coup:
    if not coup.wagers and not any(each.lines for each in coup.settlements):
        return coup
    lean = (replace(each, lines=(), difference=()) for each in coup.settlements)
    return replace(coup, wagers=by_id(()), settlements=tuple(lean))
