"""The projection of the table for displays: the retained `state` document. Pure.

It contains only what people at the table have seen: never the face of a card that is withheld,
burned or outside the game.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from events.cards import Card, Hand, Winner, total
from events.commands import Refusal
from events.money import Rounding
from events.types import (
    ChipMove,
    DrawRule,
    LimitsSet,
    Per,
    SeatAmount,
    Wager,
    amount_of,
)
from table_core.decide.available_commands import current_refusals
from table_core.decide.decision import DecisionContext
from table_core.decide.staff import can_acknowledge
from table_core.kept_results import keep_newest
from table_core.narrative.formatting import DRAW_WORDS, Spoken, spoken
from table_core.narrative.table_texts import as_phrase
from table_core.projections.pay_list import Move, pay_list
from table_core.projections.wager_pages import WagerSums, project_sums
from table_core.roads.columns import Roads, RoadsView, project_roads
from table_core.roads.side_wins import side_wins
from table_core.rules.commission_owed import CommissionBook, seat_amounts
from table_core.rules.payable import Unpayable, chip_values, first_unpayable
from table_core.rules.rulebook import Rulebook, Sign
from table_core.rules.rulebook_forms import form_1_decimals
from table_core.rules.table_limits import apply_limits
from table_core.state.coup import Phase
from table_core.state.dealing import due_places
from table_core.state.shoe import ShoeState
from table_core.state.table import (
    Alarm,
    Coup,
    MoneyTotals,
    SeatChips,
    TableFloat,
    TableState,
    TableTotals,
    by_id,
)
from table_core.texts.advice import Advice, advise
from table_core.texts.calls import calls
from table_core.texts.sentences import Sentence, percent_of
from table_core.texts.sign import offered_bets, sign_lines

__all__ = [
    "BetView",
    "CardView",
    "ChipsToMoveView",
    "CommissionView",
    "ConsumerView",
    "CoupView",
    "DebtView",
    "DueView",
    "FloatView",
    "LinkStatusView",
    "MoneyView",
    "RefundView",
    "RulebookName",
    "RulebookView",
    "ShoeStatus",
    "SlipView",
    "StateView",
    "TotalsView",
    "active_alarms",
    "encode_state_view",
    "project_coup",
    "project_float",
    "project_table",
]


class SlipView(Struct, frozen=True, kw_only=True):
    """A fill's or a credit's slip, minor units; nothing where it is void."""

    move: ChipMove
    slip: str
    amount: int


class FloatView(Struct, frozen=True, kw_only=True):
    """One float, minor units; `closing` is null while it is open.

    Args:
        float_id: `YYYYMMDD-NN`.
        currency: ISO 4217.
        decimals: of an amount in it.
        opening: counted at the opening.
        counted: by the last count between; null before the first.
        closing: counted at the closing.
        slips: fills and credits, in order.
        drop: what its drop boxes held, as far as they were counted.
    """

    float_id: str
    currency: str
    decimals: int
    opening: int
    counted: int | None
    closing: int | None
    slips: tuple[SlipView, ...]
    drop: int | None


def project_float(each: TableFloat, rulebook: Rulebook) -> FloatView:
    """Return the sums of a float; its decimals are those of the rulebook of its currency."""
    return FloatView(
        float_id=each.id,
        currency=each.currency,
        decimals=(
            rulebook.decimals
            if each.currency == rulebook.currency
            else form_1_decimals(each.currency)
        ),
        opening=amount_of(each.opening),
        counted=None if each.counted is None else amount_of(each.counted),
        closing=None if each.closing is None else amount_of(each.closing),
        slips=tuple(
            SlipView(move=slip.move, slip=slip.number, amount=amount_of(slip.chips))
            for slip in each.slips
        ),
        drop=sum(amount for _, amount in each.drops) if each.drops else None,
    )


_DEALT: Final = frozenset({Phase.CLOSED, Phase.DEALING, Phase.MISALIGNED})
"""The phases in which cards are dealt."""


class CardView(Struct, frozen=True):
    """A card at its place; `card` is null while its face is withheld."""

    hand: Hand
    number: int
    card: Card | None
    rule: str | None
    source: str


class DueView(Struct, frozen=True):
    """Where the next card may come: its place, the draw rule, and that rule in words."""

    hand: Hand
    number: int
    rule: str | None
    words: str


class CoupView(Struct, frozen=True, kw_only=True):
    """The coup in progress, or the last one; `settled` are its phases that have been paid.

    In `state`, a coup of more than 500 wagers has none in `wagers` and their sums in `sums`.
    """

    id: str
    phase: Phase
    wagerless: bool
    wagers: tuple[Wager, ...]
    cards: tuple[CardView, ...]
    player_total: int | None
    banker_total: int | None
    natural: bool
    winner: Winner | None
    rules: tuple[DrawRule, ...]
    reason: str
    due: tuple[DueView, ...] = ()
    settled: tuple[int, ...] = ()
    sums: WagerSums | None = None


class ShoeStatus(Struct, frozen=True, kw_only=True):
    """The shoe on the table.

    Args:
        side_wins: for each coup of the bead plate the side wagers that won, by the rulebook in
            force; also where nobody had placed them.
    """

    id: str
    decks: int
    coups: int
    cards: int
    ended: bool
    last_coup: int | None
    roads: RoadsView
    side_wins: tuple[tuple[str, ...], ...] = ()


class LinkStatusView(Struct, frozen=True, kw_only=True):
    """The shoe link as the log knows it."""

    state: str
    errors: tuple[str, ...]
    locked: bool


class BetView(Struct, frozen=True, kw_only=True):
    """A bet as the sign shows it: what it pays to one, and its limits in minor units.

    Args:
        id: the bet's id.
        pays: category to odds to one, or `push`.
        minimum: the smallest amount that may be bet, for each `per`.
        maximum: the largest; null for no limit.
        step: stakes are multiples of it.
        per: what the maximum binds.
        table_maximum: all patrons' stakes on the bet together; null for no limit.
        less: the commission in per cent that is kept of its winnings; null where none is.
    """

    id: str
    pays: dict[str, str]
    minimum: int
    maximum: int | None
    step: int
    per: Per
    table_maximum: int | None
    less: str | None = None


class RulebookView(Struct, frozen=True, kw_only=True):
    """The rules in force, by id and hash; the limits are the table's own where it has set some.

    Args:
        says: the lines of the sign that follow from the rules, in no language yet: the key of a
            text and what stands in it (a text, an amount in minor units, or keys of further texts).
        decimals: of an amount in the currency; screens never ask another table for them.
        unit: the smallest payable amount, to which `payout_rounding` rounds.
        chips: the values of the table's chips, ascending.
        unpayable: an example of a payment that these chips cannot make up; null where there is
            none.
    """

    id: str
    hash: str
    title: str
    currency: str
    decimals: int
    decks: int
    unit: int
    chips: tuple[int, ...]
    payout_rounding: Rounding
    unpayable: Unpayable | None
    sign: Sign
    bets: tuple[BetView, ...]
    commission: str | None
    table_maximum: int | None
    differential: int | None
    patron_maximum: int | None
    seat_maximum: int | None
    says: tuple[Sentence, ...] = ()


class MoneyView(Struct, frozen=True, kw_only=True):
    """What has gone over the table in one currency, minor units."""

    currency: str
    staked: int
    paid: int
    commission: int
    house: int


class TotalsView(Struct, frozen=True, kw_only=True):
    """What has gone over the table, minor units of `currency`; `others` in other currencies."""

    coups: int
    voids: int
    staked: int
    paid: int
    commission: int
    house: int
    currency: str = ""
    others: tuple[MoneyView, ...] = ()


class DebtView(Struct, frozen=True, kw_only=True):
    """A debt of commission, minor units: of a coup, a seat and, where one is named, a patron."""

    coup: str
    seat: int
    patron: str | None
    currency: str
    decimals: int
    outstanding: int
    uncollected: int


class RefundView(Struct, frozen=True, kw_only=True):
    """Commission, minor units, that goes back after a correction: to whom, and why."""

    coup: str
    seat: int
    patron: str | None
    currency: str
    decimals: int
    amount: int
    reason: str


class ChipsToMoveView(Struct, frozen=True, kw_only=True):
    """The chips that corrections of a coup ask the dealer to move, until that is acknowledged.

    Args:
        coup: the coup's id.
        settlements: ids of the corrected settlements, for `acknowledge_correction`.
        seats: whose chips move.
    """

    coup: str
    settlements: tuple[str, ...]
    seats: tuple[SeatChips, ...]


class CommissionView(Struct, frozen=True, kw_only=True):
    """Commission, minor units.

    Args:
        outstanding: by seat, owed in the table's currency.
        uncollected: by seat, given up in the table's currency.
        laid: by seat, beside the wagers of the coup in progress.
        debts: all that is owed or given up, in every currency.
        refunds: what goes back after the corrections since betting was last opened.
    """

    outstanding: tuple[SeatAmount, ...]
    uncollected: tuple[SeatAmount, ...]
    laid: tuple[SeatAmount, ...]
    debts: tuple[DebtView, ...] = ()
    refunds: tuple[RefundView, ...] = ()


class ConsumerView(Struct, frozen=True, kw_only=True):
    """A durable consumer, such as the cage.

    Args:
        name: `<user>/<consumer>`.
        position: up to which it has acknowledged.
        waiting_s: age of the oldest settlement that it has not; null where it has them all.
        heard_s: since its last acknowledgement; null where none came since the table started.
        overdue: it owes an acknowledgement for longer than the house waits.
    """

    name: str
    position: int
    waiting_s: int | None
    heard_s: int | None
    overdue: bool


class RulebookName(Struct, frozen=True, kw_only=True):
    """A rulebook that this table knows; `commission` says when it is taken, null where none is."""

    id: str
    hash: str
    title: str
    commission: str | None
    decimals: int


class StateView(Struct, frozen=True, kw_only=True):
    """The whole table at `position`.

    Args:
        refusals: by command, why the table would refuse it now.
        calls: what the dealer calls at this step, in no language yet, like `rulebook.says`.
        advice: what the dealer should do now.
        pay: what the dealer takes, pays and returns of what is settled, in this order; without the
            chips of corrections.
        pay_corrected: the coup of `pay` was corrected since.
        to_move: chips to move after corrections.
        dealer: who deals, as the log has it; null before anybody was named.
        acknowledgeable: the alarms that `acknowledge_alarm` would clear; the others end with their
            cause.
        spoken: how the texts of alarms, and why a coup is doubted, were put together in English,
            for other languages; a text that is not in it stays as it is.
    """

    position: int
    table: str
    rulebook: RulebookView
    shoe: ShoeStatus | None
    coup: CoupView | None
    link: LinkStatusView
    catching_up: bool
    alarms: tuple[Alarm, ...]
    totals: TotalsView
    commission: CommissionView
    floats: tuple[FloatView, ...]
    refusals: dict[str, Refusal]
    consumers: tuple[ConsumerView, ...] = ()
    library: tuple[RulebookName, ...] = ()
    calls: tuple[Sentence, ...] = ()
    advice: Advice = Advice()
    pay: tuple[Move, ...] = ()
    pay_corrected: bool = False
    to_move: tuple[ChipsToMoveView, ...] = ()
    dealer: str | None = None
    acknowledgeable: tuple[str, ...] = ()
    spoken: dict[str, Spoken] = {}


def project_table(  # noqa: PLR0913 - each is a fact that the state does not hold
    state: TableState,
    *,
    table: str,
    rulebook: Rulebook,
    catching_up: bool,
    faults: tuple[Alarm, ...] = (),
    consumers: tuple[ConsumerView, ...] = (),
    library: Sequence[Rulebook] = (),
    fault: str | None = None,
    dealers: frozenset[str] | None = None,
) -> StateView:
    """Return the document of `state`.

    Args:
        state: of the table.
        table: the table's id.
        rulebook: the one in force.
        catching_up: the table has not appended every event that the driver has numbered.
        faults: alarms that cannot be in the log, such as a disk that refuses it.
        consumers: the durable consumers.
        library: the rulebooks that this table has.
        fault: of a log that cannot be trusted.
        dealers: the accounts that may deal; None where a dealer is any reference.
    """
    link = state.link
    owed, known = state.commission, (rulebook, *library)
    context = DecisionContext(
        table=table,
        rulebook=rulebook,
        caught_up=not catching_up,
        library=tuple(library),
        fault=fault,
        dealers=dealers,
    )
    refusals = current_refusals(state, context)
    alarms = (*active_alarms(state), *faults)
    return StateView(
        position=state.position,
        table=table,
        rulebook=_rulebook_view(rulebook, state.limits),
        shoe=_shoe_status(state.shoe, state.past, rulebook) if state.shoe else None,
        coup=_coup_in_state(state.coup) if state.coup else None,
        link=LinkStatusView(
            state=link.state, errors=tuple(sorted(link.errors)), locked=link.locked
        ),
        catching_up=catching_up,
        alarms=alarms,
        totals=_totals(state.totals),
        commission=_project_commission(owed, known),
        floats=tuple(project_float(each, rulebook) for each in state.floats),
        refusals=refusals,
        consumers=consumers,
        library=tuple(map(_name, library)),
        calls=calls(state.coup),
        advice=advise(state, refusals),
        pay=_pay(state, known),
        pay_corrected=bool(
            state.coup
            and any(each.revision > 1 or each.difference for each in state.coup.settlements)
        ),
        to_move=tuple(
            ChipsToMoveView(coup=each.coup, settlements=each.settlements, seats=each.due)
            for each in state.to_move
            if each.due
        ),
        dealer=state.dealer,
        acknowledgeable=tuple(each.name for each in state.alarms if can_acknowledge(each)),
        spoken=_spoken(alarms, state.coup),
    )


def _spoken(alarms: Sequence[Alarm], coup: Coup | None) -> dict[str, Spoken]:
    phrases: dict[str, Spoken] = {}
    for alarm in alarms:
        spoken(as_phrase(alarm.text), phrases)
    if coup is not None and coup.phase in {Phase.MISALIGNED, Phase.DISPUTED}:
        spoken(as_phrase(coup.reason), phrases)
    return phrases


def _totals(totals: TableTotals) -> TotalsView:
    return TotalsView(
        coups=totals.coups,
        voids=totals.voids,
        staked=totals.staked,
        paid=totals.paid,
        commission=totals.commission,
        house=totals.house,
        currency=totals.currency,
        others=tuple(map(_money, totals.others)),
    )


def _money(totals: MoneyTotals) -> MoneyView:
    return MoneyView(
        currency=totals.currency,
        staked=totals.staked,
        paid=totals.paid,
        commission=totals.commission,
        house=totals.house,
    )


def _shoe_status(shoe: ShoeState, past: Iterable[Coup], rulebook: Rulebook) -> ShoeStatus:
    return ShoeStatus(
        id=shoe.id,
        decks=shoe.decks,
        coups=shoe.coups,
        cards=shoe.cards,
        ended=shoe.ended,
        last_coup=shoe.last_coup,
        roads=_roads(shoe.roads),
        side_wins=_side_wins(past, shoe.roads, rulebook),
    )


_roads: Final = keep_newest(project_roads)


@keep_newest
def _side_wins(
    past: Iterable[Coup], roads: Roads, rulebook: Rulebook
) -> tuple[tuple[str, ...], ...]:
    deals = [coup.completed for coup in past if coup.phase is Phase.SETTLED and coup.completed]
    return side_wins(deals, rulebook.bets) if len(deals) == len(roads.beads) else ()


def _pay(state: TableState, known: Sequence[Rulebook]) -> tuple[Move, ...]:
    return pay_list(state.coup, {book.hash: book for book in known}.get) if state.coup else ()


def _project_commission(book: CommissionBook, rulebooks: Sequence[Rulebook]) -> CommissionView:
    currency = rulebooks[0].currency
    ours = [debt for debt in book.debts if debt.currency in {"", currency}]

    def decimals(code: str) -> int:
        known = (each.decimals for each in rulebooks if each.currency == (code or currency))
        return next(known, form_1_decimals(code))

    return CommissionView(
        outstanding=seat_amounts((debt.seat, debt.outstanding) for debt in ours),
        uncollected=seat_amounts((debt.seat, debt.uncollected) for debt in ours),
        laid=book.laid_by_seat,
        debts=tuple(
            DebtView(
                coup=debt.coup,
                seat=debt.seat,
                patron=debt.patron,
                currency=debt.currency or currency,
                decimals=decimals(debt.currency),
                outstanding=debt.outstanding,
                uncollected=debt.uncollected,
            )
            for debt in book.debts
            if debt.outstanding or debt.uncollected
        ),
        refunds=tuple(
            RefundView(
                coup=each.coup,
                seat=each.seat,
                patron=each.patron,
                currency=each.currency,
                decimals=decimals(each.currency),
                amount=each.amount,
                reason=each.reason,
            )
            for each in book.refunds
        ),
    )


def active_alarms(state: TableState) -> tuple[Alarm, ...]:
    """Return all active alarms: those raised by events, and those derived from the state.

    `unreadable_card` is derived alone. Its events say when the shoe could not read a card; which
    cards wait for their faces, the coup says.
    """
    link, coup = state.link, state.coup
    alarms = [alarm for alarm in state.alarms if alarm.name != "unreadable_card"]
    if link.state in {"down", "stalled"}:
        alarms.append(Alarm(name="link_down", text=f"the shoe link is {link.state}"))
    alarms += [
        Alarm(name=f"shoe_error_{code}", text=f"the shoe reports {code}")
        for code in sorted(link.errors)
    ]
    unread = [each for each in coup.cards if each.source == "unread"] if coup else []
    if coup and unread and state.in_progress:
        places = " and ".join(f"{each.hand.value} {each.number}" for each in unread)
        text = f"coup {coup.id}: the card at {places} could not be read; enter it"
        alarms.append(Alarm(name="unreadable_card", text=text, coup=coup.id))
    if coup and coup.phase is Phase.MISALIGNED:
        text = f"coup {coup.id} is misaligned ({coup.reason}); a supervisor must realign or void it"
        alarms.append(Alarm(name="coup_misaligned", text=text, coup=coup.id))
    if coup and coup.phase is Phase.DISPUTED:
        text = f"coup {coup.id} is held ({coup.reason}); a supervisor must confirm or void it"
        alarms.append(Alarm(name="result_disputed", text=text, coup=coup.id))
    return tuple(alarms)


def encode_state_view(document: StateView) -> bytes:
    """Return the document as JSON."""
    return msgspec.json.encode(document)


@keep_newest
def _rulebook_view(file: Rulebook, limits: LimitsSet) -> RulebookView:
    rulebook = apply_limits(file, limits)
    terms = rulebook.commission
    return RulebookView(
        id=rulebook.id,
        hash=rulebook.hash,
        title=rulebook.title,
        currency=rulebook.currency,
        decimals=rulebook.decimals,
        decks=rulebook.decks,
        unit=rulebook.unit,
        chips=chip_values(rulebook),
        payout_rounding=rulebook.rounding.payout,
        unpayable=first_unpayable(rulebook),
        sign=rulebook.sign,
        bets=tuple(
            BetView(
                id=bet.id,
                pays={name: str(odds) if odds else "push" for name, odds in bet.schedule.items()},
                minimum=bet.minimum,
                maximum=bet.maximum,
                step=bet.step,
                less=percent_of(terms.rate) if bet.commission and terms else None,
                per=bet.per,
                table_maximum=bet.table_maximum,
            )
            for bet in offered_bets(rulebook)
        ),
        commission=_commission(rulebook),
        table_maximum=rulebook.limits.table_maximum,
        differential=rulebook.limits.differential,
        says=sign_lines(rulebook),
        patron_maximum=rulebook.limits.patron_maximum,
        seat_maximum=rulebook.limits.seat_maximum,
    )


def _name(rulebook: Rulebook) -> RulebookName:
    return RulebookName(
        id=rulebook.id,
        hash=rulebook.hash,
        title=rulebook.title,
        commission=_commission(rulebook),
        decimals=rulebook.decimals,
    )


def _commission(rulebook: Rulebook) -> str | None:
    """Return when commission is taken, by the rulebook file's word; None where there is none."""
    return rulebook.commission.timing.value if rulebook.commission else None


