"""The table as a service: one writer on its log, publishers behind cursors, requests from the bus.

Imported by the composition root alone.
"""

__all__: list[str] = []
