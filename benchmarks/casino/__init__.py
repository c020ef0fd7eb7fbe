"""Many tables on one machine: play them and measure them.

The benchmark rows import it, and `baccarat sim casino` loads it as a plugin.
"""

__all__: list[str] = []
