"""Faults by name: of the line, of the device, and when each comes.

Imported by the shoe and the people.
"""

__all__: list[str] = []
