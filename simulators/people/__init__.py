"""The people at a table: dealer, patrons and supervisor, with their screen and console.

The demo and tests import it.
"""

__all__: list[str] = []
