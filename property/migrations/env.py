"""Alembic's environment: runs migrations on the caller's connection, in its transaction."""

from alembic import context

__all__: list[str] = []

context.configure(
    connection=context.config.attributes["connection"],
    version_table_schema="property",
    transactional_ddl=True,
)
context.run_migrations()
