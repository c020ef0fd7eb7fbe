"""Replays a log event by event: the state around each event, and all events of one coup. Pure.

It uses the live table's fold and has no effects: only publishers have those, and there are none
here.
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from events.cards import Card, Hand
from events.errors import LogRefused, OurBug, UnreadableEvent
from events.types.corrections import HandsCorrected, RulebookCorrected, WagerCorrected
from events.types.envelope import Entry, decode_entry
from events.types.irregularities import CardCorrected, CardEntered, ExcessCardDrawn
from events.types.table import (
    BettingOpened,
    CoupMisaligned,
    CoupSettled,
    CoupVoided,
    DealCompleted,
    ResultDisputed,
    Settlement,
    TableEvent,
    Wager,
)
from table_core.fold.dispatch import fold
from table_core.state.table import Coup, DealtCard, TableState

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
    """

    id: str
    moments: tuple[Moment, ...]

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
    def coup(self) -> Coup:
        """The coup at its end, before any later correction."""
        found = self.end.coup
        if found is None:
            raise OurBug(f"no state of coup {self.id} has it")
        return found

    @property
    def settlements(self) -> tuple[Settlement, ...]:
        """All settlements in order, reversed ones included."""
        events = (moment.fact.event for moment in self.moments)
        return tuple(event.settlement for event in events if isinstance(event, CoupSettled))

    @property
    def in_force(self) -> tuple[Settlement, ...]:
        """The settlements that no later one has reversed."""
        gone = {each.reverses for each in self.settlements}
        return tuple(each for each in self.settlements if each.settlement_id not in gone)

    @property
    def cards(self) -> tuple[DealtCard, ...]:
        """The cards as they are on record now, in dealing order."""
        cards = self.coup.cards
        for event in (moment.fact.event for moment in self.moments):
            if isinstance(event, HandsCorrected):
                cards = tuple(
                    DealtCard(hand, number, card, None, "manual")
                    for hand, row in ((Hand.PLAYER, event.player), (Hand.BANKER, event.banker))
                    for number, card in enumerate(row, start=1)
                )
        return tuple(sorted(cards, key=lambda dealt: (dealt.number, dealt.hand is Hand.BANKER)))

    @property
    def wagers(self) -> tuple[Wager, ...]:
        """The wagers as they are on record now."""
        wagers = {wager.id: wager for wager in self.coup.wagers}
        for event in (moment.fact.event for moment in self.moments):
            if isinstance(event, WagerCorrected):
                if event.was is not None:
                    wagers.pop(event.was.id, None)
                if event.wager is not None:
                    wagers[event.wager.id] = event.wager
        return tuple(wagers.values())

    @property
    def rules(self) -> tuple[str, str]:
        """Id and hash of the rulebook that the coup is judged by now."""
        rules = self.coup.rulebook, self.coup.rulebook_hash
        for event in (moment.fact.event for moment in self.moments):
            if isinstance(event, RulebookCorrected):
                rules = event.rulebook, event.rulebook_hash
        return rules

    @property
    def void(self) -> bool:
        """Whether the coup is void now."""
        void = False
        for event in (moment.fact.event for moment in self.moments):
            if isinstance(event, CoupVoided) and event.coup == self.id:
                void = True
            elif isinstance(event, HandsCorrected) and event.counts_again:
                void = False
        return void


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

    Everything between the coup's beginning and its end belongs to it. So does every later event
    that names it, and what the shoe still reports of a void round. Other events of the same cause
    belong to it as well, such as the report of a card that began a coup without open betting.

    Args:
        coup: the coup's id.
    """

    def __init__(self, coup: str) -> None:
        self._coup = coup
        self._taken: list[Moment] = []
        self._group: list[Moment] = []  # of the current cause, not taken so far
        self._cause = ""
        self._cause_belongs = False

    def take(self, moment: Moment) -> None:
        """Take the next moment of the log."""
        if moment.fact.cause != self._cause:
            self._group, self._cause, self._cause_belongs = [], moment.fact.cause, False
        self._group.append(moment)
        self._cause_belongs = self._cause_belongs or self._belongs(moment)
        if self._cause_belongs:
            self._taken += self._group
            self._group = []

    def record(self) -> CoupRecord | None:
        """Return what was collected; None where the coup never began."""
        if not any(self._opens(moment) for moment in self._taken):
            return None
        return CoupRecord(id=self._coup, moments=tuple(self._taken))

    def _opens(self, moment: Moment) -> bool:
        event = moment.fact.event
        return isinstance(event, BettingOpened) and event.coup == self._coup

    def _belongs(self, moment: Moment) -> bool:
        if moment.fact.correlation == self._coup:
            return True
        before = moment.before
        if moment.fact.correlation:
            return False  # another coup's
        if before.coup is None or before.coup.id != self._coup:
            return False
        return before.in_progress or before.link.residue


_TROUBLES = {
    CardCorrected: "card corrected",
    CardEntered: "card entered",
    CoupMisaligned: "misaligned",
    ExcessCardDrawn: "excess card",
    HandsCorrected: "corrected after settlement",
    ResultDisputed: "disputed",
}


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
    """Builds the list in one pass over a log; it holds one line a coup and nothing else.

    Attributes:
        by_id: the coups by id.
    """

    def __init__(self) -> None:
        self.by_id: dict[str, CoupLine] = {}
        self._money: dict[str, dict[int, tuple[int, int, int]]] = {}

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
        line = replace(line, last=fact.position)
        trouble = _TROUBLES.get(type(event))
        if trouble and trouble not in line.troubles:
            line = replace(line, troubles=(*line.troubles, trouble))
        if isinstance(event, DealCompleted):
            line = replace(
                line, result=event.winner.value, player=event.player, banker=event.banker
            )
        elif isinstance(event, CoupVoided):
            line = replace(line, state="void", ended_at=line.ended_at or fact.at)
        elif isinstance(event, CoupSettled):
            line = self._settled(line, event, fact.at)
        elif isinstance(event, HandsCorrected) and event.counts_again:
            line = replace(line, state="settled")
        self.by_id[line.coup] = line

    def _settled(self, line: CoupLine, event: CoupSettled, at: str) -> CoupLine:
        s = event.settlement
        money = self._money.setdefault(line.coup, {})
        money[s.phase] = (s.staked, s.paid, s.commission)
        if s.winner is not None and line.state != "void":
            line = replace(line, state="settled", ended_at=line.ended_at or at)
        staked, paid, commission = (sum(column) for column in zip(*money.values(), strict=True))
        return replace(
            line,
            revision=max(line.revision, s.revision),
            staked=staked,
            paid=paid,
            commission=commission,
            rulebook_hash=s.rulebook_hash,
        )