def _coup_in_state(coup: Coup) -> CoupView:
    """Return the document of a coup as `state` has it: with sums in place of many wagers."""
    sums = project_sums(coup)
    if sums is None:
        return project_coup(coup)
    return replace(project_coup(replace(coup, wagers=by_id(()))), sums=sums)


def project_coup(coup: Coup) -> CoupView:
    """Return the document of a coup, in progress or over."""
    completed = coup.completed
    return CoupView(
        id=coup.id,
        phase=coup.phase,
        wagerless=coup.wagerless,
        wagers=tuple(coup.wagers.values()),
        cards=tuple(CardView(c.hand, c.number, c.card, c.rule, c.source) for c in coup.cards),
        player_total=_total(coup, Hand.PLAYER),
        banker_total=_total(coup, Hand.BANKER),
        natural=bool(completed and completed.natural),
        winner=completed.winner if completed else None,
        rules=completed.rules if completed else (),
        reason=coup.reason,
        due=tuple(_due(coup)) if coup.phase in _DEALT else (),
        settled=coup.settled,
    )


def _due(coup: Coup) -> Iterator[DueView]:
    for place in due_places(coup):
        words = DRAW_WORDS.get(place.rule or "", "by its face, which is not disclosed yet")
        yield DueView(place.hand, place.number, place.rule, words)


def _total(coup: Coup, hand: Hand) -> int | None:
    """Return the points of a hand, once it has cards and all of them are known."""
    cards = [dealt.card for dealt in coup.hand(hand)]
    known = [card for card in cards if card is not None]
    return total(known) if known and len(known) == len(cards) else None
