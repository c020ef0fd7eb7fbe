"""A person who brings chips to the tray, takes some away, counts them, and errs now and then."""

from collections import Counter
from random import Random
from typing import Final

from msgspec import Struct

from events.commands import (
    ChipCommand,
    CloseFloat,
    CorrectChips,
    CountChips,
    CountDrop,
    Credit,
    Fill,
    OpenFloat,
)
from events.types import MOVES, ChipMove, Pieces
from simulators.people.console import Console, refused
from simulators.people.supervisor import SUPERVISOR

__all__ = ["COUNT_ROOM", "FloatKeeper"]

COUNT_ROOM: Final = "count-room"
_SIGNED: Final = ("s-1", "d-4")
_DENOMINATIONS: Final = (500, 2_500, 10_000, 100_000)
_DAY: Final = "20261127"
_COMES: Final = 0.25  # share of the pauses between two coups in which chips come or go
_MISCOUNTED: Final = 0.2
_ENDS: Final = 0.3


class _Move(Struct, frozen=True):
    """A transfer of chips, with its slip."""

    float_id: str
    move: ChipMove
    slip: str
    amount: int


class FloatKeeper:
    """Brings and takes chips; its own book records the chips carried.

    Args:
        console: may send requests as the supervisor, and as the count room.
        rng: decides what the keeper does.
        currency: of the rulebook.

    Attributes:
        given: chips that the cage has given the table and not got back, minor units.
        dropped: the count of the drop boxes.
        done: counts by the command's name.
    """

    def __init__(self, console: Console, rng: Random, currency: str) -> None:
        self.given = self.dropped = 0
        self.done: Counter[str] = Counter()
        self._console, self._rng, self._currency = console, rng, currency
        self._floats = self._papers = 0
        self._open = ""
        self._newest: _Move | None = None

    async def between_coups(self) -> None:
        """Come between two coups, perhaps."""
        if self._rng.random() >= _COMES:
            return
        if not self._open:
            await self._begin()
        elif self._newest is not None and self._rng.random() < _MISCOUNTED:
            await self._correct(self._newest)
        elif self._rng.random() < _ENDS:
            await self._end()
        else:
            await self._carry()

    async def _begin(self) -> None:
        self._floats += 1
        name, chips = f"{_DAY}-{self._floats:02d}", self._chips()
        opening = OpenFloat(
            transaction=self._transaction(),
            float_id=name,
            currency=self._currency,
            chips=chips,
            signed=_SIGNED,
        )
        if await self._told(opening):
            self._open = name
            self._moved(_Move(name, "opening", "", _sum(chips)))

    async def _carry(self) -> None:
        transaction, chips = self._transaction(), self._chips()
        slip = f"F-{self._papers}"
        what = self._rng.random()
        if what < 0.5:  # noqa: PLR2004 - rather one than the other
            fill = Fill(transaction=transaction, slip=slip, chips=chips, signed=_SIGNED)
            if await self._told(fill):
                self._moved(_Move(self._open, "fill", slip, _sum(chips)))
        elif what < 0.8:  # noqa: PLR2004 - the same
            credit = Credit(transaction=transaction, slip=slip, chips=chips, signed=_SIGNED)
            if await self._told(credit):
                self._moved(_Move(self._open, "credit", slip, _sum(chips)))
        else:
            await self._told(CountChips(transaction=transaction, chips=chips, signed=_SIGNED))

    async def _end(self) -> None:
        chips = self._chips()
        closing = CloseFloat(transaction=self._transaction(), chips=chips, signed=_SIGNED)
        if not await self._told(closing):
            return
        name, self._open = self._open, ""
        self._moved(_Move(name, "closing", "", _sum(chips)))
        notes = self._chips()
        drop = CountDrop(
            transaction=self._transaction(), float_id=name, box="B-7", notes=notes, signed=_SIGNED
        )
        if await self._told(drop, COUNT_ROOM):
            self.dropped += _sum(notes)

    async def _correct(self, wrong: _Move) -> None:
        chips = self._chips()
        right = CorrectChips(
            transaction=self._transaction(),
            float_id=wrong.float_id,
            move=wrong.move,
            slip=wrong.slip,
            chips=chips,
            reason="it was miscounted",
            signed=_SIGNED,
        )
        if await self._told(right):
            self.given += MOVES[wrong.move] * (_sum(chips) - wrong.amount)
            self._newest = None

    async def _told(self, command: ChipCommand, user: str = SUPERVISOR) -> bool:
        answer = await self._console.request(user, command)
        done = not refused(answer)
        self.done[type(command).__name__ if done else answer.code or ""] += 1
        return done

    def _moved(self, move: _Move) -> None:
        self.given += MOVES[move.move] * move.amount
        self._newest = move

    def _chips(self) -> tuple[Pieces, ...]:
        some = sorted(self._rng.sample(_DENOMINATIONS, self._rng.randint(1, 3)))
        return tuple(Pieces(each, self._rng.randint(1, 60)) for each in some)

    def _transaction(self) -> str:
        self._papers += 1
        return f"chips-{self._papers}"


def _sum(chips: tuple[Pieces, ...]) -> int:
    return sum(each.denomination * each.pieces for each in chips)
