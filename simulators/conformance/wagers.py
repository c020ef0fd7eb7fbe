"""A source of wagers under test: the table's answers, some lost, and the judgement. Pure.

Each coup has one fault. The source must place wagers in every coup while betting is open, and
show as placed exactly what the table placed.
"""

from collections.abc import Sequence
from typing import Any, Final, Literal

from msgspec import Struct

from events.commands import ANSWER_ACCEPTED, ANSWER_EXISTS, Answer, PlaceWager
from events.errors import InputError, MalformedJson
from events.json_form import decode_json_once
from simulators.conformance.table_side import refused
from table_core.process.table_writer import parse_command

__all__ = ["FAULTS", "PlacedWagers", "WagerFault", "WagerJudge", "read_placed"]

WagerFault = Literal["", "twice", "answer lost", "request lost", "catching_up", "refused"]
FAULTS: Final[tuple[WagerFault, ...]] = (
    *("", "answer lost", "request lost", "catching_up", "refused", "twice"),
)
"""A coup each: what happens to the first wagers of it."""
_GRACE_S: Final = 1.0  # for a message that was on its way when betting closed


class PlacedWagers(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a source shows as placed: the ids of the wagers."""

    placed: tuple[str, ...]


def read_placed(text: bytes) -> PlacedWagers:
    """Read what a source shows as placed.

    Raises:
        InputError: it is none; names the fault.
    """
    try:
        return decode_json_once(text, PlacedWagers)
    except MalformedJson as error:
        raise InputError(
            f'the wagers are not read: {error}; they look like {{"placed": ["wagers/w-901/0"]}}'
        ) from error


class _Asked(Struct):
    """A transaction: its body, its wagers, and the answer once there is one.

    Args:
        repeated: it came again after its refusal; it may have been on its way before.
    """

    body: dict[str, Any]
    wagers: tuple[Any, ...]
    coup: str
    answer: Answer | None = None
    repeated: bool = False


class WagerJudge:
    """The table's answers to one source, and what the source did wrong first.

    Args:
        user: the source's login.
        bets: minimum, maximum (None for none) and step of each bet that is offered.
    """

    def __init__(self, user: str, bets: dict[str, tuple[int, int | None, int]]) -> None:
        self._user, self._bets = user, bets
        self._asked: dict[str, _Asked] = {}
        self._coup, self._fault, self._open, self._closed_s = "", FAULTS[0], False, 0.0
        self.complaint: str | None = None
        self.placed: list[str] = []
        self._served = False

    def open(self, coup: str, fault: WagerFault) -> None:
        """Open betting on a coup whose first wagers have this fault."""
        self._coup, self._fault, self._open, self._served = coup, fault, True, False

    @property
    def done(self) -> bool:
        """Whether the source placed wagers in this coup, and each has its answer."""
        return self._served and not self._unanswered

    @property
    def _unanswered(self) -> list[str]:
        return [name for name, asked in self._asked.items() if asked.answer is None]

    def close(self, now_s: float) -> None:
        """Close betting; wagers on their way meanwhile are refused without blame."""
        self._open, self._closed_s = False, now_s
        for name in self._unanswered:
            self._complain(f"no answer came to {name}, and it did not ask again")
        if not self._served:
            self._blame_repeats(self._coup)
            self._complain(f"nothing was placed in coup {self._coup}")

    def answer(self, body: bytes, now_s: float) -> Sequence[Answer]:
        """Return the answers to a `place_wager`: none where something gets lost."""
        command = parse_command("place_wager", body)
        if isinstance(command, Answer):
            self._complain(f"place_wager was refused: {command.code}: {command.text}")
            return (command,)
        assert isinstance(command, PlaceWager)  # noqa: S101 - by the name of the command
        try:
            fields = decode_json_once(body, dict[str, Any])
        except MalformedJson as error:  # as the table refuses it
            self._complain(f"place_wager was refused: invalid_request: {error}")
            return (refused(command.transaction, "invalid_request", str(error)),)
        before = self._asked.get(command.transaction)
        if before is not None:
            return self._again(command.transaction, before, fields)
        asked = _Asked(body=fields, wagers=command.wagers, coup=command.coup or "")
        for name, other in self._asked.items():
            if other.answer is None and (other.wagers, other.coup) == (asked.wagers, asked.coup):
                self._complain(
                    f"no answer came to {name}, and it placed the same wagers with the new "
                    f"transaction {command.transaction}: they can count twice"
                )
        self._asked[command.transaction] = asked
        if (refusal := self._refusal(command, now_s)) is not None:
            asked.answer = refused(command.transaction, *refusal)
            return (asked.answer,)
        return self._first(command.transaction, asked)

    def _first(self, name: str, asked: _Asked) -> Sequence[Answer]:
        fault, self._fault = self._fault, ""
        if fault == "request lost":
            return ()
        if fault in {"catching_up", "refused"}:
            code = fault if fault == "catching_up" else "table_maximum"
            self._served = fault == "refused"
            asked.answer = refused(name, code, "a fault of the kit")
            return (asked.answer,)
        self._served = True
        answer = self._place(name, asked)
        if fault == "answer lost":
            asked.answer = None
            return ()
        return (answer,) * (2 if fault == "twice" else 1)

    def _again(self, name: str, before: _Asked, fields: dict[str, Any]) -> Sequence[Answer]:
        if fields != before.body:
            text = f"{name} came again with another body"
            self._complain(text)
            return (refused(name, "exists_with_different_wagers", text),)
        if before.answer is not None and before.answer.code:
            before.repeated = True
            if self._knows_answer(before):
                self._blame_repeats(before.coup)
            return (before.answer,)
        exists = before.answer is not None or f"{self._user}/{name}/0" in self.placed
        if not exists and not self._open:
            before.answer = refused(name, "betting_closed", "betting is closed")
            return (before.answer,)
        if not exists:
            self._place(name, before)
        self._served = True
        before.answer = Answer(
            transaction=name, result=ANSWER_EXISTS if exists else ANSWER_ACCEPTED, position=1
        )
        return (before.answer,)

    def _place(self, name: str, asked: _Asked) -> Answer:
        self.placed += [f"{self._user}/{name}/{index}" for index in range(len(asked.wagers))]
        asked.answer = Answer(transaction=name, result=ANSWER_ACCEPTED, position=1)
        return asked.answer

    def _refusal(self, command: PlaceWager, now_s: float) -> tuple[str, str] | None:
        if command.coup is None:
            self._complain("wagers without `coup` can land in the next coup")
        elif self._open and command.coup != self._coup:
            self._complain(f"wagers for {command.coup}, while betting is open on {self._coup}")
            return "another_coup", f"betting is open on {self._coup}"
        if not self._open:
            if now_s > self._closed_s + _GRACE_S:
                self._complain("wagers came while betting was closed")
            return "betting_closed", "betting is closed"
        for each in command.wagers:
            least, most, step = self._bets.get(each.bet, (0, 0, 1))
            if each.bet not in self._bets:
                code, text = "not_offered", f"{each.bet} is not in rulebook.bets"
            elif each.stake < least or (most is not None and each.stake > most):
                code, text = "above_maximum", f"{each.stake} on {each.bet} is outside its limits"
            elif each.stake % step:
                code, text = "not_a_step", f"{each.stake} on {each.bet} is no multiple of {step}"
            else:
                continue
            self._complain(f"a wager that nobody can place: {text}")
            return code, text
        return None

    def _knows_answer(self, before: _Asked) -> bool:
        """Return whether it asked for the same anew, or for wagers in another coup, since."""
        asked = list(self._asked.values())
        return any(
            each.coup != before.coup or each.wagers == before.wagers
            for each in asked[asked.index(before) + 1 :]
        )

    def _blame_repeats(self, coup: str) -> None:
        """Complain of requests for this coup that came again after their refusal."""
        for name, asked in self._asked.items():
            if asked.repeated and asked.coup == coup and asked.answer is not None:
                self._complain(
                    f"{name} was refused with {asked.answer.code}, and came again: what was "
                    "refused is asked for with a new transaction, and only after catching_up"
                )

    def _complain(self, text: str) -> None:
        self.complaint = self.complaint or text

    def verdict(self, theirs: PlacedWagers | None) -> str | None:
        """Return the first thing that is wrong, or None."""
        shown = theirs.placed if theirs is not None else ()
        for name in shown:
            if name not in self.placed and (self.complaint is None or self._is_refused(name)):
                return f"wager {name} is shown as placed, and {self._why(name)}"
        if self.complaint is not None:
            return self.complaint
        if theirs is None:
            return "it never wrote which wagers are placed"
        for name in (*shown, *self.placed):
            if shown.count(name) != 1:
                return f"wager {name} is placed, and is shown {shown.count(name)} times"
        return None

    def _is_refused(self, name: str) -> bool:
        return "refused" in self._why(name)

    def _why(self, name: str) -> str:
        asked = self._asked.get(name.partition("/")[2].rpartition("/")[0])
        if asked is None:
            return "was never asked for"
        if asked.answer is None:
            return "no answer came"
        return f"the table refused it: {asked.answer.code}"
