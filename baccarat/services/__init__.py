"""The services of a table, each put together from its configuration in a module of its own.

Imported by `baccarat run` and the demo.
"""

__all__: list[str] = []
