"""An auditor who sees only the log's events and trusts none of its conclusions.

It keeps its own cards, its own layout and its own chips, and judges each settlement by its own
rules. It refuses the impossible: a wager that is paid twice or never, a card that nobody drew,
money from nowhere, a settlement of cards that nobody vouches for.
"""

from collections.abc import Callable
from typing import Any, Final

from events.cards import Hand
from events.types import (
    BettingClosed,
    BettingOpened,
    CardCarriedOver,
    CardCorrected,
    CardDealt,
    CardDisclosed,
    CardDrawn,
    CardEntered,
    CardMarkedUnreadable,
    CardUnread,
    CardUnreadable,
    CommissionCollected,
    CommissionPrepaid,
    CommissionReturned,
    CommissionReversed,
    CoupMisaligned,
    CoupRealigned,
    CoupSettled,
    CoupVoided,
    DealCompleted,
    ExcessCardDrawn,
    ExcessCardResolved,
    HandsCorrected,
    Refund,
    ResultDisputed,
    Settlement,
    SettlementLine,
    ShoeEvent,
    ShoeReported,
    TableEvent,
    Wager,
    WagerCorrected,
    WagersPlaced,
    WagersVoided,
    WagersWithdrawn,
)
from simulators.world.auditor.audited_coup import AuditedCoup, Violation, require
from simulators.world.auditor.chips import Chips
from simulators.world.auditor.rules import (
    PREPAID,
    Hands,
    Paid,
    is_complete,
    phase_of,
    points,
    settle_together,
)

__all__ = ["Auditor"]

_INITIAL, _LAST = 1, 2


