"""`baccarat log`: verify, show, count, back up and restore logs.

The command line alone imports it, when the command is called.
"""

__all__: list[str] = []
