"""The texts of alarms and of doubted coups, read back into phrases for other languages. Pure.

An event keeps such a text in English, complete. `TEMPLATES` are the forms of these texts and of
what stands inside them; `as_phrase` finds the form of a text. Logs keep their old texts, so a
template is never removed.
"""

import re
from functools import lru_cache
from string import Formatter
from typing import Final

from table_core.narrative.formatting import DRAW_WORDS, Phrase

__all__ = ["TEMPLATES", "as_phrase"]

_RUNS: Final = "shoe {shoe}: of {known} cards, {what} came in"
_SHUFFLE: Final = (
    "; the longest run, of {run}, in coup {coup}: {cards}. "
    "An honest shuffle shows that in at most 1 of 10^{exponent} shoes"
)
_JOINS: Final = (
    "{code}: {why}",
    "{one}; {rest}",
    "{one}, {rest}",
    "{place} or {other}",
    "{place} and {other}",
)
"""What only joins texts: the form of a text where at least one of them has a form itself."""
_TAKEN_OUT: Final = " (the shoe has taken it out of play: it is burned)"
_EXCESS: Final = tuple(
    f"coup {{coup}}: a card was drawn outside the game; {then}{taken_out}"
    for then in (
        "say whether the table has seen it",
        "put it aside; when the faces are known it is judged whether one was due",
    )
    for taken_out in ("", _TAKEN_OUT)
)
_DOUBTS: Final = (
    "card_carried_over",
    "card_out_of_game",
    "card_reversed",
    "carried_card_missing",
    "copy_conflict",
    "disclosure_contradicts",
    "entry_contradicts",
    "excess_card",
    "excess_card_was_due",
    "first_card_missing",
    "link_lost",
    "link_reopened",
    "position_contradicts_draw_table",
    "report_lost",
    "result_too_early",
    "round_forced_end",
    "shoe_booted",
    "too_many_copies",
    "unreadable_card",
)
TEMPLATES: Final = (
    *_EXCESS,
    "shoe {shoe}: {burned} burned where {expected} were due",
    "no burn of shoe {shoe} was reported; record what became of it",
    (
        "coup {coup}: no result from the shoe within {seconds} s; "
        "a supervisor may confirm the table's own result"
    ),
    "coup {coup}: the card at {place} could not be read; enter it",
    "the shoe {shoe} took out of play the excess card that was to be carried over",
    "a face has come more often than {decks} decks hold it",
    "{what}, but no shoe is in play",
    "{what} without open betting",
    "{what} while betting was open",
    "the dealer asks for a supervisor: the dealer gives no reason",
    "the dealer asks for a supervisor: {reason}",
    "shoe {shoe}: its count does not come out: {faults}. A supervisor releases the next shoe",
    "shoe {shoe}: its cards cannot all be in it: {faults}. A supervisor releases the next shoe",
    "shoe {shoe}: its count does not come out: {faults}",
    "shoe {shoe}: its cards cannot all be in it: {faults}",
    f"{_RUNS} the order of new packs, {{how}}{_SHUFFLE}",
    f"{_RUNS} the order of shoe {{how}}{_SHUFFLE}",
    f"{_RUNS} an order that came in this shoe before, {{how}}{_SHUFFLE}",
    f"{_RUNS} an order that came in this shoe before{_SHUFFLE}",
    "the shoe link is down",
    "the shoe link is stalled",
    "the shoe reports {error}",
    "coup {coup} is misaligned ({why}); a supervisor must realign or void it",
    "coup {coup} is held ({why}); a supervisor must confirm or void it",
    (
        "the shoe driver: its clock is {seconds} s ahead of this machine's; "
        "set both by one time server"
    ),
    "the shoe driver: its clock is {seconds} s behind this machine's; set both by one time server",
    "the shoe driver is away: what the shoe says now is not heard",
    "{fault}; betting is stopped: keep the log, restore a backup",
    "no key signs this table's log: a past that somebody rewrote would not show",
    (
        "nothing on the bus proves its sender: "
        "whoever runs the broker can forge cards and requests; "
        "`baccarat keys messages` makes the keys"
    ),
    "keys are being handed out, and messages without still count; without: {who}",
    "nobody that has spoken since the start",
    "{topic}: {what}; {count} since the start, and nothing of them was done",
    "nothing proves who sent it",
    "it is proved by a key that this table does not have",
    "its code does not fit: it was altered, moved or invented",
    "it was made more than {seconds} s from now: held back, or a clock is wrong",
    "the table's clock was set back by {seconds} s: restart the table service",
    "{kind}: no bytes of the shoe come with it",
    "{kind}: the shoe's own bytes do not say so",
    "{what}: not taken; the driver sends it again",
    "{who} has not acknowledged the settlement at position {position}",
    (
        "the shoe driver's disk has lost events of journal {journal} that the table has "
        "(up to {seq}): look at that disk; compare cards and screen before the next settlement"
    ),
    (
        "two shoe drivers speak for this table, sessions {one} and {two}: "
        "stop the one that does not belong here; nobody may bet meanwhile"
    ),
    (
        "the shoe driver writes journal {journal}, which {newer} had followed: "
        "its folder was put back from a copy, or two drivers speak for this table. "
        "What it says is not taken, and nobody may bet: stop the driver that does not belong here, "
        "and move the old journals out of the other's folder"
    ),
    # A doubt by its code, and lists: before the forms of what stands in them.
    *_JOINS[:2],
    # What is wrong with a count, and what an order shows.
    "{cards} cards, {missing} missing",
    "{cards} cards, {more} too many",
    "{face} {n} times",
    "{face} came {n} times, {decks} decks hold {due}",
    "{seen} cards came, {decks} decks hold {due}",
    "{n} cards in a row",
    "{groups} groups of {n} cards",
    "suit by suit",
    "rank by rank",
    "two suits upwards and two downwards",
    "every {step}. card",
    "backwards",
    "dealt to two piles",
    # Why a coup is doubted.
    "card drawn to {place}",
    "{place} disclosed",
    "a card that could not be read",
    "a card that could not be read came to {place}",
    "{place} was entered as {was} and was drawn as {now}",
    "{place} was disclosed but never drawn",
    "{place} is {was} and was disclosed as {now}",
    "the shoe says {winner} before the deal is complete",
    "{what} before Player's first card",
    "a card was drawn from the shoe where the carried-over card was due",
    "a card was drawn outside the game where {place} was due",
    "a card was drawn outside the game, and behind it one to {place}",
    "the shoe drew {card} where {place} was due",
    "{place} drew a third card that was not due ({rule})",
    "winner: the table says {ours}, the shoe {its}",
    "Player pair: the table says {ours}, the shoe {its}",
    "Banker pair: the table says {ours}, the shoe {its}",
    "Banker with six: the table says {ours}, the shoe {its}",
    "the shoe link was lost (reason {reason})",
    "the shoe link was opened again (transport {transport})",
    "the shoe powered up",
    "a report of the shoe never arrived (expected {expected}, got {got})",
    "two copies of one report differ (device_seq {n})",
    "a card left the shoe for no hand (reason {reason})",
    "the shoe carried a card over (hand {hand}, number {number})",
    "a card moved backwards (place {at})",
    "the round was ended at the shoe",
    # Words in them, and lists.
    *(f"{hand} {number}" for hand in ("player", "banker") for number in (1, 2, 3)),
    "player",
    "banker",
    "tie",
    "yes",
    "no",
    "a card",
    "no card",
    "None",
    *DRAW_WORDS,
    *_DOUBTS,
    *(code.replace("_", " ") for code in _DOUBTS),
    *_JOINS[2:],
)
_TYPED: Final = frozenset({"at", "error", "expected", "got", "reason", "transport"})
"""Values that a person typed, or that a machine outside wrote: they stay as they are."""
_KEPT: Final = _TYPED | {"coup", "shoe"}
_LONG: Final = _TYPED | {
    *("card", "cards", "fault", "faults", "how", "one", "other", "place"),
    *("rest", "topic", "what", "who", "why"),
}
"""Values that may have spaces; each other one is a figure, an id or a code."""


def _pattern(template: str) -> re.Pattern[str]:
    def value(name: str) -> str:
        one = "[a-z]+_[a-z_]" if name == "code" else "." if name in _LONG else "[^ ]"
        return f"(?P<{name}>{one}+?)"

    parts = Formatter().parse(template)
    return re.compile(
        "".join(re.escape(text) + (value(name) if name else "") for text, name, _, _ in parts),
        re.DOTALL,
    )


def _rank(template: str) -> int:
    """Order the forms so that none takes for its own words what stands in a value of another."""
    names = {name for _, name, _, _ in Formatter().parse(template) if name}
    return 0 if not names else 1 if names & _TYPED else 3 if template.startswith("{") else 2


_PATTERNS: Final = tuple((form, _pattern(form)) for form in sorted(TEMPLATES, key=_rank))


@lru_cache(256)
def as_phrase(text: str) -> str:
    """Return a text of the table as the phrase that it was made of; as it is if it has no form."""
    for template, pattern in _PATTERNS:
        if found := pattern.fullmatch(text):
            values = {n: v if n in _KEPT else as_phrase(v) for n, v in found.groupdict().items()}
            if template not in _JOINS or any(isinstance(v, Phrase) for v in values.values()):
                return Phrase(template, **values)
    return text
