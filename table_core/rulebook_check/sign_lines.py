"""Texts of a rulebook that contradict its rules: title, kind of game and the sign's free lines.

A line is read clause by clause. A clause that speaks of the game (`_SPEAKS`) may say numbers only
as the rules have them: limits, odds, commission, options, decks. It speaks of the wagers that it
names, else of those of the clause before, else of all. A line that says nothing of the game, such
as a help line with its telephone number, is the site's own. A Chinese line is read by `chinese`.
"""

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Final, NamedTuple

from events.toml_form import FileFault
from table_core.odds.house_edge import house_edges
from table_core.rulebook_check.chinese import in_english
from table_core.rulebook_check.published import spoken_odds
from table_core.rules.rulebook import Bet, Requirement, Rulebook
from table_core.rules.sign import pay_scale_of, speaks_of_rules, without_contacts
from table_core.rules.wager_checks import MAIN, OPTIONS
from table_core.rules.wagers import BET_KINDS

__all__ = ["sign_faults"]

_WORDS: Final = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBER: Final = rf"(?:\d{{1,9}}|{'|'.join(_WORDS)})"
_AMOUNT: Final = r"\d{1,12}(?:,\d{3}){0,4}(?:\.\d{1,4})?"
_SPEAKS: Final = re.compile(
    r"\b(pay|pays|paid|payouts?|wagers?|bets?|stakes?|wins?|winnings?|winning|odds|edge|decks?"
    r"|commission|vigorish|options?|max\w*|min\w*|most|least|up to|push\w*|ties?|scale"
    r"|even money)\b",
    re.IGNORECASE,
)
_CLAUSE: Final = re.compile(r"[.;](?:\s|$)")
_PLAIN_NAMES: Final = frozenset({"Big", "Small"})  # words of every sentence
_PLAIN_CATEGORIES: Final = frozenset({"win", "pair", "push", "one", "both"})
_FAMILIES: Final = ("Lucky 8", "Tiger", "Dragon Bonus")
_LONGEST: Final = 400
_CARDS_OF_A_HAND: Final = (2, 3)
_CARDS_OF_A_COUP: Final = range(2, 7)
_SIX: Final = frozenset({"win_on_6", "two_card", "three_card", "banker_six"})
# Numbers that are no rule: ages, telephone numbers, times.
_NO_RULE: Final = re.compile(
    r"\b(?:under|over|aged?) \d+\b|\+?\d{2,}(?:[ -]\d{3,})+|\b\d{1,2}:[0-5]\d\b", re.IGNORECASE
)


class _Clause(NamedTuple):
    """A part of a line.

    Args:
        rulebook: the rules.
        bets: the offered wagers that it speaks of.
        named: whether it names them.
        text: of the clause, without the names of wagers.
    """

    rulebook: Rulebook
    bets: tuple[Bet, ...]
    named: bool
    text: str

    def says(self, pattern: str) -> bool:
        """Return whether a word of the clause matches, in whatever case."""
        return re.search(rf"\b(?:{pattern})\b", self.text, re.IGNORECASE) is not None


def sign_faults(rulebook: Rulebook) -> Iterator[FileFault]:
    """Yield each text that says something else than the rules."""
    texts = {"title": rulebook.title, "sign.game": rulebook.sign.game}
    if speaks_of_rules(without_contacts(rulebook.sign.help_line or "")):
        wrong = "holds a word of the rules, or a number that is no telephone number"
        right = "write where help is found; a line of rules is one of own_lines, with confirmed_by"
        yield FileFault.of("sign.help_line", "help_line_speaks_of_rules", wrong, right)
    if not rulebook.sign.generated:  # in form 2 a person stands by lines of the site's own
        texts |= {f"sign.lines[{index}]": line for index, line in enumerate(rulebook.sign.lines)}
    for where, text in texts.items():
        if len(text) > _LONGEST:
            wrong = f"{len(text)} characters, and a screen has room for {_LONGEST}"
            yield FileFault.of(where, "unshowable_text", wrong, "write a shorter text")
            continue
        for wrong, right in dict.fromkeys(_contradictions(rulebook, in_english(text))):
            yield FileFault.of(where, "text_contradicts", f'says "{wrong}"', right)


