"""Sentences for events of the shoe and the cards, each draw with its draw-table row. Pure."""

from collections.abc import Sequence
from typing import Final

from events.cards import Card, Hand, Winner, total
from events.money import Currency
from events.types import (
    BurnRecorded,
    CardCorrected,
    CardDealt,
    CardDisclosed,
    CardEntered,
    CardMarkedUnreadable,
    CardUnread,
    CutCardCame,
    DealCompleted,
    ExcessCardDrawn,
    ExcessCardResolved,
    HandsCorrected,
    ShoeAudited,
    ShoeCounted,
    ShoeEnded,
    ShoeHeld,
    ShoeLoaded,
    ShoeReleased,
    ShoeReported,
    ShuffleQuestioned,
    TableEvent,
)
from table_core.narrative.formatting import (
    EventWords,
    Phrase,
    WordsOf,
    decided,
    draw_rule,
    explain,
    face,
    faces,
    hand_name,
    place_name,
    plain_words,
    reason,
)
from table_core.narrative.shoe_reports import TROUBLE, report_words
from table_core.narrative.table_texts import as_phrase
from table_core.replay.coup_events import Moment
from table_core.state.table import TableState

__all__ = ["CARD_WORDS"]

_TWO: Final = 2


# ---- the shoe ----


def _reported(event: ShoeReported, _: Moment, __: Currency) -> EventWords:
    report = event.source.report
    return EventWords(report_words(report), tone="trouble" if type(report) in TROUBLE else "plain")


def _burn(event: BurnRecorded, _: Moment, __: Currency) -> EventWords:
    why = (reason(event.reason),) if event.reason else ()
    if event.expected is None:
        return EventWords(Phrase("The burn is done: {burned} cards.", burned=event.burned), why)
    says = "The burn is done: {burned} cards, {due} were due."
    return EventWords(Phrase(says, burned=event.burned, due=event.expected), why)


def _ended(event: ShoeEnded, _: Moment, __: Currency) -> EventWords:
    return EventWords(Phrase("Shoe {shoe} is over.", shoe=event.shoe), (reason(event.reason),))


# ---- cards ----


def _dealt(event: CardDealt, moment: Moment, _: Currency) -> EventWords:
    lies = Phrase("{card} lies as {place}.", card=face(event.card), place=_place(event))
    return EventWords(lies, (_due(event, moment.before),) if event.rule else (), "card")


def _due(event: CardDealt, before: TableState) -> Phrase:
    """Return why the card was due: the row of the draw table, with the totals that selected it."""
    rule = draw_rule(event.rule or "")
    coup = before.coup
    if coup is None or event.number <= _TWO:
        return Phrase("due by: {rule}", rule=rule)
    figures: list[Phrase] = []
    for hand in Hand:
        cards = [dealt.card for dealt in coup.hand(hand)]
        if None not in cards:
            known = [card for card in cards if card is not None]
            figures.append(_holds("{hand} has {cards} = {points}", hand, known, total(known)))
    return Phrase("due by: {rule} ({figures})", rule=rule, figures=tuple(figures))


def _holds(says: str, hand: Hand, cards: Sequence[Card | None], points: int) -> Phrase:
    return Phrase(says, hand=hand_name(hand), cards=faces(cards), points=points)


def _hands_corrected(event: HandsCorrected, _: Moment, __: Currency) -> EventWords:
    now, was = "now Player {player}, Banker {banker}", "before Player {player}, Banker {banker}"
    details = (
        Phrase(now, player=faces(event.player), banker=faces(event.banker)),
        Phrase(was, player=faces(event.was_player), banker=faces(event.was_banker)),
        reason(event.reason),
    )
    says = (
        "The cards of the coup were corrected by hand; the coup, which was void, counts again."
        if event.counts_again
        else "The cards of the coup were corrected by hand."
    )
    return EventWords(Phrase(says), details, "decision")


def _completed(event: DealCompleted, _: Moment, __: Currency) -> EventWords:
    rules = explain(event.rules, event.player, event.banker)
    says = "The deal is complete: natural, {winner}." if event.natural else _COMPLETE
    held = "{hand} {cards} = {points}"
    return EventWords(
        Phrase(says, winner=Phrase(_WINS[event.winner])),
        (
            _holds(held, Hand.PLAYER, event.player, event.player_total),
            _holds(held, Hand.BANKER, event.banker, event.banker_total),
            *rules,
        ),
        "card",
    )


