"""Sentences for events of a coup's wagers and money: placed, judged, settled, void. Pure."""

from collections.abc import Sequence
from typing import Final

from events.money import Currency
from events.types import (
    AggregateCapped,
    BettingClosed,
    BettingOpened,
    CommissionAccrued,
    CommissionCollected,
    CommissionPrepaid,
    CommissionRecovered,
    CommissionRefunded,
    CommissionReturned,
    CommissionReversed,
    CommissionUncollected,
    CoupMisaligned,
    CoupRealigned,
    CoupSettled,
    CoupVoided,
    PayerAmount,
    Refund,
    ResultConfirmed,
    ResultDisputed,
    RulebookCorrected,
    TableEvent,
    Wager,
    WagerCorrected,
    WagersPlaced,
    WagersVoided,
    WagersWithdrawn,
)
from table_core.narrative.formatting import (
    EventWords,
    Phrase,
    WordsOf,
    amount,
    decided,
    reason,
)
from table_core.narrative.table_texts import as_phrase
from table_core.narrative.wager_outcome import bet_name
from table_core.replay.coup_events import Moment
from table_core.rules.rulebook import INITIAL_PHASE
from table_core.rules.rulebook_forms import form_1_decimals

__all__ = ["MONEY_WORDS"]


# ---- wagers and money ----


def _opened(event: BettingOpened, _: Moment, __: Currency) -> EventWords:
    file = "rulebook {rulebook}, file {hash}"
    rules = (Phrase(file, rulebook=event.rulebook, hash=event.rulebook_hash),)
    if event.wagerless:
        says = Phrase("The coup began with a card; nobody had opened betting.")
        return EventWords(says, rules, "trouble")
    return EventWords(Phrase("Betting was opened."), rules)


def _placed(event: WagersPlaced, _: Moment, currency: Currency) -> EventWords:
    lines = tuple(_wager(wager, currency) for wager in event.wagers)
    if len(lines) == 1:
        return EventWords(Phrase("A wager was placed, {wager}.", wager=lines[0]), (), "money")
    return EventWords(Phrase("{n} wagers were placed.", n=len(lines)), lines, "money")


def _withdrawn(event: WagersWithdrawn, moment: Moment, currency: Currency) -> EventWords:
    coup = moment.before.coup
    gone = [coup.wagers[name] for name in event.wagers if name in coup.wagers] if coup else []
    lines = tuple(
        Phrase(_LAID, seat=w.seat, bet=bet_name(w.bet), stake=amount(w.stake, currency))
        for w in gone
    )
    says = Phrase("Wagers were taken back before betting closed.")
    return EventWords(says, lines, "money")


def _wagers_voided(event: WagersVoided, _: Moment, currency: Currency) -> EventWords:
    why = event.code.replace("_", " ")
    says = Phrase("Wagers could not stand when betting closed ({why}).", why=why)
    return EventWords(says, _refunds(event.refunds, currency), "money")


def _refunds(refunds: Sequence[Refund], currency: Currency) -> tuple[Phrase, ...]:
    return tuple(
        Phrase("seat {seat}: {stake} goes back", seat=r.seat, stake=amount(r.stake, currency))
        for r in refunds
    )


_HASH: Final = 12  # letters of a file's hash that a person compares; the page shows all of them
_CLOSED_BY: Final = {
    "first_card": "Betting was closed by the first card.",
    "reveal": "Betting was closed by the first face that was shown.",
    "break": "Betting was closed because the shoe's continuity broke.",
    "dealer": "Betting was closed by the dealer.",
}


def _closed(event: BettingClosed, _: Moment, __: Currency) -> EventWords:
    other = "Betting was closed by the {by}."
    return EventWords(Phrase(_CLOSED_BY.get(event.by, other), by=event.by))


def _confirmed(event: ResultConfirmed, _: Moment, __: Currency) -> EventWords:
    if event.by == "device":
        return EventWords(Phrase("The shoe's own result agrees: the coup may be paid."))
    if event.by == "last_card":
        says = "The deal is complete, and this shoe gives no result: the coup may be paid."
        return EventWords(Phrase(says))
    says = "The result was confirmed by hand: the coup may be paid."
    return EventWords(Phrase(says), (reason(event.reason),), "decision")


def _disputed(event: ResultDisputed, _: Moment, __: Currency) -> EventWords:
    says = "The shoe's own result is not that of the cards: nothing is paid until a person decides."
    return EventWords(Phrase(says), (as_phrase(event.detail),), "trouble")


def _misaligned(event: CoupMisaligned, _: Moment, __: Currency) -> EventWords:
    says = "The cards cannot be vouched for: nothing is paid until a person decides."
    code = as_phrase(event.reason.replace("_", " "))
    why = Phrase("{code}: {why}", code=code, why=as_phrase(event.detail))
    return EventWords(Phrase(says), (why,), "trouble")


def _settled(event: CoupSettled, _: Moment, currency: Currency) -> EventWords:
    s = event.settlement
    says = Phrase(_SETTLED[s.phase == INITIAL_PHASE, s.revision == 1], n=s.revision, was=s.reverses)
    totals = Phrase(
        "staked {staked}, paid {paid}, commission {commission}",
        staked=amount(s.staked, currency),
        paid=amount(s.paid, currency),
        commission=amount(s.commission, currency),
    )
    return EventWords(says, (Phrase("settlement {id}", id=s.settlement_id), totals), "money")