def _contradictions(rulebook: Rulebook, text: str) -> Iterator[tuple[str, str]]:
    """Yield (what the text says, what the rules have instead)."""
    bets: tuple[Bet, ...] = ()
    for part in _CLAUSE.split(text):
        ids, left, missing = _wagers_named(rulebook, part)
        for name in missing:
            yield name, f"{name} is not offered; offer it, or leave it out"
        bets = tuple(rulebook.bets[each] for each in ids) or bets
        if not _SPEAKS.search(part):
            continue
        offered = tuple(bet for bet in rulebook.bets.values() if bet.offered)
        clause = _Clause(rulebook, bets or offered, bool(bets), _NO_RULE.sub(" ", left))
        yield from _categories(clause)
        left = _without_categories(clause)
        for pattern, judge in _claims():
            for found in pattern.finditer(left):
                if right := judge(clause, found):
                    yield found[0].strip(), right
            left = pattern.sub(" ", left)


# ---- the wagers that a clause names ----


def _named() -> dict[str, tuple[str, ...]]:
    """Return names as a sign has them, to the bets that they mean; long names first."""
    names: dict[str, tuple[str, ...]] = {kind.name: (bet,) for bet, kind in BET_KINDS.items()}
    for family in _FAMILIES:
        names[family] = tuple(bet for bet, kind in BET_KINDS.items() if family in kind.name)
    kept = {name: bets for name, bets in names.items() if name not in _PLAIN_NAMES}
    return dict(sorted(kept.items(), key=lambda row: -len(row[0])))


_NAMES: Final = _named()
_NAME: Final = re.compile(rf"\b(?:Un)?({'|'.join(map(re.escape, _NAMES))})s?\b")


def _wagers_named(rulebook: Rulebook, text: str) -> tuple[list[str], str, list[str]]:
    """Return the offered bets that a text names, the text without them, and names not offered."""
    found: list[str] = []
    missing: list[str] = []

    def take(match: re.Match[str]) -> str:
        if match[0].startswith("Un"):  # Unlucky 8 is a category
            return match[0]
        ids = [bet for bet in _NAMES[match[1]] if bet in rulebook.bets]
        offered = [bet for bet in ids if rulebook.bets[bet].offered]
        found.extend(offered)
        if not offered and not MAIN.issuperset(_NAMES[match[1]]):
            missing.append(match[1])
        return " "

    left = _NAME.sub(take, text)
    return list(dict.fromkeys(found)), left, list(dict.fromkeys(missing))


# ---- what each category pays ----


def _category_patterns(clause: _Clause) -> Iterator[tuple[str, re.Pattern[str]]]:
    names = {name for bet in clause.bets for name in bet.schedule} - _PLAIN_CATEGORIES
    for name in sorted(names, key=len, reverse=True):
        spoken = name.replace("_", "[ -]").replace("coloured", "colou?red")
        yield (
            name,
            re.compile(
                rf"\b{spoken}s?\b,?:? (?:pays? )?(\d{{1,9}})(?: to (\d{{1,9}}))?", re.IGNORECASE
            ),
        )


def _categories(clause: _Clause) -> Iterator[tuple[str, str]]:
    left = clause.text
    for name, pattern in _category_patterns(clause):
        rows = [bet.schedule[name] for bet in clause.bets if name in bet.schedule]
        pays = {Fraction(odds.num, odds.den): spoken_odds(odds) for odds in rows if odds}
        for found in pattern.finditer(left):
            if Fraction(int(found[1]), int(found[2] or 1) or 1) not in pays:
                yield found[0], f"the rules pay {' or '.join(pays.values()) or 'nothing'}"
        left = pattern.sub(" ", left)


def _without_categories(clause: _Clause) -> str:
    left = clause.text
    for _, pattern in _category_patterns(clause):
        left = pattern.sub(" ", left)
    return left


# ---- what else a clause can claim; each judge returns what is right, or nothing ----


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else _WORDS.index(text.lower()) + 1


