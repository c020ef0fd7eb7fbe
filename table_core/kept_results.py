"""Results that are computed once for the same objects. Pure.

A table's state shares with the state before all parts that an event leaves as they are. So what a
projection makes of such a part holds on, and the part's identity proves it.
"""

from collections.abc import Callable
from operator import is_
from typing import TypeVar, TypeVarTuple

__all__ = ["keep_newest"]

_Arguments = TypeVarTuple("_Arguments")
_Result = TypeVar("_Result")


def keep_newest(
    function: Callable[[*_Arguments], _Result],
) -> Callable[[*_Arguments], _Result]:
    """Return `function`, which now keeps its newest result, for arguments that are the same.

    One result, since an older state holds wagers that the newest has let go.

    Args:
        function: of arguments that nobody changes; its result depends on nothing else.
    """
    # The arguments are kept as well: no other object gets the identity of one that lives.
    kept: list[tuple[tuple[*_Arguments], _Result]] = []

    def with_kept(*arguments: *_Arguments) -> _Result:
        if not kept or not all(map(is_, kept[0][0], arguments)):
            kept[:] = [(arguments, function(*arguments))]
        return kept[0][1]

    return with_kept
