"""A dealing shoe that is played coup after coup, at a table or alone.

Imported by the people and the demo.
"""

__all__: list[str] = []
