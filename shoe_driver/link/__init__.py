"""The link with a shoe: duplicate filter, resend window, link states, outbox, link protocols.

The decoder and the service import it; it is pure.
"""

__all__: list[str] = []
