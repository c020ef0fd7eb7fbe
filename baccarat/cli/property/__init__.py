"""`baccarat property`: hub, archive, witness and queries of many tables.

The command line alone imports it, when the command is called.
"""

__all__: list[str] = []
