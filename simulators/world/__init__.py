"""A whole table in one process and from one seed, among fake parts that fail.

Imported by `baccarat sim world` and tests.
"""

__all__: list[str] = []
