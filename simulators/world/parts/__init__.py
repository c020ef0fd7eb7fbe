"""Fake parts: clock, broker, disks, port, the shoe on its line.

The world and its processes import it.
"""

__all__: list[str] = []
