"""What-if: a coup judged again with another card, next to what happened. Pure.

The cards are dealt again in the order in which they lay, by the draw table alone. Another face may
make another card due, or a card superfluous. A card that was never drawn is never invented.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Final

from msgspec import Struct, structs

from events.cards import Card, Hand, parse_card
from events.errors import InputError
from events.types import (
    CardCarriedOver,
    CardCorrected,
    CardDealt,
    CardDisclosed,
    CardDrawn,
    CardEntered,
    CardRevealed,
    SettlementLine,
    ShoeReported,
    TableEvent,
    Wager,
)
from table_core.narrative.formatting import (
    Phrase,
    Spoken,
    explain,
    face,
    faces,
    place_name,
    spoken,
)
from table_core.narrative.wager_outcome import WagerNarrative, narrate_wager
from table_core.replay.coup_events import CoupRecord
from table_core.rules.draw import Outcome, hand_due, judge_hands
from table_core.rules.rulebook import INITIAL_PHASE, Rulebook
from table_core.rules.settlement import settle
from table_core.state.shoe import times_seen
from table_core.state.table import DealtCard

__all__ = ["WhatIf", "WhatIfSide", "WhatIfWager", "parse_change", "what_if"]

_TWO: Final = 2
_POSITION: Final = re.compile(r"[ \t]*[0-9]{1,15}[ \t]*")
_CARD_REPORTS: Final = (CardDrawn, CardRevealed, CardCarriedOver)
_FACED: Final = (CardDealt, CardDisclosed, CardEntered, CardCorrected)

_CardPlace = tuple[Hand, int]

# The dealing order, whichever of the two hands draws a third card.
_ORDER: Final = tuple((hand, number) for number in (1, 2, 3) for hand in Hand)


class WhatIfSide(Struct, frozen=True, kw_only=True):
    """One of the two compared coups.

    Args:
        player: Player's cards.
        banker: Banker's.
        player_total: Player's points; None while Player has fewer than two cards.
        banker_total: Banker's points, likewise.
        winner: `player`, `banker`, `tie`; None where the deal is not complete.
        rules: each third card's rule in words, drawn or not.
    """

    player: tuple[Card, ...]
    banker: tuple[Card, ...]
    player_total: int | None
    banker_total: int | None
    winner: str | None
    rules: tuple[str, ...]


class WhatIfWager(Struct, frozen=True, kw_only=True):
    """A wager on both sides; None where it cannot be judged, or was not settled.

    `difference` is how much more the patron would have received, minor units.
    """

    wager: str
    seat: int
    name: str
    stake: int
    happened: WagerNarrative | None
    instead: WagerNarrative | None
    difference: int | None


class WhatIf(Struct, frozen=True, kw_only=True):
    """A coup next to what it would have been.

    Args:
        coup: its id.
        changes: each replaced card and its replacement, in words.
        happened: the coup as it was dealt.
        instead: the coup with the other card.
        sequence: each difference in the drawing, a sentence each; empty where there is none.
        wagers: those placed, in the order they were placed.
        spoken: how each English text above was put together, for other languages.
    """

    coup: str
    changes: tuple[str, ...]
    happened: WhatIfSide
    instead: WhatIfSide
    sequence: tuple[str, ...]
    wagers: tuple[WhatIfWager, ...]
    spoken: dict[str, Spoken] = {}


def parse_change(text: str) -> tuple[int, Card]:
    """Parse `POSITION=FACE`, such as `21=9D`.

    Raises:
        InputError: the text is not of that form, or names no card.
    """
    position, sign, card = text.partition("=")
    if not sign or _POSITION.fullmatch(position) is None or int(position) < 1:
        raise InputError(f"--what-if {text!r}: write POSITION=FACE, such as 21=9D")
    return int(position), parse_card(card)


def what_if(record: CoupRecord, changes: Mapping[int, Card], rulebook: Rulebook) -> WhatIf:
    """Return the coup with other cards at the positions of `changes`.

    Raises:
        InputError: a position belongs to no card of this coup, or the card cannot have come there.
    """
    cards = record.cards
    replaced: dict[_CardPlace, Card] = {}
    said = []
    for position, card in sorted(changes.items()):
        place = _place_at(record, position)
        dealt = next((d for d in cards if (d.hand, d.number) == place), None)
        _refuse_nonsense(record, position, place, dealt, card)
        replaced[place] = card
        was = dealt.card if dealt else None
        says = "{place}: {card} instead of {was}"
        said.append(Phrase(says, place=place_name(*place), card=face(card), was=face(was)))
    before = _side(_by_hand(cards))
    known = [
        DealtCard(d.hand, d.number, replaced.get((d.hand, d.number), d.card), None, d.source)
        for d in cards
    ]
    known = list(takewhile(lambda d: d.card is not None, known))
    hands, left = _deal([d.card for d in known if d.card is not None])
    after = _side(hands)
    found = WhatIf(
        coup=record.id,
        changes=tuple(said),
        happened=before,
        instead=after,
        sequence=tuple(_sequence(known, hands, left, len(known) < len(cards))),
        wagers=_wagers(record, after, rulebook),
    )
    phrases: dict[str, Spoken] = {}
    plain: WhatIf = spoken(found, phrases)
    return structs.replace(plain, spoken=phrases)


# ---- the card at a position ----


def _place_at(record: CoupRecord, position: int) -> _CardPlace:
    """Return the place whose face became known, or would have, at this position."""
    moment = next((m for m in record.moments if m.fact.position == position), None)
    faced = [(m.fact.position, place) for m in record.moments if (place := _faced(m.fact.event))]
    known = ", ".join(str(at) for at, _ in faced)
    hint = f"cards became known at {known}" if known else "no card became known in it"
    if moment is None:
        raise InputError(f"position {position} does not belong to coup {record.id}; {hint}")
    event, place = moment.fact.event, _faced(moment.fact.event)
    if isinstance(event, ShoeReported) and isinstance(event.source.report, _CARD_REPORTS):
        same = [m.fact.event for m in record.moments if m.fact.cause == moment.fact.cause]
        place = next((found for each in same if (found := _faced(each))), None)
    if place is None:
        raise InputError(
            f"position {position} ({moment.fact.event.TYPE}) tells no face of a card; {hint}"
        )
    later = [at for at, where in faced if where == place and at > position]
    counts = _last_of_cause(record, position)
    if any(at > counts for at in later):
        raise InputError(
            f"the card at position {position} was told of again at {later[-1]}, and that counts; "
            f"write {later[-1]}=FACE"
        )
    return place


def _last_of_cause(record: CoupRecord, position: int) -> int:
    """Return the last position of the same step: a report and the card it became are one step."""
    causes = {m.fact.position: m.fact.cause for m in record.moments}
    return max(at for at, cause in causes.items() if cause == causes[position])


def _faced(event: TableEvent) -> _CardPlace | None:
    if isinstance(event, _FACED) and event.card is not None:
        return event.hand, event.number
    return None


def _refuse_nonsense(
    record: CoupRecord, position: int, place: _CardPlace, dealt: DealtCard | None, card: Card
) -> None:
    if dealt is None:
        raise InputError(f"position {position}: {place_name(*place)} is no longer in the coup")
    if dealt.card is card:
        raise InputError(f"position {position}: {place_name(*place)} is {card} already")
    shoe = record.end.shoe
    if shoe is not None and times_seen(shoe, card) >= shoe.decks:
        raise InputError(
            f"position {position}: all {shoe.decks} copies of {card} have left the shoe by then"
        )


# ---- dealing again ----


def _by_hand(cards: Sequence[DealtCard]) -> dict[Hand, list[Card]]:
    return {hand: [d.card for d in cards if d.hand is hand and d.card is not None] for hand in Hand}


def _deal(row: Sequence[Card]) -> tuple[dict[Hand, list[Card]], list[Card]]:
    """Deal the cards to the hands they are due to; return the hands and the cards left over."""
    hands: dict[Hand, list[Card]] = {hand: [] for hand in Hand}
    for index, card in enumerate(row):
        hand, _ = hand_due(hands[Hand.PLAYER], hands[Hand.BANKER])
        if hand is None:
            return hands, list(row[index:])
        hands[hand].append(card)
    return hands, []


def _outcome(hands: Mapping[Hand, Sequence[Card]]) -> Outcome | None:
    if any(len(cards) < _TWO for cards in hands.values()):
        return None
    return judge_hands(hands[Hand.PLAYER], hands[Hand.BANKER])


def _side(hands: Mapping[Hand, Sequence[Card]]) -> WhatIfSide:
    outcome = _outcome(hands)
    _, rules = hand_due(hands[Hand.PLAYER], hands[Hand.BANKER])
    return WhatIfSide(
        player=tuple(hands[Hand.PLAYER]),
        banker=tuple(hands[Hand.BANKER]),
        player_total=outcome.player_total if outcome else None,
        banker_total=outcome.banker_total if outcome else None,
        winner=outcome.winner.value if outcome and outcome.complete else None,
        rules=explain(rules, hands[Hand.PLAYER], hands[Hand.BANKER]),
    )


def _sequence(
    known: Sequence[DealtCard],
    hands: Mapping[Hand, Sequence[Card]],
    left: Sequence[Card],
    unknown: bool,
) -> list[str]:
    """Return the differences in the drawing, as sentences."""
    said: list[str] = []
    if left:
        was = tuple(place_name(d.hand, d.number) for d in known[-len(left) :])
        says = "{cards} ({places}) would not have been due: the deal would have ended before it."
        said.append(Phrase(says, cards=faces(left), places=was))
    dealt = known[: len(known) - len(left)]
    for card, (hand, number) in zip(dealt, _places(hands), strict=True):
        if (card.hand, card.number) != (hand, number):
            says = "The card drawn as {was} would have been {place}."
            was_there, there = place_name(card.hand, card.number), place_name(hand, number)
            said.append(Phrase(says, was=was_there, place=there))
    missing, _ = hand_due(hands[Hand.PLAYER], hands[Hand.BANKER])
    if missing is not None:
        due = place_name(missing, len(hands[missing]) + 1)
        said.append(Phrase(_UNKNOWN if unknown else _NOT_DRAWN, place=due))
    return said


_UNKNOWN: Final = (
    "{place} would have been due, and its face is not known: how the coup would have ended "
    "cannot be said."
)
_NOT_DRAWN: Final = (
    "{place} would have been due, and no card was drawn for it: how the coup would have ended "
    "cannot be said."
)


def _places(hands: Mapping[Hand, Sequence[Card]]) -> list[_CardPlace]:
    """Return the places of the hands' cards in dealing order."""
    return [(hand, number) for hand, number in _ORDER if number <= len(hands[hand])]


