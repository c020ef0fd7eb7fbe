"""Decides on commands and shoe reports: state and input to events, a module a subject.

Projections, history and the service may import it. Pure.
"""

__all__: list[str] = []
