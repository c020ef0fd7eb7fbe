"""A whole table on this machine: simulators play it over the real bytes, broker and log.

`baccarat demo` and the benchmarks import it.
"""

__all__: list[str] = []
