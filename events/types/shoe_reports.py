"""Reports of a dealing shoe, as the driver sends them: each with a number and timestamps.

A *report* is the meaning of one frame, or of one event on the link. A `ShoeEvent` is a report with
its number: 1, 2, 3... without gaps per journal. The core acknowledges that number, never the
device's. docs/shoe/profiles.md defines the vocabulary.
"""

from typing import Final, TypeAlias

from msgspec import Struct

from events.cards import Card, Hand

__all__ = [
    "IN_A_FRAME",
    "AnyReport",
    "BurnCard",
    "CardCarriedOver",
    "CardDrawn",
    "CardOutOfGame",
    "CardRevealed",
    "CardReversed",
    "CardUnreadable",
    "CopyConflict",
    "CutCardReported",
    "DeviceResult",
    "ErrorCleared",
    "ErrorRaised",
    "FirstCard",
    "FrameRejected",
    "LinkDown",
    "LinkOpen",
    "LinkStalled",
    "LinkStatus",
    "LinkUp",
    "LockChanged",
    "ModeChanged",
    "Report",
    "ReportLost",
    "RoundForcedEnd",
    "ShoeAck",
    "ShoeBooted",
    "ShoeEvent",
    "ShoeReady",
    "UnknownReport",
]


class Report(
    Struct, frozen=True, gc=False, forbid_unknown_fields=True, tag_field="kind", omit_defaults=True
):
    """The root of all reports of a shoe link; `kind` is the tag."""


class ShoeBooted(Report, frozen=True, kw_only=True, tag="shoe_booted"):
    """The device has powered up; its sequence and its positions start again."""


class ShoeReady(Report, frozen=True, kw_only=True, tag="shoe_ready"):
    """Standby between coups. Not always sent, so it never bounds a coup."""


class LinkOpen(Report, frozen=True, kw_only=True, tag="link_open"):
    """The port is held; nothing is proven about the device yet."""

    transport: str


class LinkUp(Report, frozen=True, kw_only=True, tag="link_up"):
    """A valid frame has arrived since the port was opened."""


class LinkDown(Report, frozen=True, kw_only=True, tag="link_down"):
    """The port was lost or closed, or the driver was restarted while it was open."""

    reason: str


class LinkStalled(Report, frozen=True, kw_only=True, tag="link_stalled"):
    """Silent past the limit, in milliseconds, when the device ought to speak."""

    silent_ms: int


class CardDrawn(Report, frozen=True, kw_only=True, tag="card_drawn"):
    """A card left the shoe. Without a face it is dealt but not yet disclosed."""

    hand: Hand | None = None
    number: int | None = None
    face: Card | None = None


class CardRevealed(Report, frozen=True, kw_only=True, tag="card_revealed"):
    """The face of a card drawn before."""

    hand: Hand
    number: int
    face: Card


class CardUnreadable(Report, frozen=True, kw_only=True, tag="card_unreadable"):
    """A card left the shoe and its face could not be read."""

    hand: Hand | None = None
    number: int | None = None


class FirstCard(Report, frozen=True, kw_only=True, tag="first_card"):
    """The first card of a new shoe, exposed before the burn."""

    face: Card | None = None


class BurnCard(Report, frozen=True, kw_only=True, tag="burn_card"):
    """A card burned; `left` counts down to 0."""

    face: Card | None = None
    left: int | None = None


class CutCardReported(Report, frozen=True, kw_only=True, tag="cut_card"):
    """The cut card has come out."""


class ReportLost(Report, frozen=True, kw_only=True, tag="report_lost"):
    """The device's own numbering jumped: at least one report never arrived."""

    expected: str
    got: str


class CardOutOfGame(Report, frozen=True, kw_only=True, tag="card_out_of_game"):
    """A card that left the shoe and belongs to no hand."""

    reason: str
    face: Card | None = None


class CardCarriedOver(Report, frozen=True, kw_only=True, tag="card_carried_over"):
    """An overdrawn card that becomes a card of the next coup; counted once."""

    hand: Hand
    number: int
    face: Card | None = None


class CardReversed(Report, frozen=True, kw_only=True, tag="card_reversed"):
    """A card moved backwards, at the `exit` or `midway`."""

    place: str


class ErrorRaised(Report, frozen=True, kw_only=True, tag="error_raised"):
    """The device has an error. Several errors can be active, and each is cleared on its own."""

    code: str
    latched: bool


class ErrorCleared(Report, frozen=True, kw_only=True, tag="error_cleared"):
    """One of the standing errors is gone."""

    code: str


class LockChanged(Report, frozen=True, kw_only=True, tag="lock_changed"):
    """The device's key lock was turned."""

    locked: bool


