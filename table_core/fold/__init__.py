"""Events to state: a module a subject, and the snapshot of a state.

Imported by decide and everything above; pure.
"""

__all__: list[str] = []
