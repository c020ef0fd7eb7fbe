"""Holds a table against the model after each step: every wager, seat, debt and total."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from events.types import (
    CommissionAccrued,
    CommissionCollected,
    CommissionEvent,
    CommissionRecovered,
    CommissionRefunded,
    CommissionReversed,
    CommissionUncollected,
    CoupSettled,
    CoupVoided,
    PayerAmount,
    ReversedAmount,
    SeatAmount,
    Settlement,
    SettlementLine,
    TableEvent,
    WagersVoided,
    WagersWithdrawn,
)
from table_core.state.table import TableState
from tests.support.cage.ledgers import MemoryLedger
from tests.support.money_model.model import Model, ModelCoup, ModelSettlement
from tests.support.money_model.steps import Steps, coup_id

_ACCOUNTS: Final = (
    *("seat", "tokes", "pool", "win", "commission"),
    *("outstanding", "collected", "uncollected", "recovered"),
)


class Difference(AssertionError):  # noqa: N818 - what was found, told to people
    """The table and the model say different things.

    Args:
        what: of what, in a word or two: differences of one kind are alike.
        told: what the table says.
        right: what the model says.
        lines: the history up to here.
    """

    def __init__(self, what: str, told: object, right: object, lines: Sequence[str]) -> None:
        self.what, self.told, self.right, self.lines = what, told, right, tuple(lines)
        history = "\n".join(f"    {line}" for line in lines)
        super().__init__(f"{what}\n{history}\n  told  {told}\n  right {right}")


def _reversed(each: ReversedAmount) -> tuple[int, ...]:
    collected = each.amount - each.outstanding - each.uncollected - each.recovered
    return -each.amount, -collected, -each.recovered, -each.uncollected, -each.outstanding, 0


# What an amount adds to what is accrued, collected, recovered, given up, outstanding, refunded.
_CHANGES: Final[Mapping[type[TableEvent], Callable[[Any], tuple[int, ...]]]] = {
    CommissionAccrued: lambda it: (it.amount, 0, 0, 0, it.amount, 0),
    CommissionReversed: _reversed,
    CommissionCollected: lambda it: (0, it.amount, 0, 0, -it.amount, 0),
    CommissionUncollected: lambda it: (0, 0, 0, it.amount, -it.amount, 0),
    CommissionRecovered: lambda it: (0, 0, it.amount, -it.amount, 0, 0),
    CommissionRefunded: lambda it: (0, 0, 0, 0, 0, it.amount),
}


class Comparison:
    """What the table's events and state say, beside what the model says.

    Args:
        steps: plays the history.
    """

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.ledger = MemoryLedger()
        self._heard = self._booked = 0
        self._accounts: Counter[tuple[str, int]] = Counter()
        self._in_force: dict[tuple[str, int], Settlement] = {}
        self._returned: dict[str, set[str]] = {}
        self._debts: dict[tuple[str, int, str | None], list[int]] = {}

    def take(self, line: str) -> None:
        """Play a line and compare.

        Raises:
            Difference: the table and the model disagree.
        """
        self.steps.take(line)
        expected, code = self.steps.expected, self.steps.code
        if expected is not None:
            self._same(
                f"answer to {line.split(maxsplit=1)[0]}",
                code or "accepted",
                expected,
                ok=expected is (code is None),
            )
        new = self.steps.table.events[self._heard :]
        self._heard += len(new)
        try:
            self.ledger.hear(new)
        except Exception as error:
            raise self._found("ledger cannot book", repr(error), "booked") from error
        revised = self._hear(new)
        model, state = self.steps.model, self.steps.table.state
        self._differences(revised, model)
        for coup in self._changed(model, new):
            self._coup(coup)
        self._state(state, model)
        self._commission(state, model)
        self._ledger(model)

    def everything(self) -> None:
        """Compare every coup that ever was."""
        for coup in self.steps.model.coups.values():
            self._coup(coup)

    def _found(self, what: str, told: object, right: object) -> Difference:
        return Difference(what, told, right, self.steps.lines)

    def _same(self, what: str, told: object, right: object, *, ok: bool | None = None) -> None:
        if not (told == right if ok is None else ok):
            raise self._found(what, told, right)

    def _hear(self, events: Iterable[TableEvent]) -> dict[tuple[str, int], Settlement]:
        revised = {}
        for event in events:
            self._owe(event)
            if isinstance(event, CoupSettled):
                its = event.settlement
                key = (event.coup, its.phase)
                before = self._in_force.get(key)
                self._same("revision", its.revision, before.revision + 1 if before else 1)
                self._in_force[key] = its
                revised[key] = its
            elif isinstance(event, CoupVoided | WagersVoided):
                for each in event.refunds:
                    self._back(event.coup, each.wager)
            elif isinstance(event, WagersWithdrawn):
                for name in event.wagers:
                    self._back(event.coup, name)
        return revised

    def _back(self, coup: str, wager: str) -> None:
        gone = self._returned.setdefault(coup, set())
        self._same("returned twice", wager in gone, False)
        gone.add(wager)

    def _changed(self, model: Model, events: Iterable[TableEvent]) -> Iterator[ModelCoup]:
        named = {getattr(event, "coup", None) for event in events}
        touched = {self.steps.touched, model.coup.id if model.coup else None}
        for coup in model.coups.values():
            if coup.id in touched or coup_id(coup.id) in named:
                yield coup

    def _differences(self, revised: Mapping[tuple[str, int], Settlement], model: Model) -> None:
        right = {(coup_id(name), phase): its for (name, phase), its in model.differences.items()}
        for key, its in revised.items():
            told = {d.seat: (d.staked, d.paid, d.commission) for d in its.difference}
            self._same(f"difference of {key}", told, right.get(key, {}))

    def _coup(self, coup: ModelCoup) -> None:
        name = coup_id(coup.id)
        told = {phase for its, phase in self._in_force if its == name}
        self._same(f"phases settled of {coup.id}", told, set(coup.settlements))
        for phase, right in coup.settlements.items():
            self._settlement(f"{coup.id} phase {phase}", self._in_force[name, phase], right)
        returned = self._returned.get(name, set())
        self._same(f"wagers returned of {coup.id}", returned, set(coup.returned))
        state = self.steps.table.state
        if state.coup is not None and state.coup.id == name:
            wagers = {
                key: (each.seat, each.bet, each.stake, each.patron, each.kind)
                for key, each in state.coup.wagers.items()
            }
            own = {
                key: (each.seat, each.bet, each.stake, each.patron, each.kind)
                for key, each in coup.wagers.items()
            }
            self._same(f"wagers of {coup.id}", wagers, own)
            self._same(f"phase of {coup.id}", state.coup.phase.value, coup.phase)

    def _settlement(self, what: str, told: Settlement, right: ModelSettlement) -> None:
        self._same(f"lines of {what}", list(map(_told_line, told.lines)), _right_lines(right))
        self._same(f"revision of {what}", told.revision, right.revision)
        sums = (
            sum(right.stakes[name].chips for name in right.lines),
            sum(line.paid for line in right.lines.values()),
            sum(line.commission for line in right.lines.values()),
        )
        self._same(f"sums of {what}", (told.staked, told.paid, told.commission), sums)
        winner = told.winner.value if told.winner else None
        cards = (
            tuple(card.value for card in told.player),
            tuple(card.value for card in told.banker),
            winner,
        )
        self._same(f"cards of {what}", cards, right.cards)
        self._same(f"rulebook of {what}", told.rulebook_hash, right.rulebook)

    def _state(self, state: TableState, model: Model) -> None:
        totals = state.totals
        self._same("totals", (totals.staked, totals.paid, totals.commission), model.totals())

    def _commission(self, state: TableState, model: Model) -> None:
        book = state.commission
        for what, told in (("outstanding", book.outstanding), ("given_up", book.uncollected)):
            self._same(f"commission {what}", _by_seat(told), model.owed(what))
        laid, least, most = _by_seat(book.laid), model.laid(), model.laid_at_most()
        between = all(least[seat] <= laid[seat] <= most[seat] for seat in {*laid, *least, *most})
        self._same("commission laid", laid, (least, most), ok=between)
        right = {
            (coup_id(coup), *payer): (
                debt.accrued,
                debt.collected,
                debt.recovered,
                debt.given_up,
                debt.outstanding,
                debt.refunded,
            )
            for coup, payer, debt in model.debts()
        }
        self._same("debts", {key: tuple(its) for key, its in self._debts.items()}, right)
        owed = {
            (coup_id(coup), *payer): (
                debt.outstanding,
                debt.given_up,
                model.coups[coup].rulebook.currency,
            )
            for coup, payer, debt in model.debts()
            if debt.outstanding or debt.given_up
        }
        told_owed = {
            (debt.coup, debt.seat, debt.patron): (
                debt.outstanding,
                debt.uncollected,
                debt.currency,
            )
            for debt in book.debts
            if debt.outstanding or debt.uncollected
        }
        self._same("debts of the state", told_owed, owed)
        back: Counter[tuple[str, int, str | None]] = Counter()
        for each in book.refunds:
            back[each.coup, each.seat, each.patron] += each.amount
        hand_back = {(coup_id(its), *payer): n for (its, payer), n in model.refunds.items() if n}
        self._same("refunds by hand", dict(back), hand_back)

    def _owe(self, event: TableEvent) -> None:
        """Move a debt as an event says."""
        if isinstance(event, CommissionEvent):
            for each in getattr(event, "amounts", ()):
                key = (event.coup, each.seat, each.patron)
                change = _CHANGES.get(type(event))
                if change is not None and getattr(event, "method", "") != "laid":
                    debt = self._debts.setdefault(key, [0] * 6)
                    debt[:] = (was + by for was, by in zip(debt, change(each), strict=True))

    def _ledger(self, model: Model) -> None:
        for entry in self.ledger.entries[self._booked :]:
            for posting in entry.postings:
                self._accounts[posting.account, posting.seat] += posting.amount
        self._booked = len(self.ledger.entries)
        told: dict[str, Counter[int]] = {name: Counter() for name in _ACCOUNTS}
        for (account, seat), amount in self._accounts.items():
            if account in _ACCOUNTS and amount:
                told[account][seat] = amount
        told["seat"].update(told.pop("tokes"))
        told["seat"].subtract(_by_seat(self.steps.table.state.commission.laid))
        told["seat"] = Counter({seat: n for seat, n in told["seat"].items() if n})
        for account, right in model.accounts().items():
            self._same(f"ledger {account}", told[account], right)


def _told_line(line: SettlementLine) -> tuple[object, ...]:
    stake = (line.seat, line.bet, line.stake, line.patron, line.kind)
    return (
        line.wager,
        *stake,
        line.result,
        line.category,
        line.winnings,
        line.commission,
        line.paid,
    )


def _right_lines(settlement: ModelSettlement) -> list[tuple[object, ...]]:
    return [
        (
            name,
            each.seat,
            each.bet,
            each.stake,
            each.patron,
            each.kind,
            line.result,
            line.category,
            line.winnings,
            line.commission,
            line.paid,
        )
        for name, line in settlement.lines.items()
        for each in [settlement.stakes[name]]
    ]


def _by_seat(amounts: Iterable[SeatAmount | PayerAmount]) -> Counter[int]:
    seats: Counter[int] = Counter()
    for each in amounts:
        seats[each.seat] += each.amount
    return seats
