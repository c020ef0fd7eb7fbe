"""The dealer's calls at each step, from the state. Pure.

"The dealer calls every play" (seed 2). A call is made of faces that the table has seen: while one
is withheld, or a person must decide first, there is nothing to call.
"""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from events.cards import Card, Hand, Winner, total
from events.money import parse_odds
from events.types import DealCompleted, Settlement, SettlementLine
from table_core.replay.coup_events import CoupRecord
from table_core.rules.rulebook import INITIAL_PHASE, LAST_PHASE, PUSH
from table_core.state.coup import Phase
from table_core.state.dealing import INITIAL_CARDS, due_places
from table_core.state.table import Coup
from table_core.texts.sentences import Sentence, Value

__all__ = ["CoupCall", "calls", "coup_calls"]

_TWO: Final = 2
_BEFORE: Final = {
    Phase.BETTING: Sentence("call.place_bets"),
    Phase.CLOSED: Sentence("call.no_more_bets"),
    Phase.VOIDED: Sentence("call.void"),
}
"""What is called whatever lies on the table."""
_DEALT: Final = frozenset({Phase.DEALING, Phase.COMPLETE, Phase.CONFIRMED, Phase.SETTLED})


class CoupCall(Struct, frozen=True):
    """The calls of one step of a coup, and the position in the log from which they hold."""

    position: int
    calls: tuple[Sentence, ...]


def calls(coup: Coup | None) -> tuple[Sentence, ...]:
    """Return what the dealer calls at this step, in order."""
    if coup is None:
        return ()
    if coup.phase in _BEFORE:
        return (_BEFORE[coup.phase],)
    return tuple(_of_cards(coup)) if coup.phase in _DEALT else ()


def coup_calls(record: CoupRecord) -> tuple[CoupCall, ...]:
    """Return the calls of a coup, step by step, as they were at the table."""
    found: list[CoupCall] = []
    for moment in record.moments:
        coup = moment.after.coup
        if coup is None or coup.id != record.id:
            continue
        now = calls(coup)
        if now and (not found or found[-1].calls != now):
            found.append(CoupCall(moment.fact.position, now))
    return tuple(found)


def _of_cards(coup: Coup) -> Iterator[Sentence]:
    if coup.completed is not None:
        yield from _result(coup.completed)
        yield from _payments(coup.settlement(LAST_PHASE))
        return
    yield from _payments(coup.settlement(INITIAL_PHASE))
    player, banker = _points(coup, Hand.PLAYER), _points(coup, Hand.BANKER)
    due = due_places(coup)
    if player is None or banker is None or len(coup.cards) < INITIAL_CARDS or len(due) != 1:
        return
    values: dict[str, Value] = {"player": str(player), "banker": str(banker)}
    if due[0].hand is Hand.PLAYER:
        yield Sentence("call.player_draws", values)
    elif len(coup.hand(Hand.PLAYER)) == _TWO:
        yield Sentence("call.banker_draws_alone", values)
    else:
        yield Sentence("call.banker_draws", values)


def _points(coup: Coup, hand: Hand) -> int | None:
    cards = [dealt.card for dealt in coup.hand(hand)]
    known: list[Card] = [card for card in cards if card is not None]
    return total(known) if len(known) == len(cards) else None


def _result(outcome: DealCompleted) -> Iterator[Sentence]:
    points = {Hand.PLAYER: outcome.player_total, Hand.BANKER: outcome.banker_total}
    best: dict[str, Value] = {"points": str(max(points.values()))}
    if outcome.natural:
        yield Sentence(f"call.natural_{outcome.winner.value}", best)
        return
    for rule in outcome.rules:
        if not rule.draws:
            had = str(points[rule.hand])
            yield Sentence(f"call.{rule.hand.value}_stands", {"points": had})
    beaten = {} if outcome.winner is Winner.TIE else {"other": str(min(points.values()))}
    yield Sentence(f"call.{outcome.winner.value}", best | beaten)


def _payments(settlement: Settlement | None) -> Iterator[Sentence]:
    """Yield what each kind of wager on the table is paid, once; even money needs no call."""
    lines = settlement.lines if settlement else ()
    for bet, category, odds in dict.fromkeys(
        (line.bet, line.category, line.odds) for line in lines if _is_called(line)
    ):
        values: dict[str, Value] = {
            "bet": (f"bet.{bet}",),
            "category": (f"category.{bet}.{category}",),
        }
        if odds is None:
            yield Sentence("sign.pushes", values)
        else:
            paid = parse_odds(odds)
            values |= {"num": str(paid.num), "den": str(paid.den)}
            yield Sentence("sign.pays", values)


def _is_called(line: SettlementLine) -> bool:
    if line.result == "push":
        return line.category != PUSH
    return line.result == "win" and (line.bet, line.category) not in _EVEN_MONEY


_EVEN_MONEY: Final = frozenset({("player", "win"), ("banker", "win")})