# ---- the wagers ----


def _wagers(record: CoupRecord, after: WhatIfSide, rulebook: Rulebook) -> tuple[WhatIfWager, ...]:
    wagers = record.wagers
    happened = _stories((line for each in record.in_force for line in each.lines), rulebook)
    outcome = _outcome({Hand.PLAYER: after.player, Hand.BANKER: after.banker})
    instead: dict[str, WagerNarrative] = {}
    if outcome is not None:
        phase = None if outcome.complete else INITIAL_PHASE
        instead = _stories(settle(rulebook, outcome, wagers, phase=phase), rulebook)
    return tuple(_beside(wager, happened.get(wager.id), instead.get(wager.id)) for wager in wagers)


def _stories(lines: Iterable[SettlementLine], rulebook: Rulebook) -> dict[str, WagerNarrative]:
    return {
        line.wager: narrate_wager(line, rulebook, rulebook.money, rulebook.id) for line in lines
    }


def _beside(
    wager: Wager, happened: WagerNarrative | None, instead: WagerNarrative | None
) -> WhatIfWager:
    told = happened or instead
    return WhatIfWager(
        wager=wager.id,
        seat=wager.seat,
        name=told.name if told else wager.bet,
        stake=wager.stake,
        happened=happened,
        instead=instead,
        difference=instead.paid - happened.paid if happened and instead else None,
    )
