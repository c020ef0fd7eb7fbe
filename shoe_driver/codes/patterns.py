"""Check a site's regular expressions, so that no match can take exponential time.

Python's engine tries every way to match. Two things make the number of ways explode: a repeated
group (`(a+)+`), and references elsewhere (back references, lookarounds). Both are refused. The rest
is a row of characters and classes, each of which may be repeated. With at most `OPEN_REPEATS`
repeats without an upper end, a line of a few hundred bytes costs microseconds.
"""

import re
from typing import Final

from events.errors import ConfigError

__all__ = ["OPEN_REPEATS", "PATTERN_LIMIT", "checked_pattern"]

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
