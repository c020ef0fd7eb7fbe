"""The page of a property's tables. Imported by the composition root."""

__all__: list[str] = []
