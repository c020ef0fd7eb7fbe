"""A whole table on this machine, played by simulators over the real bytes, broker and log.

Imported by `baccarat demo` and the benchmarks.
"""

__all__: list[str] = []
