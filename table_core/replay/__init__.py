"""The past of a table event by event: all that belongs to a coup, and the list of coups.

Imported by narrative and history; pure.
"""

__all__: list[str] = []
