"""One module a step. A step that was shipped is never edited; the next one follows it."""

__all__: list[str] = []
