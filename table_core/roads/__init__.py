"""The roads: the results of a shoe's coups as columns, and their document for displays.

State, projections and everything above them may import it. Pure.
"""

__all__: list[str] = []
