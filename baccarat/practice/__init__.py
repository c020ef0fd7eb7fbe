"""`baccarat practice`: a table whose dealer is the person at the console, with a coach.

Only `baccarat.cli.practice` imports it.
"""

__all__: list[str] = []
