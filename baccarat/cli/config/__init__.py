"""`baccarat config`: begin, check and show configurations.

Imported by the command line alone, when called.
"""

__all__: list[str] = []
