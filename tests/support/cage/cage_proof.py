"""Whether a ledger is its log to the unit, by sums that know nothing of the ledger's own code."""

from collections import Counter, defaultdict
from pathlib import Path

from cage.ledger.database import parse_ledger_url
from cage.ledger.reading import Filter, open_ledger
from events.types.table import Settlement
from tests.support.cage.cage_game import acknowledged, newest_settlement
from tests.support.cage.consumers import seats_of, settlements_of
from tests.support.cage.ledgers import STREAM, agrees

__all__ = ["proved"]

_IN_HAND = frozenset({"seat", "tokes", "collected", "recovered"})


def proved(url: str, log: Path, user: str) -> list[Settlement]:
    """The settlements of the log, each of them booked once, and acknowledged by `user`.

    Args:
        url: the ledger's.
        log: of a table that has ended.
        user: under whose name the ledger read.
    """
    agrees(url, log)
    settlements = settlements_of(log)
    with open_ledger(parse_ledger_url(url)) as ledger:
        entries = list(ledger.entries(Filter(table=STREAM)))
        hands: Counter[str] = Counter()
        for each in ledger.balances(Filter(table=STREAM), by="seat"):
            for account in _IN_HAND & each.accounts.keys():
                hands[each.key] += each.accounts[account]
    assert all(sum(posting.amount for posting in entry.postings) == 0 for entry in entries)
    booked = Counter(entry.ref for entry in entries if entry.kind == "coup_settled")
    assert booked == Counter(each.settlement_id for each in settlements)
    backs = Counter(entry.reverses for entry in entries if entry.kind == "reversal")
    assert backs == Counter(each.reverses for each in settlements if each.reverses)
    # Two ways to what every seat has lost: what revisions say that they change, and what stands.
    by_difference = {seat: of["staked"] - of["paid"] for seat, of in seats_of(settlements).items()}
    assert by_difference == _standing(settlements)
    assert {s: n for s, n in hands.items() if n} == {s: n for s, n in by_difference.items() if n}
    assert acknowledged(log, user) >= newest_settlement(log)
    return settlements


def _standing(settlements: list[Settlement]) -> dict[str, int]:
    back = {each.reverses for each in settlements}
    seats: defaultdict[str, int] = defaultdict(int)
    for each in settlements:
        for line in each.lines if each.settlement_id not in back else ():
            seats[str(line.seat)] += (0 if line.kind == "promo" else line.stake) - line.paid
    named = {str(line.seat) for each in settlements for line in each.lines}
    return {seat: seats[seat] for seat in named}
