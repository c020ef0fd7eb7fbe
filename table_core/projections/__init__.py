"""The projections that displays show: the state document, and the floats in it. Pure.

Only history and the service import it.
"""

__all__: list[str] = []
