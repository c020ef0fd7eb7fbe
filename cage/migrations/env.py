"""Alembic's environment: runs migrations on the store's connection, in its transaction."""

from alembic import context

from cage.ledger.sql_tables import METADATA

__all__: list[str] = []

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    transactional_ddl=True,
)
context.run_migrations()
