"""The only writer of a table's log: decides, appends in one commit, and folds. Pure.

None of its effects waits. Nothing else of this process runs between a decision and its append, so
the log's order is the order of the decisions.
"""

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Final

import msgspec

from events.clock import rfc3339
from events.commands import (
    ANSWER_ACCEPTED,
    ANSWER_EXISTS,
    Answer,
    Command,
    CorrectCard,
    CorrectHands,
    Correction,
    CorrectRulebook,
    CorrectWager,
    Refusal,
    VoidCoup,
    transaction_of,
)
from events.commands.registry import COMMANDS
from events.commands.text_lengths import COMMAND_LENGTHS
from events.errors import ConfigError, InputError, LogRefused, MalformedJson
from events.free_text import find_forbidden
from events.json_form import decode_json, replace_lone_surrogates
from events.mqtt.process import LogLine, Now, Steps
from events.mqtt.topics import Topics
from events.toml_form import FileFault
from events.types import (
    BettingClosed,
    BooksClosed,
    CheckpointKeyChanged,
    IrregularityRecorded,
    LimitsSet,
    LogAdopted,
    LoginsNoted,
    Pending,
    RulebookAdopted,
    ShoeAck,
    ShoeEnded,
    ShoeEvent,
    TableEvent,
    encode_envelope,
)
from events.types.registry import MONEY_TYPES
from table_core.decide.authority import authorise
from table_core.decide.coup_resolution import settle_ahead
from table_core.decide.decision import DecisionContext
from table_core.decide.dispatch import adopt_rulebook, decide, result_overdue
from table_core.decide.shoe_reports import decide_on_report
from table_core.fold.corrections import find_whole_coup
from table_core.fold.dispatch import fold_all
from table_core.fold.snapshot import encode_state, snapshot_anchor
from table_core.process.clock_watch import ClockWatch
from table_core.process.configured_limits import ConfiguredLimits
from table_core.process.coup_recall import RecalledCoup
from table_core.process.log_effects import (
    Append,
    CiteProfile,
    DescribeLog,
    OpenState,
    ReadLog,
    ReadRequest,
    RecallFromLog,
    StoreSnapshot,
)
from table_core.process.options import RotationPolicy
from table_core.process.publishers import SEALED
from table_core.process.repeated_requests import (
    encode_request_body,
    refusal_answer,
    repeated_answer,
)
from table_core.process.rotation_policy import Rotation
from table_core.process.startup_rulebook import startup_rulebook
from table_core.refusals import Decision, refuse
from table_core.rulebook_check.check import check_rulebook
from table_core.rules.rulebook import Rulebook
from table_core.rules.settlement import KeptSettlement
from table_core.state.coup import Phase
from table_core.state.table import Coup, TableState

FIRST_START: Final = "first_start"
"""The reason of an adoption that nobody asked for: no head was kept yet."""
# Commission is paid when its coup is over, and evidence of the coup has to cover that too. Wagers
# are signed before the first card, so that nobody adds one when the cards are known.
LANDMARKS: Final = MONEY_TYPES | {
    RulebookAdopted.TYPE,
    BettingClosed.TYPE,
    ShoeEnded.TYPE,
    BooksClosed.TYPE,
    LogAdopted.TYPE,
    LoginsNoted.TYPE,
}
"""Event types after which a checkpoint is due at once."""

__all__ = [
    "FIRST_START",
    "LANDMARKS",
    "OF_A_COUP",
    "ShoeEventResult",
    "TableWriter",
    "decision_digest",
    "parse_command",
]

OF_A_COUP: Final = (CorrectCard, CorrectHands, CorrectWager, CorrectRulebook, VoidCoup)
"""Commands that put a coup right, which may be of any shoe in the log."""

# Changes of the access that one event says; a users file may have 10,000 accounts.
_CHANGES_MOST: Final = 50
# Of a salt, hex: 80 bits, too many to try for each face, and few enough for a packed log.
_SALT_DIGITS: Final = 20


class ShoeEventResult(Enum):
    """The result of a shoe event."""

    APPENDED = "appended"
    DUPLICATE = "duplicate"
    GAP = "gap"
    """An earlier event is missing: this one is not appended, and the driver must resend."""
    CONTRADICTED = "contradicted"
    """Its raw bytes say something else: it is not appended, and the driver must resend."""


