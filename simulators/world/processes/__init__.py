"""The processes of the world: table, driver, cage, run without waiting. Imported by the world."""

__all__: list[str] = []