class Auditor:
    """Audits every event once, in the log's order.

    Args:
        table: the table's id, first part of every settlement's.
        rulebook: the table's, which the auditor's rules must know.

    Attributes:
        position: of the newest event.
        coups: by id.
        chips: wherever they are.
        reports: shoe events by journal, in order.
    """

    def __init__(self, table: str, rulebook: str) -> None:
        self.position = 0
        self.coups: dict[str, AuditedCoup] = {}
        self.chips = Chips(prepaid=rulebook in PREPAID)
        self.reports: dict[str, list[ShoeEvent]] = {}
        self._table = table
        self._rulebook = rulebook
        self._settlements: set[str] = set()
        # A reported card that no event has followed from yet.
        self._owed: ShoeEvent | None = None

    def hear(self, position: int, event: TableEvent) -> None:
        """Take the next event.

        Raises:
            Violation: the event is impossible.
        """
        require(position == self.position + 1, "position {} after {}", position, self.position)
        self.position = position
        if self._owed is not None and not isinstance(event, ShoeReported):
            self._owed = None
        hearer = _HANDLERS.get(type(event))
        if hearer is not None:
            hearer(self, event)
            self.chips.hold()

    def at_the_end(self, coup: str, lying: Hands, *, broken_off: bool) -> None:
        """Check that a finished coup was settled by the cards on the table.

        Raises:
            Violation: it was not.
        """
        books = self.coups[coup]
        require(books.over, f"coup {coup} was left open")
        lying_there = books.layout
        require(not lying_there, "coup {} is over, and wagers lie there: {}", coup, lying_there)
        owed = sum(each.commission for each in books.settled.values())
        self.chips.at_the_end(coup, owed)
        if books.void:
            return
        require(not broken_off, f"coup {coup} was broken off, and settled all the same")
        known = (books.hand(Hand.PLAYER), books.hand(Hand.BANKER))
        there = (tuple(lying.player), tuple(lying.banker))
        require(known == there, "coup {} is settled by {}, and there lie {}", coup, known, there)

    # ---- cards ----

    def _reported(self, event: ShoeReported) -> None:
        known = self.reports.setdefault(event.source.journal, [])
        due = len(known) + 1
        said = "journal {0.journal}: event {0.seq} where {1} was due"
        require(event.source.seq == due, said, event.source, due)
        known.append(event.source)
        owed = "card {0.report} of {0.journal}/{0.seq} came to nothing"
        require(self._owed is None, owed, self._owed)
        coup = next(reversed(self.coups.values()), None)
        vouched = coup is not None and not coup.over and not coup.misaligned
        report = event.source.report
        if vouched and isinstance(report, _CARDS) and not (coup and coup.confirms(report)):
            self._owed = event.source

    def _opened(self, event: BettingOpened) -> None:
        require(event.coup not in self.coups, f"coup {event.coup} begins twice")
        for before in self.coups.values():
            require(before.over, f"coup {event.coup} begins while {before.id} is open")
        self.coups = dict(list(self.coups.items())[-_REMEMBERED:])
        self.coups[event.coup] = AuditedCoup(event.coup, closed=event.wagerless)

    def _closed(self, event: BettingClosed) -> None:
        self._at(event.coup).closed = True

    def _dealt(self, event: CardDealt) -> None:
        coup, place = self._open(event.coup), (event.hand, event.number)
        require(place not in coup.cards, "a second card at {} of {}", place, coup.id)
        coup.cards[place] = event.card

    def _unread(self, event: CardUnread) -> None:
        coup, place = self._open(event.coup), (event.hand, event.number)
        require(place not in coup.cards, "a second card at {} of {}", place, coup.id)
        coup.cards[place] = None

    def _face(self, event: CardDisclosed | CardEntered) -> None:
        coup, place = self._open(event.coup), (event.hand, event.number)
        require(coup.cards.get(place) is None, "{} of {} has a face already", place, coup.id)
        if isinstance(event, CardEntered) and place not in coup.cards:
            coup.entered.add(place)
        coup.cards[place] = event.card

    def _doubted(self, event: CardMarkedUnreadable) -> None:
        self._open(event.coup).cards[event.hand, event.number] = None

    def _card_corrected(self, event: CardCorrected) -> None:
        self._open(event.coup).cards[event.hand, event.number] = event.card

    def _hands_corrected(self, event: HandsCorrected) -> None:
        coup, before = self._at(event.coup), set(self._at(event.coup).cards)
        coup.cards = {
            (hand, number): card
            for hand, cards in ((Hand.PLAYER, event.player), (Hand.BANKER, event.banker))
            for number, card in enumerate(cards, start=1)
        }
        coup.entered |= set(coup.cards) - before
        coup.void = coup.void and not event.counts_again

    def _completed(self, event: DealCompleted) -> None:
        hands = Hands(event.player, event.banker)
        require(is_complete(hands), "coup {} is no whole deal: {}", event.coup, hands)

    def _misaligned(self, event: CoupMisaligned) -> None:
        self._open(event.coup).misaligned = True

    def _realigned(self, event: CoupRealigned) -> None:
        self._open(event.coup).misaligned = False

    def _excess(self, event: ExcessCardDrawn | ResultDisputed) -> None:
        self._open(event.coup).held |= isinstance(event, ExcessCardDrawn)

    def _resolved(self, event: ExcessCardResolved) -> None:
        self._open(event.coup).held = False

    # ---- chips ----

    def _placed(self, event: WagersPlaced) -> None:
        coup = self._open(event.coup)
        require(not coup.closed, f"a wager on {coup.id} after the close")
        for wager in event.wagers:
            require(not self._known(coup, wager.id), f"wager {wager.id} is laid twice")
            self._lay(coup, wager)

    def _withdrawn(self, event: WagersWithdrawn) -> None:
        coup = self._open(event.coup)
        require(not coup.closed, f"a wager of {coup.id} is taken back after the close")
        for name in event.wagers:
            self._lift(coup, name)

    def _refunded(self, event: WagersVoided | CoupVoided) -> None:
        coup = self._at(event.coup)
        for refund in event.refunds:
            wager = coup.layout.get(refund.wager)
            said = Refund(wager=wager.id, seat=wager.seat, stake=wager.stake) if wager else None
            require(refund == said, "{} goes back, and there lies {}", refund, wager)
            self._lift(coup, refund.wager)
        if isinstance(event, CoupVoided):
            require(not coup.layout, f"coup {coup.id} is void, and wagers lie there")
            coup.void = coup.over = True

    def _wager_corrected(self, event: WagerCorrected) -> None:
        coup = self._at(event.coup)
        if event.was is not None and event.was.id in coup.taken:
            self._take_back(coup, phase_of(event.was.bet))
        if event.was is not None:
            self._lift(coup, event.was.id)
        if event.wager is not None:
            if coup.over:
                self._take_back(coup, phase_of(event.wager.bet))
            self._lay(coup, event.wager)

    def _lay(self, coup: AuditedCoup, wager: Wager) -> None:
        coup.layout[wager.id] = wager
        self.chips.lay(wager.seat, wager.stake)

    def _lift(self, coup: AuditedCoup, name: str) -> None:
        wager = coup.layout.pop(name, None)
        if wager is None:
            raise Violation(f"wager {name} of {coup.id} goes back, and does not lie there")
        self.chips.lay(wager.seat, -wager.stake)

    # ---- settlements ----

    def _settled(self, event: CoupSettled) -> None:
        settlement, coup = event.settlement, self._at(event.coup)
        name = settlement.settlement_id
        expected = f"{self._table}/{coup.id}/{settlement.phase}/{settlement.revision}"
        require(name == expected, f"settlement {name} should be {expected}")
        require(name not in self._settlements, f"settlement {name} comes twice")
        self._settlements.add(name)
        before = coup.settled.get(settlement.phase)
        taken_back = before.settlement_id if before else None
        require(settlement.reverses == taken_back, f"{name} does not take back {taken_back}")
        self._require_vouched(coup, settlement)
        if before is not None:
            self._take_back(coup, settlement.phase)
        self._pay(coup, settlement)
        coup.settled[settlement.phase] = settlement
        if settlement.phase == _LAST:
            require(not coup.layout, f"coup {coup.id} is settled, and wagers lie there")
            coup.over = True

    def _require_vouched(self, coup: AuditedCoup, settlement: Settlement) -> None:
        """Require that somebody vouches for the cards; a paid phase may be corrected."""
        name = settlement.settlement_id
        if settlement.revision == 1 or settlement.phase == _LAST:
            require(not coup.misaligned, f"{name} settles while the coup is misaligned")
        if settlement.phase == _LAST:
            require(not coup.held, f"{name} settles while a card too many lies there")
        player, banker = coup.hand(Hand.PLAYER), coup.hand(Hand.BANKER)
        if settlement.phase == _INITIAL:
            player, banker = player[:2], banker[:2]
        if settlement.phase == _LAST or not coup.misaligned:
            said, came = (settlement.player, settlement.banker), (player, banker)
            require(said == came, "{} is of {}, and {} came", name, said, came)
        hands = Hands(settlement.player, settlement.banker)
        totals = (points(hands.player), points(hands.banker))
        said_totals = (settlement.player_total, settlement.banker_total)
        require(
            said_totals == totals, "{} has {}, and the cards come to {}", name, said_totals, totals
        )
        if settlement.phase == _LAST:
            require(is_complete(hands), "{} settles what is no whole deal: {}", name, hands)

    def _pay(self, coup: AuditedCoup, settlement: Settlement) -> None:
        hands, name = Hands(settlement.player, settlement.banker), settlement.settlement_id
        wagers = [w for w in coup.layout.values() if phase_of(w.bet) == settlement.phase]
        said = sorted(line.wager for line in settlement.lines)
        require(said == sorted(w.id for w in wagers), "{} settles {} of {}", name, said, wagers)
        laid = [coup.layout[line.wager] for line in settlement.lines]
        rights = settle_together(
            self._rulebook,
            [(wager.bet, wager.stake) for wager in laid],
            hands,
            [line.winnings for line in settlement.lines],
        )
        for line, wager, right in zip(settlement.lines, laid, rights, strict=True):
            del coup.layout[wager.id]
            self._require_right(coup, line, wager, right, name)
            coup.taken[wager.id] = wager
            self.chips.settle(line, wager.stake)
        sums = tuple(
            sum(getattr(line, what) for line in settlement.lines)
            for what in ("stake", "paid", "commission")
        )
        told = (settlement.staked, settlement.paid, settlement.commission)
        require(told == sums, "{} says {}, and its lines come to {}", name, told, sums)

    def _require_right(
        self, coup: AuditedCoup, line: SettlementLine, wager: Wager, right: Paid, name: str
    ) -> None:
        require(
            (line.seat, line.bet, line.stake) == (wager.seat, wager.bet, wager.stake),
            "{} settles {} for {}",
            name,
            line,
            wager,
        )
        said = (line.result, line.winnings, line.commission, line.paid)
        if coup.void:
            right = Paid("void", 0, 0, wager.stake)
        told = (name, wager.bet, wager.stake, said, right)
        require(said == right, "{}: {} of {}: {}, not {}", *told)

    def _take_back(self, coup: AuditedCoup, phase: int) -> None:
        """Return the chips of a settlement to their former place."""
        before = coup.settled.get(phase)
        for line in before.lines if before else ():
            wager = coup.taken.pop(line.wager, None)
            if wager is not None:
                coup.layout[wager.id] = wager
                self.chips.take_back(line, wager.stake)

    def _known(self, coup: AuditedCoup, name: str) -> bool:
        return name in coup.layout or name in coup.taken

    def _at(self, coup: str) -> AuditedCoup:
        if coup not in self.coups:
            raise Violation(f"coup {coup} was never begun")
        return self.coups[coup]

    def _open(self, coup: str) -> AuditedCoup:
        found = self._at(coup)
        require(not found.over, f"something happens in coup {coup}, which is over")
        return found


