"""Code tables: what the bytes of a report mean, for each kind of frame.

Imported by profiles and link; pure.
"""

__all__: list[str] = []
