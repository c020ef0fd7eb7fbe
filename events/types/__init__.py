"""The event types by subject, their registry, envelope and upcasting.

Imported by every room; pure.
"""

__all__: list[str] = []
