"""A whole table on this machine, played by simulators over the real bytes, broker and log."""

__all__: list[str] = []
