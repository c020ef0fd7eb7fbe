"""Fake parts: clock, broker, disks, port, the shoe on its line.

Imported by the world and its processes.
"""

__all__: list[str] = []
