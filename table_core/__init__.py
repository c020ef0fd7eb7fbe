"""The table: decides on commands and shoe events, and folds the table events that result.

Everything is pure except `service`, which runs it.
"""

__all__: list[str] = []
