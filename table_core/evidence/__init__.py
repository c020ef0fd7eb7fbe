"""Evidence for one coup: the bundle, and the judge that decides the coup again from its events.

Only commands import it. Pure.
"""

__all__: list[str] = []
