"""`baccarat sim`: simulators that run alone. Imported by the command line alone, when called."""

__all__: list[str] = []
