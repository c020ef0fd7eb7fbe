"""Postings by hand: balanced, and refused where they do not come out."""

from typing import Any

import pytest
from msgspec.structs import replace

from cage.ledger.entries import ACCOUNTS, Posting, PostingState
from cage.ledger.posting import post, reversal_ref
from events.errors import LedgerError
from events.types import (
    BettingOpened,
    CommissionAccrued,
    CommissionCollected,
    CommissionRecovered,
    CommissionRefunded,
    CommissionReversed,
    CommissionUncollected,
    CoupSettled,
    CoupVoided,
    PayerAmount,
    Refund,
    ReversedAmount,
    Settlement,
    SettlementLine,
    ShoeLoaded,
    Wager,
    WagersPlaced,
    WagersWithdrawn,
)
from tests.support.cage.ledgers import MemoryLedger
from tests.support.table.settlements import settlement

COUP = "20261127-01/1"


# An account of the ledger, and where the auditor has it: both of a coup, a seat and a patron.
# ---- by hand ----


def _line(**changes: object) -> SettlementLine:
    line = SettlementLine(
        wager="w/1/0",
        seat=3,
        bet="banker",
        result="win",
        category="win",
        stake=1000,
        winnings=1000,
        commission=50,
        paid=1950,
    )
    return replace(line, **changes)


def _settlement(*lines: SettlementLine, revision: int = 1) -> CoupSettled:
    made: Settlement = replace(
        settlement(1, revision=revision),
        lines=lines,
        staked=sum(line.stake for line in lines if line.kind != "promo"),
        paid=sum(line.paid for line in lines),
        commission=sum(line.commission for line in lines),
    )
    return CoupSettled(coup=COUP, settlement=made)


def _posted(event: CoupSettled) -> list[tuple[str, int, str, str, int]]:
    ledger = MemoryLedger()
    ledger.hear([event])
    (entry,) = ledger.entries
    return [(p.account, p.seat, p.bet, p.result, p.amount) for p in entry.postings]


LINES = {
    "banker wins less commission": (
        _line(),
        [("pool", 1000), ("seat", -2000), ("win", 1000)],
    ),
    "a stake is lost": (
        _line(result="lose", category="lose", winnings=0, commission=0, paid=0),
        [("pool", 1000), ("win", -1000)],
    ),
    "a push goes back": (
        _line(result="push", category="push", winnings=0, commission=0, paid=1000),
        [("pool", 1000), ("seat", -1000)],
    ),
    "a dealers' wager wins": (
        _line(kind="toke"),
        [("pool", 1000), ("tokes", -2000), ("win", 1000)],
    ),
    "a token wins chips": (
        _line(kind="promo", commission=0, paid=1000),
        [("promo_laid", 1000), ("promo_used", -1000), ("seat", -1000), ("win", 1000)],
    ),
    "a token loses": (
        _line(kind="promo", result="lose", category="lose", winnings=0, commission=0, paid=0),
        [("promo_laid", 1000), ("promo_used", -1000)],
    ),
    "a token's coup is void": (
        _line(kind="promo", result="void", category="void", winnings=0, commission=0, paid=0),
        [("promo", -1000), ("promo_laid", 1000)],
    ),
}


@pytest.mark.parametrize("case", LINES)
def test_a_line_is_booked(case: str) -> None:
    line, expected = LINES[case]
    result = line.result
    assert _posted(_settlement(line)) == [
        (account, 3, "banker", result, amount) for account, amount in expected
    ]


def test_a_reversal_is_the_entry_turned_round_and_the_new_one_stands_behind_it() -> None:
    lost = _line(result="lose", category="lose", winnings=0, commission=0, paid=0)
    ledger = MemoryLedger()
    ledger.hear([_settlement(_line()), _settlement(lost, revision=2)])
    first, back, second = ledger.entries
    assert (back.kind, back.reverses, back.ref) == ("reversal", first.ref, reversal_ref(first.ref))
    assert [(p.account, p.amount) for p in back.postings] == [
        ("pool", -1000),
        ("seat", 2000),
        ("win", -1000),
    ]
    assert second.kind == "coup_settled"
    assert ledger.total("seat") == 0
    assert ledger.total("win") == -1000


def test_what_was_never_booked_cannot_be_taken_back() -> None:
    with pytest.raises(LedgerError, match="takes back t1/20261127-01/1/2/1, which was never"):
        MemoryLedger().hear([_settlement(_line(), revision=2)])


@pytest.mark.parametrize(
    "line",
    [_line(paid=1951), _line(commission=49), _line(winnings=999), _line(result="lose")],
)
def test_a_line_that_does_not_come_out_is_not_booked(line: SettlementLine) -> None:
    with pytest.raises(LedgerError, match="wager w/1/0 is paid"):
        MemoryLedger().hear([_settlement(line)])


def test_a_settlement_whose_sums_are_not_its_lines_is_not_booked() -> None:
    event = _settlement(_line())
    wrong = replace(event, settlement=replace(event.settlement, paid=1951))
    with pytest.raises(LedgerError, match="its lines come to"):
        MemoryLedger().hear([wrong])


