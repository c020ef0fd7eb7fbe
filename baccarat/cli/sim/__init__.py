"""`baccarat sim`: simulators that run alone.

The command line alone imports it, when the command is called.
"""

__all__: list[str] = []
