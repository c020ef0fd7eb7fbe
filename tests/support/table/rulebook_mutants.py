"""Every value, key and section of a rulebook file changed, one at a time; and what rules show.

`DEPENDENCIES` says what follows from a change of a key, before any change is tried: where a refusal
may tell it, and which outputs it changes where it is accepted.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from functools import cache
from typing import Any, Final, NamedTuple

import msgspec

from baccarat.cli.rulebook import rulebook_document
from events.types import DealCompleted, Settlement, SettlementLine, Wager
from table_core.odds.deals import classes_by_pairs, classes_by_suits
from table_core.odds.house_edge import house_edges
from table_core.projections.table_document import project_table
from table_core.rules.draw import Outcome
from table_core.rules.rulebook import LAST_PHASE, Rulebook
from table_core.rules.rulebook_file import full_shoe
from table_core.rules.settlement import settle_with_caps
from table_core.rules.wager_checks import check_wagers
from table_core.rules.wagers import BET_KINDS
from table_core.state.coup import Phase
from table_core.state.table import Coup, TableState
from table_core.texts.calls import calls
from table_core.texts.help import category_meaning, limit_line, play_lines, winning_line

# Rulebook and form, and key; the outputs that an accepted change of it changes, with a question
# mark where that depends on the value; and where else than at the key a refusal may tell it.
# `shown`, what `rulebook show` prints of every key, is in no row. Numbers in texts are `#number`.
_DEPENDENCIES: Final = """
*/* form | sign? placement? payment? help? | sign bets options limits edge decimals
*/* id                       | id                          |
*/* title#number             | never                       |
*/* title                    | sign                        |
*/* decks                    | odds decks help             |
*/* currency                 | sign                        | sign
*/2 decimals                 | sign help?                  | limits bets
*/* unit                     | sign placement payment help | caps bets limits
*/* rounding.payout          | help sign? payment?         |
*/* rounding.commission      | help? payment?              |
*/* commission.rate          | never                       | sign
*/* commission.timing        | sign                        |
*/2 options.max_options      | sign placement              |
*/1 options.max_options      | placement                   | sign
*/* sign.game                | sign                        |
*/* sign.pay_scale           | never                       | title
*/* sign.*#number            | never                       |
*/* sign.*                   | sign                        |
*/2 bets.*.requirement       | sign placement help?        |
*/1 bets.*.requirement       | placement help?             | sign
*/* bets.*.phase             | never                       |
*/* bets.*.commission        | never                       | commission sign
*/* bets.*.maximum           | sign placement help         | sign
*/* bets.perfect_pairs.variant | odds? payment calls help  | bets
*/* bets.*.variant           | odds payment calls help     | bets
*/* bets.*.pays.*            | sign odds payment calls     | bets sign title
*/2 caps.*                   | sign payment                |
*/1 caps.*                   | payment                     | sign
"""


class Dependency(NamedTuple):
    """What follows from a change of a key.

    Args:
        always: the outputs that an accepted change changes; None where no change is accepted.
        maybe: those that it changes by some values.
        told: the beginnings of other keys at which a refusal may tell it.
    """

    always: frozenset[str] | None
    maybe: frozenset[str]
    told: tuple[str, ...]


def dependency_of(rulebook: str, path: str) -> Dependency:
    """Return the first row that fits."""
    for row in _DEPENDENCIES.strip().splitlines():
        where, outputs, told = (cell.split() for cell in f"{row} ".split("|"))
        if fnmatch(rulebook, where[0]) and fnmatch(path, where[1]):
            always = {each for each in outputs if not each.endswith("?")}
            maybe = {each.rstrip("?") for each in outputs if each.endswith("?")}
            nothing = None if always == {"never"} else frozenset(always)
            return Dependency(nothing, frozenset(maybe), tuple(told))
    raise AssertionError(f"no row for {path}")


# ---- changes of the text ----


class Mutant(NamedTuple):
    """A file with one thing changed.

    Args:
        path: the key, without numbers of list entries.
        start: where what is changed begins in the file; `end` likewise.
        new: what stands there now.
        structural: whether a key or a section is another, not a value.
    """

    path: str
    start: int
    end: int
    new: str
    structural: bool

    @property
    def name(self) -> str:
        """The key as a fault may name it."""
        last = self.path.partition("#")[0]
        return f"{last.rpartition('.')[2]}x" if self.structural else last


def together(text: str, *changes: Mutant) -> str:
    """Return the file with all the changes, which do not overlap."""
    for each in sorted(changes, key=lambda change: -change.start):
        text = text[: each.start] + each.new + text[each.end :]
    return text


_TOKEN: Final = re.compile(
    r"""(?m)\#.*$ | ^\[\[?(?P<header>[\w.]+)\]\]?$ | (?P<key>\w+)(?=\ =\ )
    | (?P<text>"[^"\n]*") | (?P<word>\b(?:\d+|true|false)\b) | (?P<brace>[{}])""",
    re.VERBOSE,
)
_CHOICES: Final[Mapping[str, str]] = {
    "rounding.*": "up down nearest",
    "commission.timing": "deduct prepaid per_coup per_shoe",
    "*.requirement": "none any_main same_seat",
    "bets.perfect_pairs.variant": "player banker both",
    "*.variant": "each_hand all_six bet_hand",
    "sign.pay_scale": "one two three",
    "caps.scope": "table patron",
    "caps.allocation": "pro_rata first_placed",
    "caps.bets": "tie player lucky8_player lucky8_banker",
    "currency": "AUD EUR JPY",
    "id": "other-site",
}
_NUMBER: Final = re.compile(r"\d+|\b(?:one|two|three|four|five)\b", re.IGNORECASE)


