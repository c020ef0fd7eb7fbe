"""Commands and shoe reports to events: a module a subject.

Imported by projections, history and the service; pure.
"""

__all__: list[str] = []
