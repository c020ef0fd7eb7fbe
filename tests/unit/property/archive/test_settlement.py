"""Which events give way: by what signed checkpoints cover, by what was cosigned, by a person."""

import pytest

from events.errors import InputError
from events.proof.checkpoint import Checkpoint
from property.archive.settlement import CoveredEvents, plan_settlement
from tests.support.table.evidence import mth

B7 = "harbour/b7"
TRUE = [b"event %d" % n for n in range(1, 41)]
FORGED = [*TRUE[:20], *(b"forged %d" % n for n in range(21, 24))]


def held(archived: list[bytes], *sizes: int) -> CoveredEvents:
    """Archived events held against the true log's checkpoints of these sizes."""
    found = CoveredEvents([Checkpoint(B7, size, mth(TRUE[:size])) for size in sizes])
    for stored in archived:
        found.take(stored)
    return found


# What is archived, the sizes that the table has signed, those that are cosigned, --from, and how
# many are kept; or the words of the refusal.
CASES: list[tuple[list[bytes], list[int], list[int], int | None, int | str]] = [
    (FORGED, [10, 20], [10], None, 20),
    (FORGED, [10, 15], [10], None, 15),
    (FORGED, [10, 22, 40], [10], None, 10),
    (FORGED, [22], [], None, 0),
    (TRUE, [40], [40], None, 40),
    (TRUE, [10, 40], [10], None, 40),
    (TRUE[:30], [40], [], None, "no signed checkpoint"),
    (TRUE, [], [], None, "no signed checkpoint"),
    (TRUE, [], [], 31, 30),
    (TRUE, [40], [25], 31, 30),
    (TRUE, [40], [30], 31, 30),
    (TRUE, [40], [31], 31, "31 events are cosigned"),
    (TRUE, [40], [40], 20, "under a new origin"),
    (TRUE, [], [], 41, 40),
    (TRUE, [], [], 42, "none of the next"),
]


@pytest.mark.parametrize(("archived", "signed", "cosigned", "since", "kept"), CASES)
def test_what_gives_way(
    archived: list[bytes],
    signed: list[int],
    cosigned: list[int],
    since: int | None,
    kept: int | str,
) -> None:
    found = held(archived, *signed)
    if isinstance(kept, str):
        with pytest.raises(InputError, match=kept):
            plan_settlement(B7, len(archived), found, cosigned, since)
        return
    plan = plan_settlement(B7, len(archived), found, cosigned, since)
    assert (plan.keep, plan.gives_way) == (kept, len(archived) - kept)
