"""The conformance kit for consumers: a table's side of the bus, with faults by plan.

Imported by `baccarat sim cage-feed`.
"""

__all__: list[str] = []
