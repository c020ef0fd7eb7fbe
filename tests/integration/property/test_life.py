"""A property is brought up and its tables come and go, by the documents' own commands.

`tests/soak` plays the rest of its life: certificates renewed, machines lost, backups, forks.
"""

from pathlib import Path

from benchmarks.instruments.postgres import Postgres
from tests.support.property.life import living
from tests.support.property.life_steps import ADD_B9, BRING_UP, RENAME_B8, RETIRE_B9


def test_tables_are_added_renamed_and_retired(postgres: Postgres, tmp_path: Path) -> None:
    with living(tmp_path, postgres, "b7 b8 b9 b10", nodes=1) as life:
        life.perform(BRING_UP + ADD_B9 + RENAME_B8 + RETIRE_B9)
