"""The faults that can be chosen by name, and the plan of when each comes.

A plan is drawn from its seed once, as coup numbers and not as dice: within a fixed number of coups
each chosen fault comes once. Each coup decides the particulars (which card, which copy), in
`simulators.faults.table_faults`; those of people are in `simulators.people.dealer_and_patrons`.
"""

import random
from collections.abc import Callable, Collection, Iterable
from typing import Final

from events.errors import InputError

__all__ = ["ALL", "FAULTS", "OF_A_TABLE", "OF_PEOPLE", "SPAN", "FaultPlan", "parse_faults"]

FAULTS: Final[dict[str, str]] = {
    "bit_flip": "a bit of one or two sendings of every report is turned over",
    "bit_flip_passes": "two bits of one copy of a card's report, so that the check still passes",
    "contradicting_disclosure": "the device discloses a card again, with another face",
    "copy_conflict": "two sendings of one card's report differ",
    "copy_late": "two sendings of a card's report come late, behind the first",
    "copy_lost": "one or two sendings of every report are lost",
    "cut_card": "the cut card comes early, in mid-coup, and is reported at once",
    "cut_card_between": "the same, and it is reported behind the coup",
    "cut_card_first": "the cut card comes early, in place of the next coup's first card",
    "draw_in_error": "a card is drawn while the device stands in its error mode",
    "draw_timeout": "the device complains that no card is drawn; then it is",
    "driver_killed": "the driver is killed in mid-coup, and started again",
    "driver_killed_mid_frame": "the same, when part of a card's report has come",
    "error_and_clear": "the device stands in an error for a moment",
    "forced_end": "the round is ended at the device",
    "free_hand": "a coup without wagers",
    "late_wager": "a wager after the close of betting",
    "locked_draw": "a card is drawn while the device says that it is locked",
    "misread_face": "the device reports another face than lies there",
    "missing_report": "a card's report is lost, all sendings of it",
    "missing_standby": "the device does not say that it waits",
    "ninth_copy": "a face of which every copy has left the shoe (late in a shoe)",
    "no_result": "the device does not say how the coup came out (takes half a minute)",
    "noise": "bytes on the line that are no frame",
    "overdraw_burned": "a card too many, which the shoe takes out of play",
    "overdraw_carried": "a card too many, which is the next coup's first",
    "port_busy": "the cable comes out and is put back, and another program has the port first",
    "power_up": "the device loses its power in mid-coup",
    "replace_shoe": "another shoe in mid-coup; the coup is void",
    "replace_shoe_continue": "another shoe in mid-coup; the coup goes on",
    "reverse_run": "a card moves backwards, at the exit or midway",
    "run_together": "two cards' reports come in one read",
    "second_reader": "another program takes bytes away while two cards fall",
    "short_disclosure": "in a squeeze, fewer cards are disclosed than were drawn",
    "silence": "the device is silent in mid-deal for longer than it may (takes a minute)",
    "split": "every report arrives a byte at a time",
    "stacked_errors": "two device errors stand, and one is cleared",
    "stale_bytes": "the cable comes out, and what was said meanwhile comes when it is back",
    "stall_burst": "the line stalls, and the rest of the coup comes in one burst",
    "two_power_ups": "the device powers up twice while betting is open",
    "unknown_code": "the device says something that its page does not know",
    "unplug": "the cable comes out in mid-coup, and is put back",
    "unplug_renamed": "the same, and the adapter comes back under another name",
    "unreadable_card": "a card that the device cannot read",
    "withdrawn_wager": "a patron takes a wager back",
    "wrong_baud": "a card's report arrives as at another speed",
    "wrong_card_code": "the device reads something that is no card of its own",
    "wrong_result": "the device names another winner than the cards do",
}
"""Name to meaning."""

OF_PEOPLE: Final = frozenset(
    {"free_hand", "late_wager", "stacked_errors", "two_power_ups", "withdrawn_wager"}
)
"""Faults of a table and not of a coup's script: they come whatever the cards are."""

OF_A_TABLE: Final = frozenset(
    {
        *OF_PEOPLE,
        *("driver_killed", "driver_killed_mid_frame", "replace_shoe", "replace_shoe_continue"),
    }
)
"""Faults that a shoe alone cannot have: a person or program must act."""

_OF_WAITING: Final = frozenset({"no_result", "silence"})

ALL: Final = tuple(name for name in FAULTS if name not in _OF_WAITING)
"""The meaning of `all`: every fault except those that consist of waiting."""

SPAN: Final = 60
"""Coups within which each chosen fault comes once: well within a shoe of some eighty."""

# Faults that end a shoe early: once, and before all others, so that later shoes are whole.
_END_A_SHOE: Final = frozenset(
    {
        *("cut_card", "cut_card_between", "cut_card_first"),
        *("replace_shoe", "replace_shoe_continue"),
    }
)


def parse_faults(text: str, unfit: Collection[str] = ()) -> tuple[str, ...]:
    """Read `all`, or names with commas between them; sorted, each once.

    Args:
        text: the names.
        unfit: names that are impossible here; `all` leaves them out.

    Raises:
        InputError: there is no fault of that name, or it is impossible here; lists the possible
            ones.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    known = [name for name in FAULTS if name not in unfit]
    unknown = [name for name in names if name not in known and name != "all"]
    if unknown or not names:
        reason = "no such fault here" if set(unknown) & FAULTS.keys() else "no fault"
        there_are = ", ".join(known)
        raise InputError(f"{reason} {', '.join(unknown) or text!r}; there are all, {there_are}")
    chosen = {name for name in names if name != "all"}
    return tuple(sorted(chosen | (set(ALL) & set(known) if "all" in names else set())))


class FaultPlan:
    """Plans when each fault comes; at most one comes in a coup.

    If a coup cannot have its fault, the fault comes in the next one that can.

    Args:
        seed: fixes the plan.
        names: the faults, as `parse_faults` returns them.
        span: each of them comes once in so many coups, those that end a shoe only once at all.
    """

    def __init__(self, seed: int, names: Iterable[str], *, span: int = SPAN) -> None:
        self._whims = random.Random(f"{seed}/faults")
        self._names = sorted(names)
        self._span = span
        self._planned_to = 0
        self._waiting: list[tuple[int, str]] = []

    def due(self, coup: int, fits: Callable[[str], bool]) -> str | None:
        """Return the fault for this coup; it waits until it is `done`.

        Args:
            coup: counted from 1 over all shoes.
            fits: whether this coup can have a fault; one that it cannot have waits.
        """
        while self._names and coup > self._planned_to:
            self._plan_on()
        ready = (name for planned, name in self._waiting if planned <= coup)
        return next(filter(fits, ready), None)

    def done(self, name: str) -> None:
        """Note that the fault has come."""
        self._waiting.remove(next(item for item in self._waiting if item[1] == name))

    def _plan_on(self) -> None:
        """Draw the next span's coups: more faults than coups fill it, and the rest come later."""
        first = self._planned_to == 0
        enders = [name for name in self._names if name in _END_A_SHOE and first]
        others = [name for name in self._names if name not in _END_A_SHOE]
        self._whims.shuffle(enders)
        self._whims.shuffle(others)
        names = [*enders, *others]
        span = max(self._span, len(names))
        coups = range(self._planned_to + 1, self._planned_to + span + 1)
        self._waiting += zip(sorted(self._whims.sample(coups, len(names))), names, strict=True)
        self._planned_to += span
