"""A dealing shoe that plays coup after coup, at a table or alone.

The people and the demo import it.
"""

__all__: list[str] = []
