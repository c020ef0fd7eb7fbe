"""The witness: what it knows of each log, its book, and its cosignatures.

Imported by the composition root.
"""

__all__: list[str] = []
