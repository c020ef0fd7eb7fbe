"""An `enq-bcc` shoe whose every report goes through bytes, a journal and the driver's decoder."""

from collections.abc import Callable
from typing import Any, Final

from msgspec import json

from events.cards import Winner
from events.types.shoe_reports import (
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
    UnknownReport,
)
from shoe_driver.decode import Decoder
from shoe_driver.journal.records import MAGIC, JournalHeader, Record, RecordKind, encode_record
from shoe_driver.profiles.catalogue import load_profile, profile_text
from simulators.device.enq_bcc import EnqBccDevice
from simulators.device.printed_rules import PrintedOutcome, PrintedPlace
from simulators.device.reports import Copies
from tests.support.clock import FakeClock

__all__ = ["WiredShoe"]

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
