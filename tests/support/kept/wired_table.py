"""The product's table, its log and its checkpoints behind the games that tests know how to play.

`WiredTable` is the `World` of `tests.support.table.coups`; `WiredGame` the game that the corpus
records. Either way every card comes as bytes, and every command through the table's own door.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from events.commands.base import ANSWER_REFUSED, Command, Refusal
from events.commands.registry import ROLES, ROW_OF
from events.log.store import EventLog
from events.mqtt.topics import Topics
from events.proof.note import SigningKey
from events.types.envelope import decode_data, decode_envelope
from events.types.shoe_reports import AnyReport, CardDrawn, CardUnreadable
from events.types.table import TableEvent
from table_core.decide.decision import DecisionContext
from table_core.process.checkpoints import CheckpointKeys
from table_core.process.options import RotationPolicy
from table_core.process.table_writer import ShoeEventResult
from table_core.rules.rulebook import Rulebook
from table_core.service.table import Table
from tests.support.clock import ticking_clock
from tests.support.kept.wired_shoe import WiredShoe
from tests.support.log.corpus_game import CorpusGame
from tests.support.table.coups import World

__all__ = ["Stage", "WiredGame", "WiredTable", "who_may"]

_CHECKPOINT_S: Final = 300
_USERS: Final = {role: frozenset({role}) for role in ROLES}
_FIRST: Final = ("wagers", "dealer", "supervisor", "cage")


def who_may(command: Command) -> str:
    """Whoever asks for such a thing at a table."""
    return next(role for role in _FIRST if role in ROW_OF[type(command)].roles)


@dataclass
class Stage:
    """What lies below a table.

    Args:
        log: an empty log.
        key: signs it.
        retiring: signed it before.
        new_file: when it goes on in a new one.
    """

    log: EventLog
    key: SigningKey
    retiring: SigningKey | None = None
    new_file: RotationPolicy = "never"

    def __post_init__(self) -> None:
        self.clock = ticking_clock()
        self.shoe = WiredShoe(self.clock)

    def table(self, rulebook: Rulebook, library: Sequence[Rulebook]) -> Table:
        """A core that starts on the log."""
        table = Table(
            self.log,
            Topics(*self.log.origin.split("/")),
            rulebook,
            self.clock,
            roles=_USERS,
            library=library,
        )
        table.writer.configure_rotation(self.new_file)
        keys = CheckpointKeys(self.key, self.retiring, _CHECKPOINT_S)
        table.sign_checkpoints(keys)
        self.core = table
        return table

    def said(self, table: Table, report: AnyReport, *, late: bool = False) -> None:
        """The shoe says it, perhaps a copy late, and the table takes all that the driver tells."""
        told = self.shoe.say_late(report) if late else self.shoe.say(report)
        for event in told:
            assert table.hear(event) is ShoeEventResult.APPENDED
        # To this shoe a card that it could not read is one whose face it does not tell.
        kind = CardDrawn if isinstance(report, CardUnreadable) else type(report)
        assert kind in {type(event.report) for event in told}, (report, told)
        table.make_due_checkpoint()


class WiredTable(World):
    """See the module; `context` may name rulebooks that the table does not have."""

    def __init__(self, stage: Stage, context: DecisionContext, library: Sequence[Rulebook]) -> None:
        self.context = replace(context, library=tuple(library))
        self.log: list[TableEvent] = []
        self._transaction = 0
        self._stage = stage
        self._table = stage.table(context.rulebook, self.context.library)
        self._heard()

    def ask(self, command: Command) -> list[TableEvent] | Refusal:
        answer = self._table.ask(who_may(command), command, caught_up=True)
        self._stage.core.make_due_checkpoint()
        if answer.result == ANSWER_REFUSED:
            return Refusal(code=answer.code or "", text=answer.text or "")
        return self._heard()

    def say(self, *reports: AnyReport) -> list[TableEvent]:
        made: list[TableEvent] = []
        for report in reports:
            self._stage.said(self._table, report)
            made += self._heard()
        return made

    def close_books(self) -> None:
        """The shoe has ended."""
        self._table.close_books()
        self._stage.core.make_due_checkpoint()
        self._heard()

    def _heard(self) -> list[TableEvent]:
        stored = self._stage.log.read(len(self.log) + 1)
        made = [decode_data(decode_envelope(each.stored)) for each in stored]
        self.log += made
        self.state = self._table.state
        return made


class WiredGame(CorpusGame):
    """See the module."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        super().__init__(stage.log)

    def started(self, rulebook: Rulebook) -> Table:
        return self.stage.table(rulebook, self.library)

    def ask(self, command: Command) -> list[TableEvent] | Refusal:
        made = super().ask(command)
        self.stage.core.make_due_checkpoint()
        return made

    def hear(self, report: AnyReport) -> None:
        self.stage.said(self.table, report)
