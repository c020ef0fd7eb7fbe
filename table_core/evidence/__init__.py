"""Evidence for one coup: the bundle, and the judge that decides the coup again from it.

Imported by commands; pure.
"""

__all__: list[str] = []