def _limits(clause: _Clause, bet: Bet) -> dict[str, list[int]]:
    """Return amounts of the rules for a bet in minor units, by the words that a clause uses."""
    limits, caps = clause.rulebook.limits, clause.rulebook.caps
    maxima = [bet.maximum, bet.table_maximum]
    maxima += [getattr(limits, name) for name in limits.__struct_fields__]
    by_words = {
        "pay|pays|payout|payouts|paid|win|wins|winnings": [
            cap.maximum for cap in caps if bet.id in cap.bets
        ],
        r"min\w*|least|from": [bet.minimum],
        r"max\w*|most|up to|more than": [amount for amount in maxima if amount],
    }
    every = [amount for row in by_words.values() for amount in row]
    return {**by_words, r"\w+": [*every, bet.step]}


def _major(amount: int, clause: _Clause) -> Fraction:
    """Return an amount of minor units as a sign writes it."""
    return Fraction(amount, 10**clause.rulebook.decimals)


def _money(clause: _Clause, found: re.Match[str]) -> str | None:
    """An amount is one of each wager that the clause names; else of any."""
    said = Fraction((found[1] or found[2]).replace(",", ""))
    right: list[set[Fraction]] = []
    for bet in clause.bets:
        rows = _limits(clause, bet).items()
        amounts = next((row for words, row in rows if row and clause.says(words)), [])
        right.append({_major(amount, clause) for amount in amounts})
    agree = [said in amounts for amounts in right]
    if agree and (all(agree) if clause.named else any(agree)):
        return None
    known = sorted(set[Fraction]().union(*right))
    shown = ", ".join(f"{float(amount):,.{clause.rulebook.decimals}f}" for amount in known)
    return f"the rules have {shown or 'no such limit'}"


def _share(clause: _Clause, found: re.Match[str]) -> str | None:
    said, terms = Fraction(found[1].replace(",", "")), clause.rulebook.commission
    if clause.says("edge"):
        edges = house_edges(clause.rulebook)
        right = {f"{float(edges[bet.id] * 100):.2f}" for bet in clause.bets}
        return None if f"{float(said):.2f}" in right else f"the house keeps {', '.join(right)} %"
    if terms is None:
        return "the rules take no commission"
    rate = Fraction(terms.rate.num * 100, terms.rate.den)
    return None if said == rate else f"the commission is {float(rate):g} %"


def _no_commission(clause: _Clause, _: re.Match[str]) -> str | None:
    return "the rules take a commission" if clause.rulebook.commission else None


def _commission(clause: _Clause, _: re.Match[str]) -> str | None:
    return None if clause.rulebook.commission else "the rules take no commission"


def _paid(clause: _Clause) -> dict[Fraction, str]:
    """Return all odds that the wagers of a clause pay, and how they are said."""
    rows = [odds for bet in clause.bets for odds in bet.schedule.values() if odds]
    return {Fraction(odds.num, odds.den): spoken_odds(odds) for odds in rows}


def _even_money(clause: _Clause, _: re.Match[str]) -> str | None:
    return None if 1 in _paid(clause) else "none of these wagers pays even money"


def _options(clause: _Clause, found: re.Match[str]) -> str | None:
    offered = [bet.id for bet in clause.rulebook.bets.values() if bet.offered]
    there = len({OPTIONS[bet] for bet in offered if bet in OPTIONS})
    most = clause.rulebook.options.max_options or there
    if _number(found[1]) == most and (found[2] is None or _number(found[2]) == there):
        return None
    return f"a patron may play {most} of {there} options"


def _decks(clause: _Clause, found: re.Match[str]) -> str | None:
    decks = clause.rulebook.decks
    return None if _number(found[1]) == decks else f"the rules have {decks} decks"


def _odds(clause: _Clause, found: re.Match[str]) -> str | None:
    paid = _paid(clause)
    if int(found[2]) and Fraction(int(found[1]), int(found[2])) in paid:
        return None
    return f"the rules pay {', '.join(paid.values())}" if clause.named else "no wager pays so"


def _scale(clause: _Clause, found: re.Match[str]) -> str | None:
    paid = pay_scale_of(clause.rulebook.bets)
    said = dict(enumerate(_WORDS, 1)).get(_number(found[1]))
    return (
        None
        if said and said == paid
        else f"the rules pay by {f'scale {paid}' if paid else 'neither'}"
    )


