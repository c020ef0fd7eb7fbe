"""A persistent list: immutable, and appending an item takes constant time and copies nothing.

Each list refers to the list before it, so two lists share their common beginning. Reading a list in
order costs its length.
"""

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

__all__ = ["PersistentList"]

_T = TypeVar("_T")


class PersistentList(Generic[_T]):
    """An immutable sequence, oldest first; `PersistentList()` is the empty one.

    Comparison, hashing and representation are written out: those of nested values would recurse as
    deep as the list is long. An encoder would too, so this is no `Struct`.

    Args:
        cells: the last item and the cells before it, None where there are none.
        length: the number of items.
    """

    __slots__ = ("cells", "length")

    def __init__(self, cells: tuple[_T, Any] | None = None, length: int = 0) -> None:
        self.cells = cells
        self.length = length

    def append(self, item: _T) -> "PersistentList[_T]":
        """Return this list with `item` added at the end."""
        return PersistentList((item, self.cells), self.length + 1)

    def replace_last(self, item: _T) -> "PersistentList[_T]":
        """Return this list with its last item replaced.

        Raises:
            IndexError: it is empty.
        """
        return PersistentList((item, self._from(1)[1]), self.length)

    def back(self, steps: int) -> _T:
        """Return the item `steps` from the end, 1 for the last; costs as many steps.

        Raises:
            IndexError: there are fewer.
        """
        return self._from(steps)[0]

    def newest(self, count: int) -> list[_T]:
        """Return the last `count` items, newest first; fewer where the list is shorter."""
        items: list[_T] = []
        cells = self.cells
        while cells and len(items) < count:
            item, cells = cells
            items.append(item)
        return items

    def _from(self, steps: int) -> tuple[_T, Any]:
        cells = self.cells
        for _ in range(steps - 1):
            cells = cells[1] if cells else None
        if cells is None:
            raise IndexError(f"{steps} steps back in a list of {self.length}")
        return cells

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[_T]:
        items, cells = [], self.cells
        while cells:
            item, cells = cells
            items.append(item)
        return reversed(items)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PersistentList):
            return NotImplemented
        if self.length != other.length:
            return False
        mine, theirs = self.cells, other.cells
        while mine is not theirs:
            if mine is None or theirs is None or mine[0] != theirs[0]:
                return False
            mine, theirs = mine[1], theirs[1]
        return True

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"PersistentList({list(self)!r})"
