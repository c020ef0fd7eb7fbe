"""Past coups: an index of a log, the queries it answers, and what another card would have done.

Imported by the history process; pure.
"""

__all__: list[str] = []
