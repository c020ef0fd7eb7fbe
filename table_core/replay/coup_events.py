"""The past of a table, event by event: states, and all that belongs to one coup. Pure.

The same fold as the live table's, and no effects: those come from publishers, and here are none.
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from events.cards import Hand
from events.errors import LogRefused, OurBug, UnreadableEvent
from events.types.corrections import HandsCorrected, RulebookCorrected, WagerCorrected
from events.types.envelope import Entry, decode_entry
from events.types.table import BettingOpened, CoupSettled, CoupVoided, Settlement, TableEvent, Wager
from table_core.fold.dispatch import fold
from table_core.state.table import Coup, DealtCard, TableState

__all__ = ["CoupCollector", "CoupRecord", "Fact", "Moment", "Row", "entry_of", "fact_of", "moments"]

# Position, stored bytes and the chain's hash of an event.
Row = tuple[int, bytes, bytes]


class Fact(Struct, frozen=True, gc=False, kw_only=True):
    """An event of the log with what its envelope says of it.

    Args:
        position: 1, 2, 3...
        at: when it was appended, RFC 3339.
        actor: who.
        cause: the command or the shoe's report that it came of.
        correlation: the coup's id, or empty.
        digest: the chain's hash up to and with it, hex.
        event: what happened.
    """

    position: int
    at: str
    actor: str
    cause: str
    correlation: str
    digest: str
    event: TableEvent


class Moment(Struct, frozen=True, gc=False):
    """A fact, and the table before and after it."""

    before: TableState
    fact: Fact
    after: TableState


class CoupRecord(Struct, frozen=True, kw_only=True):
    """All of one coup.

    Args:
        id: the coup's.
        moments: what belongs to it, in order: from the opening of betting (or what began it
            without) to its end, and whatever was said of it later.
    """

    id: str
    moments: tuple[Moment, ...]

    @property
    def before(self) -> TableState:
        """The table just before the coup."""
        return self.moments[0].before

    @property
    def end(self) -> TableState:
        """The table when the coup was over, or where the log ends."""
        own = [m.after for m in self.moments if m.after.coup and m.after.coup.id == self.id]
        return next((state for state in own if not state.in_progress), own[-1])

    @property
    def coup(self) -> Coup:
        """The coup as it was then, before anything was corrected afterwards."""
        found = self.end.coup
        if found is None:
            raise OurBug(f"no state of coup {self.id} has it")
        return found

    @property
    def settlements(self) -> tuple[Settlement, ...]:
        """All that were issued, in order, those included that a later one takes back."""
        events = (moment.fact.event for moment in self.moments)
        return tuple(event.settlement for event in events if isinstance(event, CoupSettled))

    @property
    def in_force(self) -> tuple[Settlement, ...]:
        """The settlements that no later one has taken back."""
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
        """The wagers that stood, as they are on record now."""
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
        """Whether the coup does not count, now."""
        void = False
        for event in (moment.fact.event for moment in self.moments):
            if isinstance(event, CoupVoided) and event.coup == self.id:
                void = True
            elif isinstance(event, HandsCorrected) and event.counts_again:
                void = False
        return void


def entry_of(position: int, stored: bytes) -> Entry:
    """Stored bytes, decoded: all that a fold wants, and half the work of a fact.

    Raises:
        LogRefused: this build cannot read them; names the position.
    """
    try:
        return decode_entry(stored)
    except UnreadableEvent as error:
        raise LogRefused(f"position {position}: {error}", position) from error


def fact_of(row: Row) -> Fact:
    """A row, decoded.

    Raises:
        LogRefused: this build cannot read it; names its position.
    """
    position, stored, digest = row
    entry = entry_of(position, stored)
    return Fact(
        position=position,
        at=entry.at,
        actor=entry.actor,
        cause=entry.cause,
        correlation=entry.correlation,
        digest=digest.hex(),
        event=entry.data,
    )


def moments(facts: Iterable[Fact], state: TableState | None = None) -> Iterator[Moment]:
    """The table before and after each fact; only one moment is held at a time."""
    state = state or TableState()
    for fact in facts:
        after = fold(state, fact.event)
        yield Moment(state, fact, after)
        state = after


class CoupCollector:
    """Picks out of a log what belongs to one coup, in one pass.

    Everything between its beginning and its end belongs to it; afterwards what names it, and what
    the shoe still says of a void round. What came of one cause with it belongs to it as well, such
    as the report of a card that began a coup which nobody had opened.

    Args:
        coup: the coup's id.
    """

    def __init__(self, coup: str) -> None:
        self._coup = coup
        self._taken: list[Moment] = []
        self._group: list[Moment] = []  # of the cause in hand, not taken so far
        self._cause = ""
        self._cause_belongs = False

    def take(self, moment: Moment) -> None:
        """The next moment of the log."""
        if moment.fact.cause != self._cause:
            self._group, self._cause, self._cause_belongs = [], moment.fact.cause, False
        self._group.append(moment)
        self._cause_belongs = self._cause_belongs or self._belongs(moment)
        if self._cause_belongs:
            self._taken += self._group
            self._group = []

    def record(self) -> CoupRecord | None:
        """What was found; None where the coup never began."""
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
