"""`baccarat shoe`: find, capture, watch and decode a shoe's line.

Imported by the command line alone, when called.
"""

__all__: list[str] = []
