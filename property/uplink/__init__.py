"""From a table's log to the hub: where to go on, what to send, what an answer means.

Imported by the composition root.
"""

__all__: list[str] = []
