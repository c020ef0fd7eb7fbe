"""Compares two pieces of evidence for one coup: the same, one newer, or contradicting. Pure.

Two files that each verify can still disagree: where somebody with the key signed two histories, or
where the maker of one left out a later correction. Together they show it.
"""

from typing import Literal, NamedTuple

from events.errors import InputError
from events.proof.checkpoint import parse_checkpoint
from table_core.evidence.bundle import Evidence

__all__ = ["EvidenceComparison", "compare_evidence"]


class EvidenceComparison(NamedTuple):
    """How two pieces of evidence stand to one another.

    Args:
        result: `same` events; one is `newer`, and goes on from the other; or `contradicting`.
        newer: `first` or `second`, where one is newer.
        position: the first event that shows it; None where none does.
        reason: one line for a person.
    """

    result: Literal["same", "newer", "contradicting"]
    newer: Literal["first", "second"] | None
    position: int | None
    reason: str


def compare_evidence(first: Evidence, second: Evidence) -> EvidenceComparison:
    """Compare two pieces of evidence, which were verified or not.

    Raises:
        InputError: they are of two coups.
    """
    if (first.origin, first.coup) != (second.origin, second.coup):
        one, other = (f"coup {each.coup} of {each.origin}" for each in (first, second))
        raise InputError(f"{one} and {other}: name two files about one coup")
    states = [parse_checkpoint(each.checkpoint.encode())[0] for each in (first, second)]
    events = [{each.position: each.stored for each in it.events} for it in (first, second)]
    for position in sorted(events[0].keys() & events[1].keys()):
        if events[0][position] != events[1][position]:
            return _contradicting(position, f"two events at position {position}")
    if states[0].size == states[1].size and states[0].root != states[1].root:
        return _contradicting(None, f"two signed states of {states[0].size} events")
    only = [
        sorted(events[0].keys() - events[1].keys()),
        sorted(events[1].keys() - events[0].keys()),
    ]
    for lacking, (extra, state) in enumerate(zip(reversed(only), states, strict=True)):
        if extra and extra[0] <= state.size:
            name = ("first", "second")[lacking]
            told = (
                f"its checkpoint covers {state.size} events, and it leaves out that at {extra[0]}"
            )
            return _contradicting(extra[0], f"the {name}: {told}")
    if not any(only):
        return EvidenceComparison("same", None, None, "the same events")
    newer: Literal["first", "second"] = "first" if only[0] else "second"
    more = only[0] or only[1]
    return EvidenceComparison(
        "newer", newer, more[0], f"the {newer} one goes on: {len(more)} events more"
    )


def _contradicting(position: int | None, reason: str) -> EvidenceComparison:
    return EvidenceComparison("contradicting", None, position, reason)
