"""The processes of the world: table and driver, run without waiting. Imported by the world."""

__all__: list[str] = []
