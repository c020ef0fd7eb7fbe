"""Histories of a table as text: a step a line, and after the arrow what comes of it.

    a wrong face is judged again
        * complete
        in {0}
        correct_card B1 6D      -> complete; card_corrected: was=2D card=6D
        result tie              -> settled; settlement(-1).winner=tie

A line at the margin is the history's title. A line `* WORD ...` plays it once more, with these
words for `{0}`, `{1}` ... `8 x STEP` is that step eight times.

Steps:
    `rules NAME CHANGE ...` and `library NAME CHANGE ...`, by `tests.support.cage.books.book`;
    `in PHASE FLAG=VALUE ...` a table brought there, with flags of its `DecisionContext`;
    `now FLAG=VALUE ...` changes them later; `empty` a table without a shoe;
    `ready`, `open`, `close`, `bet SEAT BET STAKE, ...`;
    `P1 9S B1 P2 KH` cards drawn, without a face where it is withheld; `reveal P1 9S ...`;
    `deal 9S 2D ...` and `disclose 9S 2D ...` in dealing order; `squeeze` four withheld ones;
    `result WINNER FLAG ...` of the shoe; `played PLAYER | BANKER | BETS` a coup, settled;
    `shoe REPORT FIELD=VALUE ...` any report; `chips LINE` by
    `tests.support.table.chip_games`; `COMMAND FIELD=VALUE ...` any command;
    `fold EVENT FIELD=VALUE ...` an event that nobody decided.
    `P1` among fields is a place, `4D` a face, `@2` the coup's second wager and `@` the coup. What
    must be given and is not: the transaction, `reason=r`, and the first coup of the first shoe.

Outcomes, with `;` between them: a phase; `refused CODE`; `made TYPE ...`, all events of the step;
`TYPE: FIELD=VALUE ...` of the one event of that type; `PATH=VALUE` of the state, or of what one of
`FUNCTIONS` finds. `~` instead of `=`: the value contains the text, and `!~`: it does not.
"""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, Final, TypeAlias

import msgspec
import pytest
from msgspec.structs import fields, replace

from events.commands import Command, Refusal
from events.commands.registry import COMMANDS
from events.types import AnyReport, CoupSettled, DeviceResult, ShoeAudited, TableEvent
from events.types.registry import TABLE_EVENTS
from table_core.decide.decision import DecisionContext
from table_core.persistent_list import PersistentList
from table_core.projections.table_document import StateView, active_alarms, project_table
from table_core.rulebooks.shipped import load_rulebook
from table_core.rules.rulebook import Rulebook
from table_core.state.coup import Phase
from table_core.state.shoe import ShoeState
from table_core.state.table import Coup
from tests.support.cage.books import book
from tests.support.table.chip_games import chip_command
from tests.support.table.coups import (
    CONTEXT,
    COUP,
    ORDER,
    World,
    cards,
    drawn,
    revealed,
    shoe_of,
    world_in,
)
from tests.support.table.settled_coups import B, P, played, recalled

Functions: TypeAlias = dict[str, Callable[[Any, str], object]]

_PLACES: Final = {f"{hand.value[0].upper()}{n}": (hand, n) for hand in (P, B) for n in (1, 2, 3)}
_ALL_PLACES: Final = (*ORDER, (P, 3), (B, 3))
_FACE: Final = re.compile(r"[A2-9TJQK][SHDC]")
# An arrow, or a semicolon outside quotation marks.
_ARROWS: Final = re.compile(r'\s+->\s+|;\s+(?=(?:[^"]*"[^"]*")*[^"]*$)')
_DAY: Final = "20261127-"


