"""The web page of a property's tables. Only the composition root imports it."""

__all__: list[str] = []
