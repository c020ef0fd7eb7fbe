"""Faults by name: of the line, of the device, and the plan of when each comes.

The shoe and the people import it.
"""

__all__: list[str] = []
