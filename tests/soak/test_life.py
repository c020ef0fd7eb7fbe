"""The whole life of a property by the documents' own commands, and no block is left out."""

from pathlib import Path

import psycopg
import pytest

from benchmarks.instruments.postgres import Postgres
from tests.support.property import life_steps as steps
from tests.support.property.life import running_life

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1200)]


def test_a_propertys_life_is_played_from_the_documents(postgres: Postgres, tmp_path: Path) -> None:
    with running_life(tmp_path, postgres, ["b7", "b8", "b9", "b10"], nodes=3) as life:
        steps.bring_up(life, "b7", "b8")
        steps.add(life, "b9")
        steps.rename(life, "b8", "b10")
        steps.retire(life, "b9")
        steps.nonsense(life, "b9")
        steps.renew(life)
        steps.lose(life, "b8", "b9")
        steps.restore(life)
        steps.fork(life, "b7")
        with psycopg.connect(life.database) as db:
            db.execute("CREATE ROLE asker LOGIN")
        life.play("archive.md", "Ask it")
        assert life.unplayed() == []
