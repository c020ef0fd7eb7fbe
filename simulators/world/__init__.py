"""A whole table in one process and one seed: real parts between a fake clock, link, bus and disk."""

__all__: list[str] = []
