"""A property of two hundred tables measured on one machine. Imported by the benchmark rows."""

__all__: list[str] = []
