"""The conformance kit for consumers: a table's side of the bus, with planned faults.

`baccarat sim cage-feed` imports it.
"""

__all__: list[str] = []
