"""Sentences for events of the shoe and the cards, each draw with its draw-table row. Pure."""

from typing import Final

from events.cards import Hand, total
from events.money import Currency
from events.types.corrections import HandsCorrected
from events.types.irregularities import (
    CardCorrected,
    CardEntered,
    CardMarkedUnreadable,
    CardUnread,
    ExcessCardDrawn,
    ExcessCardResolved,
)
from events.types.shoe_life import (
    BurnRecorded,
    CutCardCame,
    ShoeAudited,
    ShoeCounted,
    ShoeHeld,
    ShoeReleased,
    ShuffleQuestioned,
)
from events.types.table import (
    CardDealt,
    CardDisclosed,
    DealCompleted,
    ShoeEnded,
    ShoeLoaded,
    ShoeReported,
    TableEvent,
)
from table_core.narrative.formatting import (
    DRAW_WORDS,
    EventWords,
    WordsOf,
    decided,
    explain,
    face,
    faces,
    hand_name,
    place_name,
    plain_words,
)
from table_core.narrative.shoe_reports import TROUBLE, report_words
from table_core.replay.coup_events import Moment
from table_core.state.table import TableState

__all__ = ["CARD_WORDS"]

_TWO: Final = 2


# ---- the shoe ----


def _reported(event: ShoeReported, _: Moment, __: Currency) -> EventWords:
    report = event.source.report
    return EventWords(report_words(report), tone="trouble" if type(report) in TROUBLE else "plain")


def _burn(event: BurnRecorded, _: Moment, __: Currency) -> EventWords:
    expected = "" if event.expected is None else f", {event.expected} were due"
    why = (f"reason: {event.reason}",) if event.reason else ()
    return EventWords(f"The burn is done: {event.burned} cards{expected}.", why)


def _ended(event: ShoeEnded, _: Moment, __: Currency) -> EventWords:
    return EventWords(f"Shoe {event.shoe} is over.", (f"reason: {event.reason}",))


# ---- cards ----


def _dealt(event: CardDealt, moment: Moment, _: Currency) -> EventWords:
    lies = f"{face(event.card)} lies as {place_name(event.hand, event.number)}."
    return EventWords(lies, (_due(event, moment.before),) if event.rule else (), "card")


def _due(event: CardDealt, before: TableState) -> str:
    """Return why the card was due: the row of the draw table, with the totals that selected it."""
    rule = DRAW_WORDS.get(event.rule or "", event.rule or "")
    coup = before.coup
    if coup is None or event.number <= _TWO:
        return f"due by: {rule}"
    figures = []
    for hand in Hand:
        cards = [dealt.card for dealt in coup.hand(hand)]
        if None not in cards:
            known = [card for card in cards if card is not None]
            figures.append(f"{hand_name(hand)} has {faces(known)} = {total(known)}")
    return f"due by: {rule} ({', '.join(figures)})"


def _hands_corrected(event: HandsCorrected, _: Moment, __: Currency) -> EventWords:
    details = (
        f"now Player {faces(event.player)}, Banker {faces(event.banker)}",
        f"before Player {faces(event.was_player)}, Banker {faces(event.was_banker)}",
        f"reason: {event.reason}",
    )
    again = "; the coup, which was void, counts again" if event.counts_again else ""
    return EventWords(f"The cards of the coup were corrected by hand{again}.", details, "decision")


def _completed(event: DealCompleted, _: Moment, __: Currency) -> EventWords:
    rules = explain(event.rules, event.player, event.banker)
    ending = "natural, " if event.natural else ""
    winner = "a tie" if event.winner.value == "tie" else f"{event.winner.value.capitalize()} wins"
    return EventWords(
        f"The deal is complete: {ending}{winner}.",
        (
            f"Player {faces(event.player)} = {event.player_total}",
            f"Banker {faces(event.banker)} = {event.banker_total}",
            *rules,
        ),
        "card",
    )


def _questioned(event: ShuffleQuestioned, _: Moment, __: Currency) -> EventWords:
    whose = {
        "factory": "new packs",
        "earlier": f"shoe {event.source}",
        "itself": "cards that came before in it",
    }[event.kind]
    details = (
        f"{event.groups} groups of {event.length} cards in common, among {event.known}",
        f"the longest run has {event.run} cards, in coup {event.coup}: {faces(event.cards)}",
        f"in an honest shuffle at most once in 10^{event.exponent} shoes",
    )
    return EventWords(
        f"The order of shoe {event.shoe} is that of {whose}, in part.", details, "trouble"
    )


def _counted(event: ShoeCounted, _: Moment, __: Currency) -> EventWords:
    counts = ", ".join(f"{face} {n}" for face, n in event.faces.items())
    details = (f"faces: {counts}",) if counts else ()
    return EventWords(f"Shoe {event.shoe} was counted: {event.cards} cards.", details, "decision")


def _excess_resolved(event: ExcessCardResolved, _: Moment, __: Currency) -> EventWords:
    seen = "had" if event.seen else "had not"
    became = {
        "carried": "it is carried over as the next coup's first card",
        "dummy": "it is shown in a coup without wagers",
        "burned": "it is burned",
    }[event.outcome]
    says = f"The table {seen} seen the card that was drawn in excess: {became}."
    return EventWords(says, (f"reason: {event.reason}",), "decision")


def _place(event: CardDisclosed | CardUnread | CardMarkedUnreadable | CardEntered) -> str:
    return place_name(event.hand, event.number)


CARD_WORDS: Final[dict[type[TableEvent], WordsOf]] = {
    ShoeLoaded: plain_words(lambda e: f"Shoe {e.shoe} of {e.decks} decks is in place."),
    ShoeEnded: _ended,
    ShoeAudited: plain_words(
        lambda e: (
            f"Of shoe {e.shoe} {e.seen} cards left it, {e.known} with a known face, "
            f"{e.burned} of them burned, in {e.coups} coups."
        )
    ),
    ShuffleQuestioned: _questioned,
    ShoeCounted: _counted,
    ShoeHeld: lambda e, _, __: EventWords(f"The next shoe is held: {e.text}.", (), "trouble"),
    ShoeReleased: lambda e, _, __: EventWords(
        f"Shoe {e.shoe} no longer holds the next one.", (f"reason: {e.reason}",), "decision"
    ),
    ShoeReported: _reported,
    BurnRecorded: _burn,
    CutCardCame: plain_words(
        lambda e: f"The cut card is out; coup {e.last_coup} is the last of this shoe."
    ),
    CardDealt: _dealt,
    CardDisclosed: plain_words(lambda e: f"{_place(e)} is {face(e.card)}.", "card"),
    CardUnread: plain_words(
        lambda e: f"A card lies as {_place(e)}, its face unknown: a person must enter it.",
        "trouble",
    ),
    CardMarkedUnreadable: decided(
        lambda e: f"{_place(e)} was read as {face(e.was)} and is not trusted: it counts as unknown."
    ),
    CardEntered: decided(lambda e: f"{face(e.card)} was entered by hand as {_place(e)}."),
    CardCorrected: decided(
        lambda e: f"{_place(e)} was corrected by hand: {face(e.card)}, not {face(e.was)}."
    ),
    HandsCorrected: _hands_corrected,
    DealCompleted: _completed,
    ExcessCardDrawn: plain_words(
        lambda _: "A card was drawn when none was due: the coup is held.", "trouble"
    ),
    ExcessCardResolved: _excess_resolved,
}
"""Event type to the function that makes its sentence."""
