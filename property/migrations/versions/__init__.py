"""One module a migration; the SQL that it executes is in `..sql`."""

__all__: list[str] = []
