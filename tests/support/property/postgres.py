"""A private PostgreSQL for a test: the one that the benchmarks start for themselves."""

from benchmarks.instruments.postgres import Postgres, postgres_cluster

__all__ = ["Postgres", "postgres_cluster"]
