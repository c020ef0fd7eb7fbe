"""Results that are computed once for the same objects. Pure.

A table's state shares with the state before all parts that an event leaves as they are. So what a
projection makes of such a part holds on, and the part's identity proves it.
"""

from collections.abc import Callable
from typing import Final, TypeVar, TypeVarTuple

__all__ = ["keep_results"]

_Arguments = TypeVarTuple("_Arguments")
_Result = TypeVar("_Result")
_KEPT: Final = 16


def keep_results(
    function: Callable[[*_Arguments], _Result],
) -> Callable[[*_Arguments], _Result]:
    """Return `function`, which now keeps its newest results, for arguments that are the same.

    Args:
        function: of arguments that nobody changes; its result depends on nothing else.
    """
    # The arguments are kept as well: no other object gets the id of one that lives.
    kept: dict[tuple[int, ...], tuple[tuple[*_Arguments], _Result]] = {}

    def with_kept(*arguments: *_Arguments) -> _Result:
        ids = tuple(map(id, arguments))
        found = kept.get(ids)
        if found is None:
            if len(kept) == _KEPT:
                del kept[next(iter(kept))]
            found = kept[ids] = arguments, function(*arguments)
        return found[1]

    return with_kept