_SETTLED: Final = {
    (True, True): "The wagers on the first four cards were settled.",
    (True, False): "The wagers on the first four cards: settled again, revision {n}; {was} is "
    "taken back.",
    (False, True): "The coup was settled.",
    (False, False): "The coup: settled again, revision {n}; {was} is taken back.",
}
"""By whether it is of the first four cards, and whether it is the first settlement of its phase."""


def _voided(event: CoupVoided, _: Moment, currency: Currency) -> EventWords:
    lines = _refunds(event.refunds, currency)
    says = Phrase("The coup does not count.")
    return EventWords(says, (reason(event.reason), *lines), "decision")


def _wager_corrected(event: WagerCorrected, _: Moment, currency: Currency) -> EventWords:
    was, now = (_wager(w, currency) if w else Phrase("no wager") for w in (event.was, event.wager))
    says = Phrase("A wager was corrected by hand: {now}, not {was}.", now=now, was=was)
    return EventWords(says, (reason(event.reason),), "decision")


_LAID: Final = "seat {seat}: {bet} {stake}"


def _wager(wager: Wager, currency: Currency) -> Phrase:
    whose = f"{_LAID} for {{patron}}" if wager.patron else _LAID
    return Phrase(
        whose if wager.kind == "chips" else f"{whose} ({{kind}})",
        seat=wager.seat,
        bet=bet_name(wager.bet),
        stake=amount(wager.stake, currency),
        patron=wager.patron,
        kind=wager.kind,
    )


def _rulebook_corrected(event: RulebookCorrected, _: Moment, __: Currency) -> EventWords:
    by = "The coup is judged by rulebook {rulebook}, not {was}."
    says = Phrase(by, rulebook=event.rulebook, was=event.was)
    hashes = Phrase(
        "by its file, whose SHA-256 begins with {now}; the other's with {was}",
        now=event.rulebook_hash[:_HASH],
        was=event.was_hash[:_HASH],
    )
    return EventWords(says, (reason(event.reason), hashes), "decision")


def _capped(event: AggregateCapped, _: Moment, currency: Currency) -> EventWords:
    lines = tuple(
        Phrase(
            "wager {wager}: {winnings} becomes {paid}",
            wager=w.wager,
            winnings=amount(w.winnings, currency),
            paid=amount(w.paid, currency),
        )
        for w in event.wagers
    )
    says = (
        "The most that the table may win in a coup is {maximum}."
        if event.scope == "table"
        else "The most that a patron may win in a coup is {maximum}."
    )
    return EventWords(Phrase(says, maximum=amount(event.maximum, currency)), lines, "money")


def _payers(amounts: Sequence[PayerAmount], code: str, currency: Currency) -> tuple[Phrase, ...]:
    """Return a line a payer; amounts in the currency of this code, empty for the coup's."""
    if code not in {"", currency.code}:
        currency = Currency(code, form_1_decimals(code))
    return tuple(
        Phrase(
            "seat {seat}, {patron}: {sum}" if each.patron else "seat {seat}: {sum}",
            seat=each.seat,
            patron=each.patron,
            sum=amount(each.amount, currency),
        )
        for each in amounts
    )


def _commission(says: str) -> WordsOf:
    return lambda event, _, currency: EventWords(
        Phrase(says), _payers(event.amounts, event.currency, currency), "money"
    )


_REFUNDED: Final = {
    "deducted": "Commission that is not owed is in the corrected payment.",
    "laid": "Commission that is not owed lies beside its wager again.",
    "paid": "Commission that is not owed goes back.",
}


def _refunded(event: CommissionRefunded, _: Moment, currency: Currency) -> EventWords:
    payers = _payers(event.amounts, event.currency, currency)
    says = Phrase(_REFUNDED[event.method])
    return EventWords(says, (reason(event.reason), *payers), "money")


def _given_up(event: CommissionUncollected, _: Moment, currency: Currency) -> EventWords:
    seats = _payers(event.amounts, event.currency, currency)
    says = Phrase("Commission was given up.")
    return EventWords(says, (reason(event.reason), *seats), "decision")


MONEY_WORDS: Final[dict[type[TableEvent], WordsOf]] = {
    WagerCorrected: _wager_corrected,
    RulebookCorrected: _rulebook_corrected,
    BettingOpened: _opened,
    WagersPlaced: _placed,
    WagersWithdrawn: _withdrawn,
    WagersVoided: _wagers_voided,
    BettingClosed: _closed,
    ResultConfirmed: _confirmed,
    ResultDisputed: _disputed,
    CoupMisaligned: _misaligned,
    CoupRealigned: decided("A person vouches for the cards as they stand here; the coup goes on."),
    CoupSettled: _settled,
    CoupVoided: _voided,
    AggregateCapped: _capped,
    CommissionAccrued: _commission("The winners owe commission."),
    CommissionCollected: _commission("Commission was taken."),
    CommissionPrepaid: _commission("Commission was laid beside the wagers in advance."),
    CommissionReturned: _commission("Commission that was laid and is not owed went back."),
    CommissionReversed: _commission("Commission was taken back with its settlement."),
    CommissionRecovered: _commission("Commission that had been given up was paid after all."),
    CommissionRefunded: _refunded,
    CommissionUncollected: _given_up,
}
"""Event type to the function that makes its sentence."""