def histories(text: str, **named: str) -> list[Any]:
    """Return each history of a text as a parameter: its lines, by its title as the id.

    Args:
        text: the histories.
        named: steps that come often, by the name that stands for them as `{name}`.
    """
    found = []
    for block in re.split(r"\n(?=\S)", text.strip("\n")):
        title, *lines = block.splitlines()
        lines = [bare for line in lines if (bare := re.sub(r"(^|\s+)#.*", "", line).strip())]
        steps = [line for line in lines if not line.startswith("*")]
        for row in [line[1:] for line in lines if line.startswith("*")] or [""]:
            words = shlex.split(row.format(**named))
            played = [line.format(*words, **named) for line in steps]
            found.append(pytest.param(played, id=f"{title}{row}"))
    return found


def play_history(
    lines: Sequence[str],
    make: Callable[[DecisionContext], World] = World,
    functions: Functions | None = None,
) -> World:
    """Play a history and check what it says comes of it.

    Args:
        lines: its steps.
        make: makes the table.
        functions: what an outcome may ask beside `FUNCTIONS`.
    """
    told = _Told(make, FUNCTIONS | (functions or {}))
    for line in re.sub(r"\n->", " ->", "\n".join(lines)).split("\n"):
        step, *outcomes = _ARROWS.split(line)
        try:
            told.step(step)
            for outcome in outcomes:
                told.check(outcome.strip())
            assert told.refusal is None, told.refusal
        except AssertionError as error:
            raise AssertionError(f"{line}: {error}") from error
    return told.world


def each_history(
    text: str,
    make: Callable[[DecisionContext], World] = World,
    functions: Functions | None = None,
    /,
    **named: str,
) -> Callable[[Sequence[str]], None]:
    """Return a test that plays each history of a text; see `histories`."""

    @pytest.mark.parametrize("lines", histories(text, **named))
    def test(lines: Sequence[str]) -> None:
        assert play_history(lines, make, functions).log

    return test


def perform(world: World, steps: str) -> None:
    """Take steps at a table, by whatever it is made of; none may be refused."""
    told = _Told(lambda _: world, FUNCTIONS)
    for line in steps.strip().splitlines():
        told.step(line)
        assert told.refusal is None, (line, told.refusal)


class _Told:
    """A table, and what became of the last step."""

    def __init__(self, make: Callable[[DecisionContext], World], functions: Functions) -> None:
        self.make, self._functions = make, functions
        self.rulebook: Rulebook = CONTEXT.rulebook
        self.library: tuple[Rulebook, ...] = ()
        self.world = make(CONTEXT)
        self.made: list[TableEvent] = []
        self.refusal: Refusal | None = None

    def step(self, line: str) -> None:
        if times := re.match(r"(\d+) x (.*)", line):
            for _ in range(int(times[1])):
                self.step(times[2])
            return
        word, *rest = shlex.split(line)
        begun = len(self.world.log)
        if word in _PLACES:
            self._cards([word, *rest])
        elif word in _STEPS:
            _STEPS[word](self, rest)
        elif word in COMMANDS:
            self._ask(_command(self.world, word, rest))
        else:
            raise AssertionError("no such step")
        self.made = [e for e in self.world.log[begun:] if e.TYPE != "shoe_reported"]

    def context(self) -> DecisionContext:
        return replace(CONTEXT, rulebook=self.rulebook, library=self.library)

    def _ask(self, command: Command) -> None:
        before, begun = self.world.state, len(self.world.log)
        made = self.world.ask(command)
        if isinstance(made, Refusal):
            self.refusal = made
            assert self.world.state is before, "a refusal changes nothing"
            assert len(self.world.log) == begun, "a refusal is not on record"

    def _cards(self, words: list[str]) -> None:
        for at, word in enumerate(words):
            if word in _PLACES:
                face = words[at + 1] if words[at + 1 :] and words[at + 1] not in _PLACES else None
                self.world.say(drawn(*_PLACES[word], face))

    def check(self, outcome: str) -> None:
        word, *rest = shlex.split(outcome)
        if word == "refused":
            assert self.refusal is not None, "it was not refused"
            assert [self.refusal.code] == rest[:1]
            for expected in rest[1:]:
                _compare(self.refusal, expected)
            self.refusal = None
            return
        assert self.refusal is None, self.refusal
        if word == "made":
            assert [event.TYPE for event in self.made] == (rest if rest != ["nothing"] else [])
        elif "=" in word or "~" in word:
            self._check_state(outcome)
        elif word.endswith(":"):
            events = [each for each in self.made if f"{each.TYPE}:" == word]
            assert len(events) == 1, [event.TYPE for event in self.made]
            for expected in rest:
                _compare(events[0], expected)
        else:
            assert self.world.state.phase is Phase(word)

    def _check_state(self, outcome: str) -> None:
        for expected in shlex.split(outcome):
            if call := re.match(r"(\w+)\((.*?)\)\.?(.*)", expected):
                _compare(self._functions[call[1]](self.world, call[2]), call[3])
            else:
                _compare(self.world.state, expected)


