"""Reads a rulebook file strictly: each fault names the file, the key and the reason. Pure.

The file is TOML. At the top come `form`, `id`, `title`, `decks`, `currency`, `unit`; then the
sections `rounding`, `commission`, `options`, `limits`, a section `bets.ID` for each wager, and
`caps`, a list. `form` says which keys a section may hold (`table_core.rules.rulebook_forms`). The
shipped files under `table_core/rulebooks/` are examples. A conversion stops at its first fault, so
the reader converts each section by itself and reports the faults of all sections at once.

The composition of a shoe: how many copies of each face are left. The file is a JSON object that
maps a card to its count: `{"9D": 8, "TH": 7}`. The shoe has no copy left of a face that is not
named.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from events.cards import Card, parse_card
from events.errors import ConfigError, InputError
from events.money import Odds, parse_odds
from events.toml_form import read_tree
from table_core.rules.rulebook import (
    INITIAL_PHASE,
    LAST_PHASE,
    PUSH,
    Bet,
    Commission,
    Limits,
    Options,
    Rulebook,
    Sign,
)
from table_core.rules.rulebook_forms import (
    FORMS,
    NEWEST_FORM,
    BetForm1,
    BetForm2,
    CommissionForm,
    FileForm1,
    FileForm2,
    FormNumber,
    RulebookForm,
    whole,
)
from table_core.rules.wagers import BET_KINDS, BetKind

__all__ = ["DECKS", "MAX_ODDS", "full_shoe", "parse_rulebook", "read_composition"]

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
_S = TypeVar("_S", bound=Struct)


# A category that a schedule omits loses, and nobody means that of a tie on Player and Banker.
_MUST_NAME: Final[Mapping[str, frozenset[str]]] = {
    "player": frozenset({"win", PUSH}),
    "banker": frozenset({"win", PUSH}),
}


class _Faults:
    """Collects faults, each with its key. It never leaves the reading of one file."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def add(self, key: str, reason: str) -> None:
        self.found.append(f"{key}: {reason}")

    def convert(self, kind: type[_S], value: object, key: str) -> _S | None:
        """Return `value` as `kind`; else note the fault and return None."""
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            reason, _, path = str(error).partition(" - at `$")
            self.add(f"{key}{path.rstrip('`')}".lstrip(".") or "file", reason)
            return None

    def ratio(self, text: str, key: str, most: int) -> Odds | None:
        """Return a ratio above 0 and at most `most`; else note the fault and return None."""
        try:
            odds = parse_odds(text) if len(text) <= _MAX_RATIO_TEXT else Odds(0)
        except InputError as error:
            self.add(key, str(error))
            return None
        if not 0 < odds.num <= most * odds.den:
            self.add(key, f"{text[:_MAX_RATIO_TEXT]!r} is out of range; more than 0, up to {most}")
            return None
        return odds


def parse_rulebook(name: str, source: bytes) -> Rulebook:
    """Read a rulebook from the bytes of its file.

    Args:
        name: the file's name, for messages.
        source: the file's bytes.

    Raises:
        ConfigError: the file has faults; the message names file, keys and reasons on one line.
    """
    try:
        tree = read_tree(source)
    except ValueError as error:
        raise ConfigError(f"{name}: not a TOML file: {error}") from error
    faults = _Faults()
    sections = tree.pop("bets", None)
    named = {"form": tree.pop("form")} if "form" in tree else {}
    number = faults.convert(FormNumber, named, "")
    known = FORMS[number.form if number else NEWEST_FORM]
    form = faults.convert(known.file, tree, "")
    unit = form.unit if form else 1
    bets = dict(_bets(sections, known, unit, faults))
    commission = None
    if form:
        commission = _commission(form.commission, faults)
        for bet in bets.values():
            if bet.commission and form.commission is None:
                faults.add(f"bets.{bet.id}.commission", "there is no section `commission`")
        if form.commission and bets and not any(bet.commission for bet in bets.values()):
            faults.add("commission", "no bet pays it; write commission = true in [bets.banker]")
        _check_caps(form, bets, faults)
    if faults.found or form is None:
        raise ConfigError(f"{name}: {'; '.join(faults.found)}")
    return Rulebook(
        id=form.id,
        title=form.title,
        decks=form.decks,
        currency=form.currency,
        unit=form.unit,
        rounding=form.rounding,
        commission=commission,
        options=whole(Options, form.options),
        limits=whole(Limits, form.limits),
        procedure=form.procedure,
        sign=whole(Sign, form.sign),
        bets=MappingProxyType(bets),
        caps=form.caps,
        hash=hashlib.sha256(source).hexdigest(),
    )


