"""The link with a shoe: duplicate filter, resend window, link states, outbox, protocols.

Imported by the decoder and the service; pure.
"""

__all__: list[str] = []
