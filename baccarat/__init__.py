"""The command line and the composition root: the only room that knows all the others."""

__all__: list[str] = []
