"""Reads a rulebook file strictly: each fault names the file, the key and the reason. Pure.

The file is TOML. At the top come `form`, `id`, `title`, `decks`, `currency`, `unit`; then the
sections `rounding`, `commission`, `options`, `limits`, a section `bets.ID` for each wager, and
`caps`, a list. `form` says which keys a section may hold (`table_core.rules.rulebook_forms`). The
shipped files under `table_core/rulebooks/` are examples. A conversion stops at its first fault, so
the reader converts each key by itself and reports the faults of all keys at once.

The composition of a shoe: how many copies of each face are left. The file is a JSON object that
maps a card to its count: `{"9D": 8, "TH": 7}`. The shoe has no copy left of a face that is not
named.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar, cast, get_args, get_origin

import msgspec
import msgspec.inspect
from msgspec import Struct
from msgspec.structs import replace

from events.cards import Card, parse_card
from events.errors import ConfigError, InputError, OurBug
from events.money import Odds, parse_odds
from events.toml_form import FileFault, fields_of, read_tree
from table_core.rules.rulebook import (
    INITIAL_PHASE,
    LAST_PHASE,
    PUSH,
    Bet,
    Commission,
    CommissionTiming,
    ConfirmedEdge,
    EdgeRules,
    Limits,
    Options,
    Rulebook,
    Sign,
)
from table_core.rules.rulebook_fault import shown_key
from table_core.rules.rulebook_forms import (
    FORMS,
    NEWEST_FORM,
    BetForm1,
    BetForm2,
    CommissionForm,
    EdgeForm,
    FileForm1,
    FileForm2,
    FormNumber,
    RulebookForm,
    Sign1,
    Sign2,
    whole,
)
from table_core.rules.sign import game_of, pay_scale_of, speaks_of_rules
from table_core.rules.wagers import BET_KINDS, BetKind

__all__ = [
    "DECKS",
    "MAX_ODDS",
    "ReadRulebook",
    "full_shoe",
    "parse_rulebook",
    "read_composition",
    "read_rulebook",
]

DECKS: Final = (4, 6, 8)
"""The numbers of decks that a shoe can begin with."""
_MAX_CARD_TEXT: Final = 8  # the longest way to write a card has three characters


def full_shoe(decks: int) -> dict[Card, int]:
    """Return a full shoe of so many decks of 52."""
    return dict.fromkeys(Card, decks)


def read_composition(name: str, source: bytes, decks: int) -> dict[Card, int]:
    """Read the composition of a shoe from a file.

    Args:
        name: the file's name, for messages.
        source: the file's bytes.
        decks: how many the shoe began with, and so the maximum copies of a face.

    Raises:
        InputError: it is not of the form above, or holds too many cards; one line.
    """
    try:
        named = json.loads(source.decode(), object_pairs_hook=_Pairs)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: not a JSON document: {error}") from error
    if not isinstance(named, _Pairs):
        raise InputError(f'{name}: write an object of cards and counts, such as {{"9D": 8}}')
    shoe: dict[Card, int] = {}
    for text, count in named:
        card = _card(name, text)
        if card in shoe:
            raise InputError(f"{name}: {card} is there twice; write each card once")
        if type(count) is not int or not 0 <= count <= decks:
            raise InputError(
                f"{name}: {card}: {count!r:.40} is no count; "
                f"of {decks} decks 0 to {decks} copies can be left"
            )
        shoe[card] = count
    return shoe


def _card(name: str, text: str) -> Card:
    try:
        return parse_card(text if len(text) <= _MAX_CARD_TEXT else f"{text[:_MAX_CARD_TEXT]}...")
    except InputError as error:
        raise InputError(f"{name}: {error}") from error


class _Pairs(list[tuple[str, object]]):
    """The members of a JSON object in order; a dictionary would drop all but the last of a name."""


MAX_ODDS: Final = 1000
"""To one. The largest stake (2^53 - 1) at these odds still fits the 64 bits of a JSON writer."""
_MAX_RATIO_TEXT: Final = 16  # far beyond any odds, far below where reading an integer gets slow
_SHARE: Final = re.compile(r"-?[0-9]{1,40}(/0*[1-9][0-9]{0,39})?")
_S = TypeVar("_S", bound=Struct)


# A category that a schedule omits loses, and nobody means that of a tie on Player and Banker.
_MUST_NAME: Final[Mapping[str, frozenset[str]]] = {
    "player": frozenset({"win", PUSH}),
    "banker": frozenset({"win", PUSH}),
}
# What a needed key counts as where it is missing or faulty, so that the rest can be checked.
_IN_THE_STEAD_OF: Final[Mapping[type[Struct], Mapping[str, object]]] = {
    FileForm1: (_TOP := {"id": "rulebook", "title": "-", "decks": 8, "currency": "AUD", "unit": 1}),
    FileForm2: _TOP | {"decimals": 2},
    CommissionForm: {"rate": "1/20", "timing": CommissionTiming.DEDUCT},
    BetForm1: {"pays": {}},
    BetForm2: {"pays": {}},
}
# What a pattern or a text's form does not say.
_EXAMPLES: Final[Mapping[str, str]] = {
    "id": 'small letters, digits and hyphens, such as "harbour-house"',
    "currency": 'an ISO 4217 code, such as "AUD"',
    "commission.rate": 'a share as text, such as "1/20"',
    "edge": "a share of the stake as text, such as '0', '1/100' or '-1/50'",
    "procedure.burn": '"face_value", "none", or "fixed:3" for a number',
    "pays": "a table of categories and odds",
}


class _Faults:
    """Collects faults. It never leaves the reading of one file."""

    def __init__(self) -> None:
        self.found: list[FileFault] = []

    def add(self, where: str, code: str, text: str, remedy: str) -> None:
        self.found.append(FileFault.of(where, code, text, remedy))

    def read(self, kind: type[_S], table: object, where: str) -> _S | None:
        """Return a table as `kind`, each key read by itself.

        A key that is faulty or missing counts as absent, and a needed one as `_IN_THE_STEAD_OF`
        has it; None where that has none.
        """
        if not isinstance(table, dict):
            self.add(where, "wrong_type", "is no table", f"write a section [{where}]")
            return None
        known = {field.name: field for field in fields_of(kind)}
        for key in table.keys() - known.keys():
            place = f"{where}.{shown_key(key)}".lstrip(".")
            self.add(place, "unknown_key", "no such key", f"there are {', '.join(known)}")
        values = dict(_IN_THE_STEAD_OF.get(kind, {}))
        for key, field in known.items():
            place = f"{where}.{key}".lstrip(".")
            if key not in table:
                if field.required:
                    self.add(place, "missing", "missing", _remedy(place, field.type))
            elif (value := self._value(field.type, table[key], place)) is not None:
                values[key] = value
        if any(field.required and key not in values for key, field in known.items()):
            return None
        return kind(**values)

    def _value(self, kind: Any, value: object, where: str) -> object | None:
        for each in get_args(kind) or (kind,):
            if isinstance(each, type) and issubclass(each, Struct):
                if get_origin(kind) is not tuple:
                    return self.read(each, value, where)
                if isinstance(value, list):
                    items = [self.read(each, it, f"{where}[{at}]") for at, it in enumerate(value)]
                    return tuple(it for it in items if it is not None)
        try:
            return cast("object", msgspec.convert(value, kind))
        except msgspec.ValidationError as error:
            reason, _, path = str(error).partition(" - at `$")
            code = "wrong_type" if ", got `" in reason else "wrong_value"
            self.add(f"{where}{path.rstrip('`')}", code, reason, _remedy(where, kind))
            return None

    def ratio(self, text: str, where: str, most: int) -> Odds | None:
        """Return a ratio above 0 and at most `most`; else note the fault and return None."""
        right = f"write a ratio of more than 0, up to {most}, as text: '8', '1/2', '27/50'"
        try:
            odds = parse_odds(text) if len(text) <= _MAX_RATIO_TEXT else Odds(0)
        except InputError:
            self.add(where, "not_odds", f"{text!r} is not a ratio", right)
            return None
        if not 0 < odds.num <= most * odds.den:
            self.add(where, "not_odds", f"{text[:_MAX_RATIO_TEXT]!r} is out of range", right)
            return None
        return odds

    def share(self, text: str, where: str) -> Fraction | None:
        """Return a share of a stake, between -1,000 and 1; else note the fault and return None."""
        if _SHARE.fullmatch(text):
            share = Fraction(text)
            if -MAX_ODDS <= share < 1:
                return share
        right = "write a share of the stake as text, such as '0', '1/100' or '-1/50'"
        self.add(where, "not_a_share", f"{text!r:.60} is no share", right)
        return None


def _remedy(where: str, kind: Any) -> str:
    """Return what belongs at a key, by its type."""
    key = where.rpartition(".")[2]
    if right := _EXAMPLES.get(where) or _EXAMPLES.get(key):
        return f"write {right}"
    found = msgspec.inspect.type_info(kind)
    choices = found.types if isinstance(found, msgspec.inspect.UnionType) else (found,)
    words = filter(None, map(_words_of_type, choices))
    return f"write {next(words, 'a list, such as [...]')}"


def _words_of_type(kind: msgspec.inspect.Type) -> str | None:
    match kind:
        case msgspec.inspect.LiteralType():
            return f"one of {', '.join(map(str, kind.values))}"
        case msgspec.inspect.EnumType():
            return f"one of {', '.join(str(choice.value) for choice in kind.cls)}"
        case msgspec.inspect.IntType():
            return f"a whole number from {kind.ge} to {kind.le}, without quotes"
        case msgspec.inspect.BoolType():
            return "true or false, without quotes"
        case msgspec.inspect.StrType():
            return "a text in quotes"
    return None


class ReadRulebook(NamedTuple):
    """A rulebook as it was read.

    Args:
        rulebook: whole where there are no faults; else what could be read, for further checks only.
        faults: in the order of the file's sections.
    """

    rulebook: Rulebook
    faults: tuple[FileFault, ...]


def parse_rulebook(name: str, source: bytes) -> Rulebook:
    """Read a rulebook from the bytes of its file.

    Args:
        name: the file's name, for messages.
        source: the file's bytes.

    Raises:
        ConfigError: the file has faults; the message names file, keys, reasons and remedies on one
            line.
    """
    rulebook, faults = read_rulebook(name, source)
    if faults:
        raise ConfigError(f"{name}: {'; '.join(map(str, faults))}")
    return rulebook


def read_rulebook(name: str, source: bytes) -> ReadRulebook:
    """Read a rulebook as far as it can be read.

    Raises:
        ConfigError: the file is not TOML.
    """
    try:
        tree = read_tree(source)
    except ValueError as error:
        raise ConfigError(f"{name}: not a TOML file: {error}") from error
    faults = _Faults()
    sections = tree.pop("bets", None)
    named = {"form": tree.pop("form")} if "form" in tree else {}
    number = faults.read(FormNumber, named, "")
    known = FORMS[number.form if number else NEWEST_FORM]
    form = faults.read(known.file, tree, "")
    if form is None:
        raise OurBug("a needed key of a rulebook has no value in its stead")
    bets = dict(_bets(sections, known, form.unit, faults))
    commission = _commission(form.commission, faults)
    _check_commission(tree, bets, faults)
    _check_caps(form, bets, faults)
    _check_chips(form.chips, form.unit, faults)
    rulebook = Rulebook(
        id=form.id,
        title=form.title,
        decks=form.decks,
        currency=form.currency,
        decimals=form.decimals,
        unit=form.unit,
        chips=form.chips,
        rounding=form.rounding,
        commission=commission,
        options=whole(Options, form.options),
        limits=whole(Limits, form.limits),
        procedure=form.procedure,
        sign=_sign(form.sign, bets, faults),
        bets=MappingProxyType(bets),
        caps=form.caps,
        edge=_edge(form.edge, faults),
        hash=hashlib.sha256(source).hexdigest(),
    )
    return ReadRulebook(rulebook, tuple(faults.found))


def _commission(form: CommissionForm | None, faults: _Faults) -> Commission | None:
    if form is None:
        return None
    rate = faults.ratio(form.rate, "commission.rate", most=1) or Odds(1, 20)
    return Commission(rate=rate, timing=form.timing, block=form.block)


def _edge(form: EdgeForm, faults: _Faults) -> EdgeRules:
    confirmed = []
    for index, each in enumerate(form.confirmed):
        edge = faults.share(each.edge, f"edge.confirmed[{index}].edge")
        if edge is not None:
            confirmed.append(ConfirmedEdge(bet=each.bet, edge=edge, by=each.by))
    floor = faults.share(form.floor, "edge.floor")
    return EdgeRules(floor=floor or Fraction(0), confirmed=tuple(confirmed))


def _check_commission(tree: Mapping[str, object], bets: Mapping[str, Bet], faults: _Faults) -> None:
    paying = [bet for bet in bets.values() if bet.commission]
    if "commission" not in tree:
        for bet in paying:
            faults.add(
                f"bets.{bet.id}.commission",
                "no_commission",
                "there is no section `commission`",
                "write [commission] with its rate and timing, or commission = false",
            )
    elif bets and not paying:
        right = "write commission = true in [bets.banker], or leave the section out"
        faults.add("commission", "no_commission", "no bet pays it", right)


def _bets(
    sections: object, known: RulebookForm, unit: int, faults: _Faults
) -> Iterator[tuple[str, Bet]]:
    if not isinstance(sections, dict) or not sections:
        right = "write a section for each wager, such as [bets.player]"
        faults.add("bets", "missing", "there are no wagers", right)
        return
    for name, section in sections.items():
        where = f"bets.{shown_key(name)}"
        kind = BET_KINDS.get(name)
        if kind is None:
            right = f"known are {', '.join(BET_KINDS)}"
            faults.add(where, "unknown_wager", "no such wager", right)
            continue
        form = faults.read(known.bet, section, where)
        if form is not None:
            judges = {v: judge for v, judge in kind.judges.items() if v not in known.without}
            yield name, _bet(name, replace(kind, judges=judges), form, unit, faults)


def _bet(name: str, kind: BetKind, form: BetForm1 | BetForm2, unit: int, faults: _Faults) -> Bet:
    where, default = f"bets.{name}", next(iter(kind.judges))
    judge = kind.judges.get(default if form.variant is None else form.variant)
    if judge is None:
        known = ", ".join(filter(None, kind.judges)) or "none"
        text = f"no variant {form.variant!r:.40}"
        faults.add(f"{where}.variant", "unknown_variant", text, f"known are {known}")
    if form.phase == INITIAL_PHASE and not kind.initial:
        text = "only wagers on the first two cards of a hand settle in phase 1"
        faults.add(f"{where}.phase", "wrong_phase", text, "write phase = 2")
    if form.maximum is not None and form.maximum < form.minimum:
        text = f"{form.maximum} is below the minimum of {form.minimum}"
        right = f"write {form.minimum} or more"
        faults.add(f"{where}.maximum", "maximum_below_minimum", text, right)
    step = unit if form.step is None else form.step
    if step % unit:
        text, right = f"{step} is no multiple of the unit of {unit}", f"write a multiple of {unit}"
        faults.add(f"{where}.step", "not_in_units", text, right)
    return Bet(
        id=name,
        phase=form.phase,
        judge=judge or kind.judges[default],
        schedule=MappingProxyType(_schedule(name, kind, form, f"{where}.pays", faults)),
        offered=form.offered,
        minimum=form.minimum,
        maximum=form.maximum,
        step=step,
        per=form.per,
        minimum_per=form.minimum_per,
        table_maximum=form.table_maximum,
        requirement=form.requirement,
        commission=form.commission,
        own_odds=form.own_odds,
    )


def _schedule(
    name: str, kind: BetKind, form: BetForm1 | BetForm2, where: str, faults: _Faults
) -> dict[str, Odds | None]:
    # A tie is not known yet when phase 1 is settled, so nothing there can push on it.
    known = (*kind.categories, PUSH) if form.phase == LAST_PHASE else tuple(kind.categories)
    schedule: dict[str, Odds | None] = {}
    for category, pays in form.pays.items():
        place = f"{where}.{shown_key(category)}"
        if category not in known:
            right = f"known are {', '.join(known)}"
            faults.add(place, "unknown_category", "no such category", right)
        elif pays == PUSH:
            schedule[category] = None
        elif not isinstance(pays, str):
            right = "write the odds as text: '8', '1/2', '27/50' or 'push'"
            faults.add(place, "wrong_type", f"{pays!r:.40} is no text", right)
        elif category == PUSH:
            text = f"{pays!r:.40}: a push pays nothing"
            faults.add(place, "push_that_pays", text, "write 'push'")
        else:
            odds = faults.ratio(pays, place, most=MAX_ODDS)
            if odds is not None:
                schedule[category] = odds
    if not form.pays and not any(fault.where == where for fault in faults.found):
        right = "list its categories and their odds"
        faults.add(where, "missing", "a wager that pays nothing", right)
    elif form.pays:
        for category in sorted(_MUST_NAME.get(name, frozenset()) - set(form.pays)):
            right = "write win = '1' and push = 'push': a main wager wins, and a tie is a push"
            faults.add(f"{where}.{category}", "missing", "missing", right)
    return schedule


def _sign(section: Sign1 | Sign2, bets: Mapping[str, Bet], faults: _Faults) -> Sign:
    if isinstance(section, Sign1):
        return whole(Sign, section)
    for index, line in enumerate(section.own_lines):
        where = f"sign.own_lines[{index}]"
        if not line.text.strip():
            faults.add(f"{where}.text", "missing", "empty", "write the line, or leave it out")
        if line.confirmed_by is not None and not line.confirmed_by.strip():
            right = "name the person who stands by the line"
            faults.add(f"{where}.confirmed_by", "missing", "empty", right)
        elif line.confirmed_by is None and speaks_of_rules(line.text):
            text = f"{line.text!r:.60} holds a number or a word of the rules"
            right = "leave it out, the sign says the rules; or name who stands by it, confirmed_by"
            faults.add(where, "own_line_unconfirmed", text, right)
    own = tuple(line.text for line in section.own_lines)
    return Sign(
        game=game_of(bets),
        pay_scale=pay_scale_of(bets),
        lines=(*own, *filter(None, [section.help_line])),
        help_line=section.help_line,
        own_lines=section.own_lines,
        generated=True,
    )


def _check_caps(form: FileForm1 | FileForm2, bets: Mapping[str, Bet], faults: _Faults) -> None:
    capped: set[str] = set()
    for index, cap in enumerate(form.caps):
        where, right = f"caps[{index}]", f"name some of {', '.join(bets) or 'its bets'}"
        unknown = [bet for bet in cap.bets if bet not in bets]
        if unknown or not cap.bets:
            text = f"not among this rulebook's bets: {unknown or 'none named'}"
            faults.add(f"{where}.bets", "unknown_wager", text, right)
        elif len({bets[bet].phase for bet in cap.bets}) > 1:
            text = "they settle in different phases and cannot share a maximum"
            faults.add(f"{where}.bets", "wrong_phase", text, "write a maximum for each phase")
        if capped.intersection(cap.bets) or len(set(cap.bets)) < len(cap.bets):
            text = "a bet can stand under one maximum only"
            faults.add(f"{where}.bets", "named_twice", text, "name each bet once")
        if cap.maximum % form.unit:
            text, right = f"no multiple of the unit of {form.unit}", f"write one of {form.unit}"
            faults.add(f"{where}.maximum", "not_in_units", text, right)
        capped.update(cap.bets)


def _check_chips(chips: tuple[int, ...], unit: int, faults: _Faults) -> None:
    if sorted(set(chips)) != list(chips):
        faults.add("chips", "wrong_value", f"{list(chips)}", "write each once, the smallest first")
    for index, value in enumerate(chips):
        if value % unit:
            text, right = f"{value} is no multiple of the unit of {unit}", f"write one of {unit}"
            faults.add(f"chips[{index}]", "not_in_units", text, right)
