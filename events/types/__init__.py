"""The event types by subject, their registry, the envelope and upcasting.

Every room may import it; it is pure.
"""

__all__: list[str] = []