def _commission(form: CommissionForm | None, faults: _Faults) -> Commission | None:
    if form is None:
        return None
    rate = faults.ratio(form.rate, "commission.rate", most=1)
    if rate is None:
        return None
    return Commission(rate=rate, timing=form.timing, block=form.block)


def _bets(
    sections: object, known: RulebookForm, unit: int, faults: _Faults
) -> Iterator[tuple[str, Bet]]:
    if not isinstance(sections, dict) or not sections:
        faults.add("bets", "write a section for each wager, such as [bets.player]")
        return
    for name, section in sections.items():
        key = f"bets.{name}"
        kind = BET_KINDS.get(name)
        if kind is None:
            faults.add(key, f"no such wager; known are {', '.join(BET_KINDS)}")
            continue
        form = faults.convert(known.bet, section, key)
        if form is not None:
            judges = {v: judge for v, judge in kind.judges.items() if v not in known.without}
            bet = _bet(name, replace(kind, judges=judges), form, unit, faults)
            if bet is not None:
                yield name, bet


def _bet(
    name: str, kind: BetKind, form: BetForm1 | BetForm2, unit: int, faults: _Faults
) -> Bet | None:
    key, before = f"bets.{name}", len(faults.found)
    judge = kind.judges.get(next(iter(kind.judges)) if form.variant is None else form.variant)
    if judge is None:
        known = ", ".join(filter(None, kind.judges)) or "none"
        faults.add(f"{key}.variant", f"no variant {form.variant!r}; known are {known}")
    if form.phase == INITIAL_PHASE and not kind.initial:
        faults.add(f"{key}.phase", "only wagers on the first two cards of a hand settle in phase 1")
    if form.maximum is not None and form.maximum < form.minimum:
        faults.add(f"{key}.maximum", f"{form.maximum} is below the minimum of {form.minimum}")
    step = unit if form.step is None else form.step
    if step % unit:
        faults.add(f"{key}.step", f"{step} is no multiple of the unit of {unit}")
    schedule = _schedule(name, kind, form, f"{key}.pays", faults)
    if judge is None or len(faults.found) > before:
        return None
    return Bet(
        id=name,
        phase=form.phase,
        judge=judge,
        schedule=MappingProxyType(schedule),
        offered=form.offered,
        minimum=form.minimum,
        maximum=form.maximum,
        step=step,
        per=form.per,
        minimum_per=form.minimum_per,
        table_maximum=form.table_maximum,
        requirement=form.requirement,
        commission=form.commission,
    )


def _schedule(
    name: str, kind: BetKind, form: BetForm1 | BetForm2, key: str, faults: _Faults
) -> dict[str, Odds | None]:
    # A tie is not known yet when phase 1 is settled, so nothing there can push on it.
    known = (*kind.categories, PUSH) if form.phase == LAST_PHASE else kind.categories
    schedule: dict[str, Odds | None] = {}
    for category, pays in form.pays.items():
        if category not in known:
            faults.add(f"{key}.{category}", f"no such category; known are {', '.join(known)}")
        elif not isinstance(pays, str):
            faults.add(f"{key}.{category}", "write the odds as text: '8', '1/2', '27/50' or 'push'")
        elif pays == PUSH:
            schedule[category] = None
        elif category == PUSH:
            faults.add(f"{key}.{category}", f"{pays!r}: a push pays nothing; write 'push'")
        else:
            odds = faults.ratio(pays, f"{key}.{category}", most=MAX_ODDS)
            if odds is not None:
                schedule[category] = odds
    if not form.pays:
        faults.add(key, "a wager that pays nothing; list its categories and their odds")
    for category in sorted(_MUST_NAME.get(name, frozenset()) - set(form.pays)):
        faults.add(f"{key}.{category}", "missing: a main wager wins, and a tie is a push")
    return schedule


def _check_caps(form: FileForm1 | FileForm2, bets: Mapping[str, Any], faults: _Faults) -> None:
    capped: set[str] = set()
    for index, cap in enumerate(form.caps):
        key = f"caps[{index}]"
        unknown = [bet for bet in cap.bets if bet not in bets]
        if unknown or not cap.bets:
            faults.add(f"{key}.bets", f"not among this rulebook's bets: {unknown or 'none named'}")
        elif len({bets[bet].phase for bet in cap.bets}) > 1:
            faults.add(f"{key}.bets", "they settle in different phases and cannot share a maximum")
        if capped.intersection(cap.bets) or len(set(cap.bets)) < len(cap.bets):
            faults.add(f"{key}.bets", "a bet can stand under one maximum only")
        if cap.maximum % form.unit:
            faults.add(f"{key}.maximum", f"no multiple of the unit of {form.unit}")
        capped.update(cap.bets)
