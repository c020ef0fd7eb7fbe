"""The whole life of a property by the documents' own commands, and no block is left out."""

import shutil
from pathlib import Path

import pytest

from benchmarks.instruments.postgres import Postgres
from tests.support.property import life_steps as steps
from tests.support.property.life import living

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1200)]


def test_a_propertys_life_is_played_from_the_documents(postgres: Postgres, tmp_path: Path) -> None:
    with living(tmp_path, postgres, "b7 b8 b9 b10", nodes=3) as life:
        life.perform(steps.BRING_UP + steps.ADD_B9 + steps.RENAME_B8 + steps.RETIRE_B9)
        life.perform(steps.RENEW + steps.LOSE + steps.RESTORE + steps.FORK)
        shutil.copytree(tmp_path / "harbour-b7", life.place("office"), dirs_exist_ok=True)
        key = life.play("witness.md", "Run it", "--witness")
        life.place("office", "witness.pub").write_text(key)
        life.perform("witness.md / Verify with it / cosigned.txt / b7")
        life.perform("role asker\narchive.md / Ask it / reader")
        assert life.unplayed == set()
