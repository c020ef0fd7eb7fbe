"""Replays a log event by event: all that belongs to a coup, and the list of coups.

Narrative, history and everything above them may import it. Pure.
"""

__all__: list[str] = []
