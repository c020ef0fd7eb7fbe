"""A table on its open log, with plain methods: whoever needs no broker calls them."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

from events.clock import Clock
from events.commands import Answer, Command, Preview, ShowCoup, ShowRequest
from events.log.store import EventLog
from events.log.vouching import write_head
from events.mqtt.process import Steps, no_probe
from events.mqtt.process_shell import AtOnce, clock_and_log_lines, perform_at_once
from events.mqtt.topics import Topics
from events.structured_log import structlog
from events.types import LimitsSet, ShoeAck, ShoeEvent
from table_core.process.checkpoints import CheckpointKeys, Checkpoints
from table_core.process.log_effects import CiteProfile, StoreCheckpoint
from table_core.process.previews import answer_preview
from table_core.process.table_writer import ShoeEventResult, TableWriter
from table_core.rules.rulebook import Rulebook
from table_core.service.log_performers import log_performers
from table_core.state.table import TableState
from table_core.trust.access import Access, ReadAccess

__all__ = ["Table"]

_T = TypeVar("_T")
_log: Final = structlog.get_logger()


class Table:
    """Performs the steps of a `TableWriter` at once.

    Args:
        log: the table's event log, which this object owns.
        topics: site and table.
        rulebook: see `TableWriter`, as the following ones.
        clock: for the timestamps of appended events.
        roles: user to roles.
        result_required: whether the table waits for the shoe's own result.
        library: other rulebooks, by which a settled coup can be judged again.
        property_scale: the property's pay scale; None where nobody has said one.
        dealer_accounts: whether a dealer is an account with that role, instead of any reference.
        sign_corrections_from: see `DecisionContext`.
        salt_key: see `TableWriter`.
        probe: called with the name of each step around the append.
        keys: sign what a kill left, before a rulebook is adopted.
        head: see the attribute.

    Attributes:
        checkpoints: of the log; None before `sign_checkpoints`.
        head: where the newest signed checkpoint is kept as well (`events.log.vouching`); or None.
        on_profile_cited: called with a shoe event before it is appended; keeps the wire profile
            that read it, and returns how the event contradicts its raw bytes by that, or None.
            Raises LogUnwritable where it must not be appended.
        access: says who may do what and how the bus is trusted; None where `roles` says it all.
    """

    def __init__(  # noqa: PLR0913 - each is a setting of the table
        self,
        log: EventLog,
        topics: Topics,
        rulebook: Rulebook,
        clock: Clock,
        *,
        roles: Mapping[str, frozenset[str]],
        result_required: bool = True,
        library: Sequence[Rulebook] = (),
        property_scale: str | None = None,
        dealer_accounts: bool = False,
        sign_corrections_from: int | None = None,
        salt_key: bytes = b"",
        probe: Callable[[str], None] = no_probe,
        keys: CheckpointKeys | None = None,
        head: Path | None = None,
    ) -> None:
        self.log, self.clock, self.probe = log, clock, probe
        self.on_profile_cited: Callable[[ShoeEvent], str | None] = _agrees
        self.access: Callable[[], Access] | None = None
        self.checkpoints: Checkpoints | None = None
        self.head = head
        self.performers: AtOnce = {
            **clock_and_log_lines(clock),
            **log_performers(log, probe),
            StoreCheckpoint: self._store_checkpoint,
            CiteProfile: lambda it: self.on_profile_cited(it.event),
            ReadAccess: lambda _: self.access() if self.access else Access(roles=roles),
        }
        self.writer = TableWriter(
            topics,
            rulebook,
            roles=roles,
            result_required=result_required,
            library=library,
            property_scale=property_scale,
            dealer_accounts=dealer_accounts,
            sign_corrections_from=sign_corrections_from,
            salt_key=salt_key,
        )
        if keys is not None:
            self.writer.before_money = Checkpoints(self.writer, keys).sign_left
        self.perform(self.writer.start())

    @property
    def state(self) -> TableState:
        """The state after the newest event."""
        return self.writer.state

    @property
    def rulebook(self) -> Rulebook:
        """The rulebook in force."""
        return self.writer.rulebook

    @property
    def shoe_ack(self) -> ShoeAck:
        """See `TableWriter.shoe_ack`."""
        return self.writer.shoe_ack

    def perform(self, steps: Steps[_T]) -> _T:
        """Run steps of which no effect waits, and return their result."""
        return perform_at_once(steps, self.performers, self.probe)

    def hear(self, event: ShoeEvent) -> ShoeEventResult:
        """See `TableWriter.hear`."""
        return self.perform(self.writer.hear(event))

    def ask(self, user: str, command: Command, *, caught_up: bool) -> Answer:
        """See `TableWriter.ask`."""
        return self.perform(self.writer.ask(user, command, caught_up=caught_up))

    def show(self, user: str, command: ShowCoup | ShowRequest | Preview) -> Answer:
        """See `answer_preview`."""
        return self.perform(answer_preview(self.writer, user, command))

    def close_books(self) -> None:
        """See `TableWriter.close_books`."""
        self.perform(self.writer.close_books())

    def configure_limits(self, limits: LimitsSet | None) -> None:
        """See `TableWriter.configure_limits`."""
        self.perform(self.writer.configure_limits(limits))

    def sign_checkpoints(self, keys: CheckpointKeys) -> Checkpoints:
        """Sign checkpoints of the log from now on; see `Checkpoints.start`."""
        self.checkpoints = Checkpoints(self.writer, keys)
        self.perform(self.checkpoints.start())
        return self.checkpoints

    def adopt_log(self, *, by: str, reason: str, kept: str) -> None:
        """See `TableWriter.adopt_log`."""
        self.perform(self.writer.adopt_log(by=by, reason=reason, kept=kept))

    def _store_checkpoint(self, effect: StoreCheckpoint) -> None:
        self.log.store_checkpoint(effect.note)
        if self.head is None:
            return
        try:
            write_head(self.head, effect.note)
        except OSError as error:  # the next checkpoint replaces it; the log's own is stored
            _log.error("checkpoint.head_not_kept", path=str(self.head), reason=str(error))

    def make_due_checkpoint(self) -> None:
        """See `Checkpoints.look`."""
        if self.checkpoints is not None:
            self.perform(self.checkpoints.look())


def _agrees(_: ShoeEvent) -> None:
    """Compare nothing: nobody here can read the wire."""