class DeviceResult(Report, frozen=True, kw_only=True, tag="device_result"):
    """The device's own view of the outcome: evidence, not the decision.

    Args:
        winner: `player`, `banker` or `tie`.
        player_pair: first two Player cards of one rank, by the device.
        banker_pair: the same of Banker.
        banker_six: Banker won with six, by the device.
    """

    winner: str
    player_pair: bool = False
    banker_pair: bool = False
    banker_six: bool = False


class RoundForcedEnd(Report, frozen=True, kw_only=True, tag="round_forced_end"):
    """Somebody ended the round at the device."""


class ModeChanged(Report, frozen=True, kw_only=True, tag="mode_changed"):
    """The device announced another mode of working."""

    mode: str


class UnknownReport(Report, frozen=True, kw_only=True, tag="unknown_report"):
    """A valid frame whose meaning the profile does not know."""

    raw: str


class FrameRejected(Report, frozen=True, kw_only=True, tag="frame_rejected"):
    """Bytes that are no valid frame, as hex (the first of them, where there were many).

    Args:
        reason: why, in the framer's words.
        raw: the bytes in upper-case hex, cut at the framer's limit.
        length: how many bytes were rejected.
    """

    reason: str
    raw: str
    length: int


class CopyConflict(Report, frozen=True, kw_only=True, tag="copy_conflict"):
    """Two copies of one report with different bodies (hex): neither can be trusted."""

    device_seq: str
    bodies: tuple[str, ...]


AnyReport: TypeAlias = (
    ShoeBooted | ShoeReady | LinkOpen | LinkUp | LinkDown | LinkStalled | CardDrawn | CardRevealed
    | CardUnreadable | FirstCard | BurnCard | CutCardReported | ReportLost | CardOutOfGame
    | CardCarriedOver | CardReversed | ErrorRaised | ErrorCleared | LockChanged | DeviceResult
    | RoundForcedEnd | ModeChanged | UnknownReport | FrameRejected | CopyConflict
)  # fmt: skip
"""The union that msgspec decodes; it refuses any other kind."""

IN_A_FRAME: Final = (
    BurnCard,
    CardCarriedOver,
    CardDrawn,
    CardOutOfGame,
    CardRevealed,
    CardUnreadable,
    CutCardReported,
    DeviceResult,
    FirstCard,
    RoundForcedEnd,
)
"""The reports that decide about cards and results, each of which is in one frame. All others can
stop a coup, and never settle one."""


class ShoeEvent(
    Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """One report with its number and its times, as it travels on the bus.

    Args:
        journal: id of the raw journal the bytes are in.
        seq: gap-free number within the journal, from 1.
        profile: id of the wire profile that read the bytes.
        profile_hash: SHA-256 of the profile's file, hex.
        device_seq: the device's own number, where it has one.
        offset: where the raw bytes begin, counted over all bytes of the journal.
        raw: the bytes in upper-case hex; empty for a happening on the link.
        mono_us: arrival by the monotonic clock, microseconds.
        utc: arrival, RFC 3339 with nine decimals.
        report: what it means.
    """

    journal: str
    seq: int
    profile: str
    profile_hash: str
    device_seq: str | None = None
    offset: int
    raw: str = ""
    mono_us: int
    utc: str
    report: AnyReport


class ShoeAck(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The core has appended everything of `journal` up to and including `seq`.

    With `hello` the core has just connected, and wants a live `link/shoe` in answer: a retained one
    may be older than the newest card. With `settled` it needs nothing of `journal` up to that
    number, and nothing of older journals: no coup that is open or disputed began before it.
    """

    journal: str
    seq: int
    hello: bool = False
    settled: int | None = None


class LinkStatus(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`link/shoe`, retained: how the link stands.

    Args:
        state: `down`, `open`, `up` or `stalled`.
        profile: id of the wire profile.
        transport: the URL's scheme and place.
        last_frame_age_ms: since the last valid frame; None before the first.
        loss_detection: `full`, `weak` or `none`: what the profile can prove.
        reports: reports accepted since the driver started.
        short_copies: reports of which fewer copies came than the profile sends.
        rejected: frames rejected since the driver started.
        journal: id of the journal being written.
        head: the newest `seq` of that journal, with those that reports will have which wait for a
            missing one.
        reason: why the link is down, else empty.
        copies: finished reports of which one copy came, two, and so on; empty where none are sent.
        resends: reports that came again although they had been taken: an acknowledgement was lost
            or late.
        hint: what a person could do or should know, else empty.
        opened: how often the port was opened since the driver started.
    """

    state: str
    profile: str
    transport: str
    last_frame_age_ms: int | None
    loss_detection: str
    reports: int
    short_copies: int
    rejected: int
    journal: str
    head: int
    reason: str
    copies: tuple[int, ...] = ()
    resends: int = 0
    hint: str = ""
    opened: int = 0