_COMPLETE: Final = "The deal is complete: {winner}."
_WINS: Final = {
    Winner.PLAYER: "Player wins",
    Winner.BANKER: "Banker wins",
    Winner.TIE: "a tie",
}


def _questioned(event: ShuffleQuestioned, _: Moment, __: Currency) -> EventWords:
    whose = {
        "factory": Phrase("new packs"),
        "earlier": Phrase("shoe {shoe}", shoe=event.source),
        "itself": Phrase("cards that came before in it"),
    }[event.kind]
    groups = "{groups} groups of {length} cards in common, among {known}"
    longest = "the longest run has {run} cards, in coup {coup}: {cards}"
    details = (
        Phrase(groups, groups=event.groups, length=event.length, known=event.known),
        Phrase(longest, run=event.run, coup=event.coup, cards=faces(event.cards)),
        Phrase("in an honest shuffle at most once in 10^{n} shoes", n=event.exponent),
    )
    says = Phrase(
        "The order of shoe {shoe} is that of {whose}, in part.", shoe=event.shoe, whose=whose
    )
    return EventWords(says, details, "trouble")


def _counted(event: ShoeCounted, _: Moment, __: Currency) -> EventWords:
    counts = ", ".join(f"{face} {n}" for face, n in event.faces.items())
    details = (Phrase("faces: {counts}", counts=counts),) if counts else ()
    says = Phrase("Shoe {shoe} was counted: {cards} cards.", shoe=event.shoe, cards=event.cards)
    return EventWords(says, details, "decision")


def _excess_resolved(event: ExcessCardResolved, _: Moment, __: Currency) -> EventWords:
    says = (
        "The table had seen the card that was drawn in excess: {became}."
        if event.seen
        else "The table had not seen the card that was drawn in excess: {became}."
    )
    became = {
        "carried": "it is carried over as the next coup's first card",
        "dummy": "it is shown in a coup without wagers",
        "burned": "it is burned",
    }[event.outcome]
    return EventWords(Phrase(says, became=Phrase(became)), (reason(event.reason),), "decision")


def _place(
    event: CardDealt
    | CardDisclosed
    | CardUnread
    | CardMarkedUnreadable
    | CardEntered
    | CardCorrected,
) -> str:
    return place_name(event.hand, event.number)


CARD_WORDS: Final[dict[type[TableEvent], WordsOf]] = {
    ShoeLoaded: plain_words("Shoe {shoe} of {decks} decks is in place."),
    ShoeEnded: _ended,
    ShoeAudited: plain_words(
        "Of shoe {shoe} {seen} cards left it, {known} with a known face, {burned} of them burned, "
        "in {coups} coups."
    ),
    ShuffleQuestioned: _questioned,
    ShoeCounted: _counted,
    ShoeHeld: plain_words(
        lambda e: Phrase("The next shoe is held: {text}.", text=as_phrase(e.text)), "trouble"
    ),
    ShoeReleased: decided("Shoe {shoe} no longer holds the next one."),
    ShoeReported: _reported,
    BurnRecorded: _burn,
    CutCardCame: plain_words("The cut card is out; coup {last_coup} is the last of this shoe."),
    CardDealt: _dealt,
    CardDisclosed: plain_words(
        lambda e: Phrase("{place} is {card}.", place=_place(e), card=face(e.card)), "card"
    ),
    CardUnread: plain_words(
        lambda e: Phrase(
            "A card lies as {place}, its face unknown: a person must enter it.", place=_place(e)
        ),
        "trouble",
    ),
    CardMarkedUnreadable: decided(
        lambda e: Phrase(
            "{place} was read as {was} and is not trusted: it counts as unknown.",
            place=_place(e),
            was=face(e.was),
        )
    ),
    CardEntered: decided(
        lambda e: Phrase(
            "{card} was entered by hand as {place}.", card=face(e.card), place=_place(e)
        )
    ),
    CardCorrected: decided(
        lambda e: Phrase(
            "{place} was corrected by hand: {card}, not {was}.",
            place=_place(e),
            card=face(e.card),
            was=face(e.was),
        )
    ),
    HandsCorrected: _hands_corrected,
    DealCompleted: _completed,
    ExcessCardDrawn: plain_words(
        "A card was drawn when none was due: the coup is held.", "trouble"
    ),
    ExcessCardResolved: _excess_resolved,
}
"""Event type to the function that makes its sentence."""
