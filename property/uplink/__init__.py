"""The uplink: replicates a table's log to the hub and publishes its own status.

Only the composition root imports it.
"""

__all__: list[str] = []
