"""Configuration files: the types of their keys, their readers, and a report of all faults at once.

Everything in this room that needs a table's or a property's settings imports it.
"""

__all__: list[str] = []
