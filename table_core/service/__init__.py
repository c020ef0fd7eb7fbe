"""The table as a service: one writer on its log, publishers with cursors, requests from the bus.

Only the composition root imports it.
"""

__all__: list[str] = []
