"""The device's side of every wire profile, the cards in it, and its pseudo-terminal.

The other simulators import it; it imports none of them.
"""

__all__: list[str] = []
