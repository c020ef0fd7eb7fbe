"""Folds events into state, a module a subject, and encodes the snapshot of a state.

`decide` and everything above it may import it. Pure.
"""

__all__: list[str] = []
