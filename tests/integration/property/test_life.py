"""A property is brought up and its tables come and go, by the documents' own commands.

`tests/soak` plays the rest of its life: certificates renewed, machines lost, backups, forks.
"""

from pathlib import Path

from benchmarks.instruments.postgres import Postgres
from tests.support.property import life_steps as steps
from tests.support.property.life import running_life


def test_tables_are_added_and_retired_as_the_pages_say(postgres: Postgres, tmp_path: Path) -> None:
    with running_life(tmp_path, postgres, ["b7", "b8", "b10"], nodes=1) as life:
        steps.bring_up(life, "b7", "b8")
        steps.rename(life, "b8", "b10")
        steps.retire(life, "b10")
