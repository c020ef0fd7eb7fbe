"""The product's table, its log and its checkpoints behind the games that tests know how to play.

`WiredTable` is the `World` of `tests.support.table.coups`; `WiredGame` the game that the corpus
records. Either way every card comes as bytes, and every command through the table's own door.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from msgspec import json
from msgspec.structs import replace

from events.cards import Winner
from events.commands import ANSWER_REFUSED, Command, Refusal
from events.commands.registry import ROLES, ROW_OF
from events.log.store import EventLog
from events.mqtt.topics import Topics
from events.proof.note import SigningKey
from events.types import (
    AnyReport,
    BurnCard,
    CardCarriedOver,
    CardDrawn,
    CardOutOfGame,
    CardRevealed,
    CardUnreadable,
    DeviceResult,
    ErrorCleared,
    ErrorRaised,
    FirstCard,
    FrameRejected,
    LinkDown,
    LinkOpen,
    LinkStalled,
    LinkUp,
    Report,
    ReportLost,
    RoundForcedEnd,
    ShoeBooted,
    ShoeEvent,
    ShoeReady,
    TableEvent,
    UnknownReport,
    decode_data,
    decode_envelope,
)
from shoe_driver.decode import Decoder
from shoe_driver.journal.records import MAGIC, JournalHeader, Record, RecordKind, encode_record
from shoe_driver.profiles.catalogue import load_profile, profile_text
from simulators.device.enq_bcc import EnqBccDevice
from simulators.device.printed_rules import PrintedOutcome, PrintedPlace
from simulators.device.reports import Copies
from table_core.decide.decision import DecisionContext
from table_core.process.checkpoints import CheckpointKeys
from table_core.process.options import RotationPolicy
from table_core.process.table_writer import ShoeEventResult
from table_core.rules.rulebook import Rulebook
from table_core.service.table import Table
from tests.support.clock import FakeClock, ticking_clock
from tests.support.log.corpus_game import CorpusGame
from tests.support.table.coups import World

_PROFILE = "enq-bcc"


class WiredShoe:
    """See the module.

    Args:
        clock: stamps what arrives.

    Attributes:
        files: the driver's journal, as far as it has come.
    """

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._device = EnqBccDevice()
        self._decoder = Decoder(load_profile(_PROFILE), "j1")
        self.files: list[bytes] = []
        self._begin()

    def next_file(self) -> None:
        """The journal goes on in another file, between two coups."""
        carried = self._decoder.carried(self._clock.mono_us())
        assert carried is not None
        self._begin()
        self._arrived(RecordKind.CARRIED, json.encode(carried))

    def _begin(self) -> None:
        text = profile_text(_PROFILE).decode()
        header = JournalHeader(journal="j1", profile=text, segment=len(self.files) + 1)
        self.files.append(MAGIC)
        self._arrived(RecordKind.HEADER, json.encode(header))

    def say(self, report: AnyReport) -> list[ShoeEvent]:
        """What the driver tells of it: the report, and perhaps more."""
        match report:
            case LinkOpen(transport=text):
                return self._arrived(RecordKind.OPEN, text.encode())
            case LinkDown(reason=text):
                return self._arrived(RecordKind.CLOSE, text.encode())
            case LinkStalled(silent_ms=silent):
                return self._arrived(RecordKind.SILENCE, str(silent).encode())
            case FrameRejected(reason="stale", raw=raw):
                return self._arrived(RecordKind.STALE, bytes.fromhex(raw))
            case _:
                return self._arrived(
                    RecordKind.DATA, b"".join(_WORDS[type(report)](self._device, report))
                )

    def say_late(self, report: AnyReport) -> list[ShoeEvent]:
        """The same, and its last copy comes so late that the profile's window is over."""
        *copies, last = _WORDS[type(report)](self._device, report)
        told = self._arrived(RecordKind.DATA, b"".join(copies))
        return told + self._arrived(RecordKind.DATA, last)

    def _arrived(self, kind: RecordKind, payload: bytes) -> list[ShoeEvent]:
        utc_ns = self._clock.utc_ns()
        record = Record(kind, self._clock.mono_us(), utc_ns, payload)
        self.files[-1] += encode_record(record)
        return self._decoder.feed(record)


def _called(result: DeviceResult) -> PrintedOutcome:
    """As much of an outcome as the device tells."""
    return PrintedOutcome(
        player=(),
        banker=(),
        player_total=0,
        banker_total=0,
        winner=Winner(result.winner),
        natural=False,
        player_pair=result.player_pair,
        banker_pair=result.banker_pair,
        banker_six=result.banker_six,
    )


def _drawn(device: EnqBccDevice, report: CardDrawn) -> Copies:
    place = _place(report)
    return device.card_drawn(place, report.face) if report.face else device.card_unread(place)


def _place(report: Any) -> PrintedPlace:
    return PrintedPlace(report.hand, report.number)


def _lost(device: EnqBccDevice, _: ReportLost) -> Copies:
    device.unknown()  # nobody hears this one
    return device.unknown()


def _out_of_game(device: EnqBccDevice, report: CardOutOfGame) -> Copies:
    if report.reason == "overdrawn" and report.face:
        return device.out_of_play(report.face)
    return device.drawn_outside(report.face)


# What it has words for, and how it says it.
_WORDS: Final[dict[type[Report], Callable[[EnqBccDevice, Any], Copies]]] = {
    BurnCard: lambda device, report: device.burn_card(report.face, report.left),
    CardCarriedOver: lambda device, report: device.carried_over(_place(report), report.face),
    CardDrawn: _drawn,
    CardOutOfGame: _out_of_game,
    CardRevealed: lambda device, report: device.revealed(_place(report), report.face),
    CardUnreadable: lambda device, report: device.card_unread(_place(report)),
    DeviceResult: lambda device, report: device.result(_called(report)),
    ErrorCleared: lambda device, report: device.error_cleared(report.code),
    ErrorRaised: lambda device, report: device.error_raised(report.code, latched=report.latched),
    FirstCard: lambda device, report: device.first_card(report.face),
    LinkUp: lambda device, _: device.standby(),
    ReportLost: _lost,
    RoundForcedEnd: lambda device, _: device.forced_end(),
    ShoeBooted: lambda device, _: device.power_up(),
    ShoeReady: lambda device, _: device.standby(),
    UnknownReport: lambda device, _: device.unknown(),
}


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
