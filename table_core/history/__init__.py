"""Past coups: an index of a log, the queries it answers, and what another card would have done.

Only the history process imports it. Pure.
"""

__all__: list[str] = []
