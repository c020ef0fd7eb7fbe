"""The codes of barcode and RFID readers: a line is one code, and a table maps it to a card.

    matches, and is in the table     the card
    anything else                    a card that could not be read: never an invented card
    two equal codes in a row         two cards: equal faces are legal in a shoe of many decks

A repeated code can only be the same card, read again, if every single card has a code of its own
(`unique_codes`). Soon after (`copy_ms`) it is a copy and gives no report. Later it is a
`copy_conflict`: one card does not leave a shoe twice. After `new_shoe_ms` without any scan there
may be another shoe, and all codes are forgotten. A bare capture has no times: there a code is a
copy if it equals the scan just before it, and a conflict otherwise.

Check a site's regular expressions, so that no match can take exponential time. Python's engine
tries every way to match. Two things make the number of ways explode: a repeated group (`(a+)+`),
and references elsewhere (back references, lookarounds). Both are refused. The rest is a row of
characters and classes, each of which may be repeated. With at most `OPEN_REPEATS` repeats without
an upper end, a line of a few hundred bytes costs microseconds.
"""

import re
from typing import Final, Literal

from msgspec import Struct

from events.cards import Card
from events.errors import ConfigError
from events.types import AnyReport, CardDrawn, CardUnreadable, CopyConflict, ShoeBooted
from shoe_driver.codes.reports import FixedReport, face_of, fixed_lines

__all__ = ["OPEN_REPEATS", "PATTERN_LIMIT", "ScanCodes", "ScanTable", "checked_pattern"]

OPEN_REPEATS: Final = 2
PATTERN_LIMIT: Final = 200  # characters; a code on a card has some ten
_TOKEN: Final = re.compile(
    r"(?P<escape>\\[dws.\\/\-+*?()\[\]{}|^$])"
    r"|(?P<class>\[\^?(?:\\[dws\\\]\[^-]|[^\]\\])+\])"
    r"|(?P<opens>\((?:\?:|\?P<[a-z]+>)?)"
    r"|(?P<closes>\))"
    r"|(?P<repeat>(?:[*+?]|\{[0-9]{0,2}(?:,[0-9]{0,2})?\})\??)"
    r"|(?P<other>[^\\\[(*+?{])"
)
_OPEN_ENDED: Final = re.compile(r"[*+]\??|\{[0-9]*,\}\??")


def checked_pattern(where: str, text: str) -> re.Pattern[str]:
    """Compile a pattern.

    Args:
        where: the key in the profile, for messages.
        text: the pattern.

    Raises:
        ConfigError: it is not a pattern, or its match could take exponential time.
    """
    if len(text) > PATTERN_LIMIT:
        raise ConfigError(f"{where}: the pattern has over {PATTERN_LIMIT} characters")
    try:
        pattern = re.compile(text, re.ASCII)
    except (re.error, OverflowError) as error:
        raise ConfigError(f"{where}: {error}") from error
    if complaint := _runs_away(text):
        raise ConfigError(f"{where}: {complaint}")
    return pattern


def _runs_away(text: str) -> str:
    at, before, open_repeats = 0, "", 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            return f"{text[at : at + 4]!r} is more than a code's pattern needs"
        kind = str(token.lastgroup)
        if kind == "repeat":
            if before == "closes":
                return "a group cannot be repeated here; repeat what is in it"
            if before in ("opens", "repeat"):
                return f"{token[0]!r} is more than a code's pattern needs"
            open_repeats += bool(_OPEN_ENDED.fullmatch(token[0]))
        at, before = token.end(), kind
    if open_repeats > OPEN_REPEATS:
        return f"over {OPEN_REPEATS} repeats without an end; give them one, like {{1,9}}"
    return ""


# A shoe has 416 cards. Beyond the codes of four shoes, the oldest is forgotten.
_REMEMBERED: Final = 4 * 416
_SEPARATOR: Final = "\n"  # occurs in no line


class ScanTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The reader's codes.

    Args:
        variant: `scan`.
        pattern: the form of a whole code. The table is asked for its group `face` if there is one,
            else for the whole code.
        faces: the card of each code.
        unique_codes: every single card has a code of its own.
        copy_ms: the same unique code within this time is a copy.
        new_shoe_ms: after this time without a scan, codes may come again.
        lines: whole lines that a site gives a meaning.
    """

    variant: Literal["scan"]
    pattern: str
    faces: dict[str, str]
    unique_codes: bool = False
    copy_ms: int = 3_000
    new_shoe_ms: int = 300_000
    lines: dict[str, FixedReport] = {}


class ScanCodes:
    """Decodes codes.

    Args:
        table: the profile's table.

    Raises:
        ConfigError: the pattern or a face is invalid; a report does not exist.
    """

    def __init__(self, table: ScanTable) -> None:
        self._pattern = checked_pattern("codes.pattern", table.pattern)
        self._faces = _faces(table)
        self._unique = table.unique_codes
        self._copy_us = table.copy_ms * 1_000
        self._new_shoe_us = table.new_shoe_ms * 1_000
        self._fixed = fixed_lines(table.lines)
        self._seen: dict[str, int | None] = {}  # unique code: its first arrival
        self._newest: str | None = None
        self._newest_us: int | None = None

    @property
    def memory(self) -> str:
        """The arrival of the newest unique code, and this shoe's codes without their times."""
        newest = "" if self._newest_us is None else str(self._newest_us)
        return _SEPARATOR.join([newest, *self._seen]) if self._unique else ""

    def recall(self, memory: str) -> None:
        """Restore the state that `memory` returned once settled."""
        newest, *codes = memory.split(_SEPARATOR)
        self._seen = dict.fromkeys(codes)
        self._newest, self._newest_us = None, int(newest) if newest else None

    def settled(self, mono_us: int) -> bool:
        """Report whether no copy can come any more."""
        return self._newest_us is None or mono_us - self._newest_us > self._copy_us

    def meaning(self, line: bytes, mono_us: int | None) -> list[AnyReport | None]:
        """Return the reports of a line, in order; none for a copy.

        Args:
            line: printable ASCII.
            mono_us: arrival, or None if there are no times.
        """
        if line in self._fixed:
            report = self._fixed[line]
            if isinstance(report, ShoeBooted):
                self._seen.clear()
            return [report]
        text = line.decode("ascii")
        found = self._pattern.fullmatch(text)
        face = None
        if found is not None:
            face = self._faces.get(found["face"] if "face" in found.groupdict() else text)
        if face is None:
            return [CardUnreadable()]
        return self._once(text, face, mono_us) if self._unique else [CardDrawn(face=face)]

    def _once(self, code: str, face: Card, now: int | None) -> list[AnyReport | None]:
        if self._is_another_shoe(now):
            self._seen.clear()
        newest, self._newest, self._newest_us = self._newest, code, now
        if code not in self._seen:
            if len(self._seen) == _REMEMBERED:
                del self._seen[next(iter(self._seen))]
            self._seen[code] = now
            return [CardDrawn(face=face)]
        if self._is_copy(code, newest, now):
            return []
        return [CopyConflict(device_seq=code, bodies=(code.encode().hex().upper(),))]

    def _is_another_shoe(self, now: int | None) -> bool:
        """Report whether nothing was scanned for long, or the machine has restarted its clock."""
        if now is None or self._newest_us is None:
            return False
        return not 0 <= now - self._newest_us <= self._new_shoe_us

    def _is_copy(self, code: str, newest: str | None, now: int | None) -> bool:
        if now is None:
            return code == newest
        first = self._seen[code]
        return first is not None and now - first <= self._copy_us


def _faces(table: ScanTable) -> dict[str, Card]:
    faces = {code: face_of(face) for code, face in table.faces.items()}
    wrong = [f"codes.faces.{code}: {table.faces[code]!r} is no card, such as 4S or TH"
             for code, face in faces.items() if face is None]  # fmt: skip
    if table.pattern.count("(?P<") > table.pattern.count("(?P<face>"):
        wrong.append("codes.pattern: the one group that may have a name is `face`")
    if not faces:
        wrong.append("codes.faces is empty; no code would be a card")
    if wrong:
        raise ConfigError("; ".join(wrong))
    return {code: face for code, face in faces.items() if face is not None}
