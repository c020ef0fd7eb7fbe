"""A whole table in one process and one seed: real parts among a fake clock, link, bus, disk."""

__all__: list[str] = []
