"""Judges coups without a table: one JSON line in, one JSON line out. Pure.

Every case gets an answer, however odd its values. A case that is no coup is answered by its
`error`; a wager that the rulebook does not take, by `refused` and its code. JSON of another shape
(a wager without an id, or with an unknown field, which might be money; a key that is there twice;
half of a character) is answered by `invalid_case`, and the batch goes on. Only a line that is no
JSON ends the batch, because nobody can say which case it was meant to be. Unknown fields of the
case itself are ignored, but for a key that is there twice in them, or half of a character.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from events.cards import Card, Winner, parse_card
from events.errors import InputError, MalformedJson
from events.json_form import UNDECODABLE, malformed, repeated_key, replace_lone_surrogates
from events.types import Wager
from table_core.rules.draw import DealError, Outcome, deal_cards
from table_core.rules.rulebook import Rulebook
from table_core.rules.settlement import Verdicts, pay_wagers
from table_core.rules.wager_checks import check_wagers
from table_core.rules.wager_screen import WagerScreen

__all__ = [
    "CaseError",
    "CaseJudge",
    "Judgement",
    "RefusedWager",
    "SettledWager",
    "answer_line",
    "judge_case",
]

# An integer in digits: more digits than any amount has, few enough to be read fast.
_INTEGER: Final = re.compile(rb"-?[0-9]{1,20}")
_MAX_CARD_TEXT: Final = 8  # the longest way to write a card has three characters
_NAMELESS: Final = Raw(b"null")
_WAGER_KEYS: Final = 4  # id, seat, bet and stake; a patron may come on top
_DEAL_TEXT: Final[dict[DealError, str]] = {
    "incomplete_coup": "by the draw table another card is due",
    "excess_card": "a card came when by the draw table none was due",
}


class CaseError(Struct, frozen=True, gc=False, kw_only=True):
    """Why a case is no coup.

    Args:
        code: `incomplete_coup` `excess_card` `invalid_card` `too_many_copies` `unknown_rulebook`,
            or `invalid_case` for a line of a batch that has another shape.
        text: one line for a person.
    """

    code: str
    text: str


_UNKNOWN_RULEBOOK: Final = CaseError(
    code="unknown_rulebook", text="`rules` names no shipped rulebook"
)


class SettledWager(Struct, frozen=True, gc=False, kw_only=True):
    """The settlement of an accepted wager, amounts in minor units."""

    id: str
    bet: str
    result: str
    category: str
    stake: int
    winnings: int
    commission: int
    paid: int


class RefusedWager(Struct, frozen=True, gc=False, kw_only=True):
    """A refused wager, with a code of `table_core.rules.wager_checks.check_wagers`."""

    id: str
    bet: str | None
    result: str = "refused"
    code: str


class Judgement(Struct, frozen=True, gc=False, kw_only=True):
    """The judged coup: both hands, and one entry for each wager in the order of the case.

    In a batch the name of the case comes first, as it was written.
    """

    case: Raw | UnsetType = UNSET
    player: tuple[Card, ...]
    banker: tuple[Card, ...]
    player_total: int
    banker_total: int
    winner: Winner
    settlements: tuple[SettledWager | RefusedWager, ...]


class _LooseWager(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    seat: Raw = Raw()
    bet: Any = None
    stake: Raw = Raw()
    patron: str | None = None

    def wager(self) -> Wager:
        """Return the wager; a value that is no integer becomes 0, which every check refuses."""
        return Wager(
            id=self.id,
            seat=_integer_or_zero(self.seat),
            bet=self.bet if isinstance(self.bet, str) else "",
            stake=_integer_or_zero(self.stake),
            patron=self.patron,
        )


class _LooseCase(Struct, frozen=True, kw_only=True):
    case: Raw = _NAMELESS  # returned as it was written
    rules: Any = None
    cards: Any = None
    wagers: tuple[_LooseWager, ...] = ()


class _StrictCase(Struct, frozen=True, kw_only=True):
    """A case whose fields all have the right types, as nearly all have: one decoder reads it."""

    case: Raw = _NAMELESS
    rules: str
    cards: list[Card] = msgspec.field(default_factory=list)
    wagers: tuple[Wager, ...] = ()


class _NoCase(Struct, frozen=True):
    """A line of another shape: its name, and why it is no case."""

    case: Raw
    error: CaseError


_Case = _StrictCase | _LooseCase | _NoCase


class _CaseName(Struct, frozen=True):
    """The name of a line that is no case; nothing else of the line is read."""

    case: Raw = _NAMELESS


_strict_cases: Final = msgspec.json.Decoder(_StrictCase)
_loose_cases: Final = msgspec.json.Decoder(_LooseCase)
_case_names: Final = msgspec.json.Decoder(_CaseName)
_anything: Final = msgspec.json.Decoder(Raw)
_encoder: Final = msgspec.json.Encoder()


def judge_case(
    rulebook: Rulebook, cards: Sequence[Card], wagers: Sequence[Wager]
) -> Judgement | CaseError:
    """Judge one coup and settle the wagers that the rulebook takes.

    Args:
        rulebook: the rules to judge by.
        cards: in dealing order.
        wagers: in placing order; those that the rulebook refuses are answered and left out.
    """
    return CaseJudge(rulebook).judge(cards, wagers)


class CaseJudge:
    """Judges coups by one rulebook; what it has found out serves the coups that follow."""

    def __init__(self, rulebook: Rulebook) -> None:
        self._rulebook = rulebook
        self._screen = WagerScreen(rulebook)
        self._verdicts = Verdicts(rulebook)

    def judge(
        self, cards: Sequence[Card], wagers: Sequence[Wager], case: Raw | UnsetType = UNSET
    ) -> Judgement | CaseError:
        """Judge one coup, as `judge_case` does, and name it."""
        # First, before the deal: cards of which the shoe holds fewer copies are not from this
        # shoe, and that is the answer even where the row is too long as well.
        decks = self._rulebook.decks
        if len(cards) > decks:
            for card, copies in Counter(cards).items():
                if copies > decks:
                    text = f"{card} comes {copies} times; {decks} decks hold {decks}"
                    return CaseError(code="too_many_copies", text=text)
        outcome = deal_cards(cards)
        if not isinstance(outcome, Outcome):
            return CaseError(code=outcome, text=f"{len(cards)} cards: {_DEAL_TEXT[outcome]}")
        plain = self._screen.passes(wagers)
        return Judgement(
            case=case,
            player=outcome.player,
            banker=outcome.banker,
            player_total=outcome.player_total,
            banker_total=outcome.banker_total,
            winner=outcome.winner,
            settlements=tuple((self._settled if plain else self._checked)(outcome, wagers)),
        )

    def _checked(
        self, outcome: Outcome, wagers: Sequence[Wager]
    ) -> Iterator[SettledWager | RefusedWager]:
        """Yield one entry for each wager, in their order."""
        refusals = check_wagers(self._rulebook, (), wagers)
        stand = [wager for wager, no in zip(wagers, refusals, strict=True) if no is None]
        settled = iter(self._settled(outcome, stand))
        for wager, no in zip(wagers, refusals, strict=True):
            if no is None:
                yield next(settled)
            else:
                yield RefusedWager(id=wager.id, bet=wager.bet or None, code=no.code)

    def _settled(self, outcome: Outcome, wagers: Sequence[Wager]) -> list[SettledWager]:
        payments, _ = pay_wagers(self._rulebook, outcome, wagers, self._verdicts)
        return [
            SettledWager(
                id=wager.id,
                bet=wager.bet,
                result=verdict.result,
                category=verdict.category,
                stake=wager.stake,
                winnings=winnings,
                commission=commission,
                paid=paid,
            )
            for wager, (verdict, winnings, commission, paid) in zip(wagers, payments, strict=True)
        ]


def answer_line(line: bytes, judge_by: Callable[[str], CaseJudge | None]) -> bytes:
    """Judge one line of a batch.

    Args:
        line: one case as JSON.
        judge_by: finds the judge of a rulebook by the rulebook's id.

    Returns:
        The answer as JSON, without a line end.

    Raises:
        InputError: the line is no JSON; the message names the place and the reason.
    """
    try:
        text = line.decode()
        case = _case(text)
    except (*UNDECODABLE, MalformedJson) as error:
        raise InputError(f"not a case in JSON: {malformed(line, error)}") from error
    answer = _answer(case, judge_by)
    # To ask for the class that nearly all have is fast; to ask for another is not.
    if isinstance(answer, Judgement):
        return _encoder.encode(answer)
    return _encoder.encode({"case": case.case, "error": answer})


def _case(text: str) -> _Case:
    # The wagers of a case have no kind: to name one is to name an unknown field. Its name may be
    # written with escapes as well.
    if "kind" not in text and "\\" not in text:
        try:
            case = _strict_cases.decode(text)
        except msgspec.ValidationError:
            pass  # something is odd: the lenient decoder below finds out what
        else:
            return case if _one_colon_a_key(case, text) else _without_repeats(case, text)
    whole = replace_lone_surrogates(text) if "\\" in text else text
    try:
        loose = _loose_cases.decode(whole)
    except msgspec.ValidationError as error:
        # Another shape, as far as the decoder read: the rest of the line must be JSON too.
        _anything.decode(whole)
        return _no_case(whole, str(error))
    if whole != text:
        return _no_case(whole, "half of a character is in a text; write the whole of it")
    return _without_repeats(loose, text)


def _one_colon_a_key(case: _StrictCase, text: str) -> bool:
    """Return whether the line has a colon for each key of the case and no more: none comes twice.

    False where only a closer look can tell, as where a text holds a colon.
    """
    wagers, colons = case.wagers, text.count(":")
    keys = 1 + (case.case is not _NAMELESS) + bool(case.cards) + bool(wagers)
    keys += len(wagers) * _WAGER_KEYS
    if colons > keys:
        keys += len([each for each in wagers if each.patron is not None])
    return colons == keys


def _without_repeats(case: _StrictCase | _LooseCase, text: str) -> _Case:
    """Return the case, unless a key is there twice: readers differ in which of the two counts."""
    key = repeated_key(text)
    if key is None:
        return case
    return _no_case(text, f"the key {key!r:.40} is there twice; write it once")


def _no_case(text: str, why: str) -> _NoCase:
    """Return a line of another shape, with its name as it was written; null where it has none."""
    try:
        name = _case_names.decode(text).case
    except msgspec.ValidationError:
        name = _NAMELESS
    return _NoCase(name, CaseError(code="invalid_case", text=f"not a case: {why}"))


def _answer(case: _Case, judge_by: Callable[[str], CaseJudge | None]) -> Judgement | CaseError:
    if isinstance(case, _StrictCase):
        judge = judge_by(case.rules)
        return judge.judge(case.cards, case.wagers, case.case) if judge else _UNKNOWN_RULEBOOK
    if isinstance(case, _NoCase):
        return case.error
    judge = judge_by(case.rules) if isinstance(case.rules, str) else None
    if judge is None:
        return _UNKNOWN_RULEBOOK
    cards = _cards(case.cards)
    if isinstance(cards, CaseError):
        return cards
    return judge.judge(cards, [asked.wager() for asked in case.wagers], case.case)


def _cards(texts: object) -> list[Card] | CaseError:
    if texts is None:
        return []
    if not isinstance(texts, list):
        return CaseError(code="invalid_card", text="`cards` is a list of faces, such as 9D or TH")
    cards = []
    for number, text in enumerate(texts, start=1):
        card = _card(text)
        if card is None:
            reason = "is not a card; write rank then suit, such as 9D or TH"
            return CaseError(code="invalid_card", text=f"card {number} {reason}")
        cards.append(card)
    return cards


def _card(text: object) -> Card | None:
    if not isinstance(text, str) or len(text) > _MAX_CARD_TEXT:
        return None
    try:
        return parse_card(text)
    except InputError:
        return None


def _integer_or_zero(number: Raw) -> int:
    return int(bytes(number)) if _INTEGER.fullmatch(bytes(number)) else 0
