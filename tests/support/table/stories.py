"""Tables whose events are kept as a log keeps them, and what a reader makes of one coup of them."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from events.log.schema import OWN_ACTORS
from events.log.store import EventLog
from events.types import Pending, ShoeReported, TableEvent, WagersPlaced, decode_envelope
from table_core.decide.decision import DecisionContext
from table_core.evidence.judge import EvidenceEvent, JudgedCoup, judge_again
from table_core.narrative.coup import CoupNarrative, narrate_coup
from table_core.replay.coup_events import (
    CoupCollector,
    CoupLine,
    CoupList,
    CoupRecord,
    LoggedEvent,
    moments,
)
from table_core.rulebooks.shipped import shipped_sources
from table_core.rules.rulebook import Rulebook
from table_core.rules.rulebook_file import parse_rulebook
from tests.support.log.logs import ORIGIN, stored_bytes, to_append
from tests.support.table.coups import CONTEXT, COUP, World
from tests.support.table.histories import play_history

BOOKS = {book.hash: book for book in (parse_rulebook("", each) for each in shipped_sources())}

# The shoe says another result, a supervisor confirms, and later corrects a face: from Player 9
# against 5, 1,000 on Player and 2,000 on Banker, to a tie.
DISPUTED = """in none
open
bet 1 player 1000, 2 banker 2000, 2 tie 100
close
deal 9S 2D KH 3C
result banker
confirm_result reason="the cards are right\""""
CORRECTED = 'correct_hands player="9S KH" banker="2D 7C"'


class KeptWorld(World):
    """A table that keeps of each event who caused it, and with what."""

    def __init__(self, context: DecisionContext = CONTEXT, user: str = "supervisor") -> None:
        self.facts: list[LoggedEvent] = []
        self.user = user
        self._causes = 0
        super().__init__(context)

    def take(self, events: Sequence[TableEvent]) -> list[TableEvent]:
        taken = super().take(events)
        self._causes += 1
        for event in taken:
            actor = "core" if not self.facts else self.user
            cause = f"{actor}/{self._causes}"
            if isinstance(taken[0], ShoeReported):
                source = taken[0].source
                actor, cause = "shoe", f"{source.journal}/{source.seq}"
            if isinstance(event, WagersPlaced):
                cause = event.wagers[0].id.rpartition("/")[0]
            position = len(self.facts) + 1
            self.facts.append(
                LoggedEvent(
                    position=position,
                    at=f"2026-11-27T21:{position // 60:02d}:{position % 60:02d}.000000000Z",
                    actor=actor,
                    cause=cause,
                    correlation=str(getattr(event, "coup", None) or ""),
                    digest=f"{position:064x}",
                    event=event,
                )
            )
        return taken

    def record(self, coup: str = COUP) -> CoupRecord:
        collector = CoupCollector(coup)
        for moment in moments(self.facts):
            collector.take(moment)
        record = collector.record()
        assert record is not None, coup
        return record

    def story(self, coup: str = COUP, *books: Rulebook) -> CoupNarrative:
        known = BOOKS | {book.hash: book for book in (self.context.rulebook, *books)}
        return narrate_coup(self.record(coup), origin=ORIGIN, rulebooks=known)

    def judged(self, coup: str = COUP, *more: TableEvent) -> JudgedCoup:
        """What the evidence of a coup comes to, by its events alone, with `more` at its end."""
        context = self.context
        known = BOOKS | {book.hash: book for book in (context.rulebook, *context.library)}
        own = [_evidence(moment.fact) for moment in self.record(coup).moments]
        own += [replace(own[-1], event=each) for each in more]
        return judge_again(ORIGIN, coup, own, known)

    def write(self, path: Path) -> Path:
        """The events as a log file."""
        with EventLog.open(path, ORIGIN) as log:
            for cause in dict.fromkeys(fact.cause for fact in self.facts):
                own = [fact for fact in self.facts if fact.cause == cause]
                entries = [_pending(fact, index) for index, fact in enumerate(own)]
                request = None if own[0].actor in OWN_ACTORS else (cause, b"{}")
                log.append(log.position, entries, request)
        return path


def _pending(fact: LoggedEvent, index: int) -> Pending:
    stored = stored_bytes(
        fact.event,
        fact.position,
        at=fact.at,
        actor=fact.actor,
        cause=fact.cause,
        index=index,
        correlation=fact.correlation,
    )
    return to_append(stored)


def _evidence(fact: LoggedEvent) -> EvidenceEvent:
    stored = decode_envelope(_pending(fact, 0).stored)
    return EvidenceEvent(fact.position, stored, fact.event)


def listed(world: KeptWorld) -> dict[str, CoupLine]:
    """The list of a table's coups, by id."""
    found = CoupList()
    for moment in moments(world.facts):
        found.take(moment)
    return found.by_id


def disputed_and_corrected(reason: str = "camera 4 shows a king") -> KeptWorld:
    """Play `DISPUTED`, for a reason."""
    steps = [*DISPUTED.splitlines(), f"{CORRECTED} reason={shlex.quote(reason)}"]
    world = play_history(steps, KeptWorld)
    assert isinstance(world, KeptWorld)
    return world
