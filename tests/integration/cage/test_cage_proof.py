"""A bounded sample of the thousand coups of tests/soak: the ledgers are the log, to the unit."""

import random
from pathlib import Path

from tests.support.brokers.brokers import Broker
from tests.support.cage.cage_game import play_cage_game
from tests.support.cage.cage_proof import proved
from tests.support.property.postgres import Postgres

COUPS = 120
FAULTS = {
    "cage": 2,
    "auditor": 2,
    "table": 2,
    "broker": 1,
    "wiped": 3,
    "postgres": 1,
    "cut": 5,
}


async def test_two_ledgers_are_the_log_to_the_unit_whatever_is_killed_wiped_lost_or_doubled(
    nats: Broker, own_postgres: Postgres, tmp_path: Path
) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # noqa: T201 - shown when the test fails
    game = await play_cage_game(
        tmp_path,
        nats,
        own_postgres,
        seed=seed,
        coups=COUPS,
        faults=FAULTS,
        rulebook="au-commission",
    )
    print(game)  # noqa: T201 - the same
    assert game.coups == COUPS
    assert game.done == FAULTS
    for user, ledger in game.ledgers.items():
        settlements = proved(ledger, game.log, user)
        assert len({each.coup for each in settlements}) > COUPS // 2
        assert any(each.revision > 1 for each in settlements)
    assert {"down: lost", "down: twice", "down: late", "up: lost", "up: twice"} <= game.road.keys()
