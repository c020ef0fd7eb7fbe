"""`baccarat log`: verify, show, count, back up and restore logs.

Imported by the command line alone, when called.
"""

__all__: list[str] = []
