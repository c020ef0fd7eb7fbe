"""Tasks that did not hear that they are to end, and pauses behind a fault."""

import asyncio

from property.background_tasks import TaskBackoff, end_tasks


async def test_a_task_that_loses_its_first_cancellation_is_ended_all_the_same() -> None:
    lost = []

    async def deaf_once() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            lost.append(1)
            await asyncio.Event().wait()

    tasks = [asyncio.create_task(deaf_once()), asyncio.create_task(asyncio.Event().wait())]
    await asyncio.sleep(0)  # they begin
    await end_tasks(tasks)
    assert [task.cancelled() for task in tasks] == [True, True]
    assert lost == [1]


async def test_a_task_that_has_ended_keeps_what_it_came_to() -> None:
    async def fails() -> None:
        raise ValueError("as it was")

    task = asyncio.create_task(fails())
    await asyncio.wait({task})
    await end_tasks([task])
    assert str(task.exception()) == "as it was"
    await end_tasks([])


def test_a_pause_grows_to_five_seconds_and_is_short_again_behind_something_that_went_well() -> None:
    pause = TaskBackoff()
    assert [pause.next_s() for _ in range(7)] == [0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
    pause.reset()
    assert pause.next_s() == 0.2
