"""The narrative of one coup: each step, the money, what went wrong and who decided. Pure.

It is derived from the coup's events alone, so the same events give the same narrative.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, structs

from events.cards import Card, Hand, Winner, total
from events.money import UNKNOWN_CURRENCY, Currency
from events.types import CoupSettled, Settlement
from table_core.narrative.formatting import Phrase, Spoken, explain, faces, spoken, who
from table_core.narrative.timeline import TimelineLine, narrate_event
from table_core.narrative.wager_outcome import (
    SeatChange,
    WagerNarrative,
    differences,
    narrate_wager,
    received,
)
from table_core.replay.coup_events import CoupRecord, Moment
from table_core.rules.draw import hand_due
from table_core.rules.rulebook import INITIAL_PHASE, LAST_PHASE, Rulebook
from table_core.state.coup import OVER, Phase
from table_core.state.table import Coup

__all__ = [
    "CoupNarrative",
    "HandNarrative",
    "SeatMoney",
    "SettlementChange",
    "SettlementNarrative",
    "narrate_coup",
]


class HandNarrative(Struct, frozen=True, kw_only=True):
    """A hand: its cards, None where a face is not known, and its points."""

    cards: tuple[Card | None, ...]
    total: int | None


class SettlementNarrative(Struct, frozen=True, kw_only=True):
    """A settlement in the narrative; amounts in minor units.

    Args:
        id: of the settlement.
        phase: 1 after the first four cards, 2 at the end.
        revision: 1 for the first.
        reverses: id of the settlement that it reverses, or None.
        position: of its event.
        at: time of its event.
        in_force: whether no later revision has reversed it.
        player: Player's cards that it was judged by, in words.
        banker: Banker's cards, likewise.
        winner: `player`, `banker`, `tie`; None after the first four cards.
        wagers: of the phase, in the order they were placed.
        staked: the sum of the stakes, tokens aside.
        paid: the sum of the payments.
        commission: the sum kept.
    """

    id: str
    phase: int
    revision: int
    reverses: str | None
    position: int
    at: str
    in_force: bool
    player: str
    banker: str
    winner: str | None
    wagers: tuple[WagerNarrative, ...]
    staked: int
    paid: int
    commission: int


class SettlementChange(Struct, frozen=True, kw_only=True):
    """A settlement after the first one: the payment before, the payment after, and the reason.

    Args:
        before: id of the settlement that was reversed; None where the phase had none.
        after: id of its replacement.
        phase: which of the two settlements of a coup.
        position: of its event.
        at: time of its event.
        who: the person who asked for it.
        reason: in that person's words; empty where the log has none.
        was: cards and result before, in words.
        now: cards and result after.
        seats: by seat, before and after and the difference.
        difference: of all seats together, minor units; positive: the house pays more.
    """

    before: str | None
    after: str
    phase: int
    position: int
    at: str
    who: str
    reason: str
    was: str
    now: str
    seats: tuple[SeatChange, ...]
    difference: int


class SeatMoney(Struct, frozen=True, kw_only=True):
    """The amounts that a seat laid down and received, minor units; returned stakes count.

    A token counts like chips where it is laid down and where it goes back.
    """

    seat: int
    staked: int
    paid: int
    net: int


class CoupNarrative(Struct, frozen=True, kw_only=True):
    """The narrative of one coup.

    Args:
        site: the property.
        table: the table's id.
        coup: the coup's id.
        shoe: the shoe's id.
        rulebook: id of the rulebook it was played by.
        rulebook_hash: SHA-256 of the rulebook's file.
        rulebook_title: for people; empty where the file is not at hand.
        currency: of all amounts; empty where the rulebook's file is not at hand.
        decimals: of an amount in it.
        dealer: the dealer, where one was assigned.
        supervisor: the supervisor in charge.
        opened_at: time of its beginning.
        ended_at: time when it was settled or void; None while it is neither.
        phase: of the coup.
        result: `player`, `banker`, `tie` or None.
        reason: why it is void, disputed or misaligned; else empty.
        player: Player's hand.
        banker: Banker's.
        rules: the draw rule that applied to each hand's third card, in words.
        first: position of its first event.
        last: position of its last event.
        first_hash: the chain's hash at the first.
        last_hash: the chain's hash at the last.
        lines: the timeline.
        settlements: all of them, reversed ones included.
        changes: each revision, compared with the settlement it reversed.
        seats: the amounts each seat laid and received, by the settlements in force.
        spoken: how each English text above was put together, for other languages.
    """

    site: str
    table: str
    coup: str
    shoe: str
    rulebook: str
    rulebook_hash: str
    rulebook_title: str
    currency: str
    decimals: int
    dealer: str | None
    supervisor: str | None
    opened_at: str
    ended_at: str | None
    phase: str
    result: str | None
    reason: str
    player: HandNarrative
    banker: HandNarrative
    rules: tuple[str, ...]
    first: int
    last: int
    first_hash: str
    last_hash: str
    lines: tuple[TimelineLine, ...]
    settlements: tuple[SettlementNarrative, ...]
    changes: tuple[SettlementChange, ...]
    seats: tuple[SeatMoney, ...]
    spoken: dict[str, Spoken] = {}

    @property
    def money(self) -> Currency:
        """The currency with its decimals."""
        return Currency(self.currency, self.decimals)

    @property
    def troubles(self) -> tuple[TimelineLine, ...]:
        """The lines about what went wrong, and what people decided about it, in order."""
        return tuple(line for line in self.lines if line.tone in {"trouble", "decision"})


def narrate_coup(
    record: CoupRecord, *, origin: str, rulebooks: Mapping[str, Rulebook]
) -> CoupNarrative:
    """Return the narrative of a coup.

    Args:
        record: all moments that belong to it.
        origin: `<site>/<table>`.
        rulebooks: by hash; where one is missing, the narrative goes without it.
    """
    site, _, table = origin.partition("/")
    coup, first, last = record.coup, record.moments[0].fact, record.moments[-1].fact
    rulebook = rulebooks.get(coup.rulebook_hash)
    currency = rulebook.money if rulebook else UNKNOWN_CURRENCY
    issued = _issued(record.moments)
    settlements = tuple(_settlement(m, s, record, rulebooks) for m, s in issued)
    final = next((s for s in record.in_force if s.phase == LAST_PHASE), None)
    ended = next((m for m in record.moments if m.after is record.end), None)
    hands = {hand: tuple(d.card for d in record.cards if d.hand is hand) for hand in Hand}
    completed = coup.completed.winner.value if coup.completed else None
    story = CoupNarrative(
        site=site,
        table=table,
        coup=record.id,
        shoe=record.id.rpartition("/")[0],
        rulebook=coup.rulebook,
        rulebook_hash=coup.rulebook_hash,
        rulebook_title=rulebook.title if rulebook else "",
        currency=currency.code,
        decimals=currency.decimals,
        dealer=record.end.dealer,
        supervisor=record.end.supervisor,
        opened_at=first.at,
        ended_at=ended.fact.at if ended and not record.end.in_progress else None,
        phase=coup.phase.value,
        result=final.winner.value if final and final.winner else completed,
        reason="" if coup.phase is Phase.SETTLED else coup.reason,
        player=_hand(hands[Hand.PLAYER]),
        banker=_hand(hands[Hand.BANKER]),
        rules=_rules(hands),
        first=first.position,
        last=last.position,
        first_hash=first.digest,
        last_hash=last.digest,
        lines=tuple(_lines(record, currency)),
        settlements=settlements,
        changes=tuple(_changes(record)),
        seats=_seats(record),
    )
    phrases: dict[str, Spoken] = {}
    plain: CoupNarrative = spoken(story, phrases)
    return structs.replace(plain, spoken=phrases)


def _lines(record: CoupRecord, currency: Currency) -> Iterator[TimelineLine]:
    cause = ""
    for moment in record.moments:
        yield narrate_event(moment, currency, follows=moment.fact.cause == cause)
        cause = moment.fact.cause


_Issued = list[tuple[Moment, Settlement]]


def _issued(moments: Sequence[Moment]) -> _Issued:
    return [
        (moment, moment.fact.event.settlement)
        for moment in moments
        if isinstance(moment.fact.event, CoupSettled)
    ]


def _settlement(
    moment: Moment, settlement: Settlement, record: CoupRecord, rulebooks: Mapping[str, Rulebook]
) -> SettlementNarrative:
    s, rulebook = settlement, rulebooks.get(settlement.rulebook_hash)
    currency = rulebook.money if rulebook else UNKNOWN_CURRENCY
    return SettlementNarrative(
        id=s.settlement_id,
        phase=s.phase,
        revision=s.revision,
        reverses=s.reverses,
        position=moment.fact.position,
        at=moment.fact.at,
        in_force=s in record.in_force,
        player=f"{faces(s.player)} = {s.player_total}",
        banker=f"{faces(s.banker)} = {s.banker_total}",
        winner=s.winner.value if s.winner else None,
        wagers=tuple(narrate_wager(line, rulebook, currency, s.rulebook) for line in s.lines),
        staked=s.staked,
        paid=s.paid,
        commission=s.commission,
    )


def _changes(record: CoupRecord) -> Iterator[SettlementChange]:
    coup: Coup | None = None
    for moment, now in record.course:
        was, coup = coup, now
        if was is None or not isinstance(moment.fact.event, CoupSettled):
            continue
        after = moment.fact.event.settlement
        before = was.settlement(after.phase)
        if before is None and was.phase not in OVER:
            continue
        seats = differences(before, after)
        yield SettlementChange(
            before=after.reverses,
            after=after.settlement_id,
            phase=after.phase,
            position=moment.fact.position,
            at=moment.fact.at,
            who=who(moment.fact.actor),
            reason=_reason(record.moments, moment.fact.cause),
            was=_stood(before) if before else Phrase("not settled"),
            now=_stood(after),
            seats=seats,
            difference=sum(seat.difference for seat in seats),
        )


def _reason(moments: Sequence[Moment], cause: str) -> str:
    """Return the person's reason: the one in an event of the same command."""
    reasons = [getattr(m.fact.event, "reason", "") for m in moments if m.fact.cause == cause]
    return next((reason for reason in reasons if reason), "")


