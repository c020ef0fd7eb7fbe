"""The cage's side of the bus: a reorder buffer for events, and a client for requests.

Only the cage's service imports it.
"""

__all__: list[str] = []
