"""A dealer who moves chips as the table's lists say, beside the ledger that books them."""

import random
from collections import Counter
from collections.abc import Iterable
from typing import Any

from events.types import (
    CommissionCollected,
    CommissionRecovered,
    CoupSettled,
    CoupVoided,
    TableEvent,
)
from table_core.fold.dispatch import fold
from table_core.projections.pay_list import Move, pay_list
from table_core.rules.rulebook import Rulebook
from table_core.state.coup import OVER
from table_core.state.table import TableState
from tests.support.cage.ledgers import MemoryLedger
from tests.support.table.money_game import BOOKS, Game, random_coup


class DealerByList:
    """Counts what the tray has got of each seat's chips; tokens are no chips.

    Args:
        rulebooks: that coups are paid by.
    """

    def __init__(self, *rulebooks: Rulebook) -> None:
        self._books = {book.hash: book for book in rulebooks}
        self.state = TableState()
        self.tray: Counter[int] = Counter()
        self.moved = 0  # wagers on pay lists
        self.corrected = 0  # seats on lists of corrections

    def hear(self, events: Iterable[TableEvent]) -> None:
        """Move the chips as the lists say after each event."""
        for event in events:
            before, self.state = self.state, fold(self.state, event)
            if isinstance(event, CoupSettled):
                self._settled(before, event)
            elif isinstance(event, CoupVoided):
                moves = list(self._new(before))
                assert {move.wager for move in moves} <= {each.wager for each in event.refunds}
                self._follow(moves)
            elif isinstance(event, CommissionCollected | CommissionRecovered):
                self._commission(event)
            self._corrections(before)

    def _settled(self, before: TableState, event: CoupSettled) -> None:
        settlement = event.settlement
        if settlement.revision == 1 and not settlement.difference:
            wagers = {line.wager for line in settlement.lines}
            self._follow(move for move in self._new(before) if move.wager in wagers)
        elif before.coup is not None and before.coup.phase in OVER:
            assert self._list() == pay_list(before.coup, self._books.get)  # nothing is listed twice

    def _new(self, before: TableState) -> Iterable[Move]:
        """What the list has now and had not before; the rest is moved already."""
        listed = pay_list(before.coup, self._books.get) if before.coup else ()
        return (Counter(self._list()) - Counter(listed)).elements()

    def _list(self) -> tuple[Move, ...]:
        moves = pay_list(self.state.coup, self._books.get) if self.state.coup else ()
        assert len({move.wager for move in moves}) == len(moves)
        taken = [move.take > 0 for move in moves]
        assert taken == sorted(taken, reverse=True)  # what is taken comes first
        return moves

    def _follow(self, moves: Iterable[Move]) -> None:
        for move in moves:
            assert min(move.take, move.pay, move.back) >= 0
            assert move.take + move.back == move.stake
            self.tray[move.seat] += (0 if move.kind == "promo" else move.take) - move.pay
            self.moved += 1

    def _corrections(self, before: TableState) -> None:
        was = {each.coup: {seat.seat: seat.gets for seat in each.seats} for each in before.to_move}
        for each in self.state.to_move:
            for seat in each.seats:
                gets = seat.gets - was.get(each.coup, {}).get(seat.seat, 0)
                self.tray[seat.seat] -= gets
                self.corrected += gets != 0

    def _commission(self, event: Any) -> None:
        """By hand, or out of what was laid; what is deducted never left the tray."""
        if getattr(event, "method", "") != "deducted":
            for each in event.amounts:
                self.tray[each.seat] += each.amount


def follow_the_lists(name: str, coups: int) -> DealerByList:
    """Play so many coups with corrections, and hold every seat's chips against the ledger.

    Args:
        name: of the rulebook, in `BOOKS`.
        coups: how many.
    """
    game = Game(BOOKS[name](), seed=len(name))
    rng = random.Random(f"lists/{name}")
    dealer = DealerByList(game.rulebook, *game.world.context.library)
    ledger, heard = MemoryLedger(), 0
    for _ in range(coups):
        game.play(random_coup(rng))
        dealer.hear(game.world.log[heard:])
        ledger.hear(game.world.log[heard:])
        heard = len(game.world.log)
        assert dealer.state == game.world.state
        booked = ledger.by_seat("seat", "tokes", "collected", "recovered")
        assert {seat: chips for seat, chips in dealer.tray.items() if chips} == booked
    return dealer
