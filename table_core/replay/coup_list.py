"""The list of a log's coups, a line each: times, result, money, what went wrong. Pure."""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from events.cards import Card
from events.types.corrections import HandsCorrected
from events.types.irregularities import CardCorrected, CardEntered, ExcessCardDrawn
from events.types.table import (
    BettingOpened,
    CoupMisaligned,
    CoupSettled,
    CoupVoided,
    DealCompleted,
    ResultDisputed,
)
from table_core.replay.coup_events import Moment

__all__ = ["CoupLine", "CoupList"]

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
    revision: int = 0
    troubles: tuple[str, ...] = ()


class CoupList:
    """Builds the list in one pass over a log; it holds one line a coup and nothing else."""

    def __init__(self) -> None:
        self._lines: dict[str, CoupLine] = {}
        self._money: dict[str, dict[int, tuple[int, int, int]]] = {}

    @property
    def lines(self) -> tuple[CoupLine, ...]:
        """The coups in the order in which they began."""
        return tuple(self._lines.values())

    @property
    def by_id(self) -> Mapping[str, CoupLine]:
        """The coups by id."""
        return self._lines

    def take(self, moment: Moment) -> None:
        """Take the next moment of the log."""
        fact, event = moment.fact, moment.fact.event
        if isinstance(event, BettingOpened):
            self._lines[event.coup] = CoupLine(
                coup=event.coup, first=fact.position, last=fact.position, opened_at=fact.at
            )
        line = self._lines.get(fact.correlation)
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
        self._lines[line.coup] = line

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
        )
