"""A hundred forks, forgeries and restores of every kind, settled by the documented commands."""

import random
from pathlib import Path

import pytest

from benchmarks.instruments.postgres import Postgres
from tests.support.property.stories import STORIES, running_stage

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]


async def test_a_hundred_stories_end_with_the_truth(postgres: Postgres, tmp_path: Path) -> None:
    rng = random.Random(28)
    async with running_stage(tmp_path, postgres.database(), 100) as stage:
        for number in range(100):
            name = sorted(STORIES)[number % len(STORIES)]
            print(number, name)  # noqa: T201 - a failure names it
            await STORIES[name](stage, number, rng)
