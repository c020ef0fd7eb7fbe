"""The codes of bracketed lines: `[Game]<Card:4S>`.

    [mode]<Card:face>   a card, of the game or burned, as the profile defines the mode
    [mode]<mode>        a card that could not be read, like a `Card:` without a legal face
    [mode]              the mode alone
    <Alarm:code text>   an error
    <Wcode>             a warning; reported raw, like every line without a meaning, unless the
                        profile gives that very line one

The bracket is the mode, and a change of mode is reported. Before the first line the mode is that of
the game. A card in a mode that the profile does not know is not a card here: it is reported raw.

No line reports the end of an error. An error that persists shuts betting. It counts as over at the
next line with a card, read or not: the device works again.
"""

import re
from typing import Final, Literal

from msgspec import Struct

from events.types import (
    AnyReport,
    BurnCard,
    CardDrawn,
    CardUnreadable,
    ErrorCleared,
    ErrorRaised,
    ModeChanged,
)
from shoe_driver.codes.reports import FixedReport, face_of, fixed_lines

__all__ = ["AlarmSpec", "BracketCodes", "BracketTable"]

_LINE: Final = re.compile(r"\[(?P<mode>[^][<>]+)\](?:<(?P<said>[^<>]+)>)?")
_ALARM: Final = re.compile(r"<Alarm:(?P<code>[^ <>]+)[^<>]*>")
_CARD: Final = "Card:"
_SEPARATOR: Final = "\n"  # occurs in no line


class AlarmSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The name of an alarm, and whether it persists until it is cleared or is momentary."""

    word: str
    stands: bool = True


class BracketTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The device's words.

    Args:
        variant: `bracket`.
        modes: the kind of the cards of each mode.
        alarms: alarms by their code. An unknown one is still an error, by its own code.
        lines: whole lines that a site gives a meaning.
    """

    variant: Literal["bracket"]
    modes: dict[str, Literal["game", "burn"]]
    alarms: dict[str, AlarmSpec] = {}
    lines: dict[str, FixedReport] = {}


class BracketCodes:
    """Decodes lines.

    Args:
        table: the profile's words.

    Raises:
        ConfigError: the table names a report that does not exist.
    """

    def __init__(self, table: BracketTable) -> None:
        self._table = table
        self._fixed = fixed_lines(table.lines)
        self._mode = ""  # unknown, which counts as the game's
        self._standing: list[str] = []

    @property
    def memory(self) -> str:
        """The mode, and the errors that persist."""
        return _SEPARATOR.join([self._mode, *self._standing])

    def recall(self, memory: str) -> None:
        """Restore the state that `memory` returned."""
        self._mode, *self._standing = memory.split(_SEPARATOR)

    def settled(self, mono_us: int) -> bool:  # noqa: ARG002 - for a scan it matters
        """Report whether `memory` is the whole state: always."""
        return True

    def meaning(
        self,
        line: bytes,
        mono_us: int | None,  # noqa: ARG002 - for a scan it matters
    ) -> list[AnyReport | None]:
        """Return the reports of a line, in order; None for something without a meaning here.

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