def _command(world: World, name: str, words: list[str]) -> Command:
    made_of = COMMANDS[name]
    given: dict[str, Any] = {"transaction": world.transaction()}
    wanted = {field.name for field in fields(made_of) if field.required}
    given |= {k: v for k, v in {"reason": "r", "coup": COUP}.items() if k in wanted}
    return msgspec.convert(given | _fields(world, words), made_of, strict=False)


def _fields(world: World, words: Sequence[str]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for word in words:
        key, _, value = word.partition("=")
        if word in _PLACES:
            given |= {"hand": _PLACES[word][0].value, "number": _PLACES[word][1]}
        elif _FACE.fullmatch(word):
            given["face"] = word
        elif key == "by":
            named = {"own": world.context.rulebook} | dict(
                zip(("library",), world.context.library, strict=False)
            )
            rulebook = named.get(value) or load_rulebook(value)
            given |= {"rulebook": rulebook.id, "rulebook_hash": rulebook.hash}
        else:
            given[key] = _value(world, key, value)
    return given


def _value(world: World, key: str, value: str) -> Any:
    if key in _READERS:
        return _READERS[key](value)
    if value.startswith("@"):
        coup = world.state.coup
        assert coup is not None
        value = [*coup.wagers][int(value[1:]) - 1] if value[1:] else coup.id
    if key in {"coup", "shoe"} and re.match(r"\d\d(/|$)", value):
        return _DAY + value
    if key == "wagers":
        return [_wager(each) if " " in each else each for each in value.split(",")]
    return value


def _wager(text: str) -> dict[str, str]:
    seat, bet, stake, *more = text.split()
    asked = {"seat": seat, "bet": bet, "stake": stake}
    return asked | dict(word.split("=", 1) for word in more)


def _limits(text: str) -> list[dict[str, str]]:
    words = [word.split("=", 1) for word in text.split()]
    named = {key: value for key, *values in words for value in values}
    plain = [key for key, *values in words if not values]
    return [named | dict(zip(("bet", "minimum", "maximum", "step"), plain, strict=False))]


def _pieces(text: str) -> dict[str, str]:
    return dict(zip(("denomination", "pieces"), text.split("x"), strict=True))


def _tray(text: str) -> list[dict[str, str]]:
    return [_pieces(each) for each in text.split()]


def _parts(text: str) -> list[str]:
    return [each for each in text.split(",") if each]


_READERS: Final[dict[str, Callable[[str], object]]] = {
    "player": str.split,
    "banker": str.split,
    "to": lambda text: _wager(text) if text != "none" else None,
    "bets": _limits,
    "bodies": _parts,
    "settlements": _parts,
    "signed": _parts,
    "chips": _tray,
    "notes": _tray,
    "refunds": _parts,
}


def _compare(root: object, expected: str) -> None:
    path, relation, value = re.split(r"(=|~|!~)", expected, maxsplit=1)
    found = root
    for part in filter(None, path.split(".")):
        found = _attribute(found, part)
    text = _text(found)
    held = {"=": text == value, "~": value in text, "!~": value not in text}
    assert held[relation], f"{path} is {text}"


def _attribute(of: Any, part: str) -> Any:
    if isinstance(of, Mapping):
        return {_text(key): value for key, value in of.items()}[part]
    if isinstance(of, PersistentList):
        of = list(of)
    if isinstance(of, Coup) and part == "wagers":
        return list(of.wagers.values())
    if isinstance(of, Sequence) and not isinstance(of, str):
        return of[int(part)] if part.lstrip("-").isdigit() else [_attribute(e, part) for e in of]
    return getattr(of, part)


def _text(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, Sequence | PersistentList) and not isinstance(value, str):
        return ",".join(map(_text, value)) or "none"
    return str(value)


def _flags(words: Sequence[str]) -> dict[str, Any]:
    said = {"true": True, "false": False}
    pairs = [word.split("=") for word in words]
    flags: dict[str, Any] = {
        key: int(value) if value.isdecimal() else said.get(value, value) for key, value in pairs
    }
    return flags | {key: frozenset(flags[key].split(",")) for key in flags.keys() & {"dealers"}}


def _set(told: _Told, phase: Phase | None, words: Sequence[str] = ()) -> None:
    flags = _flags(words)
    wagers = flags.pop("wagers", True)
    context = replace(told.context(), **flags)
    if phase is None:
        told.world = told.make(context)
        return
    told.world = world_in(phase, context=context, wagers=wagers, make=told.make)


def _chips(told: _Told, words: list[str]) -> None:
    told._ask(chip_command(" ".join(words), told.world.transaction()))


def _now(told: _Told, words: list[str]) -> None:
    flags = _flags(words)
    told.world.context = replace(told.world.context, **flags)


def _bets(text: str) -> tuple[tuple[int, str, int], ...]:
    asked = (each.split() for each in text.split(",") if each.strip())
    return tuple((int(seat), bet, int(stake)) for seat, bet, stake in asked)


def _played(told: _Told, words: list[str]) -> None:
    player, banker, *bets = (part.strip() for part in " ".join(words).split("|"))
    taken = _bets(bets[0]) if bets else ((1, "player", 1000), (2, "banker", 2000))
    played(player=cards(player), banker=cards(banker), bets=taken, world=told.world)


def _dealt(told: _Told, faces: Sequence[str]) -> None:
    told.world.say(*(drawn(*at, face) for at, face in zip(_ALL_PLACES, faces, strict=False)))


def _reveal(told: _Told, words: list[str]) -> None:
    for place, face in zip(words[::2], words[1::2], strict=True):
        told.world.say(revealed(*_PLACES[place], face))


def _disclose(told: _Told, faces: list[str]) -> None:
    told.world.say(*(revealed(*at, face) for at, face in zip(_ALL_PLACES, faces, strict=False)))


def _report(told: _Told, words: list[str]) -> None:
    report = {"kind": words[0]} | _fields(told.world, words[1:])
    told.world.say(msgspec.convert(report, AnyReport, strict=False))


def _fold(told: _Told, words: list[str]) -> None:
    made_of = next(kind for (name, _), kind in TABLE_EVENTS.items() if name == words[0])
    wanted = {field.name for field in fields(made_of) if field.required}
    given = {k: v for k, v in {"reason": "r", "coup": COUP}.items() if k in wanted}
    event = msgspec.convert(given | _fields(told.world, words[1:]), made_of, strict=False)
    told.world.take([event])


def _rules(told: _Told, words: list[str]) -> None:
    told.rulebook = book(*words)


def _library(told: _Told, words: list[str]) -> None:
    told.library = (*told.library, book(*words))


def _result(told: _Told, words: list[str]) -> None:
    flags = dict.fromkeys(words[1:], True)
    told.world.say(msgspec.convert({"winner": words[0]} | flags, DeviceResult))


def _recall(told: _Told, words: list[str]) -> None:
    state = recalled(told.world, *(_DAY + word for word in words))
    told.world.context = replace(told.world.context, recalled=state)


_STEPS: Final[dict[str, Callable[[_Told, list[str]], object]]] = {
    "rules": _rules,
    "library": _library,
    "in": lambda told, words: _set(told, Phase(words[0]), words[1:]),
    "empty": lambda told, words: _set(told, None, words),
    "ready": lambda told, _: told.world.ready(),
    "open": lambda told, _: told.world.open(),
    "close": lambda told, _: told.world.close(),
    "bet": lambda told, words: told.world.bet(*_bets(" ".join(words))),
    "deal": _dealt,
    "squeeze": lambda told, _: told.world.say(*(drawn(*at) for at in ORDER)),
    "reveal": _reveal,
    "disclose": _disclose,
    "result": _result,
    "played": _played,
    "shoe": _report,
    "recall": _recall,
    "now": _now,
    "chips": _chips,
    "fold": _fold,
}


def _shoe(world: World, name: str) -> ShoeState:
    known = (world.state.shoe, *world.state.replaced)
    return next(shoe for shoe in known if shoe and shoe.id == _DAY + name)


def _faces(order: str) -> list[str]:
    return sorted(order[at : at + 2] for at in range(0, len(order), 2))


def _audit(world: World, name: str) -> ShoeAudited:
    """The only audit of a shoe."""
    audits = [e for e in world.log if isinstance(e, ShoeAudited) and e.shoe == _DAY + name]
    (found,) = audits
    return found


def _gone(world: World, name: str) -> list[str]:
    """The faces that the audit knows to have left a shoe."""
    audit = _audit(world, name)
    return sorted(face.value for face, n in audit.left.items() for _ in range(audit.decks - n))


def _settlement(world: World, number: str) -> object:
    settled = [event.settlement for event in world.log if isinstance(event, CoupSettled)]
    return settled[int(number) - (int(number) > 0)]


def _in_force(world: World, phase: str) -> object:
    """The newest settlement of a phase."""
    settled = (event.settlement for event in world.log if isinstance(event, CoupSettled))
    return {each.phase: each for each in settled}[int(phase)]


def _book(world: World, _: str) -> list[int]:
    """Commission: all that was accrued, where it went, and what is laid in advance."""
    kept = world.state.commission
    assert kept.reconciles
    moved = [kept.accrued, kept.reversed_, kept.collected, kept.recovered]
    places = (kept.outstanding, kept.uncollected, kept.laid)
    return [*moved, *(sum(each.amount for each in place) for place in places)]


def _shown(world: World) -> StateView:
    rulebook = world.context.rulebook
    return project_table(world.state, table="t1", rulebook=rulebook, catching_up=False)


def _alarm(world: World, name: str) -> str:
    return next((alarm.text for alarm in active_alarms(world.state) if alarm.name == name), "none")


def _count(world: World, kind: str) -> int:
    return sum(kind == event.TYPE for event in world.log)


FUNCTIONS: Final[Functions] = {
    "shoe": _shoe,
    "faces": lambda world, name: _faces(_shoe(world, name).order),
    "audit": _audit,
    "gone": _gone,
    "copies": lambda world, face: _faces(shoe_of(world).order).count(face),
    "settlement": _settlement,
    "shown": lambda world, _: _shown(world).shoe,
    "view": lambda world, _: _shown(world),
    "alarm": _alarm,
    "count": _count,
    "active": lambda world, _: [alarm.name for alarm in active_alarms(world.state)],
    "player": lambda world, _: world.state.coup.hand(P) if world.state.coup else (),
    "in_force": _in_force,
    "book": _book,
    "last": lambda world, _: world.log[-1].TYPE,
    "alarms": lambda world, _: [alarm.name for alarm in world.state.alarms],
}
"""What an outcome may ask beside the state: of shoes by `01`, of settlements by their number."""
