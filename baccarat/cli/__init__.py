"""The command line: one file or folder for each noun.

Only `baccarat.__main__` and tests import it.
"""

__all__: list[str] = []
