"""`baccarat shoe`: find, capture, monitor and decode a shoe's line.

The command line alone imports it, when the command is called.
"""

__all__: list[str] = []
