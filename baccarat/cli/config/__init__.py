"""`baccarat config`: write, check and show configurations.

The command line alone imports it, when the command is called.
"""

__all__: list[str] = []
