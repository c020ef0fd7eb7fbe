"""The services, each put together from a table's configuration in a module of its own.

A process imports what its service needs, and nothing of the others: `baccarat.services` finds a
module by the service's name.
"""

__all__: list[str] = []
