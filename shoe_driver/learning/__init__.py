"""Learning a wire form from a capture: a search over the grammar that the decoder reads.

The command line imports it; it is pure.
"""

__all__: list[str] = []
