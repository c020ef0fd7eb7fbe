"""The view of the table: the newest document counts, old ones and junk do not."""

import asyncio
import json
import time

import pytest

from events.mqtt.messages import Message
from simulators.people.view import CoupSeen, TableSeen, TableView


def _state(position: int, **fields: object) -> Message:
    document = {"position": position, "table": "t1", "totals": {"coups": 1}} | fields
    return Message("state", json.dumps(document).encode(), retain=True)


async def test_what_matters_is_read_and_the_rest_passed_over() -> None:
    view = TableView()
    await view.on_state(
        _state(
            7,
            shoe={"id": "20261127-01", "decks": 8, "coups": 3, "ended": False},
            coup={"id": "20261127-01/3", "phase": "misaligned", "reason": "link_lost", "cards": []},
            link={"state": "down", "errors": []},
            catching_up=True,
            alarms=[{"name": "link_down", "text": "...", "coup": None}],
        )
    )
    seen = view.seen
    assert seen is not None
    assert seen.position == 7
    assert seen.coup == CoupSeen(id="20261127-01/3", phase="misaligned", reason="link_lost")
    assert seen.shoe is not None
    assert (seen.shoe.id, seen.shoe.coups, seen.shoe.ended) == ("20261127-01", 3, False)
    assert (seen.link.state, seen.catching_up) == ("down", True)
    assert [alarm.name for alarm in seen.alarms] == ["link_down"]


async def test_an_older_document_of_a_broker_that_came_back_is_no_news() -> None:
    view = TableView()
    for position in (5, 9, 4, 8):
        await view.on_state(_state(position))
    assert view.seen == TableSeen(position=9)
    await view.on_state(_state(9, catching_up=True))
    assert view.seen == TableSeen(position=9, catching_up=True)


@pytest.mark.parametrize("junk", [b"", b"\xff", b"[" * 50_000, b"{}", b'{"position":"x"}'])
async def test_junk_changes_nothing(junk: bytes) -> None:
    view = TableView()
    await view.on_state(_state(5))
    await view.on_state(Message("state", junk, retain=False))
    assert view.seen == TableSeen(position=5)


async def test_who_waits_is_woken_by_the_document_he_waits_for() -> None:
    view = TableView()
    waiting = asyncio.create_task(view.reached(3))
    for position in (1, 2, 3):
        assert not waiting.done()
        await view.on_state(_state(position))
    assert (await waiting).position == 3
    assert await view.reached(None) == TableSeen(position=3)
    assert await view.within(lambda seen: seen.position > 3, 0.01) is None


async def test_quiet_is_when_nothing_was_added_for_so_long() -> None:
    view = TableView()
    await view.on_state(_state(1))
    began = time.monotonic()
    waiting = asyncio.create_task(view.quiet(0.5))
    for position in range(2, 6):
        await asyncio.sleep(0.02)
        await view.on_state(_state(position))
    assert (await waiting).position == 5
    assert time.monotonic() - began >= 4 * 0.02 + 0.5
