"""Commands and shoe events to table events: the pure core and the one shell that runs it."""

__all__: list[str] = []
