"""A whole table in one process and from one seed, among fake parts that fail.

`baccarat sim world` and tests import it.
"""

__all__: list[str] = []
