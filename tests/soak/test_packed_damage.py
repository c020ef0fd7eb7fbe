"""Two thousand damages of packed files, each of which verification and readers find and name."""

import random
from pathlib import Path

import pytest

from tests.support.log.closed_books import chain
from tests.support.log.packed import MUTATIONS, mutated, packed_chain
from tests.support.table.money_game import BOOKS

pytestmark = pytest.mark.soak

SEED, COUNT = 20261129, 2_000


def test_damage_of_every_kind_is_found_and_named(tmp_path: Path) -> None:
    packed = packed_chain(chain(tmp_path / "plain", BOOKS["ez"](), 27), tmp_path)
    rng = random.Random(SEED)
    for number in range(COUNT):
        mutated(packed, tmp_path, MUTATIONS[number % len(MUTATIONS)], rng)
