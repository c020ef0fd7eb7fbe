"""The codes of bracketed lines: `[Game]<Card:4S>`.

    [mode]<Card:face>   a card, in the mode that the profile says: of the game, or burned
    [mode]<mode>        a card that could not be read; so is a `Card:` whose face is none
    [mode]              nothing but the mode
    <Alarm:code text>   an error
    <Wcode>             a warning; like every line without a meaning it is told raw, unless the
                        profile gives that very line one

The bracket is the mode, and a change of it is told. Before the first line the mode is one of the
game. A card in a mode that the profile does not know is no card of any kind here: it is told raw.

No line says that an error is over. One that stands until it is over (which shuts betting) is taken
to be over at the next line of a card, read or not: the device works again.
"""

import re
from typing import Final, Literal

from msgspec import Struct

from events.types.shoe_reports import (
    AnyReport,
    BurnCard,
    CardDrawn,
    CardUnreadable,
    ErrorCleared,
    ErrorRaised,
    ModeChanged,
)
from shoe_driver.codes.reports import Always, face_of, fixed_lines

__all__ = ["AlarmSpec", "BracketCodes", "BracketTable"]

_LINE: Final = re.compile(r"\[(?P<mode>[^][<>]+)\](?:<(?P<said>[^<>]+)>)?")
_ALARM: Final = re.compile(r"<Alarm:(?P<code>[^ <>]+)[^<>]*>")
_CARD: Final = "Card:"
_SEPARATOR: Final = "\n"  # occurs in no line


class AlarmSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an alarm is called, and whether it stands until it is over or has just happened."""

    word: str
    stands: bool = True


class BracketTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The device's words.

    Args:
        variant: `bracket`.
        modes: what the cards of each mode are.
        alarms: alarms by their code. Another one is still an error, by its own code.
        lines: lines that a site gives a meaning, whole.
    """

    variant: Literal["bracket"]
    modes: dict[str, Literal["game", "burn"]]
    alarms: dict[str, AlarmSpec] = {}
    lines: dict[str, Always] = {}


class BracketCodes:
    """Reads lines.

    Args:
        table: the profile's words.

    Raises:
        ConfigError: the table names a report that does not exist.
    """

    def __init__(self, table: BracketTable) -> None:
        self._table = table
        self._fixed = fixed_lines(table.lines)
        self._mode = ""  # not known, and so of the game
        self._standing: list[str] = []

    @property
    def memory(self) -> str:
        """The mode, and the errors that stand."""
        return _SEPARATOR.join([self._mode, *self._standing])

    def recall(self, memory: str) -> None:
        """Stand as one does that gave this memory."""
        self._mode, *self._standing = memory.split(_SEPARATOR)

    def settled(self, mono_us: int) -> bool:  # noqa: ARG002 - for a scan it matters
        """Whether memory is all there is to know: always."""
        return True

    def meaning(
        self,
        line: bytes,
        mono_us: int | None,  # noqa: ARG002 - for a scan it matters
    ) -> list[AnyReport | None]:
        """What a line says, in order; None for something that has no meaning here.

        Args:
            line: printable ASCII.
            mono_us: arrival.
        """
        if line in self._fixed:
            return [self._fixed[line]]
        text = line.decode("ascii")
        if alarm := _ALARM.fullmatch(text):
            return self._alarm(alarm["code"])
        found = _LINE.fullmatch(text)
        return self._bracketed(found["mode"], found["said"]) if found else [None]

    def _alarm(self, code: str) -> list[AnyReport | None]:
        spec = self._table.alarms.get(code) or AlarmSpec(word=f"alarm_{code.lower()}")
        raised = ErrorRaised(code=spec.word, latched=spec.stands)
        if not spec.stands:
            return [raised, ErrorCleared(code=spec.word)]
        if spec.word not in self._standing:
            self._standing.append(spec.word)
        return [raised]

    def _bracketed(self, mode: str, said: str | None) -> list[AnyReport | None]:
        changed = self._mode_is(mode)
        if said is None:
            return changed
        card = self._card(mode, said)
        if card is None:
            return [*changed, None]
        over = [ErrorCleared(code=word) for word in self._standing]
        self._standing.clear()
        return [*changed, *over, card]

    def _mode_is(self, mode: str) -> list[AnyReport | None]:
        before, self._mode = self._mode, mode
        if before == mode or (not before and self._table.modes.get(mode) == "game"):
            return []
        return [ModeChanged(mode=mode)]

    def _card(self, mode: str, said: str) -> AnyReport | None:
        kind = self._table.modes.get(mode)
        if kind is None or not (said == mode or said.startswith(_CARD)):
            return None
        face = face_of(said.removeprefix(_CARD)) if said.startswith(_CARD) else None
        if kind == "burn":
            return BurnCard(face=face)
        return CardUnreadable() if face is None else CardDrawn(face=face)
