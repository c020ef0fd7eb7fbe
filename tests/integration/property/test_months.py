"""What a question costs does not grow with the months behind an archive, counted and not timed."""

from pathlib import Path

import psycopg

from benchmarks.instruments.postgres import Postgres
from benchmarks.property.archive import QUESTIONS
from property.archive.database import connect_archive, migrate
from property.archive.questions import ARCHIVE_QUERIES, parse_parameters
from property.archive.rebuild import read_earlier
from tests.support.property.logs import BEGIN_S, played, write_log
from tests.support.property.older_archive import make_older_archive

_MONTH_S = 2_629_746
_LOCKS = "SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'relation'"


async def _costs(url: str, months: int, logs: list[Path]) -> dict[str, tuple[int, int]]:
    """Return the locks and the pages of each question, with so many months behind the archive."""
    make_older_archive(url, *logs)
    with psycopg.connect(url) as db:
        db.execute(
            "SELECT property.make_month((date_trunc('month', to_timestamp(%s)) - n * interval "
            "'1 month')::date) FROM generate_series(0, %s) AS n",
            (BEGIN_S, months),
        )
    migrate(url)
    async with await connect_archive(url) as connection:
        assert len([origin async for origin in read_earlier(url, connection)]) == len(logs)
    found = {}
    with psycopg.connect(url, cursor_factory=psycopg.ClientCursor) as db:
        db.execute("ANALYZE")
        db.commit()
        for name, given in (*QUESTIONS, ("live", {})):
            question = ARCHIVE_QUERIES.get(name)
            sql = question.sql if question else "SELECT * FROM property.live"
            wanted = parse_parameters(question, given) if question else {}
            for _ in range(2):  # the first sets hint bits, and reads the catalogue
                rows = db.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", wanted)
                told = rows.fetchall()[0][0][0]["Plan"]
                locks = db.execute(_LOCKS).fetchall()[0][0]
                db.rollback()
            pages = told["Shared Hit Blocks"] + told["Shared Read Blocks"]
            found[f"{name} {given}"] = (locks, pages)
    return found


async def test_a_question_costs_the_same_with_months_behind_it(
    postgres: Postgres, tmp_path: Path
) -> None:
    costs = []
    for months in (1, 24, 48):
        logs = [tmp_path / f"{months}-{name}.sqlite" for name in ("old", "new")]
        write_log(logs[0], "harbour/t1", played(2, 20), begin_s=BEGIN_S - (months + 1) * _MONTH_S)
        write_log(logs[1], "harbour/t2", played(3, 20))
        costs.append(await _costs(postgres.database(), months, logs))
    assert costs[0] == costs[1] == costs[2]
    assert max(locks for locks, _ in costs[0].values()) < 64 < max(p for _, p in costs[0].values())
