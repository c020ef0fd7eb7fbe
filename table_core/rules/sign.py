"""What the rules say of the sign: the kind of game, the pay scale, and which own lines are rules.

A rulebook of form 2 writes none of it. Its file adds a help line and lines of the site's own, and a
line that speaks of the rules is taken only where a person stands by it with a name. Pure.
"""

import re
from collections.abc import Mapping
from typing import Final

from table_core.rules.rulebook import Bet
from table_core.rules.wagers import BET_KINDS

__all__ = [
    "PAY_SCALES",
    "SCALED_BET",
    "game_of",
    "pay_scale_of",
    "speaks_of_rules",
    "without_contacts",
]

PAY_SCALES: Final[Mapping[str, Mapping[str, int]]] = {
    "one": {"mixed": 5, "coloured": 10, "perfect": 30},
    "two": {"mixed": 6, "coloured": 12, "perfect": 25},
}
"""The scales of seed 1, 11A.7: category to odds to one."""

SCALED_BET: Final = "perfect_pairs"
"""The bet that is paid by one of them."""
_LUCKY8: Final = ("lucky8_player", "lucky8_banker")


def game_of(bets: Mapping[str, Bet]) -> str:
    """Return the kind of game (seed 2: "Baccarat or Even Money Baccarat")."""
    banker = bets["banker"].schedule if "banker" in bets else {}
    if "win_on_6" in banker:
        return "Even Money Baccarat"
    if "push_dragon7" in banker:
        return "EZ Baccarat"
    if any(bet in bets and bets[bet].offered for bet in _LUCKY8):
        return "Mini Baccarat / Lucky 8"
    return "Baccarat"


def pay_scale_of(bets: Mapping[str, Bet]) -> str | None:
    """Return the scale by which Perfect Pairs pay; None where none is offered, or none fits."""
    offered = bets.get(SCALED_BET)
    if offered is None or not offered.offered:
        return None
    pays = {name: odds and (odds.num, odds.den) for name, odds in offered.schedule.items()}
    scales = ((name, {c: (to, 1) for c, to in scale.items()}) for name, scale in PAY_SCALES.items())
    return next((name for name, scale in scales if scale == pays), None)


# ---- a site's own lines ----

_RULE_WORDS: Final = frozenset(
    """
    banker bet bets bonus burn card cards chip chips commission coup cut deck decks differential
    draw draws drawn edge even lose loses losing lost main max maximum maxima min minimum minima
    natural odds option options pair pairs patron patrons pay payout payouts pays paid percent
    place placed player point points push pushes requirement require required round rounded
    rounding scale seat seats shoe side six stake stakes suit suited tie ties unit wager wagers win
    wins winning won
    """.split()  # noqa: SIM905 - a list of ninety strings is harder to read
)
_NUMBER_WORDS: Final = frozenset(
    """
    one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty
    hundred thousand million half quarter third double twice once triple
    """.split()  # noqa: SIM905 - the same
)
_NAMES: Final = frozenset(
    word for kind in BET_KINDS.values() for word in re.findall(r"[a-z]+", kind.name.lower())
)
_TALKS: Final = _RULE_WORDS | _NUMBER_WORDS | _NAMES
# What the Chinese texts of the screens have for numbers, hands, stakes, limits and payments.
_CHINESE: Final = frozenset(
    "一二三四五六七八九十百千万萬零两兩半倍庄莊闲閒闲和对對佣赔賠注限最高最低额額点點牌赢贏输輸退补補老虎"
)
_MONEY: Final = frozenset("$€£¥₩₹%‰½¼¾")


def speaks_of_rules(text: str) -> bool:
    """Return whether a text holds a number or a word of the rules, in a language of the screens."""
    return any(
        each.isnumeric() or each in _CHINESE or each in _MONEY for each in text
    ) or not _TALKS.isdisjoint(re.findall(r"[a-z]+", text.lower()))


_CONTACTS: Final = re.compile(
    r"""
    [\w.+-]+@[\w.-]+ | (?:https?://|www\.)\S+ | \b[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|[a-z]{2})\b\S*
    | \+?\(?[0-9](?:[ ()/.-]{0,2}[0-9]){4,}             # a telephone number
    | \b[0-9](?:[ -]?[0-9]){2,3}-[a-z]{3,}              # one with letters
    | (?:\b(?:call|dial|phone|ring|tel|text)\b|热线|熱線|致电|致電)\W{0,3}   # a short one
      [0-9](?:[ -]?[0-9]){2,}
    | \b[0-9]{1,2}[:.][0-5][0-9]\b                     # and when it is answered
    | \b24\ ?/\ ?7\b | \b24[ -]?h(?:ours?)?\b | \b(?:7|seven)\ days\b
    | (?:24|二十四)\ ?(?:小时|小時) | (?:每周|每週)?七天
    """,
    re.IGNORECASE | re.VERBOSE,
)


def without_contacts(text: str) -> str:
    """Return a text without telephone numbers, addresses, and the hours of answering."""
    return _CONTACTS.sub(" ", text)
