"""The audit of a shoe's reports: what was seen, and what was out of order or contradictory. Pure.

It judges the decoder's events, one at a time. Where the profile has no place for a card or no
result, the draw table says where a card belongs and when a coup is over.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from baccarat.conformance.rules import REJECTS, STEPS
from events.cards import Card, Hand, Winner
from events.types import (
    BurnCard,
    CardCarriedOver,
    CardDrawn,
    CardOutOfGame,
    CardRevealed,
    CardUnreadable,
    CopyConflict,
    CutCardReported,
    DeviceResult,
    ErrorCleared,
    ErrorRaised,
    FirstCard,
    FrameRejected,
    LinkDown,
    LinkStalled,
    LockChanged,
    ReportLost,
    RoundForcedEnd,
    ShoeBooted,
    ShoeEvent,
    ShoeReady,
    UnknownReport,
)
from shoe_driver.link.numbering import Numbering
from shoe_driver.profiles.profile import Profile
from table_core.rules.draw import hand_due, judge_hands

__all__ = ["DECKS", "Fault", "ShoeAudit"]

DECKS: Final = 8
_LATE_US: Final = 30_000_000  # of a result, as the table waits for it
_NOISE_BYTES: Final = 32  # that may come with the power
_INITIAL: Final = 2
_OPENING: Final = ((Hand.PLAYER, 1), (Hand.BANKER, 1), (Hand.PLAYER, 2), (Hand.BANKER, 2))


class Fault(Struct, frozen=True, kw_only=True):
    """A rule that was broken.

    Args:
        rule: its name in `RULES`.
        at: the byte at which, counted from the capture's first.
        text: what was seen, and what would have been right.
    """

    rule: str
    at: int
    text: str


class _Place(Struct):
    """A card of the coup; its face is None while it is withheld or unread."""

    face: Card | None
    disclosed: bool = False


class ShoeAudit:
    """Judges the events of one capture.

    Args:
        profile: that decoded them.

    Attributes:
        faults: in the order in which they were found.
        seen: names of steps and faces.
    """

    def __init__(self, profile: Profile) -> None:
        self.faults: list[Fault] = []
        self.seen: Counter[str] = Counter()
        self._profile = profile
        number = profile.wire.number
        self._boot = Numbering(number).boot if number else None
        self._places: dict[tuple[Hand, int], _Place] = {}
        self._last_us = 0
        self._at = 0
        self._done = True  # no coup is in progress
        self._result_due = False
        self._unsure = False  # a card is missing or unread: the draw table cannot be asked
        self._errors: dict[str, int] = {}
        self._latched: set[str] = set()
        self._locked = False
        self._left: int | None = None
        self._opened = False  # the first card of this shoe has come
        self._cut = False
        self._faces: Counter[Card] = Counter()
        self._noise: Fault | None = None
        self._frames = 0
        self._judges: dict[type, Callable[[Any, ShoeEvent], None]] = {
            ShoeBooted: self._judge_boot_up,
            UnknownReport: self._judge_unknown,
            CopyConflict: self._judge_conflict,
            FirstCard: self._judge_first,
            BurnCard: self._judge_burn,
            CardDrawn: self._judge_drawn,
            CardCarriedOver: self._judge_drawn,
            CardRevealed: self._judge_revealed,
            CardUnreadable: self._judge_unread,
            CardOutOfGame: self._judge_out_of_game,
            DeviceResult: self._judge_result,
            RoundForcedEnd: self._judge_forced,
            ErrorRaised: self._judge_raised,
            ErrorCleared: self._judge_cleared,
            LockChanged: self._judge_lock,
            ShoeReady: self._judge_ready,
            CutCardReported: self._judge_cut_out,
            LinkStalled: self._judge_stalled,
            LinkDown: self._judge_down,
        }

    def take(self, event: ShoeEvent) -> None:
        """Judge the next event."""
        self._at = event.offset or 0
        report = event.report
        self._note_steps(report)
        if isinstance(report, FrameRejected):
            self._rejected(report)
            return
        if isinstance(report, ReportLost):
            self._lost(report, event)
            return
        if self._noise is not None and not isinstance(report, ShoeBooted) and self._frames:
            self.faults.append(self._noise)
        if event.device_seq is not None or event.raw:
            self._noise = None
            self._frames += 1
        self._numbered(event)
        judge = self._judges.get(type(report))
        if judge is not None:
            judge(report, event)

    def finish(self) -> None:
        """Judge the end of the capture."""
        if self._noise is not None:
            self.faults.append(self._noise)
        for code, at in self._errors.items():
            if code not in self._latched:
                continue
            self._at = at
            self._fault("errors", f"error {code} was raised and never cleared")

    def _fault(self, rule: str, text: str) -> None:
        self.faults.append(Fault(rule=rule, at=self._at, text=text))

    def _note_steps(self, report: Any) -> None:
        kind = report.__struct_config__.tag
        for step in STEPS:
            if kind in step.kinds and not (kind == "card_drawn" and report.face is None):
                self.seen[step.name] += 1
        face = getattr(report, "face", None)
        if isinstance(face, Card):
            self.seen[face.value] += 1

    def _rejected(self, report: FrameRejected) -> None:
        rule = REJECTS.get(report.reason, "framing")
        text = f"{report.length} bytes are no frame ({report.reason}): {report.raw}"
        fault = Fault(rule=rule, at=self._at, text=text)
        if rule in ("framing", "length") and report.length <= _NOISE_BYTES and self._noise is None:
            self._noise = fault  # judged by what follows it: with the power it is none
            return
        self.faults.append(fault)

    def _lost(self, report: ReportLost, event: ShoeEvent) -> None:
        if event.device_seq is None:
            return  # the rejected bytes before it say why
        if report.got == self._boot:
            self._fault(
                "boot_number", f"{report.got} is a power-up's number; {report.expected} due"
            )
            return
        self._unsure = True
        self._fault("numbering", f"number {report.got} came, and {report.expected} was due")

    def _numbered(self, event: ShoeEvent) -> None:
        booted = isinstance(event.report, ShoeBooted)
        if booted and self._boot is not None and event.device_seq not in (None, self._boot):
            self._fault(
                "boot_number", f"a power-up has number {event.device_seq}, not {self._boot}"
            )

    def _judge_boot_up(self, _: ShoeBooted, __: ShoeEvent) -> None:
        self._coup_over()
        self._errors.clear()
        self._latched.clear()
        self._locked = False

    def _judge_unknown(self, report: UnknownReport, _: ShoeEvent) -> None:
        self._fault("codes", f"the profile does not know this report: {report.raw}")

    def _judge_conflict(self, report: CopyConflict, _: ShoeEvent) -> None:
        bodies = " and ".join(report.bodies)
        self._fault("copies_agree", f"report {report.device_seq} says {bodies}")

    def _judge_first(self, report: FirstCard, _: ShoeEvent) -> None:
        if not self._done:
            self._fault("first_card", "the first card of a shoe came inside a coup")
        if self._opened and self._left is not None:
            self._fault("first_card", "the first card of a shoe came again during its burn")
        self._opened, self._left, self._cut = True, None, False
        self._faces.clear()
        self._count(report.face)

    def _judge_burn(self, report: BurnCard, _: ShoeEvent) -> None:
        if not self._done and self._places:
            self._fault("burn", "a burn card came inside a coup")
        if report.left is not None:
            if self._left is not None and report.left != self._left - 1:
                due = self._left - 1
                self._fault("burn", f"{report.left} burn cards are left, and {due} should be")
            self._left = report.left or None
        self._count(report.face)

    def _judge_drawn(self, report: CardDrawn | CardCarriedOver, event: ShoeEvent) -> None:
        if self._left:
            self._fault("burn", f"a coup began while {self._left} burn cards were left")
            self._left = None
        if self._latched:
            codes = ", ".join(sorted(self._latched))
            self._fault("draw_in_error", f"a card was drawn in the error {codes}")
        if self._locked:
            self._fault("draw_while_locked", "a card was drawn while the shoe was locked")
        if not isinstance(report, CardCarriedOver):
            self._count(report.face)
        if self._profile.result == "required" or report.hand is not None:
            self._placed(report)
        else:
            self._in_turn(report.face)
        self._last_us = event.mono_us

    def _placed(self, report: CardDrawn | CardCarriedOver) -> None:
        hand, number = report.hand, report.number
        if hand is None or number is None:
            return
        if (hand, number) == _OPENING[0] and self._places:
            if self._result_due and self._profile.result == "required":
                self._fault("result_order", "the next coup began, and the last one has no result")
            self._coup_over()
        self._done, self._result_due = False, True
        if (hand, number) in self._places:
            self._fault("position", f"{hand.value} {number} came twice in one coup")
            return
        due = self._due()
        if due is not None and due != (hand, number):
            opening = len(self._places) < len(_OPENING)
            rule = "position" if opening else "third_card"
            told = f"{due[0].value} {due[1]}" if due[1] else "no card"
            self._fault(rule, f"{hand.value} {number} came, and {told} was due")
        self._places[hand, number] = _Place(report.face)
        self._unsure = self._unsure or (
            report.face is None and self._profile.disclosure == "immediate"
        )
        if number > _INITIAL:
            self.seen[f"{hand.value.capitalize()}'s third card"] += 1

    def _in_turn(self, face: Card | None) -> None:
        """Place a card that has no place by the draw table; the last one due ends the coup."""
        if self._done:
            self._coup_over()
        self._done = False
        due = self._due()
        if due is None or not due[1]:
            return
        self._places[due] = _Place(face)
        if due[1] > _INITIAL:
            self.seen[f"{due[0].value.capitalize()}'s third card"] += 1
        following = self._due()
        if following is not None and not following[1]:
            self._winner(judge_hands(*self._hands()).winner)
            self._done = True

    def _due(self) -> tuple[Hand, int] | None:
        """Return the place that is due, (hand, 0) if none is; None if it cannot be said."""
        if self._unsure:
            return None
        if len(self._places) < len(_OPENING):
            return next(place for place in _OPENING if place not in self._places)
        if any(place.face is None for place in self._places.values()):
            return None
        hands = self._hands()
        hand, _ = hand_due(*hands)
        if hand is None:
            return Hand.PLAYER, 0
        return hand, 1 + len(hands[0] if hand is Hand.PLAYER else hands[1])

    def _hands(self) -> tuple[list[Card], list[Card]]:
        player, banker = (
            [
                place.face
                for (of, _), place in sorted(self._places.items(), key=lambda item: item[0][1])
                if of is hand and place.face is not None
            ]
            for hand in (Hand.PLAYER, Hand.BANKER)
        )
        return player, banker

    def _judge_revealed(self, report: CardRevealed, _: ShoeEvent) -> None:
        place = self._places.get((report.hand, report.number))
        where = f"{report.hand.value} {report.number}"
        if place is None:
            self._fault("disclosure", f"{where} was disclosed, and never drawn")
            return
        if place.disclosed:
            self._fault("disclosure", f"{where} was disclosed twice")
        if place.face is not None and place.face is not report.face:
            told = f"{place.face.value} and then {report.face.value}"
            self._fault("disclosure_agrees", f"{where} was told as {told}")
        if place.face is None:
            self._count(report.face)
        place.face, place.disclosed = report.face, True

    def _judge_result(self, report: DeviceResult, event: ShoeEvent) -> None:
        if self._done or not self._places:
            self._fault("result_order", "a result came without a coup")
            return
        if len(self._places) < len(_OPENING):
            self._fault("result_order", f"a result came after {len(self._places)} cards")
        elif not self._unsure:
            self._judged(report)
        if event.mono_us and self._last_us and event.mono_us - self._last_us > _LATE_US:
            seconds = (event.mono_us - self._last_us) // 1_000_000
            self._fault("late", f"the result came {seconds} s after its last card")
        self._winner(Winner(report.winner))
        self._coup_over()

    def _judged(self, report: DeviceResult) -> None:
        withheld = [place for place, each in self._places.items() if each.face is None]
        if withheld:
            named = ", ".join(f"{hand.value} {number}" for hand, number in withheld)
            self._fault("disclosure", f"the result came, and {named} was never disclosed")
            return
        due = self._due()
        if due is not None and due[1]:
            self._fault("third_card", f"the result came, and {due[0].value} {due[1]} was due")
        outcome = judge_hands(*self._hands())
        if not outcome.complete and due is not None and not due[1]:
            self._fault("third_card", "the coup has a card that was not due")
        if report.winner != outcome.winner.value:
            right = outcome.winner.value
            self._fault("result", f"the shoe says {report.winner}, and the cards say {right}")
        for hand, cards, told in zip(
            ("Player", "Banker"),
            self._hands(),
            (report.player_pair, report.banker_pair),
            strict=True,
        ):
            pair = cards[0].rank == cards[1].rank
            if pair != told:
                self._fault(
                    "result", f"the shoe says {told} of a {hand} pair; the cards say {pair}"
                )

    def _winner(self, winner: Winner) -> None:
        name = "tie" if winner is Winner.TIE else f"{winner.value.capitalize()} wins"
        self.seen[name] += 1

    def _judge_forced(self, _: RoundForcedEnd, __: ShoeEvent) -> None:
        self._coup_over()

    def _judge_unread(self, report: CardUnreadable, event: ShoeEvent) -> None:
        self._unsure = True
        self._judge_drawn(CardDrawn(hand=report.hand, number=report.number), event)
        self._unsure = True

    def _judge_out_of_game(self, report: CardOutOfGame, _: ShoeEvent) -> None:
        self._count(report.face)

    def _judge_raised(self, report: ErrorRaised, _: ShoeEvent) -> None:
        self._errors[report.code] = self._at
        if report.latched:
            self._latched.add(report.code)

    def _judge_cleared(self, report: ErrorCleared, _: ShoeEvent) -> None:
        if self._errors.pop(report.code, None) is None:
            self._fault("errors", f"error {report.code} was cleared, and never raised")
        self._latched.discard(report.code)

    def _judge_lock(self, report: LockChanged, _: ShoeEvent) -> None:
        self._locked = report.locked

    def _judge_ready(self, _: ShoeReady, __: ShoeEvent) -> None:
        if not self._done and self._places and self._profile.result == "required":
            self._fault("standby", "standby came inside a coup")

    def _judge_cut_out(self, _: CutCardReported, __: ShoeEvent) -> None:
        if self._cut:
            self._fault("cut_card", "the cut card came twice in one shoe")
        self._cut = True

    def _judge_stalled(self, report: LinkStalled, _: ShoeEvent) -> None:
        if self._profile.has_beat:
            self._fault("beat", f"silent for {report.silent_ms} ms")

    def _judge_down(self, _: LinkDown, __: ShoeEvent) -> None:
        self._unsure = self._unsure or not self._done

    def _count(self, face: Card | None) -> None:
        if face is None:
            return
        self._faces[face] += 1
        if self._faces[face] == DECKS + 1:
            self._fault(
                "faces", f"{face.value} came {DECKS + 1} times in one shoe of {DECKS} decks"
            )

    def _coup_over(self) -> None:
        self._places.clear()
        self._done, self._result_due, self._unsure = True, False, False
