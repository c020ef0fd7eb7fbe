"""The cage's figure on a small scale: it books what it says, and leaves no database behind."""

import psycopg

from benchmarks.ledger import ledger_figures
from tests.support.property.postgres import Postgres


def test_the_figure_stands_beside_both_floors_and_cleans_up(postgres: Postgres) -> None:
    server, done = postgres.database(), list[int]()
    figures = ledger_figures(server, 200, 2, done.append)
    assert done == [1, 2]
    assert [figure.name for figure in figures] == ["cage_copy", "cage_insert"]
    for figure in figures:
        assert figure.samples == 2
        assert min(figure.p50, figure.p99, figure.floor_p50, figure.floor_p99) > 0
        assert figure.p99 <= figure.p50
        assert figure.met is (figure.p99 >= 1_000)
    with psycopg.connect(server) as connection:
        left = connection.execute("SELECT datname FROM pg_database WHERE datname LIKE 'baccarat%'")
        assert left.fetchall() == []