def _stood(settlement: Settlement) -> Phrase:
    s = settlement
    hands = Phrase(
        "Player {player} = {player_total}, Banker {banker} = {banker_total}",
        player=faces(s.player),
        player_total=s.player_total,
        banker=faces(s.banker),
        banker_total=s.banker_total,
    )
    if s.phase == INITIAL_PHASE or s.winner is None:
        return hands
    winner = "a tie" if s.winner is Winner.TIE else s.winner.value.capitalize()
    return Phrase("{hands}: {winner}", hands=hands, winner=Phrase(winner))


def _seats(record: CoupRecord) -> tuple[SeatMoney, ...]:
    laid: dict[int, int] = {}
    paid: dict[int, int] = {}
    for line in (line for each in record.in_force for line in each.lines):
        laid[line.seat] = laid.get(line.seat, 0) + line.stake
        paid[line.seat] = paid.get(line.seat, 0) + received(line)
    for refund in record.refunds:
        laid[refund.seat] = laid.get(refund.seat, 0) + refund.stake
        paid[refund.seat] = paid.get(refund.seat, 0) + refund.stake
    return tuple(
        SeatMoney(seat=seat, staked=laid[seat], paid=paid[seat], net=paid[seat] - laid[seat])
        for seat in sorted(laid)
    )


def _rules(hands: Mapping[Hand, tuple[Card | None, ...]]) -> tuple[str, ...]:
    """Return why the third cards were drawn or not, where every face is known."""
    player, banker = (
        tuple(card for card in hands[hand] if card is not None)
        for hand in (Hand.PLAYER, Hand.BANKER)
    )
    if (len(player), len(banker)) != (len(hands[Hand.PLAYER]), len(hands[Hand.BANKER])):
        return ()
    return explain(hand_due(player, banker)[1], player, banker)


def _hand(cards: tuple[Card | None, ...]) -> HandNarrative:
    known = [card for card in cards if card is not None]
    return HandNarrative(
        cards=cards, total=total(known) if known and len(known) == len(cards) else None
    )