_CARDS: Final = (CardDrawn, CardCarriedOver, CardUnreadable)
_REMEMBERED: Final = 8  # coups that may still be corrected

_HANDLERS: Final[dict[type[TableEvent], Callable[[Auditor, Any], None]]] = {
    ShoeReported: Auditor._reported,  # noqa: SLF001 - the table of this class
    BettingOpened: Auditor._opened,  # noqa: SLF001 - the same
    BettingClosed: Auditor._closed,  # noqa: SLF001 - the same
    CardDealt: Auditor._dealt,  # noqa: SLF001 - the same
    CardUnread: Auditor._unread,  # noqa: SLF001 - the same
    CardDisclosed: Auditor._face,  # noqa: SLF001 - the same
    CardEntered: Auditor._face,  # noqa: SLF001 - the same
    CardMarkedUnreadable: Auditor._doubted,  # noqa: SLF001 - the same
    CardCorrected: Auditor._card_corrected,  # noqa: SLF001 - the same
    HandsCorrected: Auditor._hands_corrected,  # noqa: SLF001 - the same
    DealCompleted: Auditor._completed,  # noqa: SLF001 - the same
    CoupMisaligned: Auditor._misaligned,  # noqa: SLF001 - the same
    CoupRealigned: Auditor._realigned,  # noqa: SLF001 - the same
    ExcessCardDrawn: Auditor._excess,  # noqa: SLF001 - the same
    ExcessCardResolved: Auditor._resolved,  # noqa: SLF001 - the same
    WagersPlaced: Auditor._placed,  # noqa: SLF001 - the same
    WagersWithdrawn: Auditor._withdrawn,  # noqa: SLF001 - the same
    WagersVoided: Auditor._refunded,  # noqa: SLF001 - the same
    CoupVoided: Auditor._refunded,  # noqa: SLF001 - the same
    WagerCorrected: Auditor._wager_corrected,  # noqa: SLF001 - the same
    CommissionPrepaid: lambda auditor, event: auditor.chips.beside(event),
    CommissionReturned: lambda auditor, event: auditor.chips.beside(event),
    CommissionCollected: lambda auditor, event: auditor.chips.commission(event),
    CommissionReversed: lambda auditor, event: auditor.chips.commission(event),
    CoupSettled: Auditor._settled,  # noqa: SLF001 - the same
}
