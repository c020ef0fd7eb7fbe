"""The only writer of a table's log: decides, appends in one commit, and folds.

It is synchronous on purpose. Nothing else of this process runs between a decision and its append,
so the log's order is the order of the decisions.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Final

import msgspec

from events.clock import Clock, rfc3339
from events.commands.base import ANSWER_ACCEPTED, ANSWER_EXISTS, Answer, Command, Refusal
from events.commands.cards import CorrectCard
from events.commands.corrections import CorrectHands, CorrectRulebook, CorrectWager
from events.commands.coup import VoidCoup
from events.commands.registry import COMMANDS
from events.errors import InputError, LogRefused, MalformedJson
from events.json_form import decode_json
from events.log.store import EventLog, Pending, Stored
from events.mqtt.topics import Topics
from events.types.envelope import encode_envelope
from events.types.integrity import CheckpointKeyChanged
from events.types.irregularities import IrregularityRecorded
from events.types.shoe_reports import ShoeAck, ShoeEvent
from events.types.table import ShoeEnded, TableEvent
from events.types.wagers import LimitsSet
from table_core.decide.authority import authorise
from table_core.decide.decision import DecisionContext
from table_core.decide.dispatch import adopt_rulebook, decide, result_overdue
from table_core.decide.integrity_lockdown import lockdown_refusal
from table_core.decide.shoe_reports import decide_on_report
from table_core.fold.corrections import find_past_coup
from table_core.fold.dispatch import fold_all
from table_core.fold.snapshot import encode_state, snapshot_anchor
from table_core.refusals import Decision
from table_core.rules.rulebook import Rulebook
from table_core.service.clock_watch import ClockWatch
from table_core.service.configured_limits import ConfiguredLimits
from table_core.service.coup_recall import RecalledCoup, recall_coup
from table_core.service.options import RotationPolicy
from table_core.service.repeated_requests import (
    encode_request_body,
    refusal_answer,
    repeated_answer,
    transaction_of,
)
from table_core.service.rotation_policy import Rotation
from table_core.service.snapshots import restore_state, store_snapshot
from table_core.service.startup_rulebook import startup_rulebook
from table_core.state.table import Coup, TableState

__all__ = ["OF_A_COUP", "ShoeEventResult", "Table", "no_probe", "parse_command"]

OF_A_COUP: Final = (CorrectCard, CorrectHands, CorrectWager, CorrectRulebook, VoidCoup)
"""Commands that put a coup right, which may be of any shoe in the log."""


class ShoeEventResult(Enum):
    """The result of a shoe event."""

    APPENDED = "appended"
    DUPLICATE = "duplicate"
    GAP = "gap"
    """An earlier event is missing: this one is not appended, and the driver must resend."""


def no_probe(step: str) -> None:
    """Do nothing; a probe is called with the name of each step, and tests pass their own."""


class Table:
    """A table and its log: the state, and the only code that changes it.

    Args:
        log: the table's event log, which this object owns.
        topics: site and table.
        rulebook: in force from now on, or from the end of a coup in progress (`startup_rulebook`).
        clock: for the timestamps of appended events.
        roles: user to roles.
        result_required: whether the table waits for the shoe's own result.
        library: other rulebooks, by which a settled coup can be judged again.
        probe: called with the name of each step around the append.

    Attributes:
        cited: called with the hash of the wire profile that read a shoe event, before the event is
            appended; raises LogUnwritable where it must not be appended.
    """

    def __init__(
        self,
        log: EventLog,
        topics: Topics,
        rulebook: Rulebook,
        clock: Clock,
        *,
        roles: Mapping[str, frozenset[str]],
        result_required: bool = True,
        library: Sequence[Rulebook] = (),
        probe: Callable[[str], None] = no_probe,
    ) -> None:
        self._log = log
        self._stream = f"{topics.site}/{topics.table}"
        self._clock = clock
        self._roles = roles
        self.on_profile_cited: Callable[[str], None] = no_probe
        self._probe = probe
        self._closing = Rotation(log, "never", clock, probe)
        self._site_limits = ConfiguredLimits(log, None)
        opened = restore_state(log)
        self.state = opened.state
        self.rulebook = startup_rulebook(self.state, rulebook, library)
        self.library = tuple(library)
        self._context = DecisionContext(
            table=topics.table,
            rulebook=self.rulebook,
            result_required=result_required,
            library=self.library,
        )
        self._owed, self._fault = opened.owed, opened.fault
        newest = [stored.at for stored in log.read(log.position, 1)] if log.position else []
        self._watch = ClockWatch(clock, newest[0] if newest else "")
        self._adopt()

    def hear(self, event: ShoeEvent) -> ShoeEventResult:
        """Append what follows from a shoe event; skip a duplicate, refuse one after a gap.

        Raises:
            LogUnwritable: nothing was stored; the event must not be acknowledged.
        """
        link = self.state.link
        if event.journal in link.past:
            return ShoeEventResult.DUPLICATE
        last = link.seq if event.journal == link.journal else 0
        if event.seq <= last:
            return ShoeEventResult.DUPLICATE
        if event.seq > last + 1:
            return ShoeEventResult.GAP
        self.on_profile_cited(event.profile_hash)
        events = decide_on_report(self.state, event, self._context)
        self._append(events, actor="shoe", cause=f"{event.journal}/{event.seq}")
        return ShoeEventResult.APPENDED

    @property
    def shoe_ack(self) -> ShoeAck:
        """Return the acknowledgement of the shoe events appended so far."""
        return ShoeAck(journal=self.state.link.journal, seq=self.state.link.seq)

    def ask(
        self,
        user: str,
        command: Command,
        *,
        caught_up: bool,
        recalled: RecalledCoup | None = None,
    ) -> Answer:
        """Decide on a command, append its events, and return the answer for the user.

        The same transaction with the same body answers `exists` with the first position. `recalled`
        must still hold; without it, the table reads the log itself.

        Raises:
            LogUnwritable: nothing was stored, and the command is not done.
        """
        key, body = f"{user}/{command.transaction}", encode_request_body(command)
        known = self._log.recorded(key)
        if known is not None:
            return repeated_answer(command, body, known)
        decision = self._decide(user, command, recalled, caught_up=caught_up)
        if isinstance(decision, Refusal):
            return refusal_answer(command.transaction, decision)
        if not decision:
            return Answer(
                transaction=command.transaction,
                result=ANSWER_EXISTS,
                position=self.state.position,
            )
        try:
            who = user if command.actor is None else f"{user}:{command.actor}"
            self._append(decision, actor=who, cause=key, request=(key, body))
        except InputError as error:
            return refusal_answer(command.transaction, "too_large", str(error))
        return Answer(
            transaction=command.transaction, result=ANSWER_ACCEPTED, position=self.state.position
        )

    def outcome_of_request(self, user: str, transaction: str) -> int | None:
        """Return the position up to which a user's request was carried out; None where it was not.

        Raises:
            LogRefused: a closed segment or its index cannot be read.
        """
        known = self._log.recorded(f"{user}/{transaction}")
        return None if known is None else known.position

    def knows(self, user: str, transaction: str) -> bool:
        """Return whether the log holds, or should hold, a user's request of this transaction."""
        try:
            return self.outcome_of_request(user, transaction) is not None
        except LogRefused:  # a closed segment is missing or was changed: `ask` reports it
            return True

    def preview(
        self, user: str, command: Command, recalled: RecalledCoup | None = None
    ) -> tuple[TableEvent, ...] | Answer:
        """Return what `ask` would append for a command that nobody has given, or its refusal."""
        decision = self._decide(user, command, recalled, caught_up=True)
        return (
            refusal_answer(command.transaction, decision)
            if isinstance(decision, Refusal)
            else decision
        )

    def coup_on_record(self, coup: str, recalled: RecalledCoup | None = None) -> Coup | None:
        """Return a coup of any shoe in the log, with its corrections; None for an unknown id."""
        found = find_past_coup(self.state, coup)
        if found is None and self.state.coup and self.state.coup.id == coup:
            found = self.state.coup
        then = self._recall(coup, recalled) if found is None else None
        return find_past_coup(then, coup) if then else found

    def _decide(
        self, user: str, command: Command, recalled: RecalledCoup | None, *, caught_up: bool
    ) -> Decision:
        of_actor = frozenset() if command.actor is None else self.roles(command.actor)
        refusal = authorise(self.roles(user), command, of_actor) or lockdown_refusal(
            self.state, command, self._fault
        )
        if refusal is not None:
            return refusal
        context = msgspec.structs.replace(self._context, user=user, caught_up=caught_up)
        if isinstance(command, OF_A_COUP) and command.coup is not None:
            then = self._recall(command.coup, recalled)
            context = msgspec.structs.replace(context, recalled=then)
        return decide(self.state, command, context)

    def _recall(self, coup: str, recalled: RecalledCoup | None) -> TableState | None:
        """Return the recalled state for a coup that the state does not hold, given or read now."""
        last = self.state.coup
        if find_past_coup(self.state, coup) or (
            last and last.id == coup and self.state.in_progress
        ):
            return None
        if recalled is not None and recalled.coup == coup:
            return recalled.state
        return recall_coup(self._log.read, self.state.position, coup)

    def roles(self, user: str) -> frozenset[str]:
        """Return the roles of a user; none for a user that the configuration does not name."""
        return self._roles.get(user, frozenset())

    def report_overdue(self, waited_s: int) -> None:
        """Raise the alarm for a device result that does not come.

        Raises:
            LogUnwritable: nothing was stored.
        """
        events = result_overdue(self.state, waited_s)
        if events and self.state.coup:
            self._append(events, actor="core", cause=f"core/result_overdue/{self.state.coup.id}")

    def report_clock(self) -> None:
        """Record that the machine's clock went back, if it did.

        Raises:
            LogUnwritable: nothing was stored.
        """
        if back_s := self._watch.went_back_s():
            reason = f"the controller's clock went back by {back_s:.1f} s; order is the log's"
            step = IrregularityRecorded(kind="clock_stepped_back", reason=reason)
            self._append([step], actor="core", cause=f"core/clock/{self.state.position + 1}")

    @property
    def fault(self) -> str | None:
        """Why the log cannot be trusted, in one line; None while it can."""
        return self._fault

    def start_lockdown(self, why: str) -> None:
        """Start the integrity lockdown: see `table_core.decide.integrity_lockdown`."""
        self._fault = self._fault or why

    def close_books(self) -> None:
        """Append the snapshot anchor, where a shoe has ended since the last one.

        An untrusted log gets none: the anchor would vouch for it.

        Raises:
            LogUnwritable: nothing was stored, and it is still to be done.
        """
        if self._fault is not None:
            return
        if self._owed is None:
            self._closing.look()
            return
        encoded, log = encode_state(self.state), self._log
        books = snapshot_anchor(
            self.state, encoded, shoe=self._owed, chain=log.head, peaks=log.peaks
        )
        self._append((books,), actor="core", cause=f"core/books/{books.size}")
        self._owed = None
        store_snapshot(log.path, encoded)
        self._closing.look()

    def configure_rotation(self, when: RotationPolicy) -> None:
        """Rotate the log from now on, `when` its books are closed."""
        self._closing = Rotation(self._log, when, self._clock, self._probe)

    def configure_limits(self, limits: LimitsSet | None) -> None:
        """Use the configured limits from now on, where they have changed.

        Raises:
            LogUnwritable: nothing was stored.
        """
        self._site_limits = ConfiguredLimits(self._log, limits)
        self.append_due_limits()

    def append_due_limits(self) -> None:
        """Append the configured limits, where they are due and no coup is in progress.

        Raises:
            LogUnwritable: nothing was stored, and it is still to be done.
        """
        due = self._site_limits.due(self.state)
        if due and self._fault is None:
            self._append(due, actor="core", cause=f"core/limits/{self.state.position + 1}")
            self._site_limits.said(self.state.position)

    def announce_key(self, key: str) -> None:
        """Announce that `key`, a public key line, signs checkpoints from now on.

        Raises:
            LogUnwritable: nothing was stored.
        """
        cause = f"core/checkpoint_key/{self.state.position + 1}"
        self._append([CheckpointKeyChanged(key=key)], actor="core", cause=cause)

    def read(self, start: int, limit: int | None = None) -> Iterator[Stored]:
        """Return stored events from position `start` on."""
        return self._log.read(start, limit)

    def _adopt(self) -> None:
        state, rulebook = self.state, self.rulebook
        cause = f"core/rulebook/{rulebook.hash}/{state.position + 1}"
        self._append(adopt_rulebook(state, rulebook), actor="core", cause=cause)

    def _append(
        self,
        events: Sequence[TableEvent],
        *,
        actor: str,
        cause: str,
        request: tuple[str, bytes] | None = None,
    ) -> None:
        if not events:
            return
        state = fold_all(self.state, events)
        at = rfc3339(self._clock.utc_ns())
        pending = []
        for index, event in enumerate(events):
            position = self.state.position + 1 + index
            stored = encode_envelope(
                event,
                index=index,
                stream=self._stream,
                position=position,
                at=at,
                actor=actor,
                cause=cause,
                correlation=_correlation(event),
            )
            pending.append(Pending(event.TYPE, event.VERSION, at, stored))
        self._probe("append.before")
        self._log.append(self.state.position, pending, request)
        self._probe("append.after")
        self.state = state
        ended = [event.shoe for event in events if isinstance(event, ShoeEnded)]
        self._owed = ended[-1] if ended else self._owed


def parse_command(name: str, body: bytes) -> Command | Answer:
    """Parse a request's body strictly; a bad body is answered, and never raises."""
    kind = COMMANDS.get(name)
    if kind is None:
        text = f"no such command; there are {', '.join(sorted(COMMANDS))}"
        return refusal_answer(transaction_of(body), "unknown_command", text)
    try:
        return decode_json(body, kind)
    except MalformedJson as error:
        return refusal_answer(transaction_of(body), "invalid_request", str(error))


def _correlation(event: TableEvent) -> str:
    """Return the coup's id of an event that names one, else empty."""
    return str(getattr(event, "coup", None) or "")