def _wager(name: str, stake: int, kind: str = "chips") -> Wager:
    return Wager(id=name, seat=3, bet="tie", stake=stake, kind=kind)  # type: ignore[arg-type]  # a kind


def test_wagers_come_and_go_back() -> None:
    ledger = MemoryLedger()
    laid = (_wager("a", 100), _wager("b", 40, "promo"), _wager("c", 7, "toke"))
    ledger.hear([ShoeLoaded(shoe="20261127-01", decks=8)])
    ledger.hear([BettingOpened(coup=COUP, rulebook="r", rulebook_hash="h")])
    ledger.hear([WagersPlaced(coup=COUP, wagers=laid)])
    assert ledger.total("pool") == -107
    assert ledger.total("promo_laid") == -40
    ledger.hear([WagersWithdrawn(coup=COUP, wagers=("a",))])
    assert ledger.total("seat") == 0
    refunds = (Refund(wager="b", seat=3, stake=40), Refund(wager="c", seat=3, stake=7))
    ledger.hear([CoupVoided(coup=COUP, reason="r", refunds=refunds)])
    for account in ACCOUNTS:
        assert ledger.total(account) == 0
    voids = ledger.entries[-1]
    assert {posting.result for posting in voids.postings} == {"void"}
    assert (voids.kind, voids.shoe, voids.coup) == ("coup_voided", "20261127-01", COUP)


def test_a_refund_that_is_not_the_wager_is_not_booked() -> None:
    ledger = MemoryLedger()
    ledger.hear([WagersPlaced(coup=COUP, wagers=(_wager("a", 100),))])
    wrong = CoupVoided(coup=COUP, reason="r", refunds=(Refund(wager="a", seat=3, stake=101),))
    with pytest.raises(LedgerError, match="101 goes back"):
        ledger.hear([wrong])
    with pytest.raises(LedgerError, match="wager z goes back, and does not lie on"):
        ledger.hear([WagersWithdrawn(coup=COUP, wagers=("z",))])
    twice = CoupVoided(coup=COUP, reason="r", refunds=(Refund(wager="a", seat=3, stake=100),) * 2)
    with pytest.raises(LedgerError, match="wager a goes back, and does not lie on"):
        ledger.hear([twice])


ACCOUNTS_OF_DEBTS = ("outstanding", "uncollected", "collected", "recovered", "commission")
# The currency tells a log of 0.1.0, whose balances are the seats'. Of 80 that are reversed, 30 were
# still given up; the rest goes back, and which part of it was recovered is now said by the event.
MARKED = {"": [0, 0, 0, 10, -10], "AUD": [0, 0, 10, 0, -10]}


@pytest.mark.parametrize("currency", MARKED)
def test_marked_commission_from_accrual_to_recovery_and_back(currency: str) -> None:
    ledger, name = MemoryLedger(), settlement(1).settlement_id
    of: dict[str, Any] = {"coup": COUP, "currency": currency}

    def amounts(amount: int) -> dict[str, Any]:
        return {**of, "amounts": (PayerAmount(seat=3, amount=amount),)}

    ledger.hear(
        [
            CommissionAccrued(settlement_id=name, timing="per_shoe", **amounts(90)),
            CommissionCollected(method="paid", **amounts(40)),
            CommissionUncollected(reason="left", **amounts(50)),
            CommissionRecovered(**amounts(20)),
        ]
    )
    assert [ledger.total(each) for each in ACCOUNTS_OF_DEBTS] == [0, 30, 40, 20, -90]
    back = ReversedAmount(seat=3, amount=80, uncollected=30, recovered=20)
    reverse = CommissionReversed(settlement_id=name, timing="per_shoe", amounts=(back,), **of)
    ledger.hear([reverse])
    if currency:
        assert ledger.total("refundable") == -50
        refund = ReversedAmount(seat=3, amount=50, recovered=20)
        ledger.hear(
            [
                CommissionRefunded(
                    settlement_id=name, method="paid", reason="r", amounts=(refund,), **of
                )
            ]
        )
    assert ledger.total("refundable") == 0
    assert [ledger.total(each) for each in ACCOUNTS_OF_DEBTS] == MARKED[currency]


def test_commission_taken_in_a_way_that_nobody_knows_is_not_booked() -> None:
    barter = CommissionCollected(coup=COUP, currency="AUD", method="barter", amounts=())
    with pytest.raises(LedgerError, match="unknown way, 'barter'"):
        MemoryLedger().hear([barter])


def test_a_reversal_whose_parts_are_more_than_it_is_not_booked() -> None:
    wrong = ReversedAmount(seat=3, amount=80, outstanding=70, recovered=20)
    event = CommissionReversed(
        coup=COUP, currency="AUD", settlement_id="s", timing="per_shoe", amounts=(wrong,)
    )
    with pytest.raises(LedgerError, match="its parts are more"):
        MemoryLedger().hear([event])


def test_a_posting_is_the_same_whenever_it_is_made() -> None:
    event = _settlement(_line(), _line(wager="w/1/1"))
    made = [post(PostingState(), event, event_id="x", recall=lambda _: None) for _ in range(2)]
    assert made[0] == made[1]
    (entry,) = made[0][1]
    assert entry.postings[0] == Posting("pool", 3, "banker", "win", 2000)