def _not_needed(clause: _Clause, _: re.Match[str]) -> str | None:
    needy = [bet.id for bet in clause.bets if bet.requirement is not Requirement.NONE]
    return f"{', '.join(needy)} need a main wager" if needy else None


def _needed(clause: _Clause, _: re.Match[str]) -> str | None:
    if not clause.named or clause.says("may|if"):
        return None
    free = [bet.id for bet in clause.bets if bet.requirement is Requirement.NONE]
    return f"{', '.join(free)} need no other wager" if set(free) - MAIN else None


def _winning(clause: _Clause, found: re.Match[str]) -> str | None:
    """A Banker win on 6 or a three-card 7, which some games pay apart."""
    listed = {name for bet in clause.bets for name in bet.schedule}
    cards, points = found["cards"], found["points"]
    if cards and _number(cards) not in _CARDS_OF_A_HAND:
        return "a hand has two or three cards"
    if points == "6" and not listed & _SIX:
        return "no wager is paid by a winning 6"
    seven = "push_dragon7" in listed or any(bet.id == "dragon7" for bet in clause.bets)
    if points == "7" and not (seven and cards and _number(cards) == max(_CARDS_OF_A_HAND)):
        return "a three-card 7 is paid apart" if seven else "no wager is paid by a winning 7"
    return None


def _cards(_: _Clause, found: re.Match[str]) -> str | None:
    return None if _number(found[1]) in _CARDS_OF_A_COUP else "no coup has so many cards"


def _bare(clause: _Clause, found: re.Match[str]) -> str | None:
    rows = [row for bet in clause.bets for row in _limits(clause, bet).values()]
    amounts = {_major(amount, clause) for row in rows for amount in row}
    said = Fraction(found[0].replace(",", ""))
    return None if said in amounts or said in _paid(clause) else "no rule has this number"


_Judge = Callable[[_Clause, re.Match[str]], str | None]


def _claim(pattern: str, judge: _Judge) -> tuple[re.Pattern[str], _Judge]:
    return re.compile(pattern, re.IGNORECASE), judge


@cache
def _claims() -> tuple[tuple[re.Pattern[str], _Judge], ...]:
    """Return the claims in the order in which they are taken out of a clause.

    They are compiled at their first use: the sign of form 2 has no free lines.
    """
    return (
        _claim(rf"(?:[$€£¥₩₹]|\b(?-i:[A-Z]{{3}})) ?({_AMOUNT})|({_AMOUNT}) ?[€£¥₩₹]", _money),
        _claim(rf"({_AMOUNT}) ?(?:%|per ?cent\b)", _share),
        _claim(r"\bno commission\b|\bcommission[- ]free\b", _no_commission),
        _claim(r"\bcommission\b", _commission),
        _claim(r"\beven money\b(?! baccarat)", _even_money),
        _claim(rf"\b({_NUMBER})(?: of (?:the )?({_NUMBER}))?(?: betting)? options?\b", _options),
        _claim(rf"\b({_NUMBER})(?: full)? decks?\b", _decks),
        _claim(r"\b(\d{1,9}) ?(?:to|:|/) ?(\d{1,9})\b(?! cards?)", _odds),
        _claim(rf"\bpay ?scale ({_NUMBER})\b", _scale),
        _claim(r"\bno (?:\w+ )?(?:wager|bet)s? (?:is |are )?(?:required|needed)\b", _not_needed),
        _claim(r"\b(?:requires?|required|needs?|needed)\b", _needed),
        _claim(rf"\bwinning (?:(?P<cards>{_NUMBER})-card )?(?P<points>\d)\b", _winning),
        _claim(rf"\b(?P<cards>{_NUMBER})[- ]cards? (?P<points>\d)\b", _winning),
        _claim(rf"\b({_NUMBER})[- ]cards?\b", _cards),
        _claim(rf"\b{_AMOUNT}\b", _bare),
        _claim(r"\d+", lambda *_: "no rule has this number"),
    )