class TableWriter:
    """A table: the state, and the only code that changes it and its log.

    Args:
        topics: site and table.
        rulebook: in force from now on, or from the end of a coup in progress (`startup_rulebook`).
        roles: user to roles.
        result_required: whether the table waits for the shoe's own result.
        library: other rulebooks, by which a settled coup can be judged again.
        property_scale: the property's pay scale; None where nobody has said one.
        dealer_accounts: whether a dealer is an account with that role, instead of any reference.
        sign_corrections_from: see `DecisionContext`.
        salt_key: a secret of this process, from which the salts of sealed events follow; where it
            is empty they have none.

    Attributes:
        state: after the newest event.
        fault: why the log cannot be trusted, in one line; None while it can.
        contradiction: how the newest shoe event contradicts its raw bytes; None where it does not.
        landmark: position of the newest of `LANDMARKS` that this writer has appended; 0 for none.
        before_money: what to do before events with money are appended, before a rotation, and
            before a start adopts a rulebook. Raises LogUnwritable where they must not be.
    """

    def __init__(  # noqa: PLR0913 - each is a setting of the table
        self,
        topics: Topics,
        rulebook: Rulebook,
        *,
        roles: Mapping[str, frozenset[str]],
        result_required: bool = True,
        library: Sequence[Rulebook] = (),
        property_scale: str | None = None,
        dealer_accounts: bool = False,
        sign_corrections_from: int | None = None,
        salt_key: bytes = b"",
    ) -> None:
        self.topics = topics
        self.state = TableState()
        self.rulebook = rulebook
        self.library = tuple(library)
        self.fault: str | None = None
        self.contradiction: str | None = None
        self.landmark = 0
        self.before_money: Callable[[], Steps[None]] = _nothing
        self.rulebook_faults: tuple[FileFault, ...] = ()
        self._stream = f"{topics.site}/{topics.table}"
        self._roles = roles
        self._result_required = result_required
        self._property_scale = property_scale
        self._dealer_accounts = dealer_accounts
        self._sign_corrections_from = sign_corrections_from
        self._salt_key = salt_key
        self._owed: str | None = None
        self._rotation = Rotation("never")
        self._site_limits = ConfiguredLimits(None)
        self._appended: set[str] = set()

    def start(self) -> Steps[None]:
        """Open the log, and adopt the rulebook.

        Raises:
            ConfigError: the rulebook cannot be used at this moment (`startup_rulebook`), or it is
                not in force yet and has a fault (`check_rulebook`).
            LogRefused: the log is damaged, or this build cannot read it.
            LogUnwritable: nothing was stored.
        """
        self.state, self._owed, self.fault = yield from OpenState()
        self.rulebook = startup_rulebook(
            self.state, self.rulebook, self.library, self._property_scale
        )
        self._context = DecisionContext(
            table=self.topics.table,
            rulebook=self.rulebook,
            result_required=self._result_required,
            library=self.library,
            property_scale=self._property_scale,
            sign_corrections_from=self._sign_corrections_from,
            kept=KeptSettlement(self.rulebook),
        )
        position = self.state.position
        newest = (yield from ReadLog(position, 1)) if position else ()
        self._watch = ClockWatch((yield from Now()), newest[0].at if newest else "")
        cause = f"core/rulebook/{self.rulebook.hash}/{position + 1}"
        adopted = adopt_rulebook(self.state, self.rulebook)
        in_force = self.state.rulebook_hash == self.rulebook.hash
        self.rulebook_faults = check_rulebook(self.rulebook)
        if self.rulebook_faults and not in_force:
            raise ConfigError(_not_adopted(self.rulebook, self.rulebook_faults))
        if adopted:
            yield from self.before_money()
        yield from self._append(adopted, actor="core", cause=cause)
        if self.rulebook_faults:
            fields = {"rulebook": self.rulebook.id, "why": str(self.rulebook_faults[0])}
            yield from LogLine("warning", "rulebook.faulty", fields)

    def hear(self, event: ShoeEvent) -> Steps[ShoeEventResult]:
        """Append what follows from a shoe event; skip a duplicate, refuse one after a gap.

        An event that its own raw bytes contradict is refused as well, and `contradiction` says how.

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
        self.contradiction = yield from CiteProfile(event)
        if self.contradiction is not None:
            return ShoeEventResult.CONTRADICTED
        events = decide_on_report(self.state, event, self._context)
        yield from self._append(events, actor="shoe", cause=f"{event.journal}/{event.seq}")
        return ShoeEventResult.APPENDED

    def look_ahead(self) -> None:
        """Compute what the settlement of a complete coup takes, before the shoe's result is there.

        `KeptSettlement` and the cache of the shoe's examination keep it.
        """
        if self.state.phase is Phase.COMPLETE:
            settle_ahead(self.state, self._context)

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
    ) -> Steps[Answer]:
        """Decide on a command, append its events, and return the answer for the user.

        The same transaction with the same body answers `exists` with the first position. `recalled`
        must still hold; without it, the table reads the log itself.

        Raises:
            LogUnwritable: nothing was stored, and the command is not done.
        """
        key, body = f"{user}/{command.transaction}", encode_request_body(command)
        known = yield from ReadRequest(key)
        if known is not None:
            return repeated_answer(command, body, known)
        decision = yield from self._decide(user, command, recalled, caught_up=caught_up)
        if isinstance(decision, Refusal):
            return refusal_answer(command.transaction, decision)
        if not decision:
            return Answer(
                transaction=command.transaction,
                result=ANSWER_EXISTS,
                position=self.state.position,
            )
        outdated = self._outdated(user, command, decision)
        if outdated is not None:
            return refusal_answer(command.transaction, outdated)
        try:
            who = user if command.actor is None else f"{user}:{command.actor}"
            yield from self._append(decision, actor=who, cause=key, request=(key, body))
        except InputError as error:
            return refusal_answer(command.transaction, "too_large", str(error))
        return Answer(
            transaction=command.transaction, result=ANSWER_ACCEPTED, position=self.state.position
        )

    def _outdated(
        self, user: str, command: Command, decision: Sequence[TableEvent]
    ) -> Refusal | None:
        """Return why a command is not what its person has seen in a preview; None if it is."""
        seen = command.previewed if isinstance(command, Correction) else None
        if seen is None:
            return None
        same = decision_digest(user, command, decision) == seen.digest
        if same and seen.position <= self.state.position:
            return None
        text = f"it would do something else than at position {seen.position}; preview it again"
        return refuse("preview_outdated", text)

    def outcome_of_request(self, user: str, transaction: str) -> Steps[int | None]:
        """Return the position up to which a user's request was carried out; None where it was not.

        Raises:
            LogRefused: a closed segment or its index cannot be read.
        """
        known = yield from ReadRequest(f"{user}/{transaction}")
        return None if known is None else known.position

    def knows(self, user: str, transaction: str) -> Steps[bool]:
        """Return whether the log holds, or should hold, a user's request of this transaction."""
        try:
            return (yield from self.outcome_of_request(user, transaction)) is not None
        except LogRefused:  # a closed segment is missing or was changed: `ask` reports it
            return True

    def preview(
        self, user: str, command: Command, recalled: RecalledCoup | None = None
    ) -> Steps[tuple[TableEvent, ...] | Answer]:
        """Return what `ask` would append for a command that nobody has given, or its refusal."""
        decision = yield from self._decide(user, command, recalled, caught_up=True)
        return (
            refusal_answer(command.transaction, decision)
            if isinstance(decision, Refusal)
            else decision
        )

    def coup_on_record(self, coup: str, recalled: RecalledCoup | None = None) -> Steps[Coup | None]:
        """Return a coup of any shoe in the log, with its corrections; None for an unknown id."""
        found = find_whole_coup(self.state, coup)
        if found is None and self.state.coup and self.state.coup.id == coup:
            found = self.state.coup
        then = (yield from self._recall(coup, recalled)) if found is None else None
        return find_whole_coup(then, coup) if then else found

    def _decide(
        self, user: str, command: Command, recalled: RecalledCoup | None, *, caught_up: bool
    ) -> Steps[Decision]:
        of_actor = frozenset() if command.actor is None else self.roles(command.actor)
        refusal = authorise(self.roles(user), command, of_actor)
        if refusal is not None:
            return refusal
        context = msgspec.structs.replace(
            self._context,
            user=user,
            caught_up=caught_up,
            fault=self.fault,
            dealers=self.dealers,
        )
        if isinstance(command, OF_A_COUP) and command.coup is not None:
            then = yield from self._recall(command.coup, recalled)
            context = msgspec.structs.replace(context, recalled=then)
        return decide(self.state, command, context)

    def _recall(self, coup: str, recalled: RecalledCoup | None) -> Steps[TableState | None]:
        """Return the recalled state for a coup that the state does not hold, given or read now."""
        last = self.state.coup
        if find_whole_coup(self.state, coup) or (
            last and last.id == coup and self.state.in_progress
        ):
            return None
        if recalled is not None and recalled.coup == coup:
            return recalled.state
        return (yield from RecallFromLog(self.state.position, coup))

    def take_appended(self) -> set[str]:
        """Return the types of the events appended since the last call."""
        types, self._appended = self._appended, set()
        return types

    def set_roles(self, roles: Mapping[str, frozenset[str]]) -> None:
        """Judge by these roles from now on."""
        self._roles = roles

    @property
    def dealers(self) -> frozenset[str] | None:
        """The accounts that may deal; None where a dealer is any reference."""
        if not self._dealer_accounts:
            return None
        return frozenset(user for user, roles in self._roles.items() if "dealer" in roles)

    def roles(self, user: str) -> frozenset[str]:
        """Return the roles of a user; none for a user that nothing names."""
        return self._roles.get(user, frozenset())

    def report_overdue(self, waited_s: int) -> Steps[None]:
        """Raise the alarm for a device result that does not come.

        Raises:
            LogUnwritable: nothing was stored.
        """
        events = result_overdue(self.state, waited_s)
        if events and self.state.coup:
            yield from self._append(
                events, actor="core", cause=f"core/result_overdue/{self.state.coup.id}"
            )

    def report_clock(self) -> Steps[None]:
        """Record that the machine's clock went back, if it did.

        Raises:
            LogUnwritable: nothing was stored.
        """
        if back_s := self._watch.went_back_s((yield from Now())):
            reason = f"the controller's clock went back by {back_s:.1f} s; order is the log's"
            step = IrregularityRecorded(kind="clock_stepped_back", reason=reason)
            yield from self._append(
                [step], actor="core", cause=f"core/clock/{self.state.position + 1}"
            )

    def report_access(self, changes: Sequence[str]) -> Steps[None]:
        """Record how the site's files have changed who may do what.

        Raises:
            LogUnwritable: nothing was stored.
        """
        more = f"; and {len(changes) - _CHANGES_MOST} more" if len(changes) > _CHANGES_MOST else ""
        reason = "; ".join(changes[:_CHANGES_MOST]) + more
        step = IrregularityRecorded(kind="access_changed", reason=reason)
        yield from self._append(
            [step], actor="core", cause=f"core/access/{self.state.position + 1}"
        )

    def start_lockdown(self, why: str) -> None:
        """Start the integrity lockdown: see `table_core.decide.integrity_lockdown`."""
        self.fault = self.fault or why

    def close_books(self) -> Steps[None]:
        """Append the snapshot anchor, where a shoe has ended since the last one; rotate the log.

        An untrusted log gets none: the anchor would vouch for it.

        Raises:
            LogUnwritable: nothing was stored, and it is still to be done.
        """
        if self.fault is not None:
            return
        if self._owed is not None:
            encoded, tail = encode_state(self.state), (yield from DescribeLog())
            books = snapshot_anchor(
                self.state, encoded, shoe=self._owed, chain=tail.head, peaks=tail.peaks
            )
            yield from self._append((books,), actor="core", cause=f"core/books/{books.size}")
            self._owed = None
            yield from StoreSnapshot(encoded)
        yield from self._rotation.look(self.state.position, self.before_money)

    def configure_rotation(self, when: RotationPolicy) -> None:
        """Rotate the log from now on, `when` its books are closed."""
        self._rotation = Rotation(when)

    def configure_limits(self, limits: LimitsSet | None) -> Steps[None]:
        """Use the configured limits from now on, where they have changed.

        Raises:
            LogUnwritable: nothing was stored.
        """
        self._site_limits = ConfiguredLimits(limits)
        yield from self._site_limits.start()
        yield from self.append_due_limits()

    def append_due_limits(self) -> Steps[None]:
        """Append the configured limits, where they are due and no coup is in progress.

        Raises:
            LogUnwritable: nothing was stored, and it is still to be done.
        """
        due = self._site_limits.due(self.state)
        if due and self.fault is None:
            cause = f"core/limits/{self.state.position + 1}"
            yield from self._append(due, actor="core", cause=cause)
            yield from self._site_limits.said(self.state.position)

    def announce_key(self, key: str) -> Steps[None]:
        """Announce that `key`, a public key line, signs checkpoints from now on.

        Raises:
            LogUnwritable: nothing was stored.
        """
        cause = f"core/checkpoint_key/{self.state.position + 1}"
        yield from self._append([CheckpointKeyChanged(key=key)], actor="core", cause=cause)

    def adopt_log(self, *, by: str = "", reason: str = FIRST_START, kept: str = "") -> Steps[None]:
        """Vouch for the log as it is; see `LogAdopted` for the arguments.

        Raises:
            LogUnwritable: nothing was stored.
        """
        tail = yield from DescribeLog()
        adopted = LogAdopted(
            size=tail.position, chain=tail.head.hex(), by=by, reason=reason, kept=kept
        )
        cause = f"core/adopted/{self.state.position + 1}"
        yield from self._append([adopted], actor="core", cause=cause)

    def _append(
        self,
        events: Sequence[TableEvent],
        *,
        actor: str,
        cause: str,
        request: tuple[str, bytes] | None = None,
    ) -> Steps[None]:
        if not events:
            return
        if not MONEY_TYPES.isdisjoint([event.TYPE for event in events]):
            yield from self.before_money()
        state = fold_all(self.state, events)
        at = rfc3339((yield from Now()).utc_ns)
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
                salt=self._salt(event, f"{cause}/{index}"),
            )
            pending.append(Pending(event.TYPE, event.VERSION, at, stored))
        yield from Append(self.state.position, pending, request, step="append")
        self.state = state
        types = {event.TYPE for event in events}
        self._appended |= types
        if not LANDMARKS.isdisjoint(types):
            self.landmark = state.position
        ended = [event.shoe for event in events if isinstance(event, ShoeEnded)]
        self._owed = ended[-1] if ended else self._owed

    def _salt(self, event: TableEvent, name: str) -> str:
        if event.TYPE not in SEALED or not self._salt_key:
            return ""
        return hmac.digest(self._salt_key, name.encode(), "sha256").hex()[:_SALT_DIGITS]


