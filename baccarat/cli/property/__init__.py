"""`baccarat property`: hub, archive, witness and questions of many tables.

Imported by the command line alone, when called.
"""

__all__: list[str] = []
