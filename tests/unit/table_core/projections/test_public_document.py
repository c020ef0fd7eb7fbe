"""What anybody may see of a table: all that the public screen shows, and nothing else."""

import json
from typing import Any

import pytest

from displays.scoreboard.public_view import read_public
from table_core.projections.public_document import encode_public_view
from table_core.projections.table_document import encode_state_view, project_table
from table_core.state.coup import Phase
from table_core.state.table import Alarm
from tests.support.table.coups import CONTEXT, WAYS, world_in

PRIVATE = frozenset(
    {"alarms", "calls", "commission", "consumers", "due", "floats", "library", "opened", "patron"}
    | {"refusals", "refunds", "seat", "settled", "stake", "staked", "totals", "wagers"}
)


def keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(keys, value.values()))
    return set().union(*map(keys, value)) if isinstance(value, list) else set()


@pytest.mark.parametrize("phase", list(WAYS))
def test_it_is_what_the_public_screen_shows_and_no_more(phase: Phase) -> None:
    world = world_in(phase)
    whole = project_table(
        world.state,
        table=CONTEXT.table,
        rulebook=CONTEXT.rulebook,
        catching_up=True,
        faults=(Alarm(name="link_down", text="a reason"),),
    )
    public = encode_public_view(whole)
    assert read_public(public) == read_public(encode_state_view(whole))
    assert keys(json.loads(public)).isdisjoint(PRIVATE)
