"""What alembic runs: the steps, on the connection that was opened for it, in its transaction."""

from alembic import context

__all__: list[str] = []

context.configure(
    connection=context.config.attributes["connection"],
    version_table_schema="property",
    transactional_ddl=True,
)
context.run_migrations()
