"""One coup as a story: what it was, each step, the money, what went wrong and who decided. Pure.

It is derived from the coup's events and from nothing else; the same events tell the same story.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from events.cards import Card, Hand, total
from events.types.table import CoupSettled, CoupVoided, Settlement
from table_core.narrative.draw import explain
from table_core.narrative.timeline import StoryLine, tell
from table_core.narrative.wager_outcome import SeatDifference, WagerStory, differences, tell_wager
from table_core.narrative.words import faces, who
from table_core.replay.coup_events import CoupRecord, Moment
from table_core.rules.draw import due
from table_core.rules.rulebook import INITIAL_PHASE, LAST_PHASE, Rulebook
from table_core.state.coup import Phase

__all__ = ["Change", "HandStory", "SeatMoney", "SettlementStory", "Story", "tell_coup"]


class HandStory(Struct, frozen=True, kw_only=True):
    """A hand as it stands: its cards, None where a face is not known, and its points."""

    cards: tuple[Card | None, ...]
    total: int | None


class SettlementStory(Struct, frozen=True, kw_only=True):
    """A settlement, told; amounts in minor units.

    Args:
        id: its own.
        phase: 1 after the first four cards, 2 at the end.
        revision: 1 for the first.
        reverses: the one that it takes back, or None.
        position: its event's.
        at: when.
        in_force: no later revision has taken it back.
        player: the cards it was judged by, in words.
        banker: the same of Banker.
        winner: `player`, `banker`, `tie`; None after the first four cards.
        wagers: each of the phase, in the order they were placed.
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
    wagers: tuple[WagerStory, ...]
    staked: int
    paid: int
    commission: int


class Change(Struct, frozen=True, kw_only=True):
    """A revision: what was paid before, what after, and why.

    Args:
        before: id of the settlement that was taken back.
        after: id of the one in its place.
        phase: which of the two settlements of a coup.
        position: its event's.
        at: when.
        who: who asked for it.
        reason: why, in that person's words; empty where the log has none.
        was: cards and result before, in words.
        now: cards and result after.
        seats: by seat, before and after and the difference.
        difference: of all seats together, minor units; positive: the house pays more.
    """

    before: str
    after: str
    phase: int
    position: int
    at: str
    who: str
    reason: str
    was: str
    now: str
    seats: tuple[SeatDifference, ...]
    difference: int


class SeatMoney(Struct, frozen=True, kw_only=True):
    """What a seat laid down and received in the coup, minor units; stakes that went back count."""

    seat: int
    staked: int
    paid: int
    net: int


class Story(Struct, frozen=True, kw_only=True):
    """One coup, told.

    Args:
        site: the property.
        table: the table's id.
        coup: the coup's id.
        shoe: its shoe's.
        rulebook: id of the rules it was played by.
        rulebook_hash: SHA-256 of their file.
        rulebook_title: for people; empty where the file is not at hand.
        currency: of all amounts; empty where the rulebook's file is not at hand.
        dealer: who dealt, where that was assigned.
        supervisor: who answered for it.
        opened_at: when it began.
        ended_at: when it was settled or void; None while it is neither.
        phase: where it stands.
        result: `player`, `banker`, `tie` or None.
        reason: why it is void, disputed or misaligned; else empty.
        player: Player's hand.
        banker: Banker's.
        rules: the draw rule that applied to each hand's third card, in words.
        first: its first event's position.
        last: its last event's.
        first_hash: the chain's hash at the first.
        last_hash: the chain's hash at the last.
        lines: the timeline.
        settlements: all of them, those taken back included.
        changes: each revision against what it took back.
        seats: what each seat laid and received, by what is in force.
    """

    site: str
    table: str
    coup: str
    shoe: str
    rulebook: str
    rulebook_hash: str
    rulebook_title: str
    currency: str
    dealer: str | None
    supervisor: str | None
    opened_at: str
    ended_at: str | None
    phase: str
    result: str | None
    reason: str
    player: HandStory
    banker: HandStory
    rules: tuple[str, ...]
    first: int
    last: int
    first_hash: str
    last_hash: str
    lines: tuple[StoryLine, ...]
    settlements: tuple[SettlementStory, ...]
    changes: tuple[Change, ...]
    seats: tuple[SeatMoney, ...]

    @property
    def troubles(self) -> tuple[StoryLine, ...]:
        """What went wrong, and what people decided about it, in order."""
        return tuple(line for line in self.lines if line.tone in {"trouble", "decision"})


