"""The thin shell around the pure core: log, bus, clock."""

__all__: list[str] = []
