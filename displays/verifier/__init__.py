"""The page of the second verifier, one file that loads nothing, and the same with evidence in it.

The displays serve it and `baccarat evidence` writes it; `make verifier` makes it from `verifier/`.
"""

__all__: list[str] = []
