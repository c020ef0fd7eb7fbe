"""One module a step, and what it executes in `..sql`."""

__all__: list[str] = []
