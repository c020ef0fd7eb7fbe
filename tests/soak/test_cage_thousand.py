"""A thousand coups on each broker, with two ledgers that are killed, cut off and lied to.

Consumers, core, broker and PostgreSQL are killed, the broker is wiped three times, and the road to
the ledgers loses, doubles and shuffles messages. In the end both ledgers are the log to the unit.
`CAGE_SEED` plays one game again.
"""

import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from benchmarks.instruments.postgres import Postgres
from tests.support.brokers.brokers import running
from tests.support.cage.cage_game import play_cage_game, proved

COUPS = 1_000
FAULTS = {
    "cage": 15,
    "auditor": 15,
    "table": 10,
    "broker": 6,
    "wiped": 3,
    "postgres": 3,
    "cut": 40,
}
# Commission out of the winnings; and laid beside the wager, with entries of its own.
GAMES = {"nats": "au-commission", "mosquitto": "mini-lucky8"}


A_DAY = 3_000  # more coups than a table deals in a day


@pytest.mark.soak
@pytest.mark.timeout(900)
async def test_ledgers_that_were_off_for_a_day_catch_up_by_themselves(
    own_postgres: Postgres, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    seed = int(os.environ.get("CAGE_SEED") or random.randrange(2**32))
    print(f"seed {seed}")  # noqa: T201 - shown when the test fails
    with running("mosquitto", tmp_path / "broker") as broker:
        game = await play_cage_game(
            tmp_path,
            broker,
            own_postgres,
            seed=seed,
            coups=A_DAY,
            faults={"broker": 1, "table": 1},
            rulebook="nz-scale-one",
            away_from=10,
        )
    for user, ledger in game.ledgers.items():
        assert len(proved(ledger, game.log, user)) > A_DAY
    record_property("figures", json.dumps(msgspec.to_builtins(game, enc_hook=str)))


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", GAMES)
async def test_a_thousand_coups_are_booked_to_the_unit(
    kind: str,
    own_postgres: Postgres,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    seed = int(os.environ.get("CAGE_SEED") or random.randrange(2**32))
    print(f"seed {seed}")  # noqa: T201 - shown when the test fails
    with running(kind, tmp_path / "broker") as broker:
        game = await play_cage_game(
            tmp_path,
            broker,
            own_postgres,
            seed=seed,
            coups=COUPS,
            faults=FAULTS,
            rulebook=GAMES[kind],
        )
    assert (game.coups, game.done) == (COUPS, FAULTS)
    told = msgspec.to_builtins(game, enc_hook=str) | {"settlements": 0, "revisions": 0}
    for user, ledger in game.ledgers.items():
        settlements = proved(ledger, game.log, user)
        told["settlements"] = len(settlements)
        told["revisions"] = sum(each.revision > 1 for each in settlements)
        assert told["revisions"] > COUPS // 20
    record_property("figures", json.dumps(told))
