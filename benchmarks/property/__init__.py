"""A property of two hundred tables, measured on one machine. The benchmark rows import it."""

__all__: list[str] = []