def mutants(text: str) -> Iterator[Mutant]:
    """Yield the file with every value, key and section changed in several ways, one at a time."""
    section, keys = "", [""]
    for token in _TOKEN.finditer(text):
        kind, found = token.lastgroup, token[0]
        if kind == "brace":
            if found == "{":
                keys.append("")
            else:
                keys.pop()
        elif kind == "header":
            section, keys = token["header"], [""]
            new = found.replace(section, f"{section}x")
            yield Mutant(section, *token.span(), new, structural=True)
        elif kind == "key":
            keys[-1] = found
            path = ".".join(filter(None, (section, *keys)))
            yield Mutant(path, *token.span(), f"{found}x", structural=True)
        elif kind is not None:
            path = ".".join(filter(None, (section, *keys)))
            for mark, new in dict.fromkeys(_other_values(path, found)):
                if new != found:
                    yield Mutant(path + mark, *token.span(), new, structural=False)


def _other_values(path: str, found: str) -> Iterator[tuple[str, str]]:
    """Yield (mark of the path, another value)."""
    if not found.startswith('"'):
        number = int(found) if found.isdecimal() else 0
        others = [number - 1, number + 1, number * 2, number * 10, 0, 5, 100]
        plain = [*map(str, others), f'"{found}"'] if found.isdecimal() else [f'"{found}"', "1"]
        yield from (("", each) for each in (*plain, "true", "false"))
        return
    said = found[1:-1]
    choices = next((words for where, words in _CHOICES.items() if fnmatch(path, where)), None)
    yield "", "5"
    if ".pays." in path or path == "commission.rate":
        num, _, den = said.partition("/")
        if num.isdecimal():
            others = [int(num) - 1, int(num) + 1, int(num) * 2, int(num) * 10]
            yield from (("", f'"{each}/{den}"' if den else f'"{each}"') for each in others)
        yield from (("", f'"{each}"') for each in ("push", "1", "1/3", "0", "x", "1/0", "2000"))
    elif choices:
        yield from (("", f'"{each}"') for each in (*choices.split(), "x", ""))
    else:
        for found_number in _NUMBER.finditer(said):
            written = found_number[0].isdecimal()
            for other in ("7", "35", "170") if written else ("7", "17", "nine"):
                changed = said[: found_number.start()] + other + said[found_number.end() :]
                yield "#number", f'"{changed}"'
        yield "", f'"{said} X"'
        for word in re.finditer(r"[A-Za-z]{5,}\b ?", said):
            yield "", f'"{said[: word.start()] + said[word.end() :]}"'


# ---- what rules show ----


@cache
def _outcomes() -> tuple[Outcome, ...]:
    """One deal for every set of categories that the variants of a kind of bet give it."""
    shoe = full_shoe(8)
    found: dict[tuple[object, ...], Outcome] = {}
    for outcome, _ in (*classes_by_pairs(shoe), *classes_by_suits(shoe)):
        for bet, kind in BET_KINDS.items():
            judged = tuple(judge(outcome) for judge in kind.judges.values())
            found.setdefault((bet, judged), outcome)
    return tuple(dict.fromkeys(found.values()))


def _wager(number: int, bet: str, stake: int, seat: int = 1, patron: str | None = None) -> Wager:
    return Wager(id=f"w{number}", seat=seat, bet=bet, stake=stake, patron=patron)


