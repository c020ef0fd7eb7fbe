"""Code tables: the meaning of a report's bytes, for each kind of frame.

Profiles and link import them; they are pure.
"""

__all__: list[str] = []
