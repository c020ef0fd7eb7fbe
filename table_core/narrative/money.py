"""Sentences for events of a coup's wagers and money: placed, judged, settled, void. Pure."""

from collections.abc import Sequence
from typing import Final

from events.money import Currency
from events.types.commission import (
    CommissionAccrued,
    CommissionCollected,
    CommissionPrepaid,
    CommissionRecovered,
    CommissionRefunded,
    CommissionReturned,
    CommissionReversed,
    CommissionUncollected,
    PayerAmount,
)
from events.types.corrections import RulebookCorrected, WagerCorrected
from events.types.irregularities import CoupRealigned
from events.types.table import (
    BettingClosed,
    BettingOpened,
    CoupMisaligned,
    CoupSettled,
    CoupVoided,
    ResultConfirmed,
    ResultDisputed,
    TableEvent,
    Wager,
    WagersPlaced,
    WagersWithdrawn,
)
from events.types.wagers import AggregateCapped, WagersVoided
from table_core.narrative.formatting import EventWords, WordsOf, amount, decided
from table_core.narrative.wager_outcome import bet_words
from table_core.replay.coup_events import Moment
from table_core.rules.rulebook import INITIAL_PHASE
from table_core.rules.rulebook_forms import form_1_decimals

__all__ = ["MONEY_WORDS"]


# ---- wagers and money ----


def _opened(event: BettingOpened, _: Moment, __: Currency) -> EventWords:
    rules = (f"rulebook {event.rulebook}, file {event.rulebook_hash}",)
    if event.wagerless:
        return EventWords(
            "The coup began with a card; nobody had opened betting.", rules, "trouble"
        )
    return EventWords("Betting was opened.", rules)


def _placed(event: WagersPlaced, _: Moment, currency: Currency) -> EventWords:
    lines = tuple(_wager(wager, currency) for wager in event.wagers)
    if len(lines) == 1:
        return EventWords(f"A wager was placed, {lines[0]}.", (), "money")
    return EventWords(f"{len(lines)} wagers were placed.", lines, "money")


def _withdrawn(event: WagersWithdrawn, moment: Moment, currency: Currency) -> EventWords:
    coup = moment.before.coup
    gone = [w for w in (coup.wagers if coup else ()) if w.id in event.wagers]
    lines = tuple(
        f"seat {w.seat}: {bet_words(w.bet).name} {amount(w.stake, currency)}" for w in gone
    )
    return EventWords("Wagers were taken back before betting closed.", lines, "money")


def _wagers_voided(event: WagersVoided, _: Moment, currency: Currency) -> EventWords:
    lines = tuple(f"seat {r.seat}: {amount(r.stake, currency)} goes back" for r in event.refunds)
    why = event.code.replace("_", " ")
    return EventWords(f"Wagers could not stand when betting closed ({why}).", lines, "money")


_HASH: Final = 12  # letters of a file's hash that a person compares; the page shows all of them
_CLOSED_BY: Final = {
    "first_card": "by the first card",
    "reveal": "by the first face that was shown",
    "break": "because the shoe's continuity broke",
}


def _closed(event: BettingClosed, _: Moment, __: Currency) -> EventWords:
    return EventWords(f"Betting was closed {_CLOSED_BY.get(event.by, f'by the {event.by}')}.")


def _confirmed(event: ResultConfirmed, _: Moment, __: Currency) -> EventWords:
    if event.by == "device":
        return EventWords("The shoe's own result agrees: the coup may be paid.")
    if event.by == "last_card":
        return EventWords(
            "The deal is complete, and this shoe gives no result: the coup may be paid."
        )
    return EventWords(
        "The result was confirmed by hand: the coup may be paid.",
        (f"reason: {event.reason}",),
        "decision",
    )


def _disputed(event: ResultDisputed, _: Moment, __: Currency) -> EventWords:
    says = "The shoe's own result is not that of the cards: nothing is paid until a person decides."
    return EventWords(says, (event.detail,), "trouble")


def _misaligned(event: CoupMisaligned, _: Moment, __: Currency) -> EventWords:
    says = "The cards cannot be vouched for: nothing is paid until a person decides."
    return EventWords(says, (f"{event.reason.replace('_', ' ')}: {event.detail}",), "trouble")