def _settled(rulebook: Rulebook) -> Iterator[tuple[Outcome, tuple[SettlementLine, ...]]]:
    """Small, odd and large stakes of two patrons on every bet, and every set of categories."""
    stakes = (1, 7, 33, 1010, 30_000)
    wagers = [
        _wager(number, bet, stake, 1 + number % 2)
        for number, (bet, stake) in enumerate((b, s) for b in rulebook.bets for s in stakes)
    ]
    for outcome in _outcomes():
        yield outcome, settle_with_caps(rulebook, outcome, wagers)[0]


def _payment(rulebook: Rulebook, _: Sequence[int]) -> object:
    """What is paid, and in which phase."""
    phases = {bet: each.phase for bet, each in rulebook.bets.items()}
    settled = [lines for _, lines in _settled(rulebook)]
    return phases, [[(a.result, a.category, a.paid) for a in lines] for lines in settled]


def _calls(rulebook: Rulebook, _: Sequence[int]) -> object:
    """What the dealer calls when a coup is settled."""
    called = []
    for outcome, lines in _settled(rulebook):
        hands: dict[str, Any] = {
            "coup": "1/1",
            "player": outcome.player,
            "banker": outcome.banker,
            "player_total": outcome.player_total,
            "banker_total": outcome.banker_total,
            "winner": outcome.winner,
        }
        cited: dict[str, Any] = {"rulebook": rulebook.id, "rulebook_hash": ""}
        number: dict[str, Any] = {"settlement_id": "1", "phase": LAST_PHASE, "revision": 1}
        sums: dict[str, Any] = {"staked": 0, "paid": 0, "commission": 0}
        coup = Coup(
            id="1/1",
            phase=Phase.SETTLED,
            completed=DealCompleted(natural=outcome.natural, rules=(), **hands),
            settlements=(Settlement(lines=lines, **number, **hands, **cited, **sums),),
            **cited,
        )
        called.append(calls(coup))
    return called


def _help(rulebook: Rulebook, _: Sequence[int]) -> object:
    """How to play, and what the page of the rules says of each wager."""
    lines = [*play_lines(rulebook)]
    for bet in rulebook.bets.values():
        lines += [winning_line(bet), limit_line(bet)]
        lines += [category_meaning(bet, category) for category in bet.schedule]
    return lines


def _placement(rulebook: Rulebook, limits: Sequence[int]) -> object:
    """Codes of refusals: each bet alone, beside others, at and about every limit, and twice."""
    stakes = sorted({1, 2, 3, 10, 50, 100, *(each + by for each in limits for by in (-1, 0, 1))})
    sets = [
        [_wager(1, other, 100, seat), _wager(2, bet, stake, 1)]
        for bet in rulebook.bets
        for stake in stakes
        for other, seat in (("player", 1), ("tie", 1), ("player", 2), (bet, 1))
    ]
    options = ("player", "tie", "lucky8_player", "lucky8_banker")
    sets.append([_wager(number, bet, 100) for number, bet in enumerate(options)])
    sets += [[_wager(1, bet, 100)] for bet in rulebook.bets]
    sets += [[_wager(n, bet, 20_000, patron="p") for n in range(3)] for bet in rulebook.bets]
    judged = (check_wagers(rulebook, (), wagers) for wagers in sets)
    return [[each and each.code for each in refusals] for refusals in judged]


def _sign(rulebook: Rulebook, _: Sequence[int]) -> object:
    """What screens show of the rules, but for their id and hash."""
    document = project_table(TableState(), table="t1", rulebook=rulebook, catching_up=False)
    shown = msgspec.to_builtins(document.rulebook)
    return {key: value for key, value in shown.items() if key not in {"id", "hash"}}


def _shown(rulebook: Rulebook, _: Sequence[int]) -> object:
    return {**msgspec.to_builtins(rulebook_document(rulebook)), "hash": ""}


_OUTPUTS: Final[Mapping[str, Callable[[Rulebook, Sequence[int]], Any]]] = {
    "id": lambda rulebook, _: rulebook.id,
    "decks": lambda rulebook, _: rulebook.decks,
    "odds": lambda rulebook, _: house_edges(rulebook),
    "sign": _sign,
    "placement": _placement,
    "payment": _payment,
    "calls": _calls,
    "help": _help,
    "shown": _shown,
}


def changed_outputs(before: Rulebook, after: Rulebook) -> frozenset[str]:
    """Return the names of the outputs in which two rulebooks differ."""
    limits = sorted(
        {
            amount
            for rulebook in (before, after)
            for bet in rulebook.bets.values()
            for amount in (bet.minimum, bet.maximum, bet.step)
            if amount is not None and amount > 1
        }
    )
    return frozenset(
        name for name, of in _OUTPUTS.items() if of(before, limits) != of(after, limits)
    )