def _nothing() -> Steps[None]:
    yield from ()


def decision_digest(user: str, command: Command, events: Sequence[TableEvent]) -> str:
    """Return a digest of a command's events; it is the same for every transaction."""
    own = f"{user}/{command.transaction}/".encode()  # new wagers are named after it
    encoded = msgspec.json.encode([(event.TYPE, event) for event in events])
    return hashlib.sha256(encoded.replace(own, b"")).hexdigest()


def parse_command(name: str, body: bytes) -> Command | Answer:
    """Parse a request's body strictly; a bad body is answered, and never raises."""
    kind = COMMANDS.get(name)
    if kind is None:
        text = f"no such command; there are {', '.join(sorted(COMMANDS))}"
        return refusal_answer(transaction_of(body), "unknown_command", text)
    try:
        return decode_json(body, kind)
    except MalformedJson as error:
        return _bad_body(kind, body, error)


def _bad_body(kind: type[Command], body: bytes, error: MalformedJson) -> Answer:
    """Return the answer to a body that is not of its kind, or only but for half a character."""
    code, text = "invalid_request", str(error)
    try:
        decode_json(replace_lone_surrogates(body.decode()), kind)
    except (MalformedJson, UnicodeDecodeError):
        pass
    else:
        fault = next(find_forbidden(json.loads(body), lengths=COMMAND_LENGTHS), None)
        code, text = ("invalid_text", ": ".join(fault)) if fault else (code, text)
    return refusal_answer(transaction_of(body), code, text)


def _correlation(event: TableEvent) -> str:
    """Return the coup's id of an event that names one, else empty."""
    return str(getattr(event, "coup", None) or "")


def _not_adopted(rulebook: Rulebook, faults: Sequence[FileFault]) -> str:
    first, more = faults[0], len(faults) - 1
    further = f" ({more} more: `baccarat rulebook check` names them)" if more else ""
    return f"rulebook {rulebook.id} is not adopted: {first.code}: {first}{further}"
