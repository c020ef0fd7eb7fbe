"""The device's side of every wire profile, the cards in it, and its pseudo-terminal.

Imported by the other simulators; imports none of them.
"""

__all__: list[str] = []