def _settled(event: CoupSettled, _: Moment, currency: Currency) -> EventWords:
    s = event.settlement
    what = "The wagers on the first four cards" if s.phase == INITIAL_PHASE else "The coup"
    if s.revision == 1:
        says = f"{what} {'were' if s.phase == INITIAL_PHASE else 'was'} settled."
    else:
        says = f"{what}: settled again, revision {s.revision}; {s.reverses} is taken back."
    totals = (
        f"staked {amount(s.staked, currency)}, paid {amount(s.paid, currency)}, "
        f"commission {amount(s.commission, currency)}"
    )
    return EventWords(says, (f"settlement {s.settlement_id}", totals), "money")


def _voided(event: CoupVoided, _: Moment, currency: Currency) -> EventWords:
    lines = tuple(f"seat {r.seat}: {amount(r.stake, currency)} goes back" for r in event.refunds)
    return EventWords("The coup does not count.", (f"reason: {event.reason}", *lines), "decision")


def _wager_corrected(event: WagerCorrected, _: Moment, currency: Currency) -> EventWords:
    was, now = (_wager(w, currency) if w else "no wager" for w in (event.was, event.wager))
    says = f"A wager was corrected by hand: {now}, not {was}."
    return EventWords(says, (f"reason: {event.reason}",), "decision")


def _wager(wager: Wager, currency: Currency) -> str:
    patron = f" for {wager.patron}" if wager.patron else ""
    kind = "" if wager.kind == "chips" else f" ({wager.kind})"
    name, stake = bet_words(wager.bet).name, amount(wager.stake, currency)
    return f"seat {wager.seat}: {name} {stake}{patron}{kind}"


def _rulebook_corrected(event: RulebookCorrected, _: Moment, __: Currency) -> EventWords:
    says = f"The coup is judged by rulebook {event.rulebook}, not {event.was}."
    now, was = event.rulebook_hash[:_HASH], event.was_hash[:_HASH]
    hashes = f"by its file, whose SHA-256 begins with {now}; the other's with {was}"
    return EventWords(says, (f"reason: {event.reason}", hashes), "decision")


def _capped(event: AggregateCapped, _: Moment, currency: Currency) -> EventWords:
    lines = tuple(
        f"wager {w.wager}: {amount(w.winnings, currency)} becomes {amount(w.paid, currency)}"
        for w in event.wagers
    )
    scope = "the table" if event.scope == "table" else "a patron"
    says = f"The most that {scope} may win in a coup is {amount(event.maximum, currency)}."
    return EventWords(says, lines, "money")


def _payers(amounts: Sequence[PayerAmount], code: str, currency: Currency) -> tuple[str, ...]:
    """Return a line a payer; amounts in the currency of this code, empty for the coup's."""
    if code not in {"", currency.code}:
        currency = Currency(code, form_1_decimals(code))
    return tuple(
        f"seat {each.seat}{f', {each.patron}' if each.patron else ''}: "
        f"{amount(each.amount, currency)}"
        for each in amounts
    )


def _commission(says: str) -> WordsOf:
    return lambda event, _, currency: EventWords(
        says, _payers(event.amounts, event.currency, currency), "money"
    )


_REFUNDED: Final = {
    "deducted": "Commission that is not owed is in the corrected payment.",
    "laid": "Commission that is not owed lies beside its wager again.",
    "paid": "Commission that is not owed goes back.",
}


def _refunded(event: CommissionRefunded, _: Moment, currency: Currency) -> EventWords:
    payers = _payers(event.amounts, event.currency, currency)
    return EventWords(_REFUNDED[event.method], (f"reason: {event.reason}", *payers), "money")


def _given_up(event: CommissionUncollected, _: Moment, currency: Currency) -> EventWords:
    seats = _payers(event.amounts, event.currency, currency)
    return EventWords("Commission was given up.", (f"reason: {event.reason}", *seats), "decision")


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
    CoupRealigned: decided(
        lambda _: "A person vouches for the cards as they stand here; the coup goes on."
    ),
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
