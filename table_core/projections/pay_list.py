"""What a dealer does with the chips of a coup, wager by wager: take, pay, return. Pure.

The stakes of lost wagers are taken first, box by box; then each box is paid, its winnings beside
the stake that stays its owner's. Wagers on the initial deal are on the list as soon as their phase
is settled (seed 1, 11A.6), the others at the end of the coup.
"""

from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from events.types import Settlement, SettlementLine, Wager, WagerKind
from table_core.rules.rulebook import CommissionTiming, Rulebook
from table_core.state.coup import Phase
from table_core.state.table import Coup

__all__ = ["Move", "pay_list"]

_HELD_BACK: Final = frozenset({None, CommissionTiming.DEDUCT})


class Move(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The chips of one wager, minor units: `take` and `back` are its stake.

    Args:
        wager: its id.
        seat: 1 to 99.
        bet: the bet's id.
        stake: that stood.
        result: `win`, `lose`, `push` or `void`.
        take: the part of the stake that goes to the tray: a lost stake, and every token.
        pay: out of the tray, less the commission that is held back.
        back: the part of the stake that its owner keeps or gets back.
        commission: of the winnings: held back, marked, or taken from what was laid.
        patron: an opaque reference, where given.
        kind: as of the wager.
    """

    wager: str
    seat: int
    bet: str
    stake: int
    result: str
    take: int
    pay: int
    back: int
    commission: int = 0
    patron: str | None = None
    kind: WagerKind = "chips"


def pay_list(
    coup: Coup, find_rulebook: Callable[[str], Rulebook | None], *, corrected: bool = False
) -> tuple[Move, ...]:
    """Return the moves of what is settled of a coup, or void, in the order a dealer makes them.

    A correction's chips are not among them: `TableState.to_move` has these, as differences. So the
    list and the corrections together move a settlement's chips once.

    Args:
        coup: in progress, or over.
        find_rulebook: returns a rulebook by its hash, for its commission's timing.
        corrected: list what the settlements in force come to, as if no chip had been moved yet.
    """
    settlements = coup.settlements if corrected else _first_settlements(coup)
    moves = [
        move
        for settlement in settlements
        for move in _settled(settlement, find_rulebook(settlement.rulebook_hash))
    ]
    if coup.phase is Phase.VOIDED:
        settled = {line.wager for each in coup.settlements for line in each.lines}
        moves += _void(coup, settled | {move.wager for move in moves})
    return tuple(sorted(moves, key=lambda move: (not move.take, move.seat)))


def _first_settlements(coup: Coup) -> tuple[Settlement, ...]:
    """Return the settlements that a dealer pays by: of each phase the one before any correction.

    A phase without wagers before a correction has none. The last phase is without the wagers that
    the first has listed: their chips move as a correction (`table_core.fold.chips_to_move`).
    """
    was = {each.phase: each for each in coup.paid_by}
    in_order = sorted(coup.settlements, key=lambda settlement: settlement.phase)
    first = (was.get(each.phase, each) for each in in_order)
    return tuple(_without_listed(coup, each) for each in first if not each.difference)


def _without_listed(coup: Coup, settlement: Settlement) -> Settlement:
    listed = coup.lines_listed_before(settlement)
    lines = tuple(line for line in settlement.lines if line not in listed)
    return replace(settlement, lines=lines) if listed else settlement


def _settled(settlement: Settlement, rulebook: Rulebook | None) -> Iterator[Move]:
    terms = rulebook.commission if rulebook else None
    held_back = (terms.timing if terms else None) in _HELD_BACK
    for line in settlement.lines:
        yield _move(line, held_back=held_back)


def _move(line: SettlementLine, *, held_back: bool) -> Move:
    back = line.paid - line.winnings + line.commission
    return Move(
        wager=line.wager,
        seat=line.seat,
        bet=line.bet,
        patron=line.patron,
        kind=line.kind,
        stake=line.stake,
        result=line.result,
        take=line.stake - back,
        pay=line.winnings - (line.commission if held_back else 0),
        back=back,
        commission=line.commission,
    )


def _void(coup: Coup, told: set[str]) -> Iterator[Move]:
    """Yield the wagers that no settlement took: their stakes go back."""
    for wager in coup.wagers.values():
        if wager.id not in told:
            yield _returned(wager)


def _returned(wager: Wager) -> Move:
    return Move(
        wager=wager.id,
        seat=wager.seat,
        bet=wager.bet,
        patron=wager.patron,
        kind=wager.kind,
        stake=wager.stake,
        result="void",
        take=0,
        pay=0,
        back=wager.stake,
    )