def tell_coup(record: CoupRecord, *, origin: str, rulebooks: Mapping[str, Rulebook]) -> Story:
    """The story of a coup.

    Args:
        record: all that belongs to it.
        origin: `<site>/<table>`.
        rulebooks: by hash; one that is not at hand is told without.
    """
    site, _, table = origin.partition("/")
    coup, first, last = record.coup, record.moments[0].fact, record.moments[-1].fact
    rules, rules_hash = record.rules
    rulebook = rulebooks.get(rules_hash)
    currency = rulebook.currency if rulebook else ""
    issued = _issued(record.moments)
    settlements = tuple(_settlement(m, s, record, rulebooks) for m, s in issued)
    final = next((s for s in record.in_force if s.phase == LAST_PHASE), None)
    ended = next((m for m in record.moments if m.after is record.end), None)
    hands = {hand: tuple(d.card for d in record.cards if d.hand is hand) for hand in Hand}
    phase = Phase.VOIDED if record.void else Phase.SETTLED if final else coup.phase
    completed = coup.completed.winner.value if coup.completed else None
    return Story(
        site=site,
        table=table,
        coup=record.id,
        shoe=record.id.rpartition("/")[0],
        rulebook=rules,
        rulebook_hash=rules_hash,
        rulebook_title=rulebook.title if rulebook else "",
        currency=currency,
        dealer=record.end.dealer,
        supervisor=record.end.supervisor,
        opened_at=first.at,
        ended_at=ended.fact.at if ended and not record.end.in_progress else None,
        phase=phase.value,
        result=final.winner.value if final and final.winner else completed,
        reason="" if phase is Phase.SETTLED else _why(record),
        player=_hand(hands[Hand.PLAYER]),
        banker=_hand(hands[Hand.BANKER]),
        rules=_rules(hands),
        first=first.position,
        last=last.position,
        first_hash=first.digest,
        last_hash=last.digest,
        lines=tuple(_lines(record, currency)),
        settlements=settlements,
        changes=tuple(_changes(record.moments, issued)),
        seats=_seats(record),
    )


def _lines(record: CoupRecord, currency: str) -> Iterator[StoryLine]:
    cause = ""
    for moment in record.moments:
        yield tell(moment, currency, follows=moment.fact.cause == cause)
        cause = moment.fact.cause


_Issued = list[tuple[Moment, Settlement]]


def _issued(moments: Sequence[Moment]) -> _Issued:
    return [
        (moment, moment.fact.event.settlement)
        for moment in moments
        if isinstance(moment.fact.event, CoupSettled)
    ]


def _why(record: CoupRecord) -> str:
    """Why the coup is void, or held."""
    events = (moment.fact.event for moment in record.moments)
    voids = [event.reason for event in events if isinstance(event, CoupVoided)]
    return voids[-1] if voids else record.coup.reason


def _settlement(
    moment: Moment, settlement: Settlement, record: CoupRecord, rulebooks: Mapping[str, Rulebook]
) -> SettlementStory:
    s, rulebook = settlement, rulebooks.get(settlement.rulebook_hash)
    currency = rulebook.currency if rulebook else ""
    return SettlementStory(
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
        wagers=tuple(tell_wager(line, rulebook, currency, s.rulebook) for line in s.lines),
        staked=s.staked,
        paid=s.paid,
        commission=s.commission,
    )


def _changes(moments: Sequence[Moment], issued: _Issued) -> Iterator[Change]:
    by_id = {s.settlement_id: s for _, s in issued}
    for moment, after in issued:
        before = by_id.get(after.reverses or "")
        if before is None:
            continue
        seats = differences(before, after)
        yield Change(
            before=before.settlement_id,
            after=after.settlement_id,
            phase=after.phase,
            position=moment.fact.position,
            at=moment.fact.at,
            who=who(moment.fact.actor),
            reason=_reason(moments, moment.fact.cause),
            was=_stood(before),
            now=_stood(after),
            seats=seats,
            difference=sum(seat.difference for seat in seats),
        )


def _reason(moments: Sequence[Moment], cause: str) -> str:
    """Why a person did it: the reason that an event of the same command holds."""
    reasons = [getattr(m.fact.event, "reason", "") for m in moments if m.fact.cause == cause]
    return next((reason for reason in reasons if reason), "")


def _stood(settlement: Settlement) -> str:
    s = settlement
    hands = (
        f"Player {faces(s.player)} = {s.player_total}, Banker {faces(s.banker)} = {s.banker_total}"
    )
    if s.phase == INITIAL_PHASE or s.winner is None:
        return hands
    return f"{hands}: {'a tie' if s.winner.value == 'tie' else s.winner.value.capitalize()}"


def _seats(record: CoupRecord) -> tuple[SeatMoney, ...]:
    laid: dict[int, int] = {}
    paid: dict[int, int] = {}
    for settlement in record.in_force:
        for line in settlement.lines:
            laid[line.seat] = laid.get(line.seat, 0) + line.stake
            paid[line.seat] = paid.get(line.seat, 0) + line.paid
    for event in (moment.fact.event for moment in record.moments):
        for refund in event.refunds if isinstance(event, CoupVoided) else ():
            laid[refund.seat] = laid.get(refund.seat, 0) + refund.stake
            paid[refund.seat] = paid.get(refund.seat, 0) + refund.stake
    return tuple(
        SeatMoney(seat=seat, staked=laid[seat], paid=paid[seat], net=paid[seat] - laid[seat])
        for seat in sorted(laid)
    )


def _rules(hands: Mapping[Hand, tuple[Card | None, ...]]) -> tuple[str, ...]:
    """Why the third cards were drawn or not, where every face is known."""
    player, banker = (
        tuple(card for card in hands[hand] if card is not None)
        for hand in (Hand.PLAYER, Hand.BANKER)
    )
    if (len(player), len(banker)) != (len(hands[Hand.PLAYER]), len(hands[Hand.BANKER])):
        return ()
    return explain(due(player, banker)[1], player, banker)


def _hand(cards: tuple[Card | None, ...]) -> HandStory:
    known = [card for card in cards if card is not None]
    return HandStory(
        cards=cards, total=total(known) if known and len(known) == len(cards) else None
    )
