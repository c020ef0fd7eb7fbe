"""Forks, forgeries and restores, each settled by the documented commands alone.

Behind each, the archive has the true log's events, the witness has cosigned them, and the false
ones are kept. `tests/soak` plays a hundred of them.
"""

import random
import secrets
from pathlib import Path

import pytest

from benchmarks.instruments.postgres import Postgres
from tests.support.property.stories import STORIES, running_stage

_DRAWN = 2


@pytest.fixture(scope="module")
def seed() -> int:
    return secrets.randbelow(1_000_000)


async def test_drawn_stories_end_with_the_truth(
    postgres: Postgres, tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    async with running_stage(tmp_path, postgres.database(), _DRAWN) as stage:
        for number, name in enumerate(rng.sample(sorted(STORIES), _DRAWN)):
            await STORIES[name](stage, number, rng)
