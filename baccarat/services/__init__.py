"""The services of a table, each assembled from its configuration in a module of its own.

`baccarat run` and the demo import it.
"""

__all__: list[str] = []
